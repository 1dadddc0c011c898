//! What a message of the editor means to a client, and which messages a client takes: one with a wrong type anywhere
//! is dropped as a whole (docs/amp.md, Messages; quick reference, section 5). Unknown members do not matter.

use JsonShape::{Any, Flag, List, Members, Number, OneOf, Text, Url};
use serde_json::Value;

use crate::protocol::amp::editions::{AmpEdition, DiagnosticsForm, Method, NotificationKind, PlaceForm, ResultForm};
use crate::protocol::amp::envelope;

use super::deviations::{AgentEffect, Deviations};
use super::pending_calls::CallSwitch;
use super::run::Trigger;

/// What a client can do otherwise where it reads messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageSwitch {
    /// A response under any name is taken.
    OtherMethods,
    /// The types of a result's members do not matter.
    WrongTypes,
    /// Messages with white space between their tokens are passed over.
    OnlyCompact,
    /// Messages with keys that it does not know are passed over.
    RefusesExtraKeys,
}

/// A message of the editor, read.
#[derive(Clone, Debug, PartialEq)]
pub enum EditorMessage {
    /// A response to the request of this id.
    Response(String, ResponseOutcome),
    /// Notifications: names and data.
    Notifications(Vec<(String, Value)>),
    /// A response that nobody waits for.
    Unexpected,
    /// A message that cannot be used; the trigger is what a fragile client would fail at.
    Unusable(Trigger),
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum ResponseOutcome {
    /// The result of the method.
    Result(Value),
    /// The editor's error.
    Error(Value),
    /// A response, but to another method or without a result: an error all the same (docs/amp.md, Messages).
    NoResult,
}

/// Reads messages.
pub struct MessageReader<'a> {
    /// The edition.
    pub edition: &'a AmpEdition,
    /// How the reader differs.
    pub deviations: &'a Deviations,
}

impl MessageReader<'_> {
    /// Reads a message. `waiting` gives the id under which a request waits for the response with an id, and its method.
    pub fn read(&self, mut bytes: Vec<u8>, pending: impl Fn(&str) -> Option<(String, Method)>) -> EditorMessage {
        let change = |effect| if let AgentEffect::Incoming(change) = effect { Some(change) } else { None };
        self.deviations.rewrite(&mut bytes, change);
        if self.deviations.has(MessageSwitch::OnlyCompact) && !is_compact(&bytes) {
            return EditorMessage::Unusable(Trigger::BadJson);
        }
        let json: Value = match serde_json::from_slice(&bytes) {
            Ok(json) => json,
            Err(_) if is_deep(&bytes) => return EditorMessage::Unusable(Trigger::DeepJson),
            Err(_) => return EditorMessage::Unusable(Trigger::BadJson),
        };
        if self.deviations.has(MessageSwitch::RefusesExtraKeys) && json.as_object().is_some_and(|keys| keys.len() > 1) {
            return EditorMessage::Unusable(Trigger::BadEnvelope);
        }
        if let Some(response) = envelope::response(self.edition, &json) {
            let id = match response.id {
                Some(Value::String(id)) => id.clone(),
                Some(Value::Number(id)) if self.deviations.has(CallSwitch::NumericIds) => id.to_string(),
                _ => return EditorMessage::Unexpected,
            };
            let Some((id, method)) = pending(&id) else { return EditorMessage::Unexpected };
            return match self.outcome(method, &json["serverResponse"]) {
                Some(outcome) => EditorMessage::Response(id, outcome),
                None => EditorMessage::Unusable(Trigger::WrongTypes),
            };
        }
        match envelope::notifications(self.edition, &json) {
            Some(notifications) => self.notifications(&notifications),
            None => EditorMessage::Unusable(Trigger::BadEnvelope),
        }
    }

    fn notifications(&self, notifications: &[(&str, &Value)]) -> EditorMessage {
        if !notifications.iter().any(|(name, _)| self.edition.notification(name).is_some()) {
            return EditorMessage::Unusable(Trigger::UnknownNotification);
        }
        let strict = self.deviations.has(MessageSwitch::RefusesExtraKeys);
        let usable: Vec<(String, Value)> = notifications
            .iter()
            .filter(|(name, data)| is_notification(self.edition, name, data, strict))
            .map(|(name, data)| ((*name).to_owned(), (*data).clone()))
            .collect();
        if usable.is_empty() {
            EditorMessage::Unusable(Trigger::WrongTypes)
        } else {
            EditorMessage::Notifications(usable)
        }
    }

    /// The outcome in a response; none where a member has a type that makes it unreadable.
    fn outcome(&self, method: Method, response: &Value) -> Option<ResponseOutcome> {
        let key = self.edition.envelope.result_key(self.edition.methods.of(method).unwrap_or_default());
        let mut result = response.get(key);
        let strict = self.deviations.has(MessageSwitch::RefusesExtraKeys);
        if strict && response.as_object().is_some_and(|keys| keys.len() > 2) {
            return None;
        }
        if self.deviations.has(MessageSwitch::OtherMethods) && result.is_none() {
            result = response
                .as_object()
                .and_then(|keys| keys.iter().find(|(key, _)| !matches!(key.as_str(), "id" | "error")).map(|(_, v)| v));
            if let Some(result) = result {
                return Some(ResponseOutcome::Result(result.clone()));
            }
        }
        match (response.get("error"), result) {
            (Some(error), _) if !error.is_null() => is_error(error).then(|| ResponseOutcome::Error(error.clone())),
            (_, None | Some(Value::Null | Value::Bool(false))) => Some(ResponseOutcome::NoResult),
            (_, Some(result)) => {
                let lax = self.deviations.has(MessageSwitch::WrongTypes);
                let usable = lax || is_result(self.edition, method, result, strict);
                usable.then(|| ResponseOutcome::Result(result.clone()))
            }
        }
    }
}

