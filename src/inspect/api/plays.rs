//! Scenarios that are played at the subject, traces, and their comparison.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::export::diff::ComparisonCounts;
use crate::judge::ScenarioStatus;

use super::Kept;

/// What can be played at the subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioList {
    /// Whether scenarios can be played here. They can where wirecert stands opposite a subject.
    pub playable: bool,
    /// The scenarios of the suite for the role and edition of the subject.
    pub scenarios: Vec<ScenarioSummary>,
    /// The files of scenarios in the folder where stretches are saved.
    pub kept: Vec<String>,
}

/// A scenario of the suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioSummary {
    /// Its id.
    pub id: String,
    /// Its area.
    pub area: String,
    /// What it shows.
    pub title: String,
}

/// Scenarios to be played: those of the suite that fit a filter, or a saved one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlayRequest {
    /// A filter as of `certify --filter`.
    #[serde(default)]
    pub filter: Option<String>,
    /// The name of a file in the folder where stretches are saved.
    #[serde(default)]
    pub kept: Option<String>,
}

/// A saved scenario that is to be shrunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShrinkRequest {
    /// The name of its file in the folder where stretches are saved.
    pub kept: String,
    /// The requirement that has to stay violated; the first one that is, where it is not said.
    #[serde(default)]
    pub requirement: Option<String>,
}

/// What was played and shrunk, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlayList {
    /// The plays.
    pub plays: Vec<PlayState>,
    /// Whether one of them is under way.
    pub under_way: bool,
}

/// A play of a scenario, or the shrinking of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlayState {
    /// Its number, from 1.
    pub number: u64,
    /// The id of the scenario, or its file.
    pub name: String,
    /// What the scenario shows.
    pub title: String,
    /// How far it is.
    pub progress: PlayProgress,
    /// How it went, once it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ScenarioStatus>,
    /// Why, where it did not pass; how far the shrinking is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The requirements that were violated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violated: Vec<String>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<u64>,
    /// The name of its trace, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// What was saved, of a scenario that was shrunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
}

/// How far a play is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlayProgress {
    /// Others come before it.
    Waiting,
    /// It is played.
    Playing,
    /// It is being shrunk.
    Shrinking,
    /// It is over.
    Over,
    /// It was stopped, or not begun before the others were.
    Stopped,
}

/// A trace that can be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceName {
    /// Its name, which other requests take as `trace`.
    pub name: String,
    /// What it is.
    pub title: String,
    /// The names of its first connections, exchanges of HTTP without a name left out.
    pub connections: Vec<String>,
}

/// The traces that can be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceList {
    /// The one of the session comes first.
    pub traces: Vec<TraceName>,
}

/// A trace file to be looked at beside the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenRequest {
    /// Its path.
    pub path: String,
}

/// What two traces or connections differ in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Whether they are the same but for what may differ.
    pub same: bool,
    /// How many events are the same, changed, only left, only right, and at another place.
    pub counts: ComparisonCounts,
    /// The events side by side, in the order of the left trace.
    pub steps: Vec<ComparedStep>,
    /// How many more there are.
    pub more: u64,
}

/// An event of either trace, or the same event of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedStep {
    /// `same`, `changed`, `missing` (only left), `extra` (only right) or `moved`.
    pub status: String,
    /// The event of the left trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<ComparedEvent>,
    /// The event of the right trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<ComparedEvent>,
    /// What is different.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ComparedValue>,
}

/// An event beside another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedEvent {
    /// Its number.
    pub i: u64,
    /// Its connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conn: Option<String>,
    /// Whom it goes to: `server` or `client`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What it is, in a few words.
    pub what: String,
    /// Its content, cut.
    pub text: String,
}

/// A value that is different.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedValue {
    /// Where it is, as a JSON pointer.
    pub path: String,
    /// The value on the left; absent where it is only right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Value>,
    /// The value on the right; absent where it is only left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<Value>,
}
