//! What a trace consists of.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeMap as _};
use serde_json::{Map, Value};

use super::{Body, Call, ClientEvent, Finding, HttpRequest, HttpResponse, JudgementEnd, Returned, StreamEvent};
use super::{http, lenient};

/// One line of a trace. As JSON: `{"i":…,"t":…,"conn":…,"dir":…,"kind":…,…fields of the kind}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Number in the trace, from 0, without gaps.
    pub i: u64,
    /// Microseconds since the trace began.
    pub t: u64,
    /// The connection it belongs to, by its name in the trace; none for what belongs to no connection.
    pub conn: Option<String>,
    /// Which way it went; none for what went nowhere.
    pub dir: Option<Direction>,
    /// Set where one of our own peers did this wrong on purpose: the flaw or step that asked for it.
    /// Nobody is blamed for such an event.
    pub deliberate: Option<String>,
    /// What it is.
    pub kind: EventKind,
}

/// Which way something went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Direction {
    /// Client to server.
    #[serde(rename = "c2s")]
    ToServer,
    /// Server to client.
    #[serde(rename = "s2c")]
    ToClient,
}

impl Direction {
    /// Who sent what went this way.
    pub fn sender(self) -> End {
        match self {
            Self::ToServer => End::Client,
            Self::ToClient => End::Server,
        }
    }
}

/// One of the two ends of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The one that connects.
    Client,
    /// The one that is connected to.
    Server,
}

/// The kinds of event. The name of a variant, in snake case, is the event's `kind`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A TCP connection stands.
    Connected { address: String },
    /// The head of a handshake request (to the server) or response (to the client).
    Handshake(Head),
    /// One WebSocket frame.
    Frame(Frame),
    /// One whole message, joined from its frames, or the whole body of a request or response, its content coding
    /// undone.
    Message(Message),
    /// The head of an HTTP request.
    HttpRequest(HttpRequest),
    /// The head of an HTTP response; of one that is interim (1xx), too.
    HttpResponse(HttpResponse),
    /// A piece of the body of a request or response.
    Body(Body),
    /// Something in an event stream.
    StreamEvent(StreamEvent),
    /// Bytes that belong to no frame, head or body: half a frame, junk after the end.
    Bytes { bytes: Payload },
    /// The sender of this direction closed or cut its TCP stream.
    Closed(Closed),
    /// A process wrote a piece of text.
    Output(Output),
    /// A process was started.
    Launched(Launched),
    /// A process ended.
    Exited(Exited),
    /// Something was asked of the subject from outside.
    Stimulus(Stimulus),
    /// A driven client was asked to do something.
    Call(Call),
    /// What came of that.
    Returned(Returned),
    /// Something reached a driven client's user by itself.
    Told(ClientEvent),
    /// A driven client says how it stands with its server: `connected`, `disconnected`, `reconnecting`, `no_server`.
    State { state: String },
    /// A file that the protocol or a scenario cares about came, changed or went.
    File(FileChange),
    /// A landmark: a scenario or step begins, a barrier is passed, a flaw is switched on.
    Mark(Mark),
    /// Something that was found wrong in the play that the trace records.
    Finding(Finding),
    /// That play was judged: all that was found stands before this.
    Judged(JudgementEnd),
}

/// The names of all kinds.
pub const KINDS: [&str; 22] = [
    "connected",
    "handshake",
    "frame",
    "message",
    "http_request",
    "http_response",
    "body",
    "stream_event",
    "bytes",
    "closed",
    "output",
    "launched",
    "exited",
    "stimulus",
    "call",
    "returned",
    "told",
    "state",
    "file",
    "mark",
    "finding",
    "judged",
];

