//! Events of the wire traffic: payloads, WebSocket frames and messages, heads and bodies of HTTP,
//! event streams.
//!
//! Each exchange of HTTP/1.1 is a connection of the trace. A message is whole with its last [`Body`], which every whole
//! message but an interim response (1xx) has, even where it is empty. Where it has content that is no event stream, a
//! [`Message`] with all of it follows.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeMap as _};
use serde_json::Value;

use super::lenient;

/// Bytes as they crossed the wire: text where they are valid UTF-8, else base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Valid UTF-8.
    Text(String),
    /// Anything else.
    Binary(Vec<u8>),
}

impl Payload {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }

    /// The text, if the payload is valid UTF-8.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Binary(_) => None,
        }
    }
}

impl From<&[u8]> for Payload {
    fn from(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Binary(bytes.to_vec()),
        }
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Binary(error.into_bytes()),
        }
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Self::Text(text) => map.serialize_entry("text", text)?,
            Self::Binary(bytes) => map.serialize_entry("base64", &BASE64.encode(bytes))?,
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = std::collections::BTreeMap::<String, String>::deserialize(deserializer)?;
        let mut entries = map.into_iter();
        match (entries.next(), entries.next()) {
            (Some((key, text)), None) if key == "text" => Ok(Self::Text(text)),
            (Some((key, data)), None) if key == "base64" => {
                BASE64.decode(&data).map(Self::Binary).map_err(|e| D::Error::custom(format!("invalid base64: {e}")))
            }
            _ => Err(D::Error::custom("expected {\"text\": …} or {\"base64\": …}")),
        }
    }
}

impl JsonSchema for Payload {
    fn schema_name() -> Cow<'static, str> {
        "Payload".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Bytes as they crossed the wire: `text` where they are valid UTF-8, else `base64`.",
            "type": "object",
            "properties": { "text": { "type": "string" }, "base64": { "type": "string", "contentEncoding": "base64" } },
            "additionalProperties": false,
            "minProperties": 1,
            "maxProperties": 1
        })
    }
}

/// The head of an HTTP request or response, as sent: order, case and repetition kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The first line, without its line end.
    pub start: String,
    /// Name and value of each header line.
    pub headers: Vec<(String, String)>,
    /// The whole head as it came, where the fields above lose something of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Payload>,
    /// A body that came with it (a refusal's text).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Payload>,
}

impl Head {
    /// The status of a response head; none where the first line is no status line.
    pub fn status(&self) -> Option<u16> {
        status(&self.start)
    }

    /// The values of every header of this name, whatever its case.
    pub fn header<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        values(&self.headers, name)
    }
}

/// A field value, or a part of one, without the white space around it: spaces and tabs, and nothing else that Unicode takes for
/// it (RFC 9110 section 5.5).
pub fn trim_field(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

/// One WebSocket frame (RFC 6455 section 5.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// The FIN bit.
    pub fin: bool,
    /// The three reserved bits as a number, RSV1 being 4.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rsv: u8,
    /// The four opcode bits.
    pub opcode: u8,
    /// Whether the payload came masked. The payload here is unmasked.
    pub masked: bool,
    /// Whether it came masked with the same key as the masked frame before it on the connection.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mask_reused: bool,
    /// The length that the frame announced, in bytes.
    pub length: u64,
    /// How many bits carried the length (7, 16 or 64) where that was not the shortest form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_bits: Option<u8>,
    /// What it carried, unmasked.
    pub payload: Payload,
}

impl Frame {
    /// A whole frame without a mask, whose length has the shortest form.
    pub fn unmasked(opcode: u8, payload: &[u8]) -> Self {
        let length = payload.len() as u64;
        let payload = Payload::from(payload);
        Self { fin: true, rsv: 0, opcode, masked: false, mask_reused: false, length, length_bits: None, payload }
    }
}

fn is_zero(n: &u8) -> bool {
    *n == 0
}

/// One message: the joined payload of a text or binary frame and its continuations, or a whole body. That of a body
/// whose content coding is not known has neither `json` nor `payload`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Whether it came as text (opcode 1), rather than binary (opcode 2); of a body, whether it is UTF-8.
    pub text: bool,
    /// Its JSON, where it is JSON.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_value")]
    pub json: Option<Value>,
    /// The payload, where it is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
    /// How many frames it took; 1 for a body.
    pub frames: u64,
}

/// JSON nested deeper than this is kept as text: a line of a trace nests it further, and JSON readers have limits.
pub(super) const MAX_DEPTH: usize = 100;

impl Message {
    /// A message with this joined payload, parsed if it is JSON.
    pub fn joined(text: bool, payload: &[u8], frames: u64) -> Self {
        let json = if lenient::has_too_many_values(payload) { None } else { serde_json::from_slice(payload).ok() };
        match json {
            Some(json) if is_within_depth(&json, MAX_DEPTH) => Self { text, json: Some(json), payload: None, frames },
            _ => Self { text, json: None, payload: Some(payload.into()), frames },
        }
    }

