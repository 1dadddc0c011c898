//! How much memory a subject takes, and how much more with each case.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::report::Progress;

/// Collects the memory measurements of a subject from the progress of a run.
#[derive(Debug, Default)]
pub struct Memory(Mutex<MemoryState>);

#[derive(Debug, Default)]
struct MemoryState {
    /// The subjects that are played at, by number.
    running: BTreeMap<u64, MemorySeries>,
    peak: u64,
    subjects: u64,
    cases: u64,
    grown: i128,
}

/// The first and last measurement of a subject: plays so far, and bytes.
#[derive(Clone, Copy, Debug)]
struct MemorySeries {
    first: (u32, u64),
    last: (u32, u64),
}

/// The memory use of a subject's processes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MemoryUse {
    /// The most that they had at one time, in bytes, as far as it was looked.
    pub peak_bytes: u64,
    /// How many bytes came to it with each case, in the mean; what a subject takes for its first cases, before the first
    /// look, does not count. None where no subject was looked at twice.
    pub growth_per_case_bytes: Option<f64>,
    /// Over how many cases that is.
    pub cases: u64,
    /// In how many runs of the subject.
    pub subjects: u64,
}

impl Memory {
    /// Ends the series of all subjects that were measured so far.
    pub fn settle(&self) {
        self.state().settle();
    }

    /// The memory use; none where nothing was measured.
    pub fn used(&self) -> Option<MemoryUse> {
        let mut state = self.state();
        state.settle();
        let (cases, subjects) = (state.cases, state.subjects);
        let growth_per_case_bytes = (cases > 0).then(|| state.grown as f64 / cases as f64);
        (state.peak > 0).then_some(MemoryUse { peak_bytes: state.peak, growth_per_case_bytes, cases, subjects })
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryState {
    fn settle(&mut self) {
        for series in std::mem::take(&mut self.running).into_values() {
            let cases = u64::from(series.last.0 - series.first.0);
            if cases > 0 {
                self.subjects += 1;
                self.cases += cases;
                self.grown += i128::from(series.last.1) - i128::from(series.first.1);
            }
        }
    }
}

impl Progress for Memory {
    fn subject_weighed(&self, subject: u64, plays: u32, bytes: u64) {
        let mut state = self.state();
        state.peak = state.peak.max(bytes);
        let seen = (plays, bytes);
        state.running.entry(subject).or_insert(MemorySeries { first: seen, last: seen }).last = seen;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_what_came_to_it_between_the_first_look_and_the_last_of_each_subject() {
        let memory = Memory::default();
        assert_eq!(memory.used(), None);
        for (subject, plays, bytes) in [(1, 8, 1000), (2, 8, 5000), (1, 16, 1500), (1, 24, 1800), (2, 16, 5000)] {
            memory.subject_weighed(subject, plays, bytes);
        }
        memory.settle();
        memory.subject_weighed(3, 8, 9000);
        let taken = MemoryUse { peak_bytes: 9000, growth_per_case_bytes: Some(800.0 / 24.0), cases: 24, subjects: 2 };
        assert_eq!(memory.used(), Some(taken));
    }

    #[test]
    fn a_subject_that_was_looked_at_once_has_a_peak_and_no_growth() {
        let memory = Memory::default();
        memory.subject_weighed(1, 8, 1000);
        let taken = memory.used().map(|taken| (taken.peak_bytes, taken.growth_per_case_bytes));
        assert_eq!(taken, Some((1000, None)));
    }
}