/// Whether a message begins as one without white space does, with the kind of message.
fn is_compact(bytes: &[u8]) -> bool {
    bytes.starts_with(b"{\"server") && !bytes.windows(6).any(|w| w == b"\"id\": ")
}

/// Whether brackets are nested more deeply than anybody needs.
fn is_deep(bytes: &[u8]) -> bool {
    let mut depth = 0u32;
    bytes.iter().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > 100
    })
}

/// The type that a JSON value has to have.
#[derive(Clone, Copy, Debug)]
enum JsonShape {
    Any,
    Text,
    Number,
    Flag,
    /// A text that parses as a URL.
    Url,
    /// A text that is one of these.
    OneOf(&'static [&'static str]),
    List(&'static JsonShape),
    /// Members that must be there, and those that may.
    Members(&'static [(&'static str, JsonShape)], &'static [(&'static str, JsonShape)]),
}

const RANGE: JsonShape =
    Members(&[("startLine", Number), ("startCharacter", Number), ("endLine", Number), ("endCharacter", Number)], &[]);
const DIAGNOSTIC: JsonShape = Members(
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
const ENTRY: JsonShape = Members(&[("uri", Url), ("diagnostics", List(&DIAGNOSTIC))], &[]);
const MESSAGE: JsonShape = Members(&[("message", Text)], &[]);
const POSITION: JsonShape = Members(&[("line", Number), ("col", Number)], &[]);
const SELECTION: JsonShape = Members(&[("range", RANGE), ("content", Text)], &[]);
const ERROR: JsonShape = Members(&[("code", Number), ("message", Text)], &[]);

/// Whether a method's result is one that can be used.
pub fn is_result(edition: &AmpEdition, method: Method, result: &Value, strict: bool) -> bool {
    let shape = match method {
        Method::Ping => MESSAGE,
        Method::Authenticate => Members(&[("authenticated", Flag)], &[]),
        Method::GetDiagnostics => match edition.diagnostics {
            DiagnosticsForm::EntriesOfPath => Members(&[("entries", List(&ENTRY))], &[]),
            DiagnosticsForm::AllItems => List(&Any),
        },
        Method::ReadFile => match edition.results {
            ResultForm::Flagged => Members(
                &[("success", Flag)],
                &[("content", Text), ("message", Text), ("encoding", Text), ("isDirty", Flag)],
            ),
            ResultForm::Bare => Members(&[("content", Text)], &[]),
        },
        Method::EditFile | Method::OpenUri => match edition.results {
            ResultForm::Flagged => Members(&[("success", Flag)], &[("message", Text)]),
            ResultForm::Bare => Members(&[("success", Flag)], &[]),
        },
    };
    fits(shape, result, strict)
}

/// Whether an error can be reported.
pub fn is_error(error: &Value) -> bool {
    fits(ERROR, error, false)
}

/// Whether there is such a notification, and its data can be used.
pub fn is_notification(edition: &AmpEdition, name: &str, data: &Value, strict: bool) -> bool {
    let Some(kind) = edition.notification(name) else { return false };
    let shape = match (kind, edition.places) {
        (NotificationKind::Selection, PlaceForm::Ranges) => {
            Members(&[("uri", Url), ("selections", List(&SELECTION))], &[])
        }
        (NotificationKind::Selection, PlaceForm::Positions) => {
            Members(&[("path", Text), ("start", POSITION), ("end", POSITION)], &[])
        }
        (NotificationKind::VisibleFiles, PlaceForm::Ranges) => Members(&[("uris", List(&Url))], &[]),
        (NotificationKind::VisibleFiles, PlaceForm::Positions) => Members(&[("files", List(&Text))], &[]),
        (NotificationKind::Metadata, _) => Members(&[("version", Text)], &[("pluginDirectory", Text)]),
        (NotificationKind::Message | NotificationKind::Prompt, _) => MESSAGE,
    };
    fits(shape, data, strict)
}

/// `strict` allows no members but those that are known, which is wrong.
fn fits(shape: JsonShape, value: &Value, strict: bool) -> bool {
    match shape {
        Any => true,
        Text => value.is_string(),
        Number => value.is_number(),
        Flag => value.is_boolean(),
        Url => value.as_str().is_some_and(is_url),
        OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        List(item) => value.as_array().is_some_and(|items| items.iter().all(|i| fits(*item, i, strict))),
        Members(needed, known) => value.as_object().is_some_and(|members| {
            let fit = |(key, shape): &(&str, JsonShape)| members.get(*key).is_none_or(|v| fits(*shape, v, strict));
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
    use crate::protocol::amp::editions::{CLI, GUIDE};

    fn read(edition: &AmpEdition, method: Method, text: &str) -> EditorMessage {
        let pending = |id: &str| (id == "1").then(|| (id.to_owned(), method));
        MessageReader { edition, deviations: &Deviations::default() }.read(text.into(), pending)
    }

    fn read_cli(message: &Value) -> EditorMessage {
        read(&CLI, Method::Ping, &message.to_string())
    }

    fn response(outcome: ResponseOutcome) -> EditorMessage {
        EditorMessage::Response("1".to_owned(), outcome)
    }

    #[test]
    fn an_answer_is_a_result_an_error_or_neither() {
        let result = json!({"message": "m"});
        assert_eq!(
            read_cli(&json!({"serverResponse": {"id": "1", "ping": result}})),
            response(ResponseOutcome::Result(result.clone()))
        );
        let error = json!({"code": -1, "message": "no"});
        assert_eq!(
            read_cli(&json!({"serverResponse": {"id": "1", "error": error}})),
            response(ResponseOutcome::Error(error.clone()))
        );
        assert_eq!(read_cli(&json!({"serverResponse": {"id": "1"}})), response(ResponseOutcome::NoResult));
        assert_eq!(
            read_cli(&json!({"serverResponse": {"id": "1", "readFile": {}}})),
            response(ResponseOutcome::NoResult)
        );
        let guide = json!({"serverResponse": {"id": "1", "result": {"content": ""}}}).to_string();
        let result = response(ResponseOutcome::Result(json!({"content": ""})));
        assert_eq!(read(&GUIDE, Method::ReadFile, &guide), result);
    }

    #[test]
    fn what_cannot_be_used_is_passed_over() {
        use Trigger::{BadEnvelope, BadJson, DeepJson, UnknownNotification, WrongTypes};
        for (message, why) in [
            (json!({"serverResponse": {"id": "1", "ping": {"message": 1}}}), WrongTypes),
            (json!({"serverResponse": {"id": "1", "error": {"code": "x", "message": "m"}}}), WrongTypes),
            (json!({"serverNotification": {"userSentMessage": {"message": 1}}}), WrongTypes),
            (json!({"serverNotification": {"unheardOf": {}}}), UnknownNotification),
            (json!({"serverResponse": []}), BadEnvelope),
            (json!([]), BadEnvelope),
        ] {
            assert_eq!(read_cli(&message), EditorMessage::Unusable(why), "{message}");
        }
        assert_eq!(read(&CLI, Method::Ping, "{"), EditorMessage::Unusable(BadJson));
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        assert_eq!(read(&CLI, Method::Ping, &deep), EditorMessage::Unusable(DeepJson));
        for id in [json!("2"), json!(1), json!(null)] {
            let message = json!({"serverResponse": {"id": id, "ping": {"message": "m"}}});
            assert_eq!(read_cli(&message), EditorMessage::Unexpected, "{message}");
        }
    }

    #[test]
    fn notifications_have_names_and_data() {
        let data = json!({"message": "m", "extra": 1});
        assert_eq!(
            read_cli(&json!({"serverNotification": {"userSentMessage": data}})),
            EditorMessage::Notifications(vec![("userSentMessage".to_owned(), data.clone())])
        );
    }

    #[test]
    fn a_member_of_another_type_spoils_a_result_and_one_that_nobody_knows_does_not() {
        let read = |result| is_result(&CLI, Method::ReadFile, &result, false);
        assert!(read(json!({"success": true, "content": "x", "extra": 1})));
        assert!(read(json!({"success": false})));
        assert!(!read(json!({"content": "x"})));
        assert!(!read(json!({"success": true, "content": 1})));
        assert!(!read(json!("x")));
        assert!(is_result(&GUIDE, Method::GetDiagnostics, &json!([1, {}]), false));
        assert!(!is_result(&GUIDE, Method::GetDiagnostics, &json!({"entries": []}), false));
    }

    #[test]
    fn uris_have_a_scheme() {
        let files = |uri: &str| is_notification(&CLI, "visibleFilesDidChange", &json!({"uris": [uri]}), false);
        assert!(files("file:///a%20b"));
        assert!(!files("/a"));
        assert!(!files(""));
    }

    #[test]
    fn notifications_of_the_other_edition_are_unknown() {
        let data = json!({"files": ["/a"]});
        assert!(is_notification(&GUIDE, "visibleFilesChanged", &data, false));
        assert!(!is_notification(&CLI, "visibleFilesChanged", &data, false));
    }
}
