//! Messages of an end in a form that can be matched and compared: [`RecordedMessage`].

use serde_json::{Map, Value, json};

use crate::trace::opcode;
use crate::trace::{Frame, Head, HttpRequest, HttpResponse, Message, Payload, Returned, StreamEvent};
use crate::uri;

/// A message of an end: what is matched, and what is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedMessage {
    /// A label by which the message is matched: `answer "1"`, `event session:start`.
    pub what: String,
    /// The content that is compared.
    pub value: Value,
}

impl RecordedMessage {
    /// A server's response to a handshake: the status, and the subprotocol that it chose.
    pub fn accept(head: &Head) -> Self {
        let mut value = Map::from_iter([("status".to_owned(), json!(head.status()))]);
        if let Some(protocol) = head.header("sec-websocket-protocol").next() {
            value.insert("subprotocol".to_owned(), protocol.into());
        }
        Self { what: "handshake".to_owned(), value: value.into() }
    }

    /// A message; `answers` tells whether an id is that of a request.
    pub fn message(message: &Message, is_response: impl Fn(&Value) -> bool) -> Self {
        let what = match message.json.as_ref() {
            Some(json) => match id(json).filter(|id| is_response(id)) {
                Some(id) => format!("answer {id}"),
                None => format!("message {}", name(json)),
            },
            None => "message that is no JSON".to_owned(),
        };
        Self { what, value: content(message) }
    }

    /// A control frame; none of one that comes when it will.
    pub fn control(frame: &Frame) -> Option<Self> {
        let payload = frame.payload.as_bytes();
        let (what, value) = match frame.opcode {
            opcode::CLOSE => {
                let code = payload.get(..2).and_then(|code| code.try_into().ok()).map(u16::from_be_bytes);
                ("close frame".to_owned(), json!({ "code": code }))
            }
            opcode::PONG => (format!("pong {}", String::from_utf8_lossy(payload)), json!({})),
            opcode::PING => return None,
            other => (format!("frame of opcode {other}"), json!({ "length": payload.len() })),
        };
        Some(Self { what, value })
    }

    /// A request: method, target, and what its content says.
    pub fn request(head: &HttpRequest, message: Option<&Message>) -> Self {
        let mut value = json!({ "method": head.method(), "target": head.target() });
        if let (Some(message), Some(map)) = (message, value.as_object_mut()) {
            map.insert("content".to_owned(), content(message));
        }
        let name = message.and_then(|message| message.json.as_ref()?.get("method")?.as_str());
        let name = name.map(|name| format!(" {name}")).unwrap_or_default();
        Self { what: format!("request {} {}{name}", head.method(), head.path()), value }
    }

    /// A handshake request: the path, and the query without its percent-encoding, for secrets are encoded in several ways.
    pub fn upgrade(head: &Head) -> Self {
        let target = head.start.split(' ').nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query: Map<String, Value> =
            pairs.map(|(name, value)| (name.to_owned(), uri::decode(value).into())).collect();
        Self { what: format!("handshake {path}"), value: json!({ "path": path, "query": query }) }
    }

    /// The head of a response: the status, and what sort of content follows.
    pub fn respond(head: &HttpResponse) -> Self {
        let what = match head.status() {
            Some(100..=199) => "interim response",
            _ => "response",
        };
        let mut value = Map::from_iter([("status".to_owned(), json!(head.status()))]);
        if let Some(media) = head.header("content-type").next() {
            let media = media.split(';').next().unwrap_or(media).trim().to_ascii_lowercase();
            value.insert("content-type".to_owned(), media.into());
        }
        Self { what: what.to_owned(), value: value.into() }
    }

    /// The content of a complete response.
    pub fn content(message: &Message) -> Self {
        Self { what: "content".to_owned(), value: content(message) }
    }

    /// An event of a stream; none of one without data.
    pub fn event(event: &StreamEvent) -> Option<Self> {
        let data = event.data.as_ref()?;
        let (value, named) = match serde_json::from_str::<Value>(data) {
            Ok(json) => {
                let named = named(&json).map(str::to_owned);
                (json!({ "type": event.event_type(), "json": json }), named)
            }
            Err(_) => (json!({ "type": event.event_type(), "text": data }), None),
        };
        Some(Self { what: format!("event {}", named.as_deref().unwrap_or(event.event_type())), value })
    }

    /// The end of a connection.
    pub fn end() -> Self {
        Self { what: "end of the connection".to_owned(), value: json!({}) }
    }

    /// The result of a call to a driven client.
    pub fn returned(returned: &Returned) -> Self {
        let value = json!({ "result": returned.result, "error": returned.error });
        Self { what: format!("result of call {}", returned.id), value }
    }
}

/// The content of a message, as it is compared.
fn content(message: &Message) -> Value {
    match (&message.json, &message.payload) {
        (Some(json), _) => json!({ "json": json }),
        (None, Some(Payload::Text(text))) => json!({ "text": text }),
        (None, Some(payload @ Payload::Binary(_))) => json!({ "bytes": payload }),
        (None, None) => json!({}),
    }
}

/// The id of a request or response: a member `id` at the top, or one level below.
pub fn id(value: &Value) -> Option<&Value> {
    let map = value.as_object()?;
    map.get("id")
        .or_else(|| map.values().find_map(|inner| inner.as_object()?.get("id")))
        .filter(|id| id.is_string() || id.is_number())
}

/// The same message without the id of its request, so that two of them can be compared.
pub fn without_id(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(map) = value.as_object_mut()
        && map.shift_remove("id").is_none()
    {
        let inner = map.values_mut().filter_map(Value::as_object_mut).find(|inner| inner.contains_key("id"));
        if let Some(inner) = inner {
            inner.shift_remove("id");
        }
    }
    value
}

/// A member that names what a message is.
fn named(value: &Value) -> Option<&str> {
    ["event", "type", "method", "action"].iter().find_map(|key| value.get(key)?.as_str())
}

/// What a message is about: a member that says so, else the keys that wrap its content.
pub fn name(value: &Value) -> String {
    if let Some(name) = named(value) {
        return name.to_owned();
    }
    let mut words = vec![];
    let mut inside = value;
    while words.len() < 3
        && let Some(map) = inside.as_object()
    {
        let mut members = map.iter().filter(|(key, _)| *key != "id");
        let (Some((key, value)), None) = (members.next(), members.next()) else { break };
        words.push(key.as_str());
        inside = value;
    }
    if words.is_empty() { "of another kind".to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_named_by_what_wraps_its_content() {
        for (json, expected) in [
            (json!({"clientRequest": {"id": "1", "readFile": {"path": "/a", "x": 1}}}), "clientRequest readFile"),
            (json!({"a": {"method": {"b": {"c": 1, "d": 2}}}}), "a method b"),
            (json!({"event": "session:start", "data": {}}), "session:start"),
            (json!([1]), "of another kind"),
        ] {
            assert_eq!(name(&json), expected);
        }
    }

    #[test]
    fn ids_are_found_and_taken_away_at_the_top_or_one_level_below() {
        let wrapped = json!({"answer": {"id": "1", "x": {"id": 7}}});
        assert_eq!(id(&wrapped), Some(&json!("1")));
        assert_eq!(without_id(&wrapped), json!({"answer": {"x": {"id": 7}}}));
        assert_eq!(without_id(&json!({"id": 1, "x": 2})), json!({"x": 2}));
        assert_eq!(id(&json!({"id": {}})), None);
    }
}
