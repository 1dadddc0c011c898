//! What scenarios have our side do: the verbs of the client and of the server, with their parameters.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::format::fields_of;
use crate::format::types::{Binds, Bound, Hex, Request as Label, Subscription, Time, given};
use crate::protocol::http::verbs::{
    After, Answered, DropRequest, DropUnanswered, Fill, Headers, Http, Read, Respond, Status, StopServer,
};
use crate::protocol::words::{Deliberate, OpenTcp, ResponsePolicy, Split};

use super::endpoints::ENDPOINTS;
use super::roles::Prompts;

/// What the client does, in scenarios of the role `amplifier-server`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientVerb {
    Request(Box<Request>),
    Http(Box<Http>),
    Subscribe(Subscribe),
    Control(Box<Control>),
    Unsubscribe(Unsubscribe),
    AwaitSession(AwaitSession),
    Open(OpenTcp<Label>),
    Drop(DropRequest),
}

/// What the server does, in scenarios of the role `amplifier-client`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerVerb {
    Serve(Serve),
    Stop(StopServer),
    Event(Box<Event>),
    Stream(Box<Stream>),
    Cut(Cut),
    Answer(Box<Answer>),
    Respond(Box<Respond>),
    Drop(DropUnanswered),
}

/// Sends a request to one of the twelve endpoints, and goes on at once.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Request {
    #[serde(rename = "as")]
    pub label: Option<Binds<Label>>,
    /// An earlier request, over whose TCP connection it goes. Default: over one of its own.
    pub over: Option<Bound<Label>>,
    /// Which one.
    #[schemars(extend("enum" = ENDPOINTS))]
    pub endpoint: String,
    /// `session_id` and `name` go into the path, encoded where need be, everything else into the query.
    #[serde(default)]
    pub params: Map<String, Value>,
    pub created_by: Option<CreatedBy>,
    /// Encodes every character of what goes into the path or is a value of the query, also where it need not be.
    pub encode: Option<PathEncoding>,
    /// The members of the body. For a new session, `profile` and `credentials` are those that the subject was described with
    /// by default, and `context` has the play's folder as its `workspace_root`; null leaves one out.
    #[serde(default, deserialize_with = "given")]
    pub body: Option<Value>,
    #[serde(flatten)]
    pub generated: Generated,
    /// Which API key a new session has. Default: `good`.
    #[serde(default)]
    pub key: Key,
    #[serde(default)]
    pub headers: Headers,
    /// Sends the same so many times, at once.
    #[schemars(range(min = 1, max = 10_000))]
    pub repeat: Option<u64>,
    pub read: Option<Read>,
    pub deliberate: Option<Deliberate>,
}

/// The label of the request that is to create the session, where that may be refused: its response is waited for, and
/// where it creates none, nothing is sent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct CreatedBy(pub Bound<Label>);

/// What is encoded of a path.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathEncoding {
    Every,
}

/// What a step leaves to be filled in.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Generated {
    /// Has the `prompt` that provokes this, as the subject was described.
    #[schemars(extend("enum" = provoked(), "x-wirecert-described" = "prompts"))]
    pub provokes: Option<String>,
    /// Has as its `decision` an option of the approval that was last required in the session: one that allows or denies, one
    /// that allows but in another case, with blanks around it or without its last character, or one by its place.
    pub decides: Option<Decision>,
}

/// What a prompt may have to provoke.
fn provoked() -> Vec<&'static str> {
    fields_of::<Prompts>().iter().map(|prompt| prompt.name).collect()
}

/// An option of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Allow,
    Deny,
    Miscased,
    Padded,
    Beginning,
    First,
    Second,
    Third,
    Fourth,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

/// An API key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    #[default]
    Good,
    Bad,
    Unauthorized,
    None,
}

/// Subscribes to the events of a session, and goes on at once.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Subscribe {
    #[serde(rename = "as")]
    pub label: Option<Binds<Subscription>>,
    /// The session.
    #[serde(default)]
    pub session_id: String,
    pub created_by: Option<CreatedBy>,
    /// Event stream (the default) or WebSocket.
    #[serde(default)]
    pub transport: Transport,
    #[serde(default)]
    pub headers: Headers,
    pub read: Option<Read>,
    pub deliberate: Option<Deliberate>,
}

/// How events come.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    #[default]
    Sse,
    Ws,
}

/// Sends a control message over a WebSocket, or anything else: exactly one of `message`, `text` and `hex`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Control {
    pub of: Bound<Subscription>,
    #[serde(flatten)]
    pub content: ControlContent,
    #[serde(flatten)]
    pub generated: Generated,
    #[serde(flatten)]
    pub frame: FrameHeader,
    /// Sends it in so many frames.
    #[schemars(range(min = 1, max = 1024))]
    pub fragments: Option<usize>,
    pub deliberate: Option<Deliberate>,
}

/// What is sent over a WebSocket.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlContent {
    /// The message: `action`, and what belongs to it.
    Message(Map<String, Value>),
    /// Text instead.
    Text(String),
    /// Bytes instead, as hexadecimal digits.
    Hex(Hex),
}

/// How a frame is made, where it is no ordinary one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct FrameHeader {
    /// The FIN bit. Default: set.
    pub fin: Option<bool>,
    /// The opcode. Default: 1 (text).
    #[schemars(range(max = 15))]
    pub opcode: Option<u8>,
    /// The reserved bits, RSV1 being 4. Default: none.
    #[schemars(range(max = 7))]
    pub rsv: Option<u8>,
    /// Whether it is masked. Default: as the sender has to.
    pub masked: Option<bool>,
    /// The close code, for the opcode 8.
    pub code: Option<u16>,
}

