//! What scenarios have our side do: the verbs of the Amp client and of the editor, with their parameters, and the stimuli.

mod editor;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::format::types::{Binds, Bound, Connection, Hex, Request as Label, given};
use crate::protocol::words::{AutomaticResponse, Deliberate, OpenTcp, Split, StreamEnd};

pub use editor::{
    Answer, Diagnostic, Edit, EditorAction, EditorLockfile, EditorStep, EditorVerb, File, FileDiagnostics, Lockfile,
    LockfileContent, LockfilePlan, Loopback, Message, Notify, Outcome, Port, Range, Restart, Selection, Serve,
    Severity, Stimulus, Stop, Upgrade,
};

/// What the Amp client does, in scenarios of the role `amp-server`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientVerb {
    Connect(Box<Connect>),
    /// Opens a TCP connection and sends nothing; `send` with `bytes` goes on from there.
    Open(OpenTcp<Connection>),
    Request(Request),
    Send(LabelledSend),
    Ping(Ping),
    /// Sends a close frame.
    Close(Close),
    Drop(Drop),
}

/// Opens a connection and does the WebSocket handshake.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Connect {
    #[serde(rename = "as")]
    pub name: Option<Binds<Connection>>,
    /// The token: the one from the lockfile (`right`, the default), none, an empty one, all of the right one but its
    /// last character, the right one with its letters in the other case, or another one.
    pub token: Token,
    /// How the token is percent-encoded: as a URL component (the default), every character, or not at all.
    pub encode: Encoding,
    /// The request target, instead of one made from the token.
    pub target: Option<String>,
    /// Where to connect to. Default: what the edition's clients use: `localhost` in `cli`, 127.0.0.1 in `guide`.
    pub host: Option<Host>,
    /// The HTTP method. Default: GET.
    pub method: Option<String>,
    /// The HTTP version. Default: HTTP/1.1.
    pub version: Option<String>,
    /// Header lines to add or to replace, name and value; null leaves one out.
    pub headers: Map<String, Value>,
    /// The whole head as it is to be sent, instead of all the above.
    pub raw: Option<String>,
    /// Subprotocols to offer.
    pub subprotocols: Vec<String>,
    /// `open` (the default): anything but a valid acceptance fails the step. `any`: expect `handshake`.
    pub handshake: Handshake,
    /// Whether pings from the server are answered. Default: they are.
    pub pings: AutomaticResponse,
    /// Whether a close frame from the server is answered. Default: it is.
    pub close: AutomaticResponse,
    /// Whether to read what the server sends. Default: it is read.
    pub read: Option<bool>,
    pub deliberate: Option<Deliberate>,
}

/// A token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Token {
    #[default]
    Right,
    Absent,
    Empty,
    Beginning,
    Miscased,
    #[serde(untagged)]
    Other {
        /// The token to send.
        value: String,
    },
}

/// How a token is percent-encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    // The encoding of JavaScript's `encodeURIComponent`, which Amp's CLI uses.
    #[default]
    Component,
    All,
    None,
}

/// A loopback address as a client names it.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Host {
    #[serde(rename = "127.0.0.1")]
    V4,
    Localhost,
    #[serde(rename = "::1")]
    V6,
}

/// Which handshakes a step takes for success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Handshake {
    #[default]
    Open,
    Any,
}

/// Sends a request in the edition's envelope.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Request {
    pub on: Option<Bound<Connection>>,
    /// A label by which expectations name the request.
    #[serde(rename = "as")]
    pub label: Option<Binds<Label>>,
    /// The method.
    pub method: String,
    /// Its parameters. Default: an empty object.
    pub params: Option<Value>,
    /// The request's id. Default: the connection's next number, as a string.
    #[serde(default, deserialize_with = "given")]
    pub id: Option<Value>,
    pub deliberate: Option<Deliberate>,
}

/// Sends a message, frames or bytes: exactly one of `text`, `json`, `binary`, `frames` and `bytes`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Send {
    pub on: Option<Bound<Connection>>,
    #[serde(flatten)]
    pub content: Content,
    pub split: Option<Split>,
    /// Sends the same so many times.
    #[schemars(range(min = 1, max = 100_000))]
    pub repeat: Option<u64>,
    pub deliberate: Option<Deliberate>,
}

/// Sends a message, frames or bytes: exactly one of `text`, `json`, `binary`, `frames` and `bytes`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct LabelledSend {
    #[serde(flatten)]
    pub send: Send,
    /// A label for the request that the message is; needs `id`.
    #[serde(rename = "as")]
    pub label: Option<Binds<Label>>,
    /// The id of the request that the message is.
    pub id: Option<Value>,
}

/// What is sent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// A text message.
    Text(String),
    /// A text message with this JSON.
    Json(Value),
    /// A binary message, as hexadecimal digits.
    Binary(Hex),
    /// Frames, sent as they are described, in one write.
    Frames(Vec<Frame>),
    /// Bytes, sent as they are.
    Bytes(Bytes),
}

/// Bytes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bytes {
    /// As text.
    Text(String),
    /// As hexadecimal digits.
    Hex(Hex),
}

/// A frame, as it is to be sent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// The opcode, by name or number.
    pub opcode: Opcode,
    /// The FIN bit. Default: set.
    pub fin: Option<bool>,
    /// The reserved bits, RSV1 being 4. Default: 0.
    #[serde(default)]
    #[schemars(range(max = 7))]
    pub rsv: u8,
    /// Whether to mask. Default: as the sender has to.
    pub masked: Option<bool>,
    /// The payload as text.
    pub text: Option<String>,
    /// The payload as hexadecimal digits.
    pub hex: Option<Hex>,
    /// The code of a close frame.
    pub code: Option<u16>,
    /// The reason of a close frame.
    pub reason: Option<String>,
    /// How the length is written.
    #[serde(default)]
    pub length: FrameLength,
    /// Sends only the first so many bytes of the frame.
    #[schemars(range(max = 1 << 30))]
    pub cut: Option<usize>,
}

/// An opcode.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Opcode {
    Text,
    Binary,
    Continuation,
    Close,
    Ping,
    Pong,
    #[serde(untagged)]
    Number(#[schemars(range(max = 15))] u8),
}

/// The length of a frame.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameLength {
    /// How many bits carry the length: 7, 16 or 64. Default: the fewest that do.
    #[schemars(range(min = 7, max = 64))]
    pub bits: Option<u8>,
    /// The length to announce. Default: the true one.
    pub says: Option<u64>,
}

/// Sends a ping frame.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Ping {
    pub on: Option<Bound<Connection>>,
    /// Its payload. Default: empty.
    #[serde(default)]
    pub payload: String,
}

/// A close frame.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Close {
    pub on: Option<Bound<Connection>>,
    /// Its code. Default: 1000.
    pub code: Option<u16>,
    /// Its reason. Default: empty.
    #[serde(default)]
    pub reason: String,
    pub deliberate: Option<Deliberate>,
}

/// Ends the TCP connection without a close frame.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Drop {
    pub on: Option<Bound<Connection>>,
    #[serde(default)]
    pub how: StreamEnd,
    pub deliberate: Option<Deliberate>,
}