    /// The JSON of the message, as far as a [`Value`] can represent it, even where it cannot represent all of it. None where
    /// there are too many values.
    pub fn value(&self) -> Option<Cow<'_, Value>> {
        match (&self.json, &self.payload) {
            (Some(json), _) => Some(Cow::Borrowed(json)),
            (None, Some(payload)) => lenient::read(payload.as_text()?).map(|read| Cow::Owned(read.value)),
            (None, None) => None,
        }
    }

    /// Whether it has JSON with more values than are decoded.
    pub fn has_too_many_values(&self) -> bool {
        let text = self.payload.as_ref().and_then(Payload::as_text);
        text.is_some_and(|text| lenient::has_too_many_values(text.as_bytes()))
    }

    /// Why the message could not be read: it is not `UTF-8`, or not `JSON`.
    pub fn lacks(&self) -> Option<&'static str> {
        match (&self.json, &self.payload) {
            (Some(_), _) => None,
            (None, Some(Payload::Binary(_))) => Some("UTF-8"),
            (None, _) => Some("JSON"),
        }
    }
}

pub(super) fn is_within_depth(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|v| is_within_depth(v, depth - 1)),
        Value::Object(map) => depth > 0 && map.values().all(|v| is_within_depth(v, depth - 1)),
        _ => true,
    }
}

/// How a TCP stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Closed {
    /// FIN: the sender said that nothing more will come.
    Eof,
    /// RST: the connection was cut.
    Reset,
}

/// The head of a request, as sent: order, case and repetition kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpRequest {
    /// The first line, without its line end.
    pub start: String,
    /// Name and value of each header line.
    pub headers: Vec<(String, String)>,
    /// The whole head as it came, where the fields above lose something of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Payload>,
    /// The number of the TCP connection that it went over, from 1: the same number is the same connection, kept alive.
    pub tcp: u64,
}

impl HttpRequest {
    /// From a head and the number of its TCP connection.
    pub fn new(head: Head, tcp: u64) -> Self {
        Self { start: head.start, headers: head.headers, raw: head.raw, tcp }
    }

    /// The method; empty where the first line has none.
    pub fn method(&self) -> &str {
        self.start.split(' ').next().unwrap_or_default()
    }

    /// The request target, such as `/sessions?limit=1`; empty where the first line has none.
    pub fn target(&self) -> &str {
        self.start.split(' ').nth(1).unwrap_or_default()
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target().split('?').next().unwrap_or_default()
    }

    /// The values of every header of this name, whatever its case.
    pub fn header<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        values(&self.headers, name)
    }
}

/// The head of a response, as sent: order, case and repetition kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpResponse {
    /// The status line, without its line end.
    pub start: String,
    /// Name and value of each header line.
    pub headers: Vec<(String, String)>,
    /// The whole head as it came, where the fields above lose something of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Payload>,
}

impl HttpResponse {
    /// The status; none where the first line is no status line.
    pub fn status(&self) -> Option<u16> {
        status(&self.start)
    }

    /// The values of every header of this name, whatever its case.
    pub fn header<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        values(&self.headers, name)
    }

    /// Whether its content type is that of event streams.
    pub fn is_event_stream(&self) -> bool {
        self.header("content-type").any(is_event_stream)
    }
}

/// Whether a content type is that of event streams, whatever its case (RFC 9110 section 8.3.1) and its parameters.
pub fn is_event_stream(content_type: &str) -> bool {
    trim_field(content_type.split(';').next().unwrap_or_default()).eq_ignore_ascii_case("text/event-stream")
}

impl From<Head> for HttpResponse {
    fn from(head: Head) -> Self {
        Self { start: head.start, headers: head.headers, raw: head.raw }
    }
}

/// A piece of a body as it came, its transfer coding undone (RFC 9112 section 7), its content coding not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The bytes; none in the last piece where its end came by itself.
    pub bytes: Payload,
    /// Whether the message is whole with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
    /// The trailer fields after a chunked body (RFC 9112 section 7.1.2).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trailers: Vec<(String, String)>,
}

/// Something in an event stream (HTML standard, section 9.2.6): an event; fields without data, which no client receives
/// of; or a comment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamEvent {
    /// The value of its last field `event`. Without one, or where it is empty, its type is `message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Its data, lines joined by a line feed. Without data nothing is dispatched to a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The value of its last valid field `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The value of its last valid field `retry`, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<u64>,
    /// The text of a comment, after its colon. A comment is recorded by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl StreamEvent {
    /// An event with this data.
    pub fn data(data: impl Into<String>) -> Self {
        Self { data: Some(data.into()), ..Self::default() }
    }

    /// The type under which a client dispatches the event.
    pub fn event_type(&self) -> &str {
        self.event.as_deref().filter(|event| !event.is_empty()).unwrap_or("message")
    }
}

/// The status in a status line.
/// The status of a status line: three digits (RFC 9112 section 4).
fn status(start: &str) -> Option<u16> {
    let mut words = start.split(' ');
    words.next().filter(|version| version.starts_with("HTTP/"))?;
    let digits = words.next().filter(|word| word.len() == 3 && word.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok()
}

/// The values of every header of this name.
fn values<'a>(headers: &'a [(String, String)], name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
    headers.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
}

/// Reads an optional JSON value in which `null` is a value, not the absence of one.
pub(super) fn present_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_three_digits() {
        assert_eq!(status("HTTP/1.1 200 OK"), Some(200));
        assert_eq!(status("HTTP/1.1 204"), Some(204));
        for wrong in ["HTTP/1.1 +20 OK", "HTTP/1.1 0200 OK", "HTTP/1.1 20 OK", "HTTP/1.1  200 OK", "200 OK"] {
            assert_eq!(status(wrong), None, "{wrong}");
        }
    }
}
