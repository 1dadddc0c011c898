//! What a message of the editor says to a client.

use serde_json::Value;

use crate::protocol::amp::envelope;

use super::super::editor::edition::{Edition, Method};
use super::shapes;

/// What a message is.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// An answer to the request of this id.
    Answer(String, Outcome),
    /// Notifications: names and data.
    Notifications(Vec<(String, Value)>),
    /// Nothing that can be used.
    Nothing,
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

/// Reads a message. `method` tells what the request of an id asked for, as long as it waits for an answer.
pub fn read(edition: Edition, bytes: &[u8], method: impl Fn(&str) -> Option<Method>) -> Message {
    let Ok(json) = serde_json::from_slice::<Value>(bytes) else { return Message::Nothing };
    if let Some(response) = envelope::response(edition.id(), &json) {
        let Some(id) = response.id.and_then(Value::as_str) else { return Message::Nothing };
        let Some(method) = method(id) else { return Message::Nothing };
        return match outcome(edition, method, &json["serverResponse"]) {
            Some(outcome) => Message::Answer(id.to_owned(), outcome),
            None => Message::Nothing,
        };
    }
    let notifications = envelope::notifications(edition.id(), &json).unwrap_or_default();
    let usable: Vec<(String, Value)> = notifications
        .iter()
        .filter(|(name, data)| shapes::is_notification(edition, name, data))
        .map(|(name, data)| ((*name).to_owned(), (*data).clone()))
        .collect();
    if usable.is_empty() { Message::Nothing } else { Message::Notifications(usable) }
}

/// What a response says; none where a member has a type that makes it unreadable.
fn outcome(edition: Edition, method: Method, response: &Value) -> Option<Outcome> {
    let key = if edition == Edition::Guide { "result" } else { method.name() };
    match (response.get("error"), response.get(key)) {
        (Some(error), _) if !error.is_null() => shapes::is_error(error).then(|| Outcome::Error(error.clone())),
        (_, None | Some(Value::Null | Value::Bool(false))) => Some(Outcome::NoResult),
        (_, Some(result)) => shapes::is_result(edition, method, result).then(|| Outcome::Result(result.clone())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_cli(message: Value) -> Message {
        read(Edition::Cli, message.to_string().as_bytes(), |id| (id == "1").then_some(Method::Ping))
    }

    fn answer(outcome: Outcome) -> Message {
        Message::Answer("1".to_owned(), outcome)
    }

    #[test]
    fn an_answer_is_a_result_an_error_or_neither() {
        let result = json!({"message": "m"});
        assert_eq!(
            read_cli(json!({"serverResponse": {"id": "1", "ping": result}})),
            answer(Outcome::Result(result.clone()))
        );
        let error = json!({"code": -1, "message": "no"});
        assert_eq!(
            read_cli(json!({"serverResponse": {"id": "1", "error": error}})),
            answer(Outcome::Error(error.clone()))
        );
        assert_eq!(read_cli(json!({"serverResponse": {"id": "1"}})), answer(Outcome::NoResult));
        assert_eq!(read_cli(json!({"serverResponse": {"id": "1", "readFile": {}}})), answer(Outcome::NoResult));
        let guide = json!({"serverResponse": {"id": "1", "result": {"content": ""}}}).to_string();
        assert_eq!(
            read(Edition::Guide, guide.as_bytes(), |_| Some(Method::ReadFile)),
            answer(Outcome::Result(json!({"content": ""})))
        );
    }

    #[test]
    fn what_cannot_be_used_is_nothing() {
        for message in [
            json!({"serverResponse": {"id": 1, "ping": {"message": "m"}}}),
            json!({"serverResponse": {"id": "2", "ping": {"message": "m"}}}),
            json!({"serverResponse": {"id": "1", "ping": {"message": 1}}}),
            json!({"serverResponse": {"id": "1", "error": {"code": "x", "message": "m"}}}),
            json!({"serverResponse": []}),
            json!({"serverNotification": {"unheardOf": {}}}),
            json!({"serverNotification": {"userSentMessage": {"message": 1}}}),
            json!([]),
        ] {
            assert_eq!(read_cli(message.clone()), Message::Nothing, "{message}");
        }
        assert_eq!(read(Edition::Cli, b"{", |_| None), Message::Nothing);
    }

    #[test]
    fn notifications_have_names_and_data() {
        let data = json!({"message": "m", "extra": 1});
        assert_eq!(
            read_cli(json!({"serverNotification": {"userSentMessage": data}})),
            Message::Notifications(vec![("userSentMessage".to_owned(), data.clone())])
        );
    }
}
