//! The conclusions about one subject: from what was played to a [`SubjectReport`].

use std::collections::{BTreeMap, BTreeSet, HashSet};

use jiff::civil::Date;

use crate::protocol::{Requirement, Use};
use crate::trace::End;

use super::conclusion::{Inputs, Required, conclude};
use super::scenario::{JudgedScenario, judge_scenario};
use super::{Baseline, BaselineLine, Note, Played, Repro, RunScope, Scope, Selection, SnapshotResult, SubjectReport};

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
    /// What was asked for, in all shards together.
    pub selection: Selection,
    /// Whether a `should` binds like a `must`.
    pub strict: bool,
    /// The command that was run.
    pub repro: Repro,
    /// What was played, in the order in which it is to be told.
    pub played: &'a [Played],
    /// What was compared with snapshots, and what nothing refers to.
    pub snapshots: Vec<SnapshotResult>,
    /// Remarks from outside the scenarios: how the edition was detected.
    pub notes: Vec<Note>,
}

/// Draws the conclusions. Never fails: what is contradictory counts against conformity.
pub fn judge_subject(run: &SubjectRun<'_>) -> SubjectReport {
    let judged: Vec<JudgedScenario> = run.played.iter().map(|played| judge_scenario(run, played)).collect();
    let owed: Vec<Required> = owed(run).collect();
    let (unreferenced, snapshots): (Vec<_>, Vec<_>) =
        run.snapshots.iter().cloned().partition(|s| run.scope != Scope::Full && s.status == "unreferenced");
    let basis = RunScope {
        scope: run.scope,
        scenarios: run.selection.scenarios,
        whole: run.selection.whole,
        missing: run.missing.to_vec(),
        baseline: baseline_lines(run, &owed, &judged),
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
fn owed<'a>(run: &SubjectRun<'a>) -> impl Iterator<Item = Required> + use<'a> {
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
    let asked = |(_, known): &(usize, &super::BaselineEntry)| owed.iter().any(|r| r.id == known.requirement);
    run.baseline.entries.iter().enumerate().filter(asked).map(line).collect()
}
