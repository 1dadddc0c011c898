//! The envelopes of both editions: what a message is, whatever it carries, and how to tell the requests of wirecert
//! itself.

use serde_json::{Map, Value, json};

use crate::protocol::{MessageSort, MessageSummary};
use crate::trace::{Direction, Event, EventKind, Message};

/// A client's request, as far as it is one.
pub struct Request<'a> {
    /// The id of the request; none where it has none.
    pub id: Option<&'a Value>,
    /// The method, if it names exactly one.
    pub method: Option<&'a str>,
    /// The method's parameters.
    pub params: Option<&'a Value>,
}

/// A server's response, as far as it is one.
pub struct Response<'a> {
    /// The id of the response; none where it has none.
    pub id: Option<&'a Value>,
    /// The key that names the method (edition `cli` only).
    pub method: Option<&'a str>,
    /// The result of the method.
    pub result: Option<&'a Value>,
    /// The error.
    pub error: Option<&'a Value>,
}

/// The request that a client's message is; none where it is no object with an object `clientRequest`.
pub fn request<'a>(edition: &str, message: &'a Value) -> Option<Request<'a>> {
    let envelope = message.get("clientRequest")?.as_object()?;
    let methods = if edition == "guide" {
        envelope.get("method").and_then(Value::as_object).map(|methods| methods.iter().collect()).unwrap_or_default()
    } else {
        envelope.iter().filter(|(key, _)| *key != "id").collect::<Vec<_>>()
    };
    let (method, params) = match methods[..] {
        [(method, params)] => (Some(method.as_str()), Some(params)),
        _ => (None, None),
    };
    Some(Request { id: envelope.get("id"), method, params })
}

/// The response that a server's message is; none where it is no object with an object `serverResponse`.
///
/// Edition `cli` names no key for the result: it is the one that is not `id` or `error`, a method that
/// is known before any other.
pub fn response<'a>(edition: &str, message: &'a Value) -> Option<Response<'a>> {
    let envelope = message.get("serverResponse")?.as_object()?;
    let (method, result) = if edition == "guide" {
        (None, envelope.get("result"))
    } else {
        method_key(envelope).map_or((None, None), |(key, value)| (Some(key), Some(value)))
    };
    Some(Response { id: envelope.get("id"), method, result, error: envelope.get("error") })
}

/// The error that answers a request which is not understood; none for what is no request with an id.
pub fn refusal(edition: &str, message: &Value) -> Option<Value> {
    let id = request(edition, message)?.id?;
    let error = json!({"code": METHOD_NOT_FOUND, "message": "there is no answer to this request"});
    Some(json!({"serverResponse": {"id": id, "error": error}}))
}

/// JSON-RPC's code for a method that there is not.
pub const METHOD_NOT_FOUND: i64 = -32601;

fn method_key(envelope: &Map<String, Value>) -> Option<(&str, &Value)> {
    let mut keys = envelope.iter().filter(|(key, _)| !matches!(key.as_str(), "id" | "error"));
    let known = METHODS.iter().find_map(|method| envelope.get_key_value(*method));
    known.or_else(|| keys.next()).map(|(key, value)| (key.as_str(), value))
}

/// The notifications in a server's message, name and data; none where it is no object with an object
/// `serverNotification`.
pub fn notifications<'a>(edition: &str, message: &'a Value) -> Option<Vec<(&'a str, &'a Value)>> {
    let envelope = message.get("serverNotification")?.as_object()?;
    let names = if edition == "guide" { envelope.get("method").and_then(Value::as_object) } else { Some(envelope) };
    let names = names.into_iter().flatten().filter(|(key, _)| *key != "id");
    Some(names.map(|(name, data)| (name.as_str(), data)).collect())
}

/// The methods of edition `cli`.
pub const METHODS: &[&str] = &["ping", "authenticate", "readFile", "editFile", "getDiagnostics", "openURI"];

/// The prefix of the ids of wirecert's own requests. Ids of scenarios never have it.
pub const PROBE: &str = "wirecert-";

/// Whether a message is a request of this kind, or the response to one. It is ordinary traffic for rules;
/// expectations must not see it, since no step of their scenario asked for it.
pub fn is_probe(message: &Value) -> bool {
    ["clientRequest", "serverResponse"]
        .iter()
        .filter_map(|envelope| message.get(envelope)?.get("id")?.as_str())
        .any(|id| id.starts_with(PROBE))
}

/// The summary of a message that is in one of the envelopes.
pub fn summarize<'a>(edition: &str, event: &'a Event) -> Option<MessageSummary<'a>> {
    let EventKind::Message(Message { json: Some(json), .. }) = &event.kind else { return None };
    if event.dir == Some(Direction::ToServer) {
        let request = request(edition, json)?;
        let summary =
            MessageSummary { id: request.id, ..MessageSummary::new(MessageSort::Request).carrying(request.params) };
        return Some(request.method.map_or(summary.clone(), |method| summary.named(method)));
    }
    if let Some(response) = response(edition, json) {
        let (sort, content) = match response.error {
            Some(error) => (MessageSort::Failure, Some(error)),
            None if failed(response.result) => (MessageSort::Failure, response.result),
            None => (MessageSort::Response, response.result),
        };
        let summary = MessageSummary { id: response.id, ..MessageSummary::new(sort).carrying(content) };
        let name = response.method.filter(|_| response.error.is_none());
        return Some(name.map_or(summary.clone(), |name| summary.named(name)));
    }
    let (name, data) = notifications(edition, json)?.into_iter().next()?;
    Some(MessageSummary::new(MessageSort::Notification).named(name).carrying(Some(data)))
}

