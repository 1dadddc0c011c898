//! The conclusions about one subject: from what was played to a [`SubjectReport`]; for each scenario its status over all
//! plays, and its findings without repetition.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use jiff::civil::Date;

use crate::diagnostic::{Diagnostic, SourceSpan, Style, render};
use crate::protocol::{Level, Requirement, RequirementId, Use};
use crate::trace::End;

use super::conclusion::{Inputs, Required, conclude};
use super::{
    Attempt, Baseline, BaselineLine, Blame, BlockedBy, Excuse, FaultOwner, Finding, Note, Play, Played, RawFinding,
    Repro, RunScope, ScenarioResult, ScenarioStatus, Scope, Selection, SnapshotResult, SubjectReport,
};

/// Everything that the judge has to know about the run of one subject.
#[derive(Clone)]
pub struct SubjectRun<'a> {
    /// The subject's name.
    pub name: String,
    /// The role of the subject.
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
    /// What was asked for, in all shards together.
    pub selection: Selection,
    /// Whether a `should` binds like a `must`.
    pub strict: bool,
    /// The command that was run.
    pub repro: Repro,
    /// What was played, in the order of the report.
    pub played: &'a [Played],
    /// What was compared with snapshots, and what nothing refers to.
    pub snapshots: Vec<SnapshotResult>,
    /// Remarks from outside the scenarios: how the edition was detected.
    pub notes: Vec<Note>,
}

/// Draws the conclusions. Never fails: what is contradictory counts against conformity.
pub fn judge_subject(run: &SubjectRun<'_>) -> SubjectReport {
    let judged: Vec<JudgedScenario> = run.played.iter().map(|played| judge_scenario(run, played)).collect();
    let owed: Vec<Required> = owed_requirements(run).collect();
    let (unreferenced, snapshots): (Vec<_>, Vec<_>) =
        run.snapshots.iter().cloned().partition(|s| run.scope != Scope::Full && s.status == "unreferenced");
    let basis = RunScope {
        scope: run.scope,
        scenarios: run.selection.scenarios,
        whole: run.selection.whole,
        missing: run.missing.to_vec(),
        baseline: baseline_lines(run, &owed, &judged),
        baseline_digest: run.baseline.digest.clone(),
        unreferenced: unreferenced.into_iter().map(|s: SnapshotResult| s.file).collect(),
    };
    conclude(Inputs {
        name: run.name.clone(),
        role: run.role.clone(),
        edition: run.edition.clone(),
        strict: run.strict,
        owed,
        basis,
        judged,
        snapshots,
        notes: run.notes.iter().cloned().chain(gaps(run)).collect(),
    })
}

/// Capabilities that the subject seems to lack: each request that needs one was answered with the error that says that
/// there is no such thing.
fn gaps(run: &SubjectRun<'_>) -> Vec<Note> {
    let mut uses: BTreeMap<&str, Vec<&Use>> = BTreeMap::new();
    for used in run.played.iter().flat_map(|played| &played.plays).flat_map(|play| &play.uses) {
        let known = uses.entry(used.capability).or_default();
        if !known.contains(&used) {
            known.push(used);
        }
    }
    let undeclared = uses.into_iter().filter(|(name, _)| run.missing.iter().all(|missing| missing != name));
    undeclared
        .filter_map(|(name, uses)| {
            let refusals: BTreeSet<i64> = uses.iter().map(|used| used.refusal).collect::<Option<_>>()?;
            let of = |words: Vec<String>| words.join(", ");
            let requests: BTreeSet<&String> = uses.iter().map(|used| &used.request).collect();
            let requests = of(requests.into_iter().map(|request| format!("`{request}`")).collect());
            let refusals = of(refusals.into_iter().map(|code| code.to_string()).collect());
            let text = format!(
                "every {requests} was answered with {refusals}: a subject that does not have this declares \
                 `missing: [{name}]` in wirecert.yaml, and is excused"
            );
            Some(Note { requirement: None, text })
        })
        .collect()
}

