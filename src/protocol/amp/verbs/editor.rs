//! What the editor of a play does, in scenarios of the role `amp-client`, and what an editor can be made to do: by a stimulus,
//! or by a step on the editor of a play.

use std::num::NonZeroU16;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::format::types::{Binds, Bound, Connection, Hex, given};
use crate::protocol::words::{AutomaticResponse, Deliberate, ResponsePolicy, Split, StopMode};

use super::{Close, Drop, Frame, Ping, Send};

/// What the editor does, in scenarios of the role `amp-client`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditorVerb {
    Serve(Box<Serve>),
    Restart(Restart),
    Stop(Stop),
    Lockfile(Lockfile),
    Editor(Box<EditorStep>),
    Notify(Notify),
    Answer(Answer),
    Send(Send),
    Ping(Ping),
    /// Sends a close frame, and ends the connection once it is answered.
    Close(Close),
    Drop(Drop),
}

/// Starts an editor: it listens, writes its lockfile, and answers requests from the files of its folder. Sets `port`,
/// `token`, `token_encoded` (as in a URL), `url` and `lockfile` (its path) to its own.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Serve {
    /// The name of its first connection, and of the editor. Default: `main`.
    #[serde(rename = "as")]
    pub name: Option<Binds<Connection>>,
    /// The names of its further connections, in the order in which they come; any more are called after the editor and
    /// their number, such as `main-2`. What sends nothing is none.
    pub then: Vec<Binds<Connection>>,
    /// Where it listens. Default: 127.0.0.1.
    pub host: Loopback,
    /// Its port: `guide` for one of 8000 to 8100 (the default in the edition `guide`, whose clients may look for no
    /// others), `any` for any free one (the default in `cli`).
    pub port: Option<Port>,
    /// The folder that it has open. Default: `${root}`.
    pub folder: Option<String>,
    /// Its secret. Default: one is made up, of characters that need no percent-encoding.
    pub token: Option<String>,
    /// What its lockfile is like, or `none`.
    pub lockfile: EditorLockfile,
    /// `all` (the default): it answers every request. `none`: only the steps `answer` and `send` do.
    pub answers: ResponsePolicy,
    /// Methods that only the steps `answer` and `send` answer, while it answers all others: clients may ask `ping` before
    /// anything else.
    pub withholds: Vec<String>,
    /// How it answers handshakes, whatever token they show. Default: as a sound editor does. A response that is wrong needs
    /// `deliberate`.
    pub upgrade: Upgrade,
    /// Whether it answers pings. Default: it does.
    pub pings: AutomaticResponse,
    /// Whether it answers close frames. Default: it does.
    pub close: AutomaticResponse,
    /// Whether it reads what clients send. Default: it does.
    pub read: Option<bool>,
    pub deliberate: Option<Deliberate>,
}

/// Where an editor listens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Loopback {
    #[default]
    #[serde(rename = "127.0.0.1")]
    V4,
    #[serde(rename = "::1")]
    V6,
}

/// The port of an editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Port {
    // A free one of those that the quick reference has clients scan (section 1).
    Guide,
    Any,
    #[serde(untagged)]
    Fixed(NonZeroU16),
}

/// The lockfile of an editor; none where it writes none.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditorLockfile {
    None,
    #[serde(untagged)]
    Written(LockfilePlan),
}

impl Default for EditorLockfile {
    fn default() -> Self {
        Self::Written(LockfilePlan::default())
    }
}

/// A lockfile that an editor writes.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LockfilePlan {
    /// The data home it lies below. Default: `${data_home}`.
    pub data_home: Option<String>,
    /// Its file name. Default: `<port>.json`.
    pub name: Option<String>,
    /// Keys to add or to replace; null leaves one out.
    pub keys: Map<String, Value>,
    /// The whole file as text, instead of JSON made from the editor; `$${port}` and the like in it are the JSON of the
    /// editor's keys.
    pub text: Option<String>,
    /// Writes over the file that lies there, as many editors do it, and before the editor listens where its `port` is a
    /// number. Without it a new file takes its place at once.
    pub in_place: bool,
    /// How many days ago it was written, as of an editor that runs for as long.
    pub days_old: u32,
}

/// The response to a handshake.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Upgrade {
    /// The status line's code and reason. Default: `101 Switching Protocols`.
    pub status: Option<String>,
    /// Header lines to add or to replace, name and value; null leaves one out. `$${accept}` in a value is the right key,
    /// `$${accept_miscased}` that with its letters in the other case.
    pub headers: Map<String, Value>,
    /// A body, as of a refusal.
    pub body: Option<String>,
    /// The whole response as it is to be sent, instead of all the above; `$${accept}` in it is the right key,
    /// `$${accept_miscased}` that with its letters in the other case.
    pub raw: Option<String>,
    /// Does not answer at all.
    pub never: bool,
    pub split: Option<Split>,
    /// Frames to send in the same segment, right behind it.
    pub frames: Vec<Frame>,
}

/// Ends an editor and starts it again: on another port, with another token and a new lockfile. Its further connections have
/// the names that `then` of `serve` gave.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Restart {
    /// Which editor, by its first connection. Default: `main`.
    pub of: Option<Bound<Connection>>,
    /// `quit` (the default): connections are closed and the old lockfile goes. `kill`: they are cut, and it stays with the
    /// pid of a process that has ended.
    #[serde(default)]
    pub how: StopMode,
}

