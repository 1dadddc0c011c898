//! The events of a trace: the [`Event`] and its [`EventKind`]s, and what happens around the wire: processes, calls,
//! files.
//!
//! What crosses the wire itself is in [`traffic`](super::traffic).

use std::collections::BTreeMap;

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::traffic::present_value;
use super::{
    Body, Closed, Finding, Frame, Head, HttpRequest, HttpResponse, JudgementEnd, Message, Payload, StreamEvent,
};

/// One line of a trace. As JSON: `{"i":…,"t":…,"conn":…,"dir":…,"kind":…,…fields of the kind}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Number in the trace, from 0, without gaps.
    pub i: u64,
    /// Microseconds since the trace began.
    pub t: u64,
    /// The name of its connection in the trace; none for an event that belongs to no connection.
    pub conn: Option<String>,
    /// The direction; none for an event that did not cross a wire.
    pub dir: Option<Direction>,
    /// Set where one of our own peers did this wrong on purpose: the flaw or step that caused it.
    /// No end is blamed for such an event.
    pub deliberate: Option<String>,
    /// The kind of event, with its fields.
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
    /// Its name in a trace file.
    pub fn name(self) -> &'static str {
        match self {
            Self::ToServer => "c2s",
            Self::ToClient => "s2c",
        }
    }

    /// The end that sends in this direction.
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