/// What is asked of the subject.
fn owed_requirements<'a>(run: &SubjectRun<'a>) -> impl Iterator<Item = Required> + use<'a> {
    let (end, edition) = (run.end, run.edition.clone());
    run.catalogue.iter().filter(move |r| r.binds == end && r.edition() == edition).map(|r| Required {
        id: r.id.to_owned(),
        level: r.level,
        capability: r.capability.map(str::to_owned),
    })
}

/// The lines of the baseline that speak of what is asked of the subject.
fn baseline_lines(run: &SubjectRun<'_>, owed: &[Required], judged: &[JudgedScenario]) -> Vec<BaselineLine> {
    let used: HashSet<usize> = judged.iter().flat_map(|j| j.baseline_used.iter().copied()).collect();
    let line = |(i, known): (usize, &super::BaselineEntry)| BaselineLine {
        requirement: known.requirement.clone(),
        scenario: known.scenario.clone(),
        reason: known.reason.clone(),
        until: known.until.map(|day| day.to_string()),
        expired: known.expired(run.today),
        used: used.contains(&i),
    };
    let is_owed = |(_, known): &(usize, &super::BaselineEntry)| owed.iter().any(|r| r.id == known.requirement);
    run.baseline.entries.iter().enumerate().filter(is_owed).map(line).collect()
}

/// What is concluded about one scenario.
pub(super) struct JudgedScenario {
    pub result: ScenarioResult,
    /// The findings of the scenario, each once.
    pub findings: Vec<Finding>,
    /// What had an occasion to be broken, in plays that could be judged.
    pub assessed: Vec<String>,
    pub notes: Vec<Note>,
    /// The baseline entries that covered something here.
    pub baseline_used: Vec<usize>,
}

impl JudgedScenario {
    /// Whether it was played to a result.
    pub fn was_judged(&self) -> bool {
        is_judged(self.result.status)
    }
}

fn is_judged(status: ScenarioStatus) -> bool {
    matches!(status, ScenarioStatus::Passed | ScenarioStatus::Failed | ScenarioStatus::Blocked)
}

pub(super) fn judge_scenario(run: &SubjectRun<'_>, played: &Played) -> JudgedScenario {
    let (findings, baseline_used) = findings(run, played);
    let (status, reason, expected) = status(run, played, &findings);
    let judged = || played.plays.iter().filter(|p| is_judged(p.status));
    let note = |(requirement, text): &(Option<RequirementId>, String)| Note {
        requirement: requirement.map(str::to_owned),
        text: text.clone(),
    };
    // What the machine held up says nothing about the subject.
    let outcomes: Vec<_> = played.plays.iter().filter(|play| !play.held_up).map(|play| play.status).collect();
    let turn = decisive_play(played, |p| p.position.is_some()).and_then(|p| p.position);
    let result = ScenarioResult {
        id: played.id.clone(),
        file: played.file.clone(),
        status,
        reason,
        expected,
        flaky: outcomes.windows(2).any(|two| two[0] != two[1]),
        duration_ms: millis(played.plays.iter().map(|p| p.duration).sum()),
        attempts: played
            .plays
            .iter()
            .map(|p| Attempt {
                status: p.status,
                reason: p.reason.clone(),
                duration_ms: millis(p.duration),
                process: p.position.map(|turn| turn.process),
                position: p.position.map(|turn| turn.position),
            })
            .collect(),
        job: turn.map(|turn| turn.job),
        process: turn.map(|turn| turn.process),
        position: turn.map(|turn| turn.position),
        requirements: played.requirements.iter().map(|&id| id.to_owned()).collect(),
        excuses: excuses(played),
        blocked: blocked(played),
        trace: decisive_play(played, |p| p.trace.is_some()).and_then(|p| p.trace.clone()),
    };
    JudgedScenario {
        result,
        findings,
        assessed: judged().flat_map(|p| p.assessed.iter().map(|&id| id.to_owned())).collect(),
        notes: played.plays.iter().flat_map(|p| &p.notes).map(note).collect(),
        baseline_used,
    }
}

