//! Which messages of an editor a client takes: one with a wrong type anywhere is dropped whole
//! (docs/amp.md, Messages; quick reference, section 5). Members that nobody knows do not matter.

use serde_json::Value;

use super::super::editor::edition::{Edition, Method};

/// What a value has to be.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Any,
    Text,
    Number,
    Flag,
    /// A text that parses as a URL.
    Url,
    /// A text that is one of these.
    OneOf(&'static [&'static str]),
    List(&'static Shape),
    /// Members that must be there, and those that may.
    Members(&'static [(&'static str, Shape)], &'static [(&'static str, Shape)]),
}
use Shape::{Any, Flag, List, Members, Number, OneOf, Text, Url};

const RANGE: Shape =
    Members(&[("startLine", Number), ("startCharacter", Number), ("endLine", Number), ("endCharacter", Number)], &[]);
const DIAGNOSTIC: Shape = Members(
    &[
        ("range", RANGE),
        ("severity", OneOf(&["error", "warning", "info", "hint"])),
        ("description", Text),
        ("lineContent", Text),
        ("startOffset", Number),
        ("endOffset", Number),
    ],
    &[],
);
const ENTRY: Shape = Members(&[("uri", Url), ("diagnostics", List(&DIAGNOSTIC))], &[]);
const MESSAGE: Shape = Members(&[("message", Text)], &[]);
const POSITION: Shape = Members(&[("line", Number), ("col", Number)], &[]);
const SELECTION: Shape = Members(&[("range", RANGE), ("content", Text)], &[]);
const ERROR: Shape = Members(&[("code", Number), ("message", Text)], &[]);

/// Whether a method's result is one that can be used.
pub fn is_result(edition: Edition, method: Method, result: &Value, strict: bool) -> bool {
    let shape = match (edition, method) {
        (Edition::Cli, Method::Ping) => MESSAGE,
        (Edition::Cli, Method::Authenticate) => Members(&[("authenticated", Flag)], &[]),
        (Edition::Cli, Method::ReadFile) => Members(
            &[("success", Flag)],
            &[("content", Text), ("message", Text), ("encoding", Text), ("isDirty", Flag)],
        ),
        (Edition::Cli, Method::EditFile) => Members(&[("success", Flag)], &[("message", Text)]),
        (Edition::Cli, Method::GetDiagnostics) => Members(&[("entries", List(&ENTRY))], &[]),
        (Edition::Cli, Method::OpenUri) => Members(&[("success", Flag)], &[("message", Text)]),
        (Edition::Guide, Method::ReadFile) => Members(&[("content", Text)], &[]),
        (Edition::Guide, Method::EditFile | Method::OpenUri) => Members(&[("success", Flag)], &[]),
        (Edition::Guide, Method::GetDiagnostics) => List(&Any),
        (Edition::Guide, Method::Ping | Method::Authenticate) => Any,
    };
    fits(shape, result, strict)
}

/// Whether an error is one that can be told.
pub fn is_error(error: &Value) -> bool {
    fits(ERROR, error, false)
}

/// Whether there is such a notification, and its data can be used.
pub fn is_notification(edition: Edition, name: &str, data: &Value, strict: bool) -> bool {
    let shape = match (edition, name) {
        (Edition::Cli, "selectionDidChange") => Members(&[("uri", Url), ("selections", List(&SELECTION))], &[]),
        (Edition::Cli, "visibleFilesDidChange") => Members(&[("uris", List(&Url))], &[]),
        (Edition::Cli, "pluginMetadata") => Members(&[("version", Text)], &[("pluginDirectory", Text)]),
        (Edition::Cli, "userSentMessage" | "appendToPrompt") => MESSAGE,
        (Edition::Guide, "selectionChanged") => Members(&[("path", Text), ("start", POSITION), ("end", POSITION)], &[]),
        (Edition::Guide, "visibleFilesChanged") => Members(&[("files", List(&Text))], &[]),
        _ => return false,
    };
    fits(shape, data, strict)
}

/// Whether there is a notification of this name.
pub fn is_topic(edition: Edition, name: &str) -> bool {
    use super::super::editor::edition::NotificationKind;
    let all = [
        NotificationKind::Selection,
        NotificationKind::VisibleFiles,
        NotificationKind::Message,
        NotificationKind::Prompt,
        NotificationKind::Metadata,
    ];
    all.iter().any(|topic| topic.name(edition) == Some(name))
}

/// `strict` allows no members but those that are known, which is wrong.
fn fits(shape: Shape, value: &Value, strict: bool) -> bool {
    match shape {
        Any => true,
        Text => value.is_string(),
        Number => value.is_number(),
        Flag => value.is_boolean(),
        Url => value.as_str().is_some_and(is_url),
        OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        List(item) => value.as_array().is_some_and(|items| items.iter().all(|i| fits(*item, i, strict))),
        Members(needed, known) => value.as_object().is_some_and(|members| {
            let fit = |(key, shape): &(&str, Shape)| members.get(*key).is_none_or(|v| fits(*shape, v, strict));
            let is_known = |key: &str| needed.iter().chain(known).any(|(known, _)| *known == key);
            needed.iter().all(|(key, _)| members.contains_key(*key))
                && needed.iter().chain(known).all(fit)
                && (!strict || members.keys().all(|key| is_known(key)))
        }),
    }
}

/// Whether a text has a scheme, which is what makes it an absolute URL.
fn is_url(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_member_of_another_type_spoils_a_result_and_one_that_nobody_knows_does_not() {
        let read = |result| is_result(Edition::Cli, Method::ReadFile, &result, false);
        assert!(read(json!({"success": true, "content": "x", "extra": 1})));
        assert!(read(json!({"success": false})));
        assert!(!read(json!({"content": "x"})));
        assert!(!read(json!({"success": true, "content": 1})));
        assert!(!read(json!("x")));
        assert!(is_result(Edition::Guide, Method::GetDiagnostics, &json!([1, {}]), false));
        assert!(!is_result(Edition::Guide, Method::GetDiagnostics, &json!({"entries": []}), false));
    }

    #[test]
    fn uris_have_a_scheme() {
        let files = |uri: &str| is_notification(Edition::Cli, "visibleFilesDidChange", &json!({"uris": [uri]}), false);
        assert!(files("file:///a%20b"));
        assert!(!files("/a"));
        assert!(!files(""));
    }

    #[test]
    fn notifications_of_the_other_edition_are_unknown() {
        let data = json!({"files": ["/a"]});
        assert!(is_notification(Edition::Guide, "visibleFilesChanged", &data, false));
        assert!(!is_notification(Edition::Cli, "visibleFilesChanged", &data, false));
    }
}
