//! The envelopes of messages: how an edition wraps requests, responses and notifications, what a message is, whatever it
//! carries, and how to recognise the requests of wirecert itself.

use serde_json::{Map, Value, json};

use crate::protocol::{MessageSort, MessageSummary};
use crate::trace::{Direction, Event, EventKind, Message};

use super::editions::{AmpEdition, Method};

/// The form of whole messages (docs/amp.md, Messages; quick reference, section 4).
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    /// The member around the name of a method or notification: `{"id":…,"method":{"readFile":{…}}}`. None where the name
    /// stands beside the id.
    pub wrapper: Option<&'static str>,
    /// The key of every result in a response; none where that is the name of the method.
    pub result_key: Option<&'static str>,
}

impl Envelope {
    /// A request.
    pub fn request(&self, id: &Value, method: &str, params: &Value) -> Value {
        let mut inner = Map::from_iter([("id".to_owned(), id.clone())]);
        inner.extend(self.named(method, params.clone()));
        json!({"clientRequest": inner})
    }

    /// A notification.
    pub fn notification(&self, name: &str, data: Value) -> Value {
        json!({"serverNotification": self.named(name, data)})
    }

    fn named(&self, name: &str, content: Value) -> Map<String, Value> {
        let named = Map::from_iter([(name.to_owned(), content)]);
        match self.wrapper {
            Some(wrapper) => Map::from_iter([(wrapper.to_owned(), named.into())]),
            None => named,
        }
    }

    /// The key of a method's result in a response.
    pub fn result_key<'a>(&self, method: &'a str) -> &'a str {
        self.result_key.unwrap_or(method)
    }

    /// The place of a method's parameters in a request, as a JSON pointer.
    pub fn params_place(&self, method: &str) -> String {
        format!("/clientRequest{}/{method}", self.wrapper_place())
    }

    /// The place of a method's result in a response.
    pub fn result_place(&self, method: &str) -> String {
        format!("/serverResponse/{}", self.result_key(method))
    }

    /// The place of the names of notifications, as a JSON pointer.
    pub fn notifications_place(&self) -> String {
        format!("/serverNotification{}", self.wrapper_place())
    }

    fn wrapper_place(&self) -> String {
        self.wrapper.map(|wrapper| format!("/{wrapper}")).unwrap_or_default()
    }

    /// The members of a request or notification that are called by its name.
    fn members<'a>(&self, inner: &'a Map<String, Value>) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        let wrapped = self.wrapper.map(|wrapper| inner.get(wrapper).and_then(Value::as_object));
        let members = wrapped.unwrap_or(Some(inner)).into_iter().flatten();
        members
            .map(|(name, content)| (name.as_str(), content))
            .filter(move |(name, _)| wrapped.is_some() || *name != "id")
    }
}

/// A response: its id, one key with what came of the request, and whatever else is to be in it.
pub fn response_message(id: &Value, key: &str, body: &Value, extra: &Map<String, Value>) -> Value {
    let mut inner = Map::from_iter([("id".to_owned(), id.clone()), (key.to_owned(), body.clone())]);
    inner.extend(extra.clone());
    json!({"serverResponse": inner})
}

/// The id of a response; none where the message is none.
pub fn response_id(message: &Value) -> Option<&Value> {
    message.get("serverResponse")?.get("id")
}

/// A client's request, as far as it is one.
pub struct Request<'a> {
    /// The id of the request; none where it has none.
    pub id: Option<&'a Value>,
    /// The method, if it names exactly one: one that is known before any other.
    pub method: Option<&'a str>,
    /// The method's parameters.
    pub params: Option<&'a Value>,
}

/// A server's response, as far as it is one.
pub struct Response<'a> {
    /// The id of the response; none where it has none.
    pub id: Option<&'a Value>,
    /// The key that names the method, where results are called by it.
    pub method: Option<&'a str>,
    /// The result of the method.
    pub result: Option<&'a Value>,
    /// The error.
    pub error: Option<&'a Value>,
}

/// The request that a client's message is; none where it is no object with an object `clientRequest`.
pub fn request<'a>(edition: &AmpEdition, message: &'a Value) -> Option<Request<'a>> {
    let inner = message.get("clientRequest")?.as_object()?;
    let members: Vec<_> = edition.envelope.members(inner).collect();
    // Beside the name of a method there may be keys that nobody knows.
    let known: Vec<_> =
        members.iter().copied().filter(|(name, _)| edition.method_names().any(|own| own == *name)).collect();
    let (method, params) = match (known.as_slice(), members.as_slice()) {
        ([only], _) | ([], [only]) => (Some(only.0), Some(only.1)),
        _ => (None, None),
    };
    Some(Request { id: inner.get("id"), method, params })
}

/// The response that a server's message is; none where it is no object with an object `serverResponse`.
///
/// Where results are called by their methods, the result is what is neither `id` nor `error`, a method that is known before
/// any other.
pub fn response<'a>(edition: &AmpEdition, message: &'a Value) -> Option<Response<'a>> {
    let inner = message.get("serverResponse")?.as_object()?;
    let (method, result) = match edition.envelope.result_key {
        Some(key) => (None, inner.get(key)),
        None => method_key(edition, inner).unzip(),
    };
    Some(Response { id: inner.get("id"), method, result, error: inner.get("error") })
}

/// The error that answers a request which is not understood; none for what is no request with an id.
pub fn refusal(edition: &AmpEdition, message: &Value) -> Option<Value> {
    let id = request(edition, message)?.id?;
    let error = json!({"code": METHOD_NOT_FOUND, "message": "there is no response to this request"});
    Some(json!({"serverResponse": {"id": id, "error": error}}))
}

