//! What a message of the editor says to a client.

use serde_json::Value;

use crate::protocol::amp::envelope;

use super::super::editor::edition::{Edition, Method};
use super::quirks::{Effect, Quirks, Switch, Trigger};
use super::shapes;

/// What a message is.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// An answer to the request of this id.
    Answer(String, Outcome),
    /// Notifications: names and data.
    Notifications(Vec<(String, Value)>),
    /// An answer that nobody waits for.
    Unasked,
    /// Nothing that can be used; this is what would upset a fragile client.
    Unusable(Trigger),
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// What the method gave.
    Result(Value),
    /// The editor's error.
    Error(Value),
    /// An answer, but to another method or without a result: an error all the same (docs/amp.md, Messages).
    NoResult,
}

/// Reads messages.
pub struct Reader<'a> {
    /// The edition.
    pub edition: Edition,
    /// How the reader differs.
    pub quirks: &'a Quirks,
}

impl Reader<'_> {
    /// Reads a message. `waiting` gives the id under which a request waits for the answer with an id, and its method.
    pub fn read(&self, mut bytes: Vec<u8>, waiting: impl Fn(&str) -> Option<(String, Method)>) -> Message {
        let change = |effect| if let Effect::Incoming(change) = effect { Some(change) } else { None };
        self.quirks.rewrite(&mut bytes, change);
        if self.quirks.has(Switch::OnlyCompact) && !is_compact(&bytes) {
            return Message::Unusable(Trigger::BadJson);
        }
        let json: Value = match serde_json::from_slice(&bytes) {
            Ok(json) => json,
            Err(_) if is_deep(&bytes) => return Message::Unusable(Trigger::DeepJson),
            Err(_) => return Message::Unusable(Trigger::BadJson),
        };
        if self.quirks.has(Switch::Strict) && json.as_object().is_some_and(|keys| keys.len() > 1) {
            return Message::Unusable(Trigger::BadEnvelope);
        }
        if let Some(response) = envelope::response(self.edition.id(), &json) {
            let id = match response.id {
                Some(Value::String(id)) => id.clone(),
                Some(Value::Number(id)) if self.quirks.has(Switch::NumericIds) => id.to_string(),
                _ => return Message::Unasked,
            };
            let Some((id, method)) = waiting(&id) else { return Message::Unasked };
            return match self.outcome(method, &json["serverResponse"]) {
                Some(outcome) => Message::Answer(id, outcome),
                None => Message::Unusable(Trigger::WrongTypes),
            };
        }
        match envelope::notifications(self.edition.id(), &json) {
            Some(notifications) => self.notifications(&notifications),
            None => Message::Unusable(Trigger::BadEnvelope),
        }
    }

    fn notifications(&self, notifications: &[(&str, &Value)]) -> Message {
        if !notifications.iter().any(|(name, _)| shapes::is_topic(self.edition, name)) {
            return Message::Unusable(Trigger::UnknownNotification);
        }
        let strict = self.quirks.has(Switch::Strict);
        let usable: Vec<(String, Value)> = notifications
            .iter()
            .filter(|(name, data)| shapes::is_notification(self.edition, name, data, strict))
            .map(|(name, data)| ((*name).to_owned(), (*data).clone()))
            .collect();
        if usable.is_empty() { Message::Unusable(Trigger::WrongTypes) } else { Message::Notifications(usable) }
    }

    /// What a response says; none where a member has a type that makes it unreadable.
    fn outcome(&self, method: Method, response: &Value) -> Option<Outcome> {
        let key = if self.edition == Edition::Guide { "result" } else { method.name() };
        let mut result = response.get(key);
        let strict = self.quirks.has(Switch::Strict);
        if strict && response.as_object().is_some_and(|keys| keys.len() > 2) {
            return None;
        }
        if self.quirks.has(Switch::OtherMethods) && result.is_none() {
            result = response
                .as_object()
                .and_then(|keys| keys.iter().find(|(key, _)| !matches!(key.as_str(), "id" | "error")).map(|(_, v)| v));
            if let Some(result) = result {
                return Some(Outcome::Result(result.clone()));
            }
        }
        match (response.get("error"), result) {
            (Some(error), _) if !error.is_null() => shapes::is_error(error).then(|| Outcome::Error(error.clone())),
            (_, None | Some(Value::Null | Value::Bool(false))) => Some(Outcome::NoResult),
            (_, Some(result)) => {
                let lax = self.quirks.has(Switch::WrongTypes);
                let usable = lax || shapes::is_result(self.edition, method, result, strict);
                usable.then(|| Outcome::Result(result.clone()))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(edition: Edition, method: Method, text: &str) -> Message {
        let waiting = |id: &str| (id == "1").then(|| (id.to_owned(), method));
        Reader { edition, quirks: &Quirks::default() }.read(text.into(), waiting)
    }

    fn read_cli(message: &Value) -> Message {
        read(Edition::Cli, Method::Ping, &message.to_string())
    }

    fn answer(outcome: Outcome) -> Message {
        Message::Answer("1".to_owned(), outcome)
    }

    #[test]
    fn an_answer_is_a_result_an_error_or_neither() {
        let result = json!({"message": "m"});
        assert_eq!(
            read_cli(&json!({"serverResponse": {"id": "1", "ping": result}})),
            answer(Outcome::Result(result.clone()))
        );
        let error = json!({"code": -1, "message": "no"});
        assert_eq!(
            read_cli(&json!({"serverResponse": {"id": "1", "error": error}})),
            answer(Outcome::Error(error.clone()))
        );
        assert_eq!(read_cli(&json!({"serverResponse": {"id": "1"}})), answer(Outcome::NoResult));
        assert_eq!(read_cli(&json!({"serverResponse": {"id": "1", "readFile": {}}})), answer(Outcome::NoResult));
        let guide = json!({"serverResponse": {"id": "1", "result": {"content": ""}}}).to_string();
        let result = answer(Outcome::Result(json!({"content": ""})));
        assert_eq!(read(Edition::Guide, Method::ReadFile, &guide), result);
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
            assert_eq!(read_cli(&message), Message::Unusable(why), "{message}");
        }
        assert_eq!(read(Edition::Cli, Method::Ping, "{"), Message::Unusable(BadJson));
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        assert_eq!(read(Edition::Cli, Method::Ping, &deep), Message::Unusable(DeepJson));
        for id in [json!("2"), json!(1), json!(null)] {
            let message = json!({"serverResponse": {"id": id, "ping": {"message": "m"}}});
            assert_eq!(read_cli(&message), Message::Unasked, "{message}");
        }
    }

    #[test]
    fn notifications_have_names_and_data() {
        let data = json!({"message": "m", "extra": 1});
        assert_eq!(
            read_cli(&json!({"serverNotification": {"userSentMessage": data}})),
            Message::Notifications(vec![("userSentMessage".to_owned(), data.clone())])
        );
    }
}
