//! What a session keeps of its plays: folders of traces, the traces of failures, comparisons with snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Zoned;
use parking_lot::Mutex;

use crate::config::{EditionChoice, SubjectSpec};
use crate::judge::{Baseline, ScenarioStatus, SnapshotResult};
use crate::play::{FailedTraceOptions, FailedTraces, Snapshotter};
use crate::scenario::Plan;
use crate::snapshot::{Snapshot, SnapshotOutcome, compare, unreferenced};
use crate::trace::{NormalisationFacts, Normaliser, Strength};

/// Where the traces and snapshots of a subject's plays are stored.
pub struct TraceStorage<'a> {
    /// The folder of all traces of the subject, if all are kept.
    pub traces: Option<PathBuf>,
    /// The folder of the snapshots that its traces are compared with.
    pub snapshots: Option<PathBuf>,
    /// The traces of failed plays, which are kept in a temporary folder otherwise.
    pub failed: &'a Arc<FailedTraces>,
}

/// The folder of each subject, where `dir` gives it one. Where two that may play the same scenarios would have the same one,
/// each has one of its name in it.
pub fn folders(subjects: &[SubjectSpec], dir: impl Fn(&SubjectSpec) -> Option<PathBuf>) -> Vec<Option<PathBuf>> {
    let harmless = |c: char| if c.is_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let folder = |spec: &SubjectSpec| spec.name.chars().map(harmless).collect::<String>();
    let own = |spec: &SubjectSpec| {
        let clashes =
            |other: &&SubjectSpec| other.name != spec.name && dir(other) == dir(spec) && play_alike(other, spec);
        let mut others = subjects.iter().filter(clashes).peekable();
        others.peek()?;
        let alike = others.any(|other| folder(other) == folder(spec));
        let number = subjects.iter().position(|other| std::ptr::eq(other, spec)).filter(|_| alike);
        Some(folder(spec) + &number.map(|number| format!("-{}", number + 1)).unwrap_or_default())
    };
    subjects.iter().map(|spec| Some(own(spec).into_iter().fold(dir(spec)?, |dir, own| dir.join(own)))).collect()
}

/// Whether the same scenarios may be played with both.
fn play_alike(a: &SubjectSpec, b: &SubjectSpec) -> bool {
    let same_edition = match (a.edition, b.edition) {
        (EditionChoice::Given(a), EditionChoice::Given(b)) => a == b,
        (EditionChoice::Auto, _) | (_, EditionChoice::Auto) => true,
    };
    a.role.name == b.role.name && same_edition
}

/// Which traces of a subject are to be kept: those of failures that the baseline does not list.
pub fn wanted_traces(failed_traces: &Arc<FailedTraces>, baseline: &Baseline) -> FailedTraceOptions {
    let (baseline, today) = (baseline.clone(), Zoned::now().date());
    FailedTraceOptions {
        kept: failed_traces.clone(),
        is_new: Arc::new(move |plan, play| {
            let listed = |id| baseline.lookup(id, &plan.id, today).is_some();
            let known = !play.findings.is_empty() && play.findings.iter().all(|f| f.requirement.is_some_and(listed));
            play.status == ScenarioStatus::Error || !known
        }),
    }
}

/// The comparison of one subject's plays with the snapshots in a folder; with none it does nothing.
pub struct SnapshotComparison {
    dir: Option<PathBuf>,
    strength: Option<Strength>,
    complete: bool,
    state: Arc<Mutex<SnapshotComparisonState>>,
}

#[derive(Default)]
struct SnapshotComparisonState {
    results: BTreeMap<PathBuf, SnapshotResult>,
    errors: Vec<String>,
}

/// Whether this runs in CI, where nothing is written.
fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
}

impl SnapshotComparison {
    /// A comparison with the snapshots below `dir`. `strength`: how much they keep. Default: as much as the one that is
    /// there, or everything. `whole` says whether every scenario is played, so that snapshots
    /// that nothing refers to can be found.
    pub fn new(dir: Option<&Path>, strength: Option<Strength>, complete: bool) -> Self {
        Self { dir: dir.map(Path::to_owned), strength, complete, state: Arc::default() }
    }

    /// What to hand to the player.
    pub fn snapshotter(&self) -> Option<Arc<Snapshotter>> {
        let dir = self.dir.clone()?;
        let (state, strength, ci) = (self.state.clone(), self.strength, in_ci());
        Some(Arc::new(move |plan: &Plan, normaliser: &Normaliser, known: &NormalisationFacts| {
            let strength = strength.unwrap_or_else(|| pinned_strength(&dir, plan));
            let text = normaliser.finish(known, strength);
            let snapshot = Snapshot { id: &plan.id, strength, title: &plan.title, file: &plan.file, text: &text };
            let mut state = state.lock();
            match compare(&dir, &snapshot, ci) {
                Ok(compared) => {
                    let differs = compared.outcome != SnapshotOutcome::Same;
                    let file = compared.file.clone();
                    // Where a scenario is played several times, a difference seen once stands.
                    if differs || !state.results.contains_key(&file) {
                        state.results.insert(file, compared.to_result());
                    }
                }
                Err(error) => state.errors.push(error.to_string()),
            }
        }))
    }

    /// How the snapshots compared, and what could not be compared. `plans` are all that were to be played, of which
    /// those that failed or were skipped still refer to their snapshots.
    pub fn finish(self, plans: &[Plan]) -> (Vec<SnapshotResult>, Vec<String>) {
        let mut state = std::mem::take(&mut *self.state.lock());
        let mut results: Vec<SnapshotResult> = state.results.values().cloned().collect();
        if let (Some(dir), true) = (&self.dir, self.complete) {
            let paths = |plan: &Plan| [Strength::Exact, Strength::Shape].map(|s| path(dir, plan, s));
            let referenced: BTreeSet<PathBuf> = plans.iter().flat_map(paths).collect();
            let root = |plan: &Plan| plan.id.split('/').take(2).collect::<PathBuf>();
            let roots: BTreeSet<PathBuf> = plans.iter().map(root).collect();
            for root in roots {
                let below = dir.join(root);
                if !below.is_dir() {
                    continue;
                }
                match unreferenced(&below, &referenced) {
                    Ok(unused) => results.extend(unused),
                    Err(error) => state.errors.push(error.to_string()),
                }
            }
        }
        (results, state.errors)
    }
}

/// The strength of an existing snapshot: one that is pinned by its shape alone stays so by default.
fn pinned_strength(dir: &Path, plan: &Plan) -> Strength {
    let there = |strength| path(dir, plan, strength).exists();
    if there(Strength::Shape) && !there(Strength::Exact) { Strength::Shape } else { Strength::Exact }
}

fn path(dir: &Path, plan: &Plan, strength: Strength) -> PathBuf {
    Snapshot { id: &plan.id, strength, title: "", file: "", text: "" }.path(dir)
}