/// JSON-RPC's code for a method that there is not.
pub const METHOD_NOT_FOUND: i64 = -32601;

fn method_key<'a>(edition: &AmpEdition, inner: &'a Map<String, Value>) -> Option<(&'a str, &'a Value)> {
    let mut keys = inner.iter().filter(|(key, _)| !matches!(key.as_str(), "id" | "error"));
    let known = Method::ALL.into_iter().find_map(|method| inner.get_key_value(edition.methods.of(method)?));
    known.or_else(|| keys.next()).map(|(key, value)| (key.as_str(), value))
}

/// The notifications in a server's message, name and data; none where it is no object with an object
/// `serverNotification`.
pub fn notifications<'a>(edition: &AmpEdition, message: &'a Value) -> Option<Vec<(&'a str, &'a Value)>> {
    let inner = message.get("serverNotification")?.as_object()?;
    Some(edition.envelope.members(inner).filter(|(name, _)| *name != "id").collect())
}

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
pub fn summarize<'a>(edition: &AmpEdition, event: &'a Event) -> Option<MessageSummary<'a>> {
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
    use crate::protocol::amp::editions::{CLI, GUIDE};

    #[test]
    fn each_edition_has_its_envelope() {
        let params = json!({"path": "/a"});
        assert_eq!(
            CLI.envelope.request(&json!("1"), "readFile", &params).to_string(),
            r#"{"clientRequest":{"id":"1","readFile":{"path":"/a"}}}"#
        );
        assert_eq!(
            GUIDE.envelope.request(&json!("1"), "readFile", &params).to_string(),
            r#"{"clientRequest":{"id":"1","method":{"readFile":{"path":"/a"}}}}"#
        );
    }

    #[test]
    fn both_editions_give_method_and_parameters() {
        let message = json!({"clientRequest": {"id": "1", "readFile": {"path": "/a"}}});
        let request = super::request(&CLI, &message).unwrap();
        assert_eq!((request.method, request.params), (Some("readFile"), Some(&json!({"path": "/a"}))));
        let message = json!({"clientRequest": {"id": "1", "method": {"readFile": {"path": "/a"}}}});
        let request = super::request(&GUIDE, &message).unwrap();
        assert_eq!((request.method, request.params), (Some("readFile"), Some(&json!({"path": "/a"}))));
    }

    #[test]
    fn two_methods_are_none() {
        let message = json!({"clientRequest": {"id": "1", "ping": {}, "readFile": {}}});
        assert_eq!(request(&CLI, &message).unwrap().method, None);
    }

    #[test]
    fn a_key_that_nobody_knows_may_stand_beside_the_method() {
        let message = json!({"clientRequest": {"jsonrpc": "2.0", "id": "1", "meta": {}, "readFile": {"path": "/a"}}});
        let request = super::request(&CLI, &message).unwrap();
        assert_eq!((request.method, request.params), (Some("readFile"), Some(&json!({"path": "/a"}))));
        let message = json!({"clientRequest": {"id": "1", "one": {}, "two": {}}});
        assert_eq!(super::request(&CLI, &message).unwrap().method, None);
    }

    #[test]
    fn the_result_is_under_the_methods_key_or_under_result() {
        let message = json!({"serverResponse": {"extra": 0, "id": "1", "ping": {"message": "m"}}});
        let response = super::response(&CLI, &message).unwrap();
        assert_eq!((response.method, response.result), (Some("ping"), Some(&json!({"message": "m"}))));
        let message = json!({"serverResponse": {"id": "1", "result": {"content": ""}}});
        assert_eq!(super::response(&GUIDE, &message).unwrap().result, Some(&json!({"content": ""})));
    }

    #[test]
    fn notifications_have_names_and_data() {
        let message = json!({"serverNotification": {"visibleFilesDidChange": {"uris": []}}});
        assert_eq!(notifications(&CLI, &message).unwrap(), [("visibleFilesDidChange", &json!({"uris": []}))]);
        let message = json!({"serverNotification": {"method": {"visibleFilesChanged": {"files": []}}}});
        assert_eq!(notifications(&GUIDE, &message).unwrap(), [("visibleFilesChanged", &json!({"files": []}))]);
        assert!(notifications(&CLI, &json!({"serverResponse": {}})).is_none());
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
        let summary = summarize(&CLI, &request_event).unwrap();
        assert_eq!(
            (summary.sort, summary.name.as_deref(), summary.id),
            (MessageSort::Request, Some("ping"), Some(&json!("7")))
        );
        let response_event =
            message_event(Direction::ToClient, json!({"serverResponse": {"id": "7", "error": {"code": "C"}}}));
        let summary = summarize(&CLI, &response_event).unwrap();
        assert_eq!((summary.sort, summary.content.as_deref()), (MessageSort::Failure, Some(&json!({"code": "C"}))));
        let result = json!({"success": false, "message": "no such file"});
        let refused =
            message_event(Direction::ToClient, json!({"serverResponse": {"id": "8", "readFile": result.clone()}}));
        let summary = summarize(&CLI, &refused).unwrap();
        assert_eq!((summary.sort, summary.name.as_deref()), (MessageSort::Failure, Some("readFile")));
        assert_eq!(summary.content.as_deref(), Some(&result));
        let notification_event =
            message_event(Direction::ToClient, json!({"serverNotification": {"visibleFilesDidChange": {"uris": []}}}));
        let summary = summarize(&CLI, &notification_event).unwrap();
        assert_eq!((summary.sort, summary.name.as_deref()), (MessageSort::Notification, Some("visibleFilesDidChange")));
        assert_eq!(summarize(&CLI, &message_event(Direction::ToClient, json!([]))), None);
    }
}
