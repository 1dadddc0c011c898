//! Which resources and messages a provider is asked about (the document, section "Meta").

use regex::Regex;
use serde_json::Value;

use super::deviations::Deviations;

/// What a client can do otherwise where selectors say whether a provider is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectorSwitch {
    /// A provider without selectors is never asked.
    NeedsSelectors,
    /// A selector without conditions matches nothing.
    NeedsCondition,
    /// A selector with a path matches nothing.
    NeverByPath,
    /// The path of selectors is not looked at.
    IgnoresPath,
    /// The port is taken for a part of the host.
    PortInHost,
    /// A glob that begins with `**/` matches nothing at the top.
    ParentNeeded,
    /// A glob that ends with `/**` matches one level.
    OneBelow,
    /// A star matches slashes, too.
    StarMatchesSlash,
    /// A glob matches a part of a path.
    MatchesParts,
    /// The slash at the beginning of a path takes part in the match.
    KeepsSlash,
    /// A selector with a text matches nothing.
    NeverByContent,
    /// The text of selectors is not looked at.
    IgnoresContent,
    /// The text of selectors matches in any case.
    ContentByCase,
    /// One condition of a selector is enough.
    AnyCondition,
    /// Only the first selector counts.
    OnlyFirst,
    /// An empty list of selectors matches every resource.
    EmptyMatches,
    /// A provider without the annotations feature is asked for annotations.
    AsksWithoutFeature,
}

/// Whether a provider with this metadata is asked for annotations of a resource.
pub fn wants_resource(meta: &Value, uri: &str, content: &str, deviations: &Deviations) -> bool {
    let Some(feature) = meta.get("annotations").filter(|feature| feature.is_object()) else {
        return deviations.has(SelectorSwitch::AsksWithoutFeature);
    };
    let Some(selectors) = feature.get("selectors").and_then(Value::as_array) else {
        return !deviations.has(SelectorSwitch::NeedsSelectors);
    };
    if selectors.is_empty() && deviations.has(SelectorSwitch::EmptyMatches) {
        return true;
    }
    let many = if deviations.has(SelectorSwitch::OnlyFirst) { 1 } else { usize::MAX };
    selectors.iter().take(many).any(|selector| matches(selector, uri, content, deviations))
}

/// Whether a provider with this metadata is asked for items for a message.
pub fn wants_message(meta: &Value, message: &str) -> bool {
    let selectors = meta.get("items").and_then(|items| items.get("messageSelectors")).and_then(Value::as_array);
    let Some(selectors) = selectors else { return true };
    selectors.iter().filter_map(|selector| selector.get("pattern")?.as_str()).any(|pattern| {
        // An expression that only others understand may match.
        Regex::new(pattern).map_or(true, |pattern| pattern.is_match(message))
    })
}

/// Whether a resource satisfies a selector: all of its conditions.
fn matches(selector: &Value, uri: &str, content: &str, deviations: &Deviations) -> bool {
    let condition = |key: &str| selector.get(key).and_then(Value::as_str);
    let path = condition("path").map(|glob| path_matches(glob, uri, deviations));
    let text = condition("contentContains").map(|text| content_matches(text, content, deviations));
    if path.is_none() && text.is_none() {
        return !deviations.has(SelectorSwitch::NeedsCondition);
    }
    let mut conditions = [path, text].into_iter().flatten();
    if deviations.has(SelectorSwitch::AnyCondition) { conditions.any(|met| met) } else { conditions.all(|met| met) }
}

fn content_matches(text: &str, content: &str, deviations: &Deviations) -> bool {
    match () {
        () if deviations.has(SelectorSwitch::IgnoresContent) => true,
        () if deviations.has(SelectorSwitch::NeverByContent) => false,
        () if deviations.has(SelectorSwitch::ContentByCase) => content.to_lowercase().contains(&text.to_lowercase()),
        () => content.contains(text),
    }
}

/// Whether a glob matches the path of a URI. The published client leaves the host out, which the document has before the
/// path; a resource that matches in either way is asked about.
fn path_matches(glob: &str, uri: &str, deviations: &Deviations) -> bool {
    if deviations.has(SelectorSwitch::IgnoresPath) || deviations.has(SelectorSwitch::NeverByPath) {
        return deviations.has(SelectorSwitch::IgnoresPath);
    }
    let (authority, path) = authority_and_path(uri);
    let host = if deviations.has(SelectorSwitch::PortInHost) { authority } else { host(authority) };
    // Two stars at the beginning match the slash as well.
    let slash = if deviations.has(SelectorSwitch::KeepsSlash) && !glob.starts_with("**") { "/" } else { "" };
    let Ok(expression) = Regex::new(&expression(glob.trim_start_matches('/'), deviations)) else { return false };
    expression.is_match(&format!("{slash}{path}")) || !host.is_empty() && expression.is_match(&format!("{host}/{path}"))
}

