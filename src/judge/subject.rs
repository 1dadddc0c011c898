//! The conclusions about one subject: from what was played to a [`SubjectReport`].

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use jiff::civil::Date;

use crate::protocol::{Level, Requirement};
use crate::trace::End;

use super::scenario::{Judged, judge_scenario};
use super::{
    Baseline, Blame, Counts, Note, Played, Repro, RequirementResult, ScenarioStatus, SnapshotResult, Status,
    SubjectReport, Verdict,
};

/// Everything that the judge has to know about the run of one subject.
#[derive(Clone)]
pub struct SubjectRun<'a> {
    /// The subject's name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// Which end of the wire it is.
    pub end: End,
    /// The edition it is judged by.
    pub edition: String,
    /// The catalogue of the protocol. Only what binds the subject's end in this edition is asked of it.
    pub catalogue: &'a [Requirement],
    /// The capabilities that it declares missing.
    pub missing: &'a [String],
    /// What is known to be wrong with it.
    pub baseline: &'a Baseline,
    /// The day of the run, for baseline entries that end.
    pub today: Date,
    /// How much was asked for and reached.
    pub scope: Scope,
    /// Whether a `should` binds like a `must`.
    pub strict: bool,
    /// The command that was run.
    pub repro: Repro,
    /// What was played, in the order in which it is to be told.
    pub played: &'a [Played],
    /// What was compared with snapshots.
    pub snapshots: Vec<SnapshotResult>,
    /// Remarks from outside the scenarios: how the edition was detected.
    pub notes: Vec<Note>,
}

/// How much of the suite a run stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The whole suite of the role and edition was played.
    Full,
    /// Only part of it was asked for: nothing is said about completeness or stale baseline lines.
    Partial,
    /// It ended before its time: interrupted, or at the first failure.
    CutShort,
}

/// Draws the conclusions. Never fails: what is contradictory counts against conformity.
pub fn judge_subject(run: &SubjectRun<'_>) -> SubjectReport {
    let judged: Vec<Judged> = run.played.iter().map(|played| judge_scenario(run, played)).collect();
    let mut notes = Notes::new(run.notes.clone());
    for note in judged.iter().flat_map(|j| &j.notes) {
        notes.add(note.clone());
    }
    let requirements = requirements(run, &judged);
    let stale = baseline_lines(run, &judged, &requirements, &mut notes);
    let counts = counts(&judged, stale);
    let verdict = verdict(run, &requirements, &counts);
    let snapshots = run.snapshots.iter().filter(|s| run.scope == Scope::Full || s.status != "unreferenced");
    SubjectReport {
        name: run.name.clone(),
        role: run.role.clone(),
        edition: run.edition.clone(),
        verdict,
        notes: notes.list,
        counts,
        requirements,
        snapshots: snapshots.cloned().collect(),
        findings: judged.iter().flat_map(|j| j.findings.clone()).collect(),
        scenarios: judged.into_iter().map(|j| j.result).collect(),
    }
}

/// Remarks without repetition, in order.
struct Notes {
    list: Vec<Note>,
    seen: HashSet<Note>,
}

impl Notes {
    fn new(list: Vec<Note>) -> Self {
        let seen = list.iter().cloned().collect();
        Self { list, seen }
    }

    fn add(&mut self, note: Note) {
        if self.seen.insert(note.clone()) {
            self.list.push(note);
        }
    }

    fn say(&mut self, requirement: &str, text: String) {
        self.add(Note { requirement: Some(requirement.to_owned()), text });
    }
}

fn requirements(run: &SubjectRun<'_>, judged: &[Judged]) -> Vec<RequirementResult> {
    let mut assessed: HashMap<&str, BTreeSet<usize>> = HashMap::new();
    let mut violated: HashMap<&str, BTreeSet<usize>> = HashMap::new();
    let mut excused: HashMap<&str, &str> = HashMap::new();
    for (i, scenario) in judged.iter().enumerate() {
        for id in &scenario.assessed {
            assessed.entry(id).or_default().insert(i);
        }
        for finding in scenario.findings.iter().filter(|f| f.blame == Blame::Subject) {
            violated.entry(&finding.requirement).or_default().insert(i);
        }
        for (id, why) in &scenario.excused {
            excused.entry(id).or_insert(why);
        }
    }
    let result = |requirement: &Requirement| {
        let by: BTreeSet<usize> =
            [&assessed, &violated].into_iter().flat_map(|m| m.get(requirement.id)).flatten().copied().collect();
        let (status, reason) = if violated.contains_key(requirement.id) {
            (Status::Violated, None)
        } else if !by.is_empty() {
            (Status::Met, None)
        } else {
            unassessed(run, judged, requirement, excused.get(requirement.id).copied())
        };
        RequirementResult {
            id: requirement.id.to_owned(),
            level: requirement.level,
            status,
            reason,
            by: by.into_iter().map(|i| judged[i].result.id.clone()).collect(),
        }
    };
    asked(run).map(result).collect()
}

/// What is asked of the subject.
fn asked<'a>(run: &SubjectRun<'a>) -> impl Iterator<Item = &'a Requirement> {
    let (end, edition) = (run.end, run.edition.clone());
    run.catalogue.iter().filter(move |r| r.binds == end && r.edition() == edition)
}

