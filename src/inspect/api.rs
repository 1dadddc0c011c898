//! What the HTTP interface takes and gives, as types: the [OpenAPI document](super::openapi()) is made of them.

mod plays;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::export::{EventRow, Remark};
use crate::protocol::{Level, Requirement};
use crate::trace::Culprit;

pub use plays::{
    ComparedEvent, ComparedStep, ComparedValue, Comparison, OpenRequest, PlayList, PlayProgress, PlayRequest,
    PlayState, ScenarioList, ScenarioSummary, ShrinkRequest, TraceList, TraceName,
};

/// How far a trace is: what the event stream sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveState {
    /// How many events there are.
    pub events: u64,
    /// Events before this number are shown as they will stay; later ones may still disappear into a message that tells them.
    pub settled: u64,
    /// How many findings there are.
    pub findings: u64,
    /// How many connections there were.
    pub connections: u64,
    /// When the last event was, in microseconds.
    pub last: u64,
    /// Whether the trace has ended.
    pub ended: bool,
    /// Why the trace file is incomplete, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A part of a list of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventPage {
    /// How many events there are.
    pub events: u64,
    /// How many of them have been looked at. Ask again where it is less.
    pub scanned: u64,
    /// How many of those fit the filter.
    pub total: u64,
    /// The place of the first row among those that fit.
    pub from: u64,
    /// Events before this number are shown as they will stay.
    pub settled: u64,
    /// The rows.
    pub rows: Vec<ShownRow>,
    /// The connections that stand between the first and the last row; the last 64 of them.
    pub connections: Vec<Connection>,
}

/// A row of a list of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShownRow {
    /// The event.
    #[serde(flatten)]
    pub row: EventRow,
    /// The gravest level of what was found at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Whether the event after it tells the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
    /// How many notifications of the same name follow it on its connection, and are not shown for themselves.
    #[serde(default, skip_serializing_if = "is_none")]
    pub more: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// A connection, or an exchange of HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connection {
    /// Its place among all.
    pub place: u64,
    /// Its name.
    pub name: String,
    /// The number of its first event.
    pub first: u64,
    /// The number of its last event so far.
    pub last: u64,
    /// How many events it has.
    pub events: u64,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingList {
    /// The findings, in the order of their events.
    pub findings: Vec<FoundAt>,
    /// How many more violations of the same requirements were counted and not kept.
    pub uncounted: u64,
    /// The requirements that were violated, by id.
    pub requirements: BTreeMap<String, RequirementText>,
}

/// A finding, and the event that shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundAt {
    /// The number of the event.
    pub i: u64,
    /// The flaw or step, where our own mock did this wrong on purpose: nobody is blamed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliberate: Option<String>,
    /// What was found.
    #[serde(flatten)]
    pub finding: FindingText,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingText {
    /// The requirement.
    pub requirement: Option<String>,
    /// How binding it is.
    pub level: Level,
    /// Who is to blame.
    pub blame: Culprit,
    /// What happened.
    pub message: String,
    /// Where in the JSON of the message, as a JSON pointer.
    pub path: Option<String>,
    /// What should have been there.
    pub expected: Option<Value>,
    /// What was there.
    pub actual: Option<Value>,
}

impl From<Remark> for FindingText {
    fn from(remark: Remark) -> Self {
        let Remark { requirement, level, blame, message, path, expected, actual, step: _ } = remark;
        Self { requirement, level, blame, message, path, expected, actual }
    }
}

/// What a requirement says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequirementText {
    /// What is required.
    pub statement: String,
    /// Why, or an empty text.
    pub why: String,
    /// The document and its section.
    pub source: String,
}

impl From<&Requirement> for RequirementText {
    fn from(requirement: &Requirement) -> Self {
        let source = format!("{}, {}", requirement.source.document, requirement.source.section);
        Self { statement: requirement.statement.to_owned(), why: requirement.why.to_owned(), source }
    }
}

/// An event in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventDetail {
    /// The line of the trace; `wirecert schema trace` has its JSON Schema.
    pub event: Value,
    /// What was found at it.
    pub findings: Vec<FoundAt>,
    /// The same as commands of a shell, each with a name.
    pub copies: Vec<Copy>,
    /// The same as an act that can be changed and done again, where our side did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<ActRequest>,
}

