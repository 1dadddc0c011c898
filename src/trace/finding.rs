//! The findings of a play in its own trace: [`Finding`], and [`JudgementEnd`] after the last one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::End;
use super::traffic::present_value;

/// Something that was found wrong in the play that the trace records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The number of the event that shows it; where nothing came, of the last event before it was given up.
    pub at: u64,
    /// The requirement that was broken; absent where an expectation failed that proves none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// Whose fault it is.
    pub blame: Culprit,
    /// What happened, in one sentence.
    pub message: String,
    /// Where, as a JSON pointer: into the message where a rule saw it, into what was awaited where an expectation failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What should have been there.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_value")]
    pub expected: Option<Value>,
    /// What was there.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_value")]
    pub actual: Option<Value>,
    /// The step as a word; absent where only a rule saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The file of the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of the step in that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What was awaited, where an expectation failed; absent where a rule saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited: Option<Awaited>,
}

/// What an expectation that failed awaited, or that something must not come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Awaited {
    /// How it was missed.
    pub way: MissKind,
    /// The number of the first event that it could have been made from.
    pub since: u64,
    /// The number of the last event before it was known.
    pub until: u64,
    /// Each outcome that would do, as all the observations that make it; empty where a step of our side failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<Vec<AwaitedPart>>,
}

/// An observation that is awaited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AwaitedPart {
    /// The kind of observation.
    pub observation: String,
    /// The connection that it comes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// What chooses it among others of its kind.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub selectors: Map<String, Value>,
    /// What it has to match, variables replaced.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub pattern: Map<String, Value>,
}

/// The ways in which an expectation is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissKind {
    /// Nothing came that could have been it.
    Absent,
    /// A failure came where a success was due.
    Failure,
    /// Something came that cannot be read: no JSON where JSON was due.
    Unreadable,
    /// Something came, and differs.
    Different,
    /// Something came that must not come.
    Unwanted,
    /// The subject could not be connected to, or did not become ready.
    Unreachable,
}

/// Who is to blame for a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Culprit {
    /// The one that connects.
    Client,
    /// The one that is connected to.
    Server,
    /// Nobody who is at the wire.
    Environment,
}

impl Culprit {
    /// The end that is to blame, if one is.
    pub fn end(self) -> Option<End> {
        match self {
            Self::Client => Some(End::Client),
            Self::Server => Some(End::Server),
            Self::Environment => None,
        }
    }
}

impl From<End> for Culprit {
    fn from(end: End) -> Self {
        match end {
            End::Client => Self::Client,
            End::Server => Self::Server,
        }
    }
}

/// The play was judged to its end: all that was found stands before this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgementEnd {
    /// How many findings there are.
    pub findings: u64,
}