/// What the subject does not owe, each requirement once, with the first reason.
fn excuses(played: &Played) -> Vec<Excuse> {
    let mut list: Vec<Excuse> = vec![];
    for (id, why) in played.plays.iter().flat_map(|p| &p.excused) {
        if list.iter().all(|excuse| excuse.requirement != *id) {
            list.push(Excuse { requirement: (*id).to_owned(), reason: why.clone() });
        }
    }
    list
}

/// What could not be judged, each requirement once for each that was violated instead.
fn blocked(played: &Played) -> Vec<BlockedBy> {
    let mut list: Vec<BlockedBy> = vec![];
    // What was held up was played again, if another play follows.
    let last = played.plays.len().saturating_sub(1);
    let plays = played.plays.iter().enumerate().filter(|(n, play)| !play.held_up || *n == last).map(|(_, play)| play);
    for (play, blocked) in plays.flat_map(|play| play.blocked.iter().map(move |blocked| (play, blocked))) {
        let of = |id: Option<RequirementId>| id.unwrap_or_default().to_owned();
        let (requirement, because) = (of(blocked.requirement), of(blocked.because));
        match list.iter_mut().find(|other| other.requirement == requirement && other.because == because) {
            Some(known) => known.explained |= blocked.explained,
            None => {
                let message = play.place.replace_in(&blocked.message);
                list.push(BlockedBy { requirement, because, message, explained: blocked.explained });
            }
        }
    }
    list
}

/// Whether a finding makes its scenario fail, unless the baseline has it.
fn binds(run: &SubjectRun<'_>, finding: &Finding) -> bool {
    finding.blame == Blame::Subject && (finding.level == Level::Must || run.strict && finding.level == Level::Should)
}

/// The status over all plays, why, and whether it failed only as the baseline says: a violation seen once stands,
/// then what kept it from being judged, then what is known to be wrong.
fn status(run: &SubjectRun<'_>, played: &Played, findings: &[Finding]) -> (ScenarioStatus, Option<String>, bool) {
    let plays = &played.plays;
    if let Some(play) = plays.iter().find(|play| play.status == ScenarioStatus::Blocked)
        && plays.iter().all(|play| play.status != ScenarioStatus::Failed)
    {
        return (ScenarioStatus::Blocked, play.reason.clone(), false);
    }
    if let Some(finding) = findings.iter().find(|f| binds(run, f) && f.baseline.is_none()) {
        return (ScenarioStatus::Failed, Some(finding.message.clone()), false);
    }
    if let Some(play) = plays.iter().find(|p| p.status == ScenarioStatus::Failed && p.findings.is_empty()) {
        return (ScenarioStatus::Failed, play.reason.clone(), false);
    }
    let mended = |i: usize| plays.get(i + 1).is_some_and(|next| next.retry);
    let error = |(i, p): &(usize, &Play)| p.status == ScenarioStatus::Error && !mended(*i);
    if let Some((_, play)) = plays.iter().enumerate().find(error) {
        return (ScenarioStatus::Error, play.reason.clone(), false);
    }
    if let Some(other) = findings.iter().find(|f| f.blame != Blame::Subject) {
        let who = if other.blame == Blame::Peer { "our own peer is at fault" } else { "the environment is at fault" };
        return (ScenarioStatus::Error, Some(format!("{who}: {}", other.message)), false);
    }
    if let Some(known) = findings.iter().filter(|f| binds(run, f)).find_map(|f| f.baseline.as_ref()) {
        return (ScenarioStatus::Failed, Some(format!("known: {known}")), true);
    }
    if plays.iter().any(|p| is_judged(p.status)) {
        return (ScenarioStatus::Passed, None, false);
    }
    let reason = plays.iter().find_map(|p| p.reason.clone());
    (ScenarioStatus::Skipped, Some(reason.unwrap_or_else(|| "the run ended before it".to_owned())), false)
}