/// An event as a text to copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Copy {
    /// What it is: `curl`, `wirecert call`.
    pub name: String,
    /// The text.
    pub text: String,
}

/// What is inspected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionDescription {
    /// What it is, in a few words.
    pub title: String,
    /// The command: `mock`, `record` or `inspect`.
    pub command: String,
    /// The protocol.
    pub protocol: String,
    /// The edition.
    pub edition: String,
    /// The role of the mock or of the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Who the client is.
    pub client: String,
    /// Who the server is.
    pub server: String,
    /// When the trace began, RFC 3339.
    pub start: String,
    /// Where clients find the mock or the proxy, or how the subject was reached.
    pub place: Value,
    /// How far the trace is.
    pub live: LiveState,
    /// What can be done.
    pub acts: Vec<Act>,
    /// The flaws and freedoms that can be switched.
    pub deviations: Vec<Deviation>,
    /// The state of the mock, as its command `state` gives it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub state: Value,
    /// The folder where stretches of the trace are saved.
    pub keep: String,
}

/// Something that can be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Act {
    /// Its name.
    pub name: String,
    /// What it does.
    pub about: String,
    /// The JSON Schema (draft-07) of its parameters.
    pub schema: Value,
    /// Examples of it.
    pub examples: Vec<ActExample>,
    /// The messages of the protocol that it can send, with what each holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forms: Vec<ActForm>,
}

/// What a parameter of an act holds where the act sends this message of the protocol. Something else can be sent all the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActForm {
    /// The parameter that names the message, such as `method`.
    pub by: String,
    /// The name of the message, such as `readFile`.
    pub name: String,
    /// The parameter that holds what the message says, such as `params`.
    pub of: String,
    /// The JSON Schema (draft-07) of that.
    pub schema: Value,
}

/// An example of an act.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActExample {
    /// What it is.
    pub name: String,
    /// Whether it is wrong on purpose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wrong: bool,
    /// The parameters.
    pub params: Map<String, Value>,
}

/// An act to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActRequest {
    /// Its name.
    pub act: String,
    /// Its parameters.
    #[serde(default)]
    pub params: Map<String, Value>,
}

/// What came of an act.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActResult {
    /// What it gave.
    pub ok: Value,
}

/// A flaw or freedom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deviation {
    /// Its name.
    pub name: String,
    /// Whether it is a flaw; otherwise it is a freedom.
    pub flaw: bool,
    /// What it does.
    pub about: String,
    /// The requirement that it violates, of a flaw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaks: Option<String>,
    /// Whether it is on.
    pub on: bool,
}

/// A flaw or freedom to be switched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Its name; of a flaw also with a modifier, such as `no-pong@late`.
    pub name: String,
    /// Whether it is to be on.
    pub on: bool,
}

/// All flaws and freedoms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deviations {
    /// The flaws and freedoms that can be switched.
    pub deviations: Vec<Deviation>,
}

/// A stretch of the trace to be saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeepRequest {
    /// The name of the trace; that of the session, where it is not said.
    #[serde(default)]
    pub trace: Option<String>,
    /// The first event.
    #[serde(default)]
    pub from: u64,
    /// The last event; the last one there is, where it is not said.
    #[serde(default)]
    pub to: Option<u64>,
    /// What it becomes.
    #[serde(rename = "as")]
    pub form: KeepForm,
    /// Which side wirecert plays in a scenario; the subject is the other one.
    #[serde(default)]
    pub side: KeepSide,
}

/// What a stretch of a trace becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeepForm {
    /// A scenario that plays it again.
    Scenario,
    /// A folder of fixtures: its messages and conversations.
    Fixture,
    /// A trace.
    Trace,
}

/// A side of the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeepSide {
    /// The one that connects: the subject is a server.
    #[default]
    Client,
    /// The one that is connected to: the subject is a client.
    Server,
}

/// What was saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    /// The file, or the folder of several.
    pub path: String,
    /// How many files were written.
    pub files: u64,
    /// The text of a scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A command that uses it.
    pub command: String,
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// What is wrong.
    pub error: String,
}
