//! What a run hands to the judge: how each scenario was played, before anybody has drawn conclusions.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::diagnostic::SourceSpan;
use crate::protocol::{Part, RequirementId, Use, Violation};
use crate::trace::{Awaited, AwaitedPart, Culprit, End, Finding, NormalisationFacts, Tail};

pub use crate::trace::MissKind;

use super::ScenarioStatus;

/// A scenario and every play of it.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// The scenario's id, as in [`Plan::id`](crate::scenario::Plan::id).
    pub id: String,
    /// The file of the scenario, as shown to people.
    pub file: String,
    /// What it shows, in a sentence.
    pub title: String,
    /// The requirements that its expectations prove.
    pub requirements: Vec<RequirementId>,
    /// The plays of the scenario in order; none where the run ended before.
    pub plays: Vec<Play>,
}

/// One play of a scenario.
#[derive(Clone, Debug)]
pub struct Play {
    /// How it went: `failed` where an expectation did not come true, `error` where it could not be judged.
    pub status: ScenarioStatus,
    /// Why, where it is not `passed`; of a skipped one, what was missing.
    pub reason: Option<String>,
    /// Whether it repeats the play before it because that ended in `error`.
    pub retry: bool,
    /// How long it took.
    pub duration: Duration,
    /// Requirements that had an occasion to be broken, by expectations and rules; repetitions do no harm.
    pub assessed: Vec<RequirementId>,
    /// Requirements that the subject turned out not to owe, and why: it responded `unsupported`.
    pub excused: Vec<(RequirementId, String)>,
    /// What went wrong.
    pub findings: Vec<RawFinding>,
    /// What could not be judged because of a finding.
    pub blocked: Vec<BlockedRequirement>,
    /// Readings taken and other remarks.
    pub notes: Vec<(Option<RequirementId>, String)>,
    /// Sound requests that need a capability, and how they were answered.
    pub uses: Vec<Use>,
    /// The trace file of the play, where one was kept.
    pub trace: Option<String>,
    /// Where it took place: folders and ports that other plays do not have.
    pub place: NormalisationFacts,
    /// When it took place, where a process was played at.
    pub position: Option<PlayPosition>,
}

/// When a play took place: all plays at one process follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayPosition {
    /// The job that played it, from 1.
    pub job: u64,
    /// The subject's process, from 1, in the order of their start.
    pub process: u64,
    /// The position of the play among the plays at this process, from 1.
    pub position: u64,
}

impl Play {
    /// A play with a status and nothing else.
    pub fn new(status: ScenarioStatus) -> Self {
        Self {
            status,
            reason: None,
            retry: false,
            duration: Duration::ZERO,
            assessed: vec![],
            excused: vec![],
            findings: vec![],
            blocked: vec![],
            notes: vec![],
            uses: vec![],
            trace: None,
            place: NormalisationFacts::default(),
            position: None,
        }
    }

    /// A scenario that was not played, and why.
    pub fn skipped(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::new(ScenarioStatus::Skipped) }
    }

    /// A scenario that could not be judged, and why.
    pub fn error(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::new(ScenarioStatus::Error) }
    }
}

/// Something wrong, as an expectation or a rule saw it: it blames an end of the wire, since only the run
/// knows which end is the subject.
#[derive(Clone, Debug)]
pub struct RawFinding {
    /// The whole id of the requirement; none where an expectation that proves nothing did not come true.
    pub requirement: Option<RequirementId>,
    /// Whose fault it is.
    pub fault: FaultOwner,
    /// The step as a word: `expect response`; none where a rule saw it.
    pub step: Option<String>,
    /// Where the scenario asks for it.
    pub place: Option<SourceSpan>,
    /// What happened, in one sentence.
    pub message: String,
    /// Where in the message's JSON, as a JSON pointer.
    pub path: Option<String>,
    /// What should have been there.
    pub expected: Option<Value>,
    /// What was there.
    pub actual: Option<Value>,
    /// The event that shows it.
    pub index: Option<u64>,
    /// The last event before it was known.
    pub known_after: Option<u64>,
    /// The last events before it, as lines for people, oldest first.
    pub last_events: Vec<String>,
    /// The part of the message that is wrong, where a rule saw it.
    pub part: Part,
    /// The connection or exchange of the event that shows it, where it has one.
    pub conn: Option<String>,
    /// How an expectation was missed; none where a rule saw it.
    pub missed: Option<MissedExpectation>,
}