/// Defines [`EventKind`]: for each kind its name in a trace file, and its fields. How they are written, read and
/// described by a schema follows from that. A type whose value is one field has the key of that field after `in`.
macro_rules! event_kinds {
    ($( $(#[$doc:meta])* $name:literal: $variant:ident $fields:tt $(in $key:literal)?; )+) => {
        /// The kinds of event, each with its fields.
        #[derive(Clone, Debug, PartialEq)]
        pub enum EventKind {
            $( $(#[$doc])* $variant $fields, )+
        }

        /// The names of all kinds.
        pub const KINDS: &[&str] = &[$($name),+];

        impl EventKind {
            /// The name of the kind, as in a trace file.
            pub fn kind(&self) -> &'static str {
                match self {
                    $( Self::$variant { .. } => $name, )+
                }
            }

            /// Writes the fields as a JSON object.
            pub(super) fn write_fields(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
                match self {
                    $( event_kinds!(@pattern value $variant $fields) =>
                        event_kinds!(@write out value $fields $($key)?), )+
                }
            }

            /// Reads the fields of a kind.
            pub(super) fn read_fields<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                Ok(match kind {
                    $( $name => event_kinds!(@read fields $variant $fields $($key)?), )+
                    unknown => return Err(D::Error::unknown_variant(unknown, KINDS)),
                })
            }

            /// The JSON Schema of the fields of each kind, with its name.
            pub(super) fn fields_schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, Value)> {
                vec![$( ($name, event_kinds!(@schema generator $fields $($key)?)) ),+]
            }
        }
    };
    (@pattern $value:ident $variant:ident ($type:ty)) => { Self::$variant($value) };
    (@pattern $value:ident $variant:ident { $field:ident: $type:ty }) => { Self::$variant { $field: $value } };
    (@write $out:ident $value:ident ($type:ty)) => { serde_json::to_writer($out, $value) };
    (@write $out:ident $value:ident ($type:ty) $key:literal) => {
        serde_json::to_writer($out, &BTreeMap::from([($key, $value)]))
    };
    (@write $out:ident $value:ident { $field:ident: $type:ty }) => {
        serde_json::to_writer($out, &BTreeMap::from([(stringify!($field), $value)]))
    };
    (@read $fields:ident $variant:ident ($type:ty)) => { Self::$variant(<$type>::deserialize($fields)?) };
    (@read $fields:ident $variant:ident ($type:ty) $key:literal) => {{
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Field {
            #[serde(rename = $key)]
            value: $type,
        }
        Self::$variant(Field::deserialize($fields)?.value)
    }};
    (@read $fields:ident $variant:ident { $field:ident: $type:ty }) => {{
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Field {
            $field: $type,
        }
        Self::$variant { $field: Field::deserialize($fields)?.$field }
    }};
    (@schema $generator:ident ($type:ty)) => { <$type>::json_schema($generator).to_value() };
    (@schema $generator:ident ($type:ty) $key:literal) => { one_field::<$type>($key, $generator) };
    (@schema $generator:ident { $field:ident: $type:ty }) => { one_field::<$type>(stringify!($field), $generator) };
}

/// The schema of an object with one field.
fn one_field<T: JsonSchema>(key: &str, generator: &mut SchemaGenerator) -> Value {
    let value = generator.subschema_for::<T>().to_value();
    json!({ "type": "object", "properties": { key: value }, "required": [key] })
}

event_kinds! {
    /// A TCP connection was made.
    "connected": Connected { address: String };
    /// The head of a handshake request (to the server) or response (to the client).
    "handshake": Handshake(Head);
    /// One WebSocket frame.
    "frame": Frame(Frame);
    /// One whole message, joined from its frames, or the whole body of a request or response, its content coding
    /// undone.
    "message": Message(Message);
    /// The head of an HTTP request.
    "http_request": HttpRequest(HttpRequest);
    /// The head of an HTTP response; of one that is interim (1xx), too.
    "http_response": HttpResponse(HttpResponse);
    /// A piece of the body of a request or response.
    "body": Body(Body);
    /// An event, or other fields, of an event stream.
    "stream_event": StreamEvent(StreamEvent);
    /// Bytes that belong to no frame, head or body: half a frame, junk after the end.
    "bytes": Bytes { bytes: Payload };
    /// The sender of this direction closed or cut its TCP stream.
    "closed": Closed(Closed) in "how";
    /// A process wrote a piece of text.
    "output": Output(Output);
    /// A process was started.
    "launched": Launched(Launched);
    /// A process ended.
    "exited": Exited(Exited);
    /// A stimulus was given to the subject from outside.
    "stimulus": Stimulus(Stimulus);
    /// A call was made to a driven client.
    "call": Call(Call);
    /// The outcome of a call.
    "returned": Returned(Returned);
    /// A driven client reported an event that reached its user.
    "reported": Reported(ClientEvent);
    /// A driven client reported the state of its connection to the server: `connected`, `disconnected`, `reconnecting`,
    /// `no_server`.
    "state": State { state: String };
    /// A file of the protocol or of a scenario was created, changed or removed.
    "file": File(FileChange);
    /// A mark: a scenario or step begins, a barrier is passed, a flaw is switched on.
    "mark": Mark(Mark);
    /// A finding of the play that the trace records.
    "finding": Finding(Finding);
    /// The play was judged: all findings come before this event.
    "judged": Judged(JudgementEnd);
}

impl EventKind {
    /// Whether the event is a conclusion from the trace, and not something that happened.
    pub fn is_conclusion(&self) -> bool {
        matches!(self, Self::Finding(_) | Self::Judged(_))
    }
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
    /// What was run for it; or the path of the socket, where it was sent to one.
    pub command: Vec<String>,
    /// How that ended: an exit code, or what stopped it; `ok`, or what was wrong with the answer, on a socket.
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
    /// The kind of a mark with the id of the process of this machine that opened a connection.
    pub const PROCESS: &str = "process";
    /// The kind of a mark behind what is more than we take: at the end of a response of which only the first bytes were kept,
    /// or at a line of a driven client that was not read.
    pub const TOO_LONG: &str = "too_long";
}

/// Something that the driven client was asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Its number, unique in the trace.
    pub id: u64,
    /// What to do.
    pub call: String,
    /// With what.
    pub params: Value,
    /// Settings that go with it, where the protocol has such.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_value")]
    pub settings: Option<Value>,
}

/// What came of a call: a result, an error, or that the client has no such thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Returned {
    /// The number of the call.
    pub id: u64,
    /// What the client's own API gave.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_value")]
    pub result: Option<Value>,
    /// What it failed with.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_value")]
    pub error: Option<Value>,
    /// Whether the client says that it has no such thing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsupported: bool,
}

/// Something that reached the client's user by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientEvent {
    /// Its name.
    pub event: String,
    /// What came with it.
    #[serde(default)]
    pub data: Value,
    /// The subscription it belongs to, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_value")]
    pub subscription: Option<Value>,
}
