//! Playing generated cases at a subject, and collecting what they show: [`Campaign`].

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::config::SubjectSpec;
use crate::judge::{FaultOwner, Play, ScenarioStatus};
use crate::play::{Cancel, Run, RunError, SuiteError, suite};
use crate::protocol::{Level, RequirementId, level_of};
use crate::scenario::Plan;

use super::{Case, Generator, Memory};

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
