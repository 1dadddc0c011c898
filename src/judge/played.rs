//! What a run hands to the judge: how each scenario was played ([`Played`]), and the options of the run, its [`Shard`] and
//! what was selected ([`RunScope`]). A report repeats the latter, so that the reports of shards can be put together.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::diagnostic::SourceSpan;
use crate::protocol::{Part, RequirementId, Use, Violation};
use crate::scenario::glob;
use crate::trace::{Awaited, AwaitedPart, Culprit, End, Finding, NormalisationFacts, Tail};

use super::ScenarioStatus;

pub use crate::trace::MissKind;

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
    /// Whether what it is about could not be judged because the machine was too busy with others.
    pub held_up: bool,
    /// Whether anything came from the subject.
    pub heard: bool,
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
            held_up: false,
            heard: false,
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

    /// The machine was too busy to judge what the play is about, for this reason. What was seen on the way stands.
    pub fn hold_up(&mut self, about: &[RequirementId], why: &str) {
        self.held_up = true;
        if self.status == ScenarioStatus::Error {
            return;
        }
        for id in about {
            if !self.assessed.contains(id) && self.blocked.iter().all(|blocked| blocked.requirement != Some(*id)) {
                let (requirement, message) = (Some(*id), why.to_owned());
                self.blocked.push(BlockedRequirement { requirement, because: None, message, explained: false });
            }
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
    /// Whether another one of its kind, chosen in the same way, came before in the play.
    pub came: bool,
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
    /// Whether something was seen that breaks the requirement, and the finding explains it; otherwise it did not come to that.
    pub explained: bool,
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

/// What was asked of a run, of all its subjects alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunOptions {
    /// Whether a violated `should` counted like a `must`.
    pub strict: bool,
    /// The filter, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Which part of the scenarios was played, where they were parted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// A subject of which nothing is said: it could not be started, reached or judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unjudged {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// The edition it was to be judged by; `auto` where that was to be found out.
    pub edition: String,
    /// What went wrong.
    pub reason: String,
}

/// How much of the suite a run stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The whole suite of the role and edition was played.
    Full,
    /// Only part of it was asked for: nothing is said about completeness or stale baseline lines.
    Partial,
    /// It ended before its time: interrupted, or at the first failure.
    CutShort,
}

/// Which scenarios a run, with all its shards, consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// How many there are.
    pub scenarios: usize,
    /// Whether they are the whole suite of the role and edition.
    pub whole: bool,
}

/// What the conclusions about a subject rest on, beside how its scenarios went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunScope {
    /// How much was asked for and reached.
    pub scope: Scope,
    /// How many scenarios were asked for, in all shards together.
    pub scenarios: usize,
    /// Whether these are the whole suite of the role and edition.
    pub whole: bool,
    /// The capabilities that it declares missing.
    pub missing: Vec<String>,
    /// The lines of the baseline that speak of what is asked of it.
    pub baseline: Vec<BaselineLine>,
    /// The digest of the file of the baseline, where there is one: `sha256:` and 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_digest: Option<String>,
    /// Snapshots that no scenario refers to, where only a full run may tell them as drift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreferenced: Vec<String>,
}

/// A line of the baseline, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineLine {
    /// The requirement's whole id.
    pub requirement: String,
    /// The scenario's id, where it is known in that scenario only; `*` stands for any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// Why it is put up with.
    pub reason: String,
    /// The last day on which it is, as a date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Whether that day was over.
    pub expired: bool,
    /// Whether it covered a violation.
    pub used: bool,
}

impl BaselineLine {
    /// Whether it speaks of this scenario.
    pub fn concerns(&self, scenario: &str) -> bool {
        self.scenario.as_deref().is_none_or(|pattern| glob(pattern, scenario))
    }

    /// Whether both stand for the same line of the same file, whatever came of it.
    pub(super) fn is_same_line(&self, other: &Self) -> bool {
        let content = |line: &Self| Self { expired: false, used: false, ..line.clone() };
        content(self) == content(other)
    }
}

/// One of several parts of a suite: `2/5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Shard {
    /// Which one, from 1.
    pub index: usize,
    /// Of how many.
    pub of: usize,
}

impl Shard {
    /// Whether the scenario at this position of the sorted suite belongs to this shard.
    pub fn takes(self, position: usize) -> bool {
        position % self.of == self.index - 1
    }

    /// How many of so many scenarios belong to this shard.
    pub fn share(self, scenarios: usize) -> usize {
        scenarios / self.of + usize::from(self.index <= scenarios % self.of)
    }

    /// Whether there can be such a shard.
    pub fn is_sound(self) -> bool {
        (1..=self.of).contains(&self.index)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parsed.map(|(index, of)| Self { index, of }) {
            Some(shard) if shard.is_sound() => Ok(shard),
            _ => Err("expected I/N with 1 ≤ I ≤ N, such as 2/5".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_part_a_suite_without_overlap_or_gap() {
        let shards = ["1/3", "2/3", "3/3"].map(|s| s.parse::<Shard>().unwrap());
        for position in 0..20 {
            assert_eq!(shards.iter().filter(|s| s.takes(position)).count(), 1);
            assert_eq!(shards.iter().map(|s| s.share(position)).sum::<usize>(), position);
        }
        for wrong in ["0/3", "4/3", "1", "a/b", "1/0", "-1/2", "1/2/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