/// Ends a subscription: the connection is closed or cut, or a WebSocket closed by its handshake.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Unsubscribe {
    pub of: Bound<Subscription>,
    /// `close` (the default) as a well-behaved client does; `eof` with FIN; `reset` with RST.
    #[serde(default)]
    pub how: UnsubscribeHow,
    pub deliberate: Option<Deliberate>,
}

/// How a client ends a subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnsubscribeHow {
    #[default]
    Close,
    Eof,
    Reset,
}

/// Waits until a session is as far with its prompt as is said, for a minute at most: by its events, or by its status, which is
/// asked for outside of the trace. Where a prompt is over too soon, or nothing is reported of it, the scenario is
/// skipped.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AwaitSession {
    /// The session.
    pub session_id: String,
    /// `working`: it works on the prompt; `telling`: content, thinking, tools or a status were reported; `over`: the
    /// prompt is complete, or the session does not work on it any more, does not begin within five seconds, or has
    /// ended; `timed_out`: the time is up that the newest approval announced.
    pub until: SessionStage,
}

/// How far a session is with its prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStage {
    Working,
    Telling,
    Over,
    TimedOut,
}

/// Starts the server at the URL that the client is given, with an agent that goes by a script. After `stop` it starts at the
/// same URL again. Sets `port` and `url` to its own.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Serve {
    /// What its agent does, by prompt, and what it has. Default: the example of the mock server.
    pub script: Option<Value>,
    /// `all` (the default): it answers every request. `none`: only the steps `answer` and `respond` do, but it accepts
    /// subscriptions.
    pub answers: ResponsePolicy,
    /// Endpoints, by name, that only the steps `answer` and `respond` answer, `subscribe` among them, while it answers all
    /// others: clients may ask `health` before anything else.
    pub withholds: Vec<String>,
    /// Sends no events by itself, but accepts subscriptions to any session: only the steps `event` and `stream` send some.
    pub quiet: bool,
    /// Refuses subscriptions with a status: with an error in its body, from 400 on.
    pub refuses: Option<SubscriptionRefusal>,
    /// Header lines of the response that accepts a WebSocket, to add or to replace, name and value; null leaves one out.
    pub upgrade_headers: Map<String, Value>,
    pub deliberate: Option<Deliberate>,
}

/// Which subscriptions are refused.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct SubscriptionRefusal {
    /// How many are accepted before. Default: none.
    #[serde(default)]
    #[schemars(range(max = 1000))]
    pub after: usize,
    /// The status.
    #[schemars(range(min = 200, max = 599))]
    pub status: u16,
}

/// The exchange, as `$capture` took it from a `subscribe`. Default: the newest subscription.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct OpenStream(pub String);

/// Sends an event to the client, as a sound server does.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct Event {
    pub of: Option<OpenStream>,
    /// Its name.
    pub event: String,
    /// What belongs to it; `session_id` is added where it is not there.
    #[serde(default, deserialize_with = "given")]
    pub data: Option<Value>,
    /// The event type of the stream. Default: none.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The `id` of the stream's event.
    pub id: Option<String>,
    /// The `retry` of the stream, in milliseconds.
    #[schemars(range(max = 600_000))]
    pub retry: Option<u64>,
    /// How lines end. Default: `lf`.
    #[serde(default)]
    pub line_end: LineEndChoice,
    /// Over how many lines `data` goes. Default: one.
    #[schemars(range(min = 1, max = 1024))]
    pub lines: Option<usize>,
    /// Whether a space follows the colon. Default: it does.
    pub space: Option<bool>,
    /// Sends it so many times.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub repeat: Option<usize>,
    /// Over a WebSocket, in so many frames.
    #[schemars(range(min = 1, max = 1024))]
    pub fragments: Option<usize>,
    pub split: Option<Split>,
    /// The time between two pieces of `split`. Default: none.
    #[serde(default)]
    pub pace: Time,
    pub deliberate: Option<Deliberate>,
}

/// How lines of an event stream end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineEndChoice {
    #[default]
    Lf,
    Crlf,
    Cr,
}

/// Writes into an event stream or WebSocket what it is given: exactly one of `text`, `hex` and `fill`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Stream {
    pub of: Option<OpenStream>,
    #[serde(flatten)]
    pub content: StreamContent,
    #[serde(flatten)]
    pub frame: FrameHeader,
    pub split: Option<Split>,
    /// The time between two pieces of `split`. Default: none.
    #[serde(default)]
    pub pace: Time,
    pub deliberate: Option<Deliberate>,
}

/// What is written into a stream.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamContent {
    /// Text.
    Text(String),
    /// Bytes, as hexadecimal digits.
    Hex(Hex),
    /// A text repeated.
    Fill(Fill),
}

/// Ends a subscription: the stream ends, or its TCP connection is closed or cut.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Cut {
    pub of: Option<OpenStream>,
    /// `end` (the default): as HTTP or the WebSocket has it. `eof` with FIN; `reset` with RST.
    #[serde(default)]
    pub how: CutHow,
    pub deliberate: Option<Deliberate>,
}

/// How a server ends a subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CutHow {
    #[default]
    End,
    Eof,
    Reset,
}

/// Answers a request as the endpoint does: with `json`, or with an `error` that has its code's status.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Answer {
    #[serde(flatten)]
    pub to: Answered,
    #[serde(flatten)]
    pub outcome: Outcome,
    pub status: Option<Status>,
    #[serde(default)]
    pub headers: Headers,
    #[serde(default)]
    pub after: After,
    pub deliberate: Option<Deliberate>,
}

/// What came of a request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The body.
    Json(Value),
    /// An error.
    Error(ErrorBody),
}

/// An error of a response.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// Its code.
    pub code: String,
    /// Its message.
    pub message: Option<String>,
    /// Its details; null leaves them out.
    #[serde(default, deserialize_with = "given")]
    pub details: Option<Value>,
}
