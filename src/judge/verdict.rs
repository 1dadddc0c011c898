//! What is said of a requirement, a scenario and a subject.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::protocol::Level;

use super::MissKind;

/// What is said of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every `must` was assessed or excused, and none violated.
    Conforms,
    /// Every violated `must` is in the baseline.
    ConformsExcept,
    /// A `must` is violated.
    Nonconforming,
    /// A `must` was neither assessed nor excused.
    Incomplete,
    /// Only part of the suite was asked for, and nothing in it was violated.
    Partial,
}

/// What is said of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It was assessed and never broken.
    Met,
    /// It was broken.
    Violated,
    /// The subject need not meet it: declared missing, not offered, optional and never occurred.
    Excused,
    /// Nothing was learnt about it.
    NotAssessed,
}

/// How a scenario went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScenarioStatus {
    /// Every expectation came true and no `must` was broken on the way.
    Passed,
    /// An expectation did not come true, or a rule was broken.
    Failed,
    /// What it is about could not be judged because of a finding.
    Blocked,
    /// It was not played, for a reason.
    Skipped,
    /// It could not be judged: our fault or the environment's.
    Error,
}

/// Whose fault a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// The implementation under test. Only this counts against it.
    Subject,
    /// Our own mock: a bug of ours.
    Peer,
    /// The machine, or a command that was to help.
    Environment,
}

/// A requirement that was broken, by whom, and the evidence.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The requirement's id; empty where an expectation that proves none failed.
    pub requirement: String,
    /// Its level; `must` where there is no requirement.
    pub level: Level,
    /// Whose fault it is.
    pub blame: Blame,
    /// The scenario it came up in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The step of the scenario, as a word: `expect response`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The scenario's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in that file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where in the message's JSON, as a JSON pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What should have been there.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub expected: Option<Value>,
    /// What was there.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub actual: Option<Value>,
    /// The trace file, where one was kept.
    pub trace: Option<String>,
    /// The event in it that shows the fault.
    pub index: Option<u64>,
    /// How an expectation was missed; none where a rule saw what is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<MissKind>,
    /// The kind of observation that the expectation awaited, or the verb that could not be performed; none where a rule
    /// saw what is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited: Option<String>,
    /// How often it was seen in this scenario, over all plays.
    pub occurrences: u64,
    /// The ids of the requirements that could not be judged because of this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<String>,
    /// The reason given in the baseline, where it lists this finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// A command that repeats just this.
    pub repro: String,
    /// What it depends on beside its scenario. Absent where it showed again when the scenario was played by itself, and where
    /// that was not tried: the subject is not started by wirecert, the finding is in the baseline, or there was no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends: Option<Depends>,
    /// The last events before the fault, as lines for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_events: Vec<String>,
    /// The excerpt of the scenario, drawn as text, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
}

/// `null` is a value that was there, not the absence of one.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// What a finding depends on that did not show again when its scenario was played by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Depends {
    /// What was played before at the same process: `repro` plays as much of it as is needed.
    State,
    /// It did not show after what was played before either.
    Chance,
    /// Chance, or what was played before: there was no time to see, or it did not show where that was played in the order in
    /// which one job plays it.
    Unclear,
}

impl Depends {
    /// It in words, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::State => "what was played before: by itself the scenario does not show it",
            Self::Chance => {
                "chance: it did not show when it was repeated, neither by itself nor after what was played before"
            }
            Self::Unclear => "chance, or what was played before: by itself the scenario does not show it",
        }
    }
}

/// One play of a scenario.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// How it went.
    pub status: ScenarioStatus,
    /// Why, where it is not `passed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
    /// The process of the subject that it was played at, from 1, in the order of their start; absent where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u64>,
    /// As how manieth play of that process, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
}

/// How a scenario went, over all attempts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioResult {
    /// Its id.
    pub id: String,
    /// Its file.
    pub file: String,
    /// The outcome: a violation seen once stands.
    pub status: ScenarioStatus,
    /// Why, where it is not `passed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it failed only as the baseline says.
    pub expected: bool,
    /// Whether attempts differed.
    pub flaky: bool,
    /// How long all attempts took, in milliseconds.
    pub duration_ms: f64,
    /// Each attempt.
    pub attempts: Vec<Attempt>,
    /// The job that played it, from 1; absent where no process was played at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
    /// The process of the subject in the attempt that tells most, the first that failed: as in the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u64>,
    /// As how manieth play of that process, from 1: those before it may have left something behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// The ids of the requirements that its expectations prove.
    pub requirements: Vec<String>,
    /// What the subject turned out not to owe: it said `unsupported`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excuses: Vec<Excuse>,
    /// What it could not judge because of a finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<BlockedBy>,
    /// Its trace file, where one was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// A requirement that the subject does not owe, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Excuse {
    /// The requirement's id.
    pub requirement: String,
    /// Why it is not owed.
    pub reason: String,
}

/// A requirement that could not be judged because of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockedBy {
    /// The requirement's id; empty where the step that could not be performed proves none.
    pub requirement: String,
    /// The id of the requirement that was violated instead; empty where the finding stands for none.
    pub because: String,
    /// The finding, in a sentence.
    pub message: String,
    /// Whether something was seen that breaks the requirement, and the finding explains it. Absent where the scenario did not
    /// come to judge it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub explained: bool,
}

/// What is said of one requirement of one subject.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RequirementResult {
    /// Its id.
    pub id: String,
    /// Its level.
    pub level: Level,
    /// The capability that it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// What is said of it.
    pub status: Status,
    /// Why, where it is excused or not assessed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The ids of the violated requirements that kept it from being assessed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    /// The scenarios that assessed it.
    pub by: Vec<String>,
}