/// The play that decides about the scenario, of those for which `has` holds.
fn decisive_play(played: &Played, has: impl Fn(&Play) -> bool) -> Option<&Play> {
    let grave = |p: &&Play| match p.status {
        ScenarioStatus::Failed => 0,
        ScenarioStatus::Error => 1,
        ScenarioStatus::Blocked => 2,
        ScenarioStatus::Passed => 3,
        ScenarioStatus::Skipped => 4,
    };
    played.plays.iter().filter(|p| has(p)).min_by_key(grave)
}

/// The findings of all plays. What is said of the same requirement with the same words, of the same one, is one
/// finding: the first is reported and the rest are counted. Words are the same that differ only by where a play took place.
fn findings(run: &SubjectRun<'_>, played: &Played) -> (Vec<Finding>, Vec<usize>) {
    let mut list: Vec<Finding> = vec![];
    let mut known: HashMap<(String, Blame, String), usize> = HashMap::new();
    let mut used = vec![];
    for (play, found) in played.plays.iter().flat_map(|p| p.findings.iter().map(move |f| (p, f))) {
        let blame = blame(run, found.fault);
        let key = (found.requirement.unwrap_or_default().to_owned(), blame, play.place.replace_in(&found.message));
        if let Some(&at) = known.get(&key) {
            list[at].occurrences += 1;
            continue;
        }
        known.insert(key, list.len());
        let entry = found
            .requirement
            .filter(|_| blame == Blame::Subject)
            .and_then(|id| run.baseline.lookup(id, &played.id, run.today));
        used.extend(entry.map(|(i, _)| i));
        let reason = entry.map(|(_, known)| known.reason.clone());
        list.push(finding(run, played, play, found, blame, reason));
    }
    (list, used)
}

fn finding(
    run: &SubjectRun<'_>,
    played: &Played,
    play: &Play,
    found: &RawFinding,
    blame: Blame,
    baseline: Option<String>,
) -> Finding {
    let requirement = found.requirement.unwrap_or_default();
    Finding {
        requirement: requirement.to_owned(),
        level: run.catalogue.iter().find(|r| r.id == requirement).map_or(Level::Must, |r| r.level),
        blame,
        scenario: Some(played.id.clone()),
        step: found.step.clone(),
        file: found.place.as_ref().map(|p| p.source.name().to_owned()),
        line: found.place.as_ref().map(|p| p.line() as u64),
        message: found.message.clone(),
        path: found.path.clone(),
        expected: found.expected.clone(),
        actual: found.actual.clone(),
        trace: play.trace.clone(),
        index: found.index,
        way: found.missed.as_ref().map(|missed| missed.way),
        awaited: found.missed.as_ref().map(|missed| missed.kind.to_owned()),
        occurrences: 1,
        blocks: vec![],
        baseline,
        repro: run.repro.command(Some(&played.id)),
        depends: None,
        last_events: found.last_events.clone(),
        excerpt: found.place.as_ref().map(excerpt),
    }
}

fn blame(run: &SubjectRun<'_>, fault: FaultOwner) -> Blame {
    match fault {
        FaultOwner::End(end) if end == run.end => Blame::Subject,
        FaultOwner::End(_) => Blame::Peer,
        FaultOwner::Environment => Blame::Environment,
    }
}

/// The lines of the scenario that are meant, drawn as every diagnostic is, without a headline.
fn excerpt(place: &SourceSpan) -> String {
    let drawn = render(&Diagnostic::error("expectation", "-").at(place.clone(), ""), Style::Plain);
    drawn.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default()
}

fn millis(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1000.0
}
