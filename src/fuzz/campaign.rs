//! Playing generated cases at a subject, and collecting what they show: [`Campaign`]; and how much memory the subject takes
//! meanwhile: [`Memory`].

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;

use crate::config::SubjectSpec;
use crate::judge::{FaultOwner, Play, ScenarioStatus};
use crate::play::{Cancel, Run, SuiteError, suite};
use crate::protocol::{Level, RequirementId, level_of};
use crate::report::Progress;
use crate::scenario::Plan;
use crate::subject::RunError;

use super::{Case, Generator};

/// How many cases each job plays before its subject is started anew.
const ROUND: usize = 64;
/// The same where the time is limited: it is checked after each round.
const SHORT_ROUND: usize = 16;
/// After how many cases the memory of a subject is measured.
const WEIGH_EVERY: Option<NonZeroU32> = NonZeroU32::new(8);

/// Cases of a generator, played at a subject.
pub struct Campaign {
    /// The subject.
    pub spec: SubjectSpec,
    /// How to play.
    pub run: Run,
    /// No further cases begin after this time.
    pub time: Option<Duration>,
    /// Ends it early.
    pub cancel: Cancel,
}

/// What the cases of a campaign have shown.
#[derive(Default)]
pub struct FuzzResult {
    /// How many cases were judged.
    pub played: u64,
    /// How many were skipped.
    pub skipped: u64,
    /// The cases that could not be judged, and why.
    pub errors: Vec<(u64, String)>,
    /// The violations by requirement; none is an expectation without a requirement.
    pub found: BTreeMap<Option<RequirementId>, CaseViolation>,
    /// The memory of the subject.
    pub memory: Arc<Memory>,
}

/// A requirement that cases violate.
pub struct CaseViolation {
    /// The first case that showed it.
    pub case: Case,
    /// What was wrong there.
    pub message: String,
    /// How binding the requirement is.
    pub level: Level,
    /// How many cases showed it.
    pub count: u64,
}

/// What goes on in a campaign. Its text is for people.
#[derive(Clone, Debug)]
pub enum FuzzEvent {
    /// A case could not be judged.
    Unjudged {
        /// Its number.
        case: u64,
        /// Why not.
        reason: String,
    },
    /// A requirement is violated for the first time.
    Violated {
        /// The number of the case.
        case: u64,
        /// The requirement.
        requirement: Option<RequirementId>,
        /// How binding it is.
        level: Level,
        /// What is wrong.
        message: String,
    },
    /// A round of cases is over.
    Round {
        /// How many cases were played.
        done: u64,
        /// All that are to be played.
        numbers: Range<u64>,
        /// How many requirements are violated.
        violated: usize,
    },
}

impl fmt::Display for FuzzEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unjudged { case, reason } => write!(f, "case {case} could not be judged: {reason}"),
            Self::Violated { case, requirement, level, message } => {
                let name = requirement.unwrap_or("an expectation without a requirement");
                write!(f, "case {case}: {} {name}: {message}", level.as_str())
            }
            Self::Round { done, numbers, violated } => {
                write!(f, "{done:>7} of {}, {violated} requirements violated", count_in_words(numbers))
            }
        }
    }
}

impl Campaign {
    /// Plays the cases of these numbers. Gives what they have shown, also where it was cancelled.
    ///
    /// # Errors
    /// Where the subject cannot be started.
    pub async fn play(
        &self,
        generator: &Generator,
        mut numbers: Range<u64>,
        log: &mut dyn FnMut(FuzzEvent),
    ) -> Result<FuzzResult, RunError> {
        let mut result = FuzzResult::default();
        let run = Run { weigh_every: WEIGH_EVERY, ..self.run.clone() };
        let began = Instant::now();
        let round = if self.time.is_some() { SHORT_ROUND } else { ROUND };
        let (all, mut done) = (numbers.clone(), 0u64);
        while !numbers.is_empty() && !self.cancel.is_cancelled() && self.time.is_none_or(|t| began.elapsed() < t) {
            let cases: Vec<Case> = numbers.by_ref().take(run.jobs * round).filter_map(|n| generator.case(n)).collect();
            let plans: Arc<[Plan]> = cases.iter().map(|case| case.plan.clone()).collect();
            done += cases.len() as u64;
            let played = suite(&self.spec, plans, &run, None, result.memory.clone(), &self.cancel).await;
            result.memory.settle();
            let played = played.map_err(|SuiteError::Subject(error)| error)?;
            for (case, played) in cases.into_iter().zip(played) {
                let Some(last) = played.plays.last() else { continue };
                for play in &played.plays {
                    self.add_findings(&case, play, &mut result, log);
                }
                match last.status {
                    ScenarioStatus::Passed | ScenarioStatus::Failed | ScenarioStatus::Blocked => result.played += 1,
                    ScenarioStatus::Skipped => result.skipped += 1,
                    ScenarioStatus::Error => {
                        let reason = last.reason.clone().unwrap_or_default();
                        log(FuzzEvent::Unjudged { case: case.number, reason: reason.clone() });
                        result.errors.push((case.number, reason));
                    }
                }
            }
            log(FuzzEvent::Round { done, numbers: all.clone(), violated: result.found.len() });
        }
        Ok(result)
    }

    fn add_findings(&self, case: &Case, play: &Play, result: &mut FuzzResult, log: &mut dyn FnMut(FuzzEvent)) {
        let subject = FaultOwner::End(self.spec.role.subject);
        let mut seen = vec![];
        for finding in play.findings.iter().filter(|f| f.fault == subject) {
            let requirement = finding.requirement;
            if seen.contains(&requirement) {
                continue;
            }
            seen.push(requirement);
            if let Some(known) = result.found.get_mut(&requirement) {
                known.count += 1;
                continue;
            }
            let level = level_of((self.spec.protocol.requirements)(), requirement);
            let message = finding.message.clone();
            log(FuzzEvent::Violated { case: case.number, requirement, level, message: message.clone() });
            result.found.insert(requirement, CaseViolation { case: case.clone(), message, level, count: 1 });
        }
    }
}

/// How many cases these are, in words.
pub fn count_in_words(numbers: &Range<u64>) -> String {
    match numbers.end - numbers.start {
        u64::MAX => "as many cases as there is time for".to_owned(),
        1 => "1 case".to_owned(),
        n => format!("{n} cases"),
    }
}

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
        self.0.lock()
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