/// Whether a result says of itself that it is none.
fn failed(result: Option<&Value>) -> bool {
    result.and_then(|result| result.get("success")) == Some(&Value::Bool(false))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_editions_give_method_and_parameters() {
        let message = json!({"clientRequest": {"id": "1", "readFile": {"path": "/a"}}});
        let request = super::request("cli", &message).unwrap();
        assert_eq!((request.method, request.params), (Some("readFile"), Some(&json!({"path": "/a"}))));
        let message = json!({"clientRequest": {"id": "1", "method": {"readFile": {"path": "/a"}}}});
        let request = super::request("guide", &message).unwrap();
        assert_eq!((request.method, request.params), (Some("readFile"), Some(&json!({"path": "/a"}))));
    }

    #[test]
    fn two_methods_are_none() {
        let message = json!({"clientRequest": {"id": "1", "ping": {}, "readFile": {}}});
        assert_eq!(request("cli", &message).unwrap().method, None);
    }

    #[test]
    fn the_result_is_under_the_methods_key_or_under_result() {
        let message = json!({"serverResponse": {"extra": 0, "id": "1", "ping": {"message": "m"}}});
        let response = super::response("cli", &message).unwrap();
        assert_eq!((response.method, response.result), (Some("ping"), Some(&json!({"message": "m"}))));
        let message = json!({"serverResponse": {"id": "1", "result": {"content": ""}}});
        assert_eq!(super::response("guide", &message).unwrap().result, Some(&json!({"content": ""})));
    }

    #[test]
    fn notifications_have_names_and_data() {
        let message = json!({"serverNotification": {"visibleFilesDidChange": {"uris": []}}});
        assert_eq!(notifications("cli", &message).unwrap(), [("visibleFilesDidChange", &json!({"uris": []}))]);
        let message = json!({"serverNotification": {"method": {"visibleFilesChanged": {"files": []}}}});
        assert_eq!(notifications("guide", &message).unwrap(), [("visibleFilesChanged", &json!({"files": []}))]);
        assert!(notifications("cli", &json!({"serverResponse": {}})).is_none());
    }

    #[test]
    fn a_probe_is_told_by_its_id_in_either_direction() {
        assert!(is_probe(&json!({"clientRequest": {"id": "wirecert-barrier-1", "ping": {}}})));
        assert!(is_probe(&json!({"serverResponse": {"id": "wirecert-barrier-1", "error": {}}})));
        assert!(!is_probe(&json!({"serverResponse": {"id": "1", "ping": {"message": "wirecert-"}}})));
        assert!(!is_probe(&json!(["wirecert-"])));
    }

    fn message_event(dir: Direction, json: serde_json::Value) -> Event {
        let message = Message { text: true, json: Some(json), payload: None, frames: 1 };
        Event {
            i: 0,
            t: 0,
            conn: Some("main".into()),
            dir: Some(dir),
            deliberate: None,
            kind: EventKind::Message(message),
        }
    }

    #[test]
    fn requests_answers_failures_and_notifications_are_told_apart() {
        let request_event =
            message_event(Direction::ToServer, json!({"clientRequest": {"id": "7", "ping": {"message": "m"}}}));
        let summary = summarize("cli", &request_event).unwrap();
        assert_eq!(
            (summary.sort, summary.name.as_deref(), summary.id),
            (MessageSort::Request, Some("ping"), Some(&json!("7")))
        );
        let response_event =
            message_event(Direction::ToClient, json!({"serverResponse": {"id": "7", "error": {"code": "C"}}}));
        let summary = summarize("cli", &response_event).unwrap();
        assert_eq!((summary.sort, summary.content.as_deref()), (MessageSort::Failure, Some(&json!({"code": "C"}))));
        let result = json!({"success": false, "message": "no such file"});
        let refused =
            message_event(Direction::ToClient, json!({"serverResponse": {"id": "8", "readFile": result.clone()}}));
        let summary = summarize("cli", &refused).unwrap();
        assert_eq!((summary.sort, summary.name.as_deref()), (MessageSort::Failure, Some("readFile")));
        assert_eq!(summary.content.as_deref(), Some(&result));
        let notification_event =
            message_event(Direction::ToClient, json!({"serverNotification": {"visibleFilesDidChange": {"uris": []}}}));
        let summary = summarize("cli", &notification_event).unwrap();
        assert_eq!((summary.sort, summary.name.as_deref()), (MessageSort::Notification, Some("visibleFilesDidChange")));
        assert_eq!(summarize("cli", &message_event(Direction::ToClient, json!([]))), None);
    }
}
