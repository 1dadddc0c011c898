//! Which process a subject is, and how often it was played at: [`Uses`].

use std::sync::atomic::{AtomicU64, Ordering};

/// Tells the processes of a run from each other, in the order of their start.
static PROCESSES: AtomicU64 = AtomicU64::new(1);

/// The number of a process, and how often it was played at.
#[derive(Debug)]
pub(super) struct Uses {
    process: u64,
    plays: AtomicU64,
}

impl Default for Uses {
    fn default() -> Self {
        Self { process: PROCESSES.fetch_add(1, Ordering::Relaxed), plays: AtomicU64::new(0) }
    }
}

impl Uses {
    /// Counts a play. Gives the number of the process, and as how manieth play this is.
    pub(super) fn next(&self) -> (u64, u64) {
        (self.process, self.plays.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