/// Whether a requirement that nothing was learnt about is excused, and why nothing was learnt.
///
/// Excused is what the subject declares missing, what a play found it not to owe, a `may`, and what belongs to a
/// capability and simply never came up although everything was played that could have shown it.
fn unassessed(
    run: &SubjectRun<'_>,
    judged: &[Judged],
    requirement: &Requirement,
    excuse: Option<&str>,
) -> (Status, Option<String>) {
    if let Some(capability) = requirement.capability.filter(|c| run.missing.iter().any(|m| m == c)) {
        return (Status::Excused, Some(format!("declared missing: {capability}")));
    }
    if let Some(why) = excuse {
        return (Status::Excused, Some(why.to_owned()));
    }
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    let proving = judged.iter().filter(|j| j.result.requirements.iter().any(|id| id == requirement.id));
    for scenario in proving {
        let result = &scenario.result;
        let reason = match result.status {
            ScenarioStatus::Skipped | ScenarioStatus::Error => result.reason.as_deref().unwrap_or("not played"),
            ScenarioStatus::Failed => "its scenario failed before it came to that",
            ScenarioStatus::Passed => "its scenario passed without coming to that",
        };
        *reasons.entry(reason).or_default() += 1;
    }
    let complete = run.scope == Scope::Full && judged.iter().any(Judged::was_judged);
    if reasons.is_empty() && complete {
        return match (requirement.level, requirement.capability) {
            (Level::May, _) => (Status::Excused, Some("optional, and never occurred".to_owned())),
            (_, Some(capability)) => (Status::Excused, Some(format!("optional ({capability}), and never occurred"))),
            _ => (Status::NotAssessed, Some("no occasion for it came up".to_owned())),
        };
    }
    let reason = if !reasons.is_empty() {
        reasons.into_keys().collect::<Vec<_>>().join("; ")
    } else {
        match run.scope {
            Scope::Partial => "not asked for",
            Scope::CutShort => "the run ended before it",
            Scope::Full => "nothing could be judged",
        }
        .to_owned()
    };
    (Status::NotAssessed, Some(reason))
}

/// Tells about baseline entries that do not apply; gives the number of stale ones.
fn baseline_lines(
    run: &SubjectRun<'_>,
    judged: &[Judged],
    requirements: &[RequirementResult],
    notes: &mut Notes,
) -> u64 {
    let used: HashSet<usize> = judged.iter().flat_map(|j| j.baseline_used.iter().copied()).collect();
    let mut stale = 0;
    for (i, known) in run.baseline.entries.iter().enumerate() {
        let Some(status) = requirements.iter().find(|r| r.id == known.requirement).map(|r| r.status) else { continue };
        let scope = known.scenario.as_ref().map(|s| format!(" in {s}")).unwrap_or_default();
        if let Some(until) = known.until.filter(|_| known.expired(run.today)) {
            notes.say(&known.requirement, format!("the baseline put up with this{scope} until {until}: it counts now"));
        }
        if used.contains(&i) || run.scope != Scope::Full {
            continue;
        }
        let mut concerned = judged.iter().filter(|j| known.concerns(&j.result.id)).peekable();
        let names_nothing = concerned.peek().is_none();
        let occurred = judged.iter().any(|j| {
            known.concerns(&j.result.id)
                && j.findings.iter().any(|f| f.blame == Blame::Subject && f.requirement == known.requirement)
        });
        let unknown = match &known.scenario {
            None => !matches!(status, Status::Met | Status::Violated),
            Some(_) => concerned.any(|j| !j.was_judged()),
        };
        if occurred {
            continue; // its time is over; the violation counts, and the note above says so
        } else if unknown && !names_nothing {
            notes.say(&known.requirement, format!("the baseline lists this{scope}, and nothing was learnt about it"));
        } else {
            stale += 1;
            let why = if names_nothing { "no such scenario was played" } else { "it is not violated" };
            notes.say(&known.requirement, format!("stale baseline line{scope}: {why}; remove it"));
        }
    }
    stale
}

fn counts(judged: &[Judged], stale: u64) -> Counts {
    let mut counts = Counts { unexpected_passes: stale, ..Counts::default() };
    for scenario in judged {
        *match scenario.result.status {
            ScenarioStatus::Passed => &mut counts.passed,
            ScenarioStatus::Failed if scenario.result.expected => &mut counts.expected_failures,
            ScenarioStatus::Failed => &mut counts.failed,
            ScenarioStatus::Skipped => &mut counts.skipped,
            ScenarioStatus::Error => &mut counts.error,
        } += 1;
    }
    counts
}

fn verdict(run: &SubjectRun<'_>, requirements: &[RequirementResult], counts: &Counts) -> Verdict {
    let judged = counts.passed + counts.expected_failures;
    let assessed = requirements.iter().any(|r| matches!(r.status, Status::Met | Status::Violated));
    let unproved_must = requirements.iter().any(|r| r.level == Level::Must && r.status == Status::NotAssessed);
    if counts.failed > 0 {
        Verdict::Nonconforming
    } else if judged == 0 || !assessed || counts.error > 0 {
        Verdict::Incomplete
    } else {
        match run.scope {
            Scope::Partial => Verdict::Partial,
            Scope::CutShort => Verdict::Incomplete,
            Scope::Full if unproved_must => Verdict::Incomplete,
            Scope::Full if counts.expected_failures > 0 => Verdict::ConformsExcept,
            Scope::Full => Verdict::Conforms,
        }
    }
}
