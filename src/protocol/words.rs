//! The words of the scenario language that every role has, whatever its protocol: they concern the
//! subject's process and files, not the wire. And parameters that steps of several protocols have in common.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::format::types::{Binds, Call, Hex, Namespace, Time, WorkspacePath, given};
use crate::format::{Field, Shape};

use super::{ObservationKind, Pick};

/// Why this is wrong on purpose. Without it, it is judged as sound.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Deliberate(pub String);

/// Writes pieces of so many bytes, each in a TCP segment of its own.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct Split(#[schemars(range(min = 1, max = 1 << 20))] pub usize);

/// With FIN (the default) or with RST.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamEnd {
    #[default]
    Eof,
    Reset,
}

/// How a server of ours ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopMode {
    #[default]
    Quit,
    Kill,
}

/// What a server of ours answers by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponsePolicy {
    #[default]
    All,
    None,
}

/// Whether pings or close frames are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutomaticResponse {
    #[default]
    Answer,
    Ignore,
}

/// Opens a TCP connection and sends nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(bound = "")]
#[schemars(bound = "N: Namespace")]
pub struct OpenTcp<N> {
    #[serde(rename = "as")]
    pub name: Option<Binds<N>>,
    pub deliberate: Option<Deliberate>,
}

/// Steps that concern the subject's process and files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubjectVerb {
    WriteFile(WriteFile),
    RemoveFile(RemoveFile),
    /// Lets time pass. For behaviour in time (a slow sender), never to wait for something.
    Pause(Time),
    Launch(Launch),
    Signal(Signal),
}

/// Writes a file into this scenario's folder in the workspace, behind the subject's back.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct WriteFile {
    /// Path below the scenario's folder in the workspace.
    pub path: WorkspacePath,
    #[serde(flatten)]
    pub content: FileContent,
}

/// What a file has in it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileContent {
    /// Its text.
    Content(String),
    /// Its bytes, as hexadecimal digits, instead of `content`.
    Hex(Hex),
}

/// Removes a file from this scenario's folder in the workspace.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RemoveFile {
    /// Path below the scenario's folder in the workspace.
    pub path: WorkspacePath,
}

/// Starts the subject again, with other environment variables or in another folder. For scenarios with `isolation: own`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Launch {
    /// Environment variables to set; `null` removes one.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Option<String>>")]
    pub env: Map<String, Value>,
    /// The folder that it works in, instead of the workspace. It has to exist.
    pub workspace: Option<String>,
}

/// Sends a signal to the subject. For scenarios with `isolation: own`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Signal {
    /// Which signal.
    pub name: SignalName,
}

/// A signal.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum SignalName {
    Term,
    Int,
    Hup,
    Kill,
    Stop,
    Cont,
}

impl SignalName {
    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Term => "TERM",
            Self::Int => "INT",
            Self::Hup => "HUP",
            Self::Kill => "KILL",
            Self::Stop => "STOP",
            Self::Cont => "CONT",
        }
    }
}

/// Steps that concern a client that is driven.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DrivenVerb {
    Call(CallClient),
    Dismiss(Dismiss),
}

/// Has the client do something, and goes on at once. What comes of it is `returned`. A client that does not offer it has the
/// scenario skipped.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct CallClient {
    #[serde(rename = "as")]
    pub label: Option<Binds<Call>>,
    /// What to do, by the name that the driver contract gives it.
    pub method: String,
    /// With what. Default: an empty object.
    #[serde(default, deserialize_with = "given")]
    pub params: Option<Value>,
    /// Settings that go with it, where the protocol has such.
    #[serde(default, deserialize_with = "given")]
    pub settings: Option<Value>,
}

/// Asks the client to end.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Dismiss {
    /// By the line that says so (the default), or by the end of its stdin.
    #[serde(default)]
    pub how: DismissMode,
}

/// How a client is asked to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DismissMode {
    #[default]
    Close,
    Stdin,
}

/// How the subject ended a TCP connection.
pub const ENDED_HOW: Field = Field::optional("how", Shape::Pattern, "`eof` where it closed, `reset` where it cut.");

/// The header lines of a head that the subject sent.
pub const HEADER_LINES: Field = Field::optional(
    "headers",
    Shape::Pattern,
    "The header lines: names in lower case, values; of repeated ones joined by a comma.",
);

/// What expectations can say about the subject's process and files.
pub const OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "exit",
        doc: "The subject's process ended.",
        on_connection: false,
        selectors: &[],
        fields: &[
            Field::optional("code", Shape::Pattern, "Its exit code; absent where a signal ended it."),
            Field::optional("signal", Shape::Pattern, "The number of the signal that ended it."),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "file",
        doc: "A file or folder below the scenario's folder in the workspace is as described, now or before the time is up.",
        on_connection: false,
        selectors: &[Field::required("path", Shape::Path, "Path below the scenario's folder in the workspace.")],
        fields: &[
            Field::optional(
                "content",
                Shape::Pattern,
                "Its text; absent where it is no UTF-8 or too large to look at.",
            ),
            Field::optional("size", Shape::Pattern, "Its size in bytes, where it is a file."),
            Field::optional("exists", Shape::Pattern, "Whether it is there."),
        ],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "lockfile",
        doc: "The subject's lockfile is as described, now or before the time is up.",
        on_connection: false,
        selectors: &[],
        fields: &[
            Field::optional("content", Shape::Pattern, "Its JSON; absent where it does not parse."),
            Field::optional("name", Shape::Pattern, "Its file name."),
            Field::optional(
                "running",
                Shape::Pattern,
                "Whether the process runs whose id its `pid` is; absent where there is no such number.",
            ),
            Field::optional(
                "folder",
                Shape::Pattern,
                "Where the nearest folder that it names lies: `same` for the workspace itself, `around` it, `inside` it, \
                 `relative` where it is a relative path, or `elsewhere`; absent where it names none.",
            ),
            Field::optional("exists", Shape::Pattern, "Whether it is there."),
        ],
        pick: Pick::Any,
        default_proves: None,
    },
];

/// What expectations can say about a client that is driven.
pub const DRIVEN_OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "returned",
        doc: "A call came to its end.",
        on_connection: false,
        selectors: &[Field::optional("to", Shape::Bound("call"), "The label of the call.")],
        fields: &[
            Field::optional(
                "result",
                Shape::Pattern,
                "What the client's own API gave: perhaps the whole result, perhaps its essence. `$somewhere` looks for it.",
            ),
            Field::optional(
                "error",
                Shape::Pattern,
                "What it failed with: `code`, `message`, `status`, where it has them.",
            ),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "reported",
        doc: "Something reached the client's user by itself. Of a stream of more than a thousand of one name, the first \
              thousand and the newest can be met.",
        on_connection: false,
        selectors: &[Field::optional("event", Shape::String, "Its name.")],
        fields: &[
            Field::optional("data", Shape::Pattern, "What came with it."),
            Field::optional("subscription", Shape::Pattern, "The subscription it belongs to."),
            Field::optional("number", Shape::Pattern, "Which one of its name it is in this play, from 1."),
        ],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "state",
        doc: "The client said how it stands with its server. Clients need not.",
        on_connection: false,
        selectors: &[],
        fields: &[Field::optional("is", Shape::Pattern, "`connected`, `disconnected`, `reconnecting` or `no_server`.")],
        pick: Pick::Any,
        default_proves: None,
    },
];