impl RawFinding {
    /// The same, with the last events before it.
    pub fn with_last_events_of(self, tail: &Tail) -> Self {
        Self { known_after: tail.newest(), last_events: tail.lines(), ..self }
    }

    /// The same as an event of the trace of its play.
    pub fn recorded(&self) -> Finding {
        let awaited = self.missed.as_ref().map(|missed| Awaited {
            way: missed.way,
            since: missed.since,
            until: self.known_after.unwrap_or_default(),
            outcomes: missed.outcomes.clone(),
        });
        Finding {
            at: self.index.or(self.known_after).unwrap_or_default(),
            requirement: self.requirement.map(str::to_owned),
            blame: match self.fault {
                FaultOwner::End(end) => end.into(),
                FaultOwner::Environment => Culprit::Environment,
            },
            message: self.message.clone(),
            path: self.path.clone(),
            expected: self.expected.clone(),
            actual: self.actual.clone(),
            step: self.step.clone(),
            file: self.place.as_ref().map(|place| place.source.name().to_owned()),
            line: self.place.as_ref().map(|place| place.line() as u64),
            awaited,
        }
    }
}

/// How an expectation was missed.
#[derive(Clone, Debug, PartialEq)]
pub struct MissedExpectation {
    /// The kind of observation that was awaited, or the verb that our side could not perform.
    pub kind: &'static str,
    /// What chose the observation among others of its kind.
    pub selectors: Map<String, Value>,
    /// The connection or exchange that it was to come on, where it comes on one.
    pub conn: Option<String>,
    /// In which way it was missed.
    pub way: MissKind,
    /// Each outcome that would have done; none where our side could not perform a step.
    pub outcomes: Vec<Vec<AwaitedPart>>,
    /// Where the observation that came nearest differs, as JSON pointers in it.
    pub places: Vec<String>,
    /// The event of the observation that came nearest, where one came.
    pub index: Option<u64>,
    /// The first event that the observation could have been made from.
    pub since: u64,
}

/// Something that was not to come, and did not: it proves that a requirement is met, unless it came and nobody could know it.
#[derive(Clone, Debug, PartialEq)]
pub struct Absence {
    /// The requirement that it proves.
    pub requirement: RequirementId,
    /// The connection or exchange that it would have come on, where it would come on one.
    pub conn: Option<String>,
    /// The first event that it could have been made from.
    pub since: u64,
}

impl MissedExpectation {
    /// The name of the exchange, where one is chosen by its label.
    pub fn exchange(&self) -> Option<&str> {
        ["to", "of"].iter().find_map(|key| self.selectors.get(*key)?.as_str())
    }
}

/// A requirement that a play could not judge because of a finding.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockedRequirement {
    /// The requirement that was not judged; none where the step that could not be performed proves none.
    pub requirement: Option<RequirementId>,
    /// The requirement that was violated instead; none where the finding stands for none.
    pub because: Option<RequirementId>,
    /// The finding in a sentence.
    pub message: String,
}

/// The end that is at fault, in the words of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultOwner {
    /// That of the one at this end.
    End(End),
    /// Nobody's who is at the wire: the machine's, or a command's that was to help.
    Environment,
}

impl From<Violation> for RawFinding {
    fn from(violation: Violation) -> Self {
        Self {
            requirement: Some(violation.requirement),
            fault: FaultOwner::End(violation.blame),
            step: None,
            place: None,
            message: violation.message,
            path: violation.path,
            expected: violation.expected,
            actual: violation.actual,
            index: Some(violation.index),
            known_after: None,
            last_events: vec![],
            part: violation.part,
            conn: violation.conn,
            missed: None,
        }
    }
}