impl EventKind {
    /// The name of the kind, as it stands in a trace file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Connected { .. } => "connected",
            Self::Handshake(_) => "handshake",
            Self::Frame(_) => "frame",
            Self::Message(_) => "message",
            Self::HttpRequest(_) => "http_request",
            Self::HttpResponse(_) => "http_response",
            Self::Body(_) => "body",
            Self::StreamEvent(_) => "stream_event",
            Self::Bytes { .. } => "bytes",
            Self::Closed(_) => "closed",
            Self::Output(_) => "output",
            Self::Launched(_) => "launched",
            Self::Exited(_) => "exited",
            Self::Stimulus(_) => "stimulus",
            Self::Call(_) => "call",
            Self::Returned(_) => "returned",
            Self::Told(_) => "told",
            Self::State { .. } => "state",
            Self::File(_) => "file",
            Self::Mark(_) => "mark",
            Self::Finding(_) => "finding",
            Self::Judged(_) => "judged",
        }
    }

    /// Whether it tells what was concluded from the trace, and not what happened.
    pub fn is_conclusion(&self) -> bool {
        matches!(self, Self::Finding(_) | Self::Judged(_))
    }
}

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

    /// The text, where it is one.
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
        http::status(&self.start)
    }

    /// The values of every header of this name, whatever its case.
    pub fn header<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        http::values(&self.headers, name)
    }
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
    /// The length that the frame announced, in bytes.
    pub length: u64,
    /// How many bits carried the length (7, 16 or 64) where that was not the shortest form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_bits: Option<u8>,
    /// What it carried, unmasked.
    pub payload: Payload,
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
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    pub json: Option<Value>,
    /// The payload, where it is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
    /// How many frames it took; 1 for a body.
    pub frames: u64,
}

/// JSON nested deeper than this is kept as text: a line of a trace nests it further, and readers have their limits.
pub(super) const MAX_DEPTH: usize = 100;

impl Message {
    /// A message with this joined payload, parsed if it is JSON.
    pub fn joined(text: bool, payload: &[u8], frames: u64) -> Self {
        match serde_json::from_slice(payload) {
            Ok(json) if depth_within(&json, MAX_DEPTH) => Self { text, json: Some(json), payload: None, frames },
            _ => Self { text, json: None, payload: Some(payload.into()), frames },
        }
    }

    /// Its JSON, as far as it can be held: also where a part of it cannot be.
    pub fn value(&self) -> Option<Cow<'_, Value>> {
        match (&self.json, &self.payload) {
            (Some(json), _) => Some(Cow::Borrowed(json)),
            (None, Some(payload)) => lenient::read(payload.as_text()?).map(|read| Cow::Owned(read.value)),
            (None, None) => None,
        }
    }

    /// What it is not, where it could not be read: `UTF-8`, or `JSON`.
    pub fn lacks(&self) -> Option<&'static str> {
        match (&self.json, &self.payload) {
            (Some(_), _) => None,
            (None, Some(Payload::Binary(_))) => Some("UTF-8"),
            (None, _) => Some("JSON"),
        }
    }
}

pub(super) fn depth_within(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|v| depth_within(v, depth - 1)),
        Value::Object(map) => depth > 0 && map.values().all(|v| depth_within(v, depth - 1)),
        _ => true,
    }
}

/// `null` is a JSON message, not the absence of one.
fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
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

/// A piece of what a process wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// `stdout` or `stderr`.
    pub stream: String,
    /// What it wrote; a line where lines are of sane length.
    pub bytes: Payload,
}

/// A process that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Launched {
    /// The command as run.
    pub command: Vec<String>,
    /// Its process id.
    pub pid: u32,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exited {
    /// Its process id.
    pub pid: u32,
    /// Its exit code, unless a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether we had asked for it.
    pub asked: bool,
}

/// Something that was asked of the subject from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stimulus {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Map<String, Value>,
    /// What was run for it.
    pub command: Vec<String>,
    /// How that ended: an exit code, or what stopped it.
    pub outcome: String,
}

/// A file that came, changed or went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileChange {
    /// Its path.
    pub path: String,
    /// What was seen: `read`, `written`, `removed`, `absent`; `laid` and `taken` where a play itself put a file into the
    /// workspace or took one away.
    pub change: String,
    /// Its content, where it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Payload>,
}

impl FileChange {
    /// The `change` of a file that a play put into the workspace.
    pub const LAID: &str = "laid";
    /// The `change` of a file that a play took out of the workspace.
    pub const TAKEN: &str = "taken";

    /// Whether this is what a play did to its workspace, which is no traffic.
    pub fn is_by_play(&self) -> bool {
        [Self::LAID, Self::TAKEN].contains(&self.change.as_str())
    }
}

/// A landmark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// What kind of landmark: `scenario`, `step`, `barrier`, `flaw`.
    pub mark: String,
    /// Which one.
    pub text: String,
}

impl Mark {
    /// The kind of a landmark that tells by which process of this machine a connection was opened, by its id.
    pub const PROCESS: &str = "process";
}