/// The host of an authority (RFC 3986, section 3.2), without user and port.
fn host(authority: &str) -> &str {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

/// The authority of a URI, and its path without the slash at its beginning.
fn authority_and_path(uri: &str) -> (&str, &str) {
    let rest = uri.split_once(':').map_or(uri, |(_, rest)| rest);
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    (authority, path.trim_start_matches('/'))
}

/// A glob as a regular expression.
fn expression(glob: &str, deviations: &Deviations) -> String {
    let star = if deviations.has(SelectorSwitch::StarMatchesSlash) { ".*" } else { "[^/]*" };
    let parent = if deviations.has(SelectorSwitch::ParentNeeded) { "(?:[^/]+/)+" } else { "(?:[^/]+/)*" };
    let below = if deviations.has(SelectorSwitch::OneBelow) { "[^/]+" } else { ".*" };
    let mut found = String::new();
    let mut rest = glob;
    let mut braces = 0;
    while let Some(c) = rest.chars().next() {
        let (taken, part) = match c {
            '*' if rest.starts_with("**/") => (3, parent.to_owned()),
            '*' if rest == "**" && found.ends_with('/') => (2, below.to_owned()),
            '*' if rest.starts_with("**") => (2, ".*".to_owned()),
            '*' => (1, star.to_owned()),
            '?' if rest.starts_with("?(") => (1, String::new()),
            '?' => (1, "[^/]".to_owned()),
            '{' => {
                braces += 1;
                (1, "(?:".to_owned())
            }
            '}' if braces > 0 => {
                braces -= 1;
                (1, ")".to_owned())
            }
            ',' if braces > 0 => (1, "|".to_owned()),
            '(' => (1, "(?:".to_owned()),
            ')' => (1, if optional(glob, glob.len() - rest.len()) { ")?" } else { ")" }.to_owned()),
            '|' | '[' | ']' | '-' => (1, c.to_string()),
            other => (other.len_utf8(), regex::escape(other.encode_utf8(&mut [0; 4]))),
        };
        found += &part;
        rest = &rest[taken..];
    }
    if deviations.has(SelectorSwitch::MatchesParts) { found } else { format!("^{found}$") }
}

/// Whether the group that ends here began with `?(`.
fn optional(glob: &str, end: usize) -> bool {
    let mut depth = 0;
    for (at, c) in glob[..end].char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => return glob[..at].ends_with('?'),
            '(' => depth -= 1,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(path: &str, uri: &str) -> bool {
        let meta = json!({"annotations": {"selectors": [{"path": path}]}});
        wants_resource(&meta, uri, "content", &Deviations::default())
    }

    #[test]
    fn globs_match_paths_as_the_document_says() {
        for (glob, uri) in [
            ("**/*.js", "file:///a.js"),
            ("**/*.js", "file:///a/b/c.js"),
            ("/a/b.js", "file:///a/b.js"),
            ("a/b.js", "file:///a/b.js"),
            ("a/**", "file:///a/b/c"),
            ("example.com/a/*.js", "https://example.com/a/b.js?c"),
            ("example.com/a/*.js", "https://me@example.com:8080/a/b.js"),
            ("a/*.js", "https://example.com/a/b.js"),
            ("**/*.(story|stories).(t|j)s?(x)", "file:///a.stories.tsx"),
            ("**/*.(story|stories).(t|j)s?(x)", "file:///a/a.story.js"),
            ("*.{js,ts}", "file:///a.ts"),
            ("**", "untitled:a"),
        ] {
            assert!(asked(glob, uri), "{glob} {uri}");
        }
        for (glob, uri) in [
            ("*.js", "file:///a/b.js"),
            ("example.com:8080/a/*.js", "https://example.com:8080/a/b.js"),
            ("a/b.js", "file:///x/a/b.js"),
            ("a/b", "file:///a/b.js"),
            ("a.js", "file:///abjs"),
            ("**/*.(t|j)s", "file:///a.tsx"),
        ] {
            assert!(!asked(glob, uri), "{glob} {uri}");
        }
    }

    #[test]
    fn all_conditions_of_one_selector_are_enough() {
        let wants = |selectors: Value, content: &str| {
            let meta = json!({"annotations": {"selectors": selectors}});
            wants_resource(&meta, "file:///a.js", content, &Deviations::default())
        };
        let both = json!([{"path": "*.js", "contentContains": "(x"}, {"path": "*.ts"}]);
        assert!(wants(both.clone(), "a (x b"));
        assert!(!wants(both.clone(), "a (X b"));
        assert!(!wants(json!([]), ""));
        assert!(wants(json!([{}]), ""));
        assert!(wants_resource(&json!({"annotations": {}}), "a:b", "", &Deviations::default()));
        assert!(!wants_resource(&json!({}), "a:b", "", &Deviations::default()));
    }

    #[test]
    fn messages_are_matched_by_any_pattern() {
        let meta = json!({"items": {"messageSelectors": [{"pattern": "^a"}, {"pattern": "b$"}]}});
        assert!(wants_message(&meta, "ab") && wants_message(&meta, "xb") && !wants_message(&meta, "xa"));
        assert!(wants_message(&json!({}), "x"));
    }
}