/// Ends an editor.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Stop {
    /// Which editor, by its first connection. Default: `main`.
    pub of: Option<Bound<Connection>>,
    /// As for `restart`.
    #[serde(default)]
    pub how: StopMode,
}

/// Writes a file into the folder of lockfiles that belongs to no editor of ours.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Lockfile {
    /// Its file name.
    pub name: String,
    /// The data home it lies below. Default: `${data_home}`.
    pub data_home: Option<String>,
    #[serde(flatten)]
    pub content: LockfileContent,
    pub deliberate: Option<Deliberate>,
}

/// What lies among the lockfiles.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LockfileContent {
    /// Its content as JSON; `${dead_pid}` is that of no process.
    Json(Value),
    /// Its content as text.
    Text(String),
    /// Its content as hexadecimal digits.
    Hex(Hex),
    /// Makes a folder of that name instead.
    Folder(bool),
}

/// Has something done in an editor, as its user would; clients are notified of what follows from it.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct EditorStep {
    /// Which editor, by its first connection. Default: `main`.
    pub of: Option<Bound<Connection>>,
    #[serde(flatten)]
    pub action: EditorAction,
}

/// Sends a notification in the edition's envelope.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Notify {
    pub on: Option<Bound<Connection>>,
    /// Its name in the edition.
    pub name: String,
    /// Its data. Default: an empty object.
    #[serde(default, deserialize_with = "given")]
    pub data: Option<Value>,
    pub deliberate: Option<Deliberate>,
}

/// Sends a response in the edition's envelope: with a `result` or an `error`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Answer {
    pub on: Option<Bound<Connection>>,
    /// The id of the request, as `$capture` took it from a `request`.
    pub id: Value,
    /// The method; in `cli` the key of the result. Needed there.
    pub method: Option<String>,
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Further keys of the response.
    #[serde(default)]
    pub extra: Map<String, Value>,
    /// With `true`, nothing is sent where there is no such connection, or it has ended: some clients leave with a call that
    /// they give up. Default: the connection must be open.
    #[serde(default)]
    pub if_open: bool,
    pub deliberate: Option<Deliberate>,
}

/// What came of a request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// What the method gave.
    Result(Value),
    /// What it failed with.
    Error(Value),
}

/// What a subject can be made to do from outside.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stimulus {
    /// Has the editor exit in an orderly way.
    Quit {},
    /// What its user does.
    #[serde(untagged)]
    Action(EditorAction),
}

/// What is done in an editor.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditorAction {
    /// Makes a file visible in the editor.
    Open(File),
    /// Makes a file visible beside those that are visible already, as in another pane: all of them stay visible.
    OpenBeside(File),
    /// Closes a file in the editor.
    Close(File),
    Select(Selection),
    /// Selects text in a file from its end to its beginning: the caret is where the range begins.
    SelectBackward(Selection),
    Edit(Edit),
    Diagnostics(FileDiagnostics),
    /// Sends a user's message to the agent from the editor.
    Message(Message),
    /// Adds text to the agent's prompt from the editor.
    Prompt(Message),
}

impl EditorAction {
    /// The file that it is about.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Open(file) | Self::OpenBeside(file) | Self::Close(file) => Some(&file.path),
            Self::Select(selection) | Self::SelectBackward(selection) => Some(&selection.path),
            Self::Edit(edit) => Some(&edit.path),
            Self::Diagnostics(diagnostics) => Some(&diagnostics.path),
            Self::Message(_) | Self::Prompt(_) => None,
        }
    }
}

/// A file in an editor.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct File {
    /// The absolute path of the file.
    pub path: String,
}

/// Selects text in a file; a range that ends where it begins is a caret.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct Selection {
    /// The absolute path of the file.
    pub path: String,
    #[serde(flatten)]
    pub range: Range,
}

/// A range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct Range {
    /// The line where it begins, from 0.
    #[schemars(range(max = i32::MAX))]
    pub start_line: usize,
    /// The column where it begins, from 0.
    #[schemars(range(max = i32::MAX))]
    pub start_col: usize,
    /// The line where it ends, from 0.
    #[schemars(range(max = i32::MAX))]
    pub end_line: usize,
    /// The column where it ends, from 0, exclusive.
    #[schemars(range(max = i32::MAX))]
    pub end_col: usize,
}

/// Replaces the text of an open file, and does not save it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct Edit {
    /// The absolute path of the file.
    pub path: String,
    /// The new text.
    pub text: String,
}

/// Sets the diagnostics of a file.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct FileDiagnostics {
    /// The absolute path of the file.
    pub path: String,
    /// The diagnostics.
    pub items: Vec<Diagnostic>,
}

/// A diagnostic.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct Diagnostic {
    #[serde(flatten)]
    pub range: Range,
    /// How grave it is.
    pub severity: Severity,
    /// Its text.
    pub message: String,
}

/// How grave a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
    Info,
    Hint,
}

impl Severity {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Hint => "hint",
        }
    }
}

/// A text.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct Message {
    /// The text.
    pub message: String,
}
