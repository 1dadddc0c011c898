//! Whether anything came from the subject: [`SignOfLife`] of one play, [`SilentPlays`] of many.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::judge::{Play, ScenarioStatus};
use crate::trace::{Direction, End, Event, EventKind, Sink};

/// After so many plays that failed, and in which nothing ever came from the subject, nothing will come in the others.
const MAX_SILENT: usize = 12;

/// Sees whether anything came from the subject in a play. Clones see the same.
#[derive(Clone)]
pub(super) struct SignOfLife {
    subject: End,
    seen: Arc<AtomicBool>,
}

impl SignOfLife {
    /// Nothing has come from the subject at this end yet.
    pub(super) fn new(subject: End) -> Self {
        Self { subject, seen: Arc::default() }
    }

    /// Whether anything came.
    pub(super) fn is_seen(&self) -> bool {
        self.seen.load(Ordering::Relaxed)
    }
}

impl Sink for SignOfLife {
    fn event(&mut self, event: &Arc<Event>) {
        let is_sign = match &event.kind {
            // A connection also ends because we end it.
            EventKind::Closed(_) => false,
            EventKind::Returned(_) | EventKind::Reported(_) | EventKind::State { .. } => true,
            _ => event.dir.is_some_and(|dir: Direction| dir.sender() == self.subject),
        };
        if is_sign {
            self.seen.store(true, Ordering::Relaxed);
        }
    }
}

/// Counts the plays of a run in which nothing came from the subject, until something does.
#[derive(Default)]
pub(super) struct SilentPlays {
    failed: AtomicUsize,
    heard: AtomicBool,
}

impl SilentPlays {
    /// Another play is over. Whether so many were silent that no other is worth its time.
    pub(super) fn are_enough(&self, play: &Play) -> bool {
        if play.heard {
            self.heard.store(true, Ordering::Relaxed);
        } else if matches!(play.status, ScenarioStatus::Failed | ScenarioStatus::Blocked) {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        !self.heard.load(Ordering::Relaxed) && self.failed.load(Ordering::Relaxed) >= MAX_SILENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(status: ScenarioStatus, heard: bool) -> Play {
        Play { heard, ..Play::new(status) }
    }

    #[test]
    fn a_subject_of_which_nothing_ever_came_is_given_up() {
        let plays = SilentPlays::default();
        let failed = play(ScenarioStatus::Failed, false);
        // Those that nothing was asked in say nothing.
        assert!((0..50).all(|_| !plays.are_enough(&Play::skipped("nothing to ask"))));
        assert!((1..MAX_SILENT).all(|_| !plays.are_enough(&failed)));
        assert!(plays.are_enough(&failed));
    }

    #[test]
    fn a_subject_that_was_heard_once_is_not_given_up() {
        let plays = SilentPlays::default();
        assert!(!plays.are_enough(&play(ScenarioStatus::Passed, true)));
        assert!((0..50).all(|_| !plays.are_enough(&play(ScenarioStatus::Failed, false))));
    }
}
