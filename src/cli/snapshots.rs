//! Comparing the plays of a run with snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::judge::SnapshotResult;
use crate::play::Snapshotter;
use crate::scenario::Plan;
use crate::snapshot::{Outcome, Snapshot, compare, unreferenced};
use crate::trace::{NormalisationFacts, Normaliser, Strength};

/// The comparison of one subject's plays with the snapshots in a folder; with none it does nothing.
pub struct Comparison {
    dir: Option<PathBuf>,
    strength: Option<Strength>,
    whole: bool,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    results: BTreeMap<PathBuf, SnapshotResult>,
    errors: Vec<String>,
}

/// Whether this runs in CI, where nothing is written.
fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
}

impl Comparison {
    /// A comparison with the snapshots below `dir`. `strength`: how much they keep; where not said, as much as the one that is
    /// there, or everything. `whole` says whether every scenario is played, so that snapshots
    /// which nothing refers to can be told.
    pub fn new(dir: Option<&Path>, strength: Option<Strength>, whole: bool) -> Self {
        Self { dir: dir.map(Path::to_owned), strength, whole, state: Arc::default() }
    }

    /// What to hand to the player.
    pub fn snapshotter(&self) -> Option<Arc<Snapshotter>> {
        let dir = self.dir.clone()?;
        let (state, strength, ci) = (self.state.clone(), self.strength, in_ci());
        Some(Arc::new(move |plan: &Plan, normaliser: &Normaliser, known: &NormalisationFacts| {
            let strength = strength.unwrap_or_else(|| kept(&dir, plan));
            let text = normaliser.finish(known, strength);
            let snapshot = Snapshot { id: &plan.id, strength, title: &plan.title, file: &plan.file, text: &text };
            let mut state = lock(&state);
            match compare(&dir, &snapshot, ci) {
                Ok(compared) => {
                    let differs = compared.outcome != Outcome::Same;
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
        let mut state = std::mem::take(&mut *lock(&self.state));
        let mut results: Vec<SnapshotResult> = state.results.values().cloned().collect();
        if let (Some(dir), true) = (&self.dir, self.whole) {
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

/// A scenario that is pinned by its shape alone stays so where nothing else is asked for.
fn kept(dir: &Path, plan: &Plan) -> Strength {
    let there = |strength| path(dir, plan, strength).exists();
    if there(Strength::Shape) && !there(Strength::Exact) { Strength::Shape } else { Strength::Exact }
}

fn path(dir: &Path, plan: &Plan, strength: Strength) -> PathBuf {
    Snapshot { id: &plan.id, strength, title: "", file: "", text: "" }.path(dir)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
