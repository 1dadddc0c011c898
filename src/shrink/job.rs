//! Shrinking one scenario, from what fails to the least of it: [`ShrinkJob`].

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::config::SubjectSpec;
use crate::judge::{FaultOwner, Play, RawFinding, Repro};
use crate::play::{Cancel, Run};
use crate::protocol::{Edition, Level, RequirementId, level_of};
use crate::scenario::text::{Tree, write};
use crate::scenario::{Plan, load_str};
use crate::subject::RunError;

use super::{FailureIdentity, Limits, PlayTrial, PlayedRuns, Shrinker, Size, Stop, narrow, reference};

/// What is to be shrunk, and how.
pub struct ShrinkJob {
    /// The subject that it fails against.
    pub spec: SubjectSpec,
    /// How to play at it.
    pub run: Run,
    /// Ends it early.
    pub cancel: Cancel,
    /// The scenario's file, as shown to people.
    pub file: PathBuf,
    /// The requested requirement: area and slug, or a complete id.
    pub requested: Option<String>,
    /// Whether our own sound mock has to pass.
    pub reference: bool,
    /// How far to go.
    pub limits: Limits,
    /// The command that plays a file at the same subject, without the file.
    pub repro: Repro,
}

impl ShrinkJob {
    /// The least of the first of these plays that fails. The time begins to run.
    ///
    /// # Errors
    /// Where it cannot be judged, or was stopped before it was seen to fail.
    pub async fn least(
        &self,
        tree: &Tree,
        plans: Vec<Plan>,
        edition: &'static dyn Edition,
        log: &mut dyn FnMut(ShrinkEvent),
    ) -> Result<ShrinkOutcome, RunError> {
        let began = Instant::now();
        let name = self.file.display().to_string();
        let mut trial = PlayTrial::new(&name, self.spec.clone(), self.run.clone(), self.limits, self.cancel.clone());
        let outcome = self.shrink_with(&mut trial, tree, plans, edition, log).await;
        trial.end().await;
        if let Ok(ShrinkOutcome::Fails(shrunk)) = &outcome {
            let (from, to) = (shrunk.from, Size::of(&shrunk.tree));
            log(ShrinkEvent::Ended { from, to, plays: trial.count(), time: began.elapsed() });
        }
        outcome
    }

    async fn shrink_with(
        &self,
        trial: &mut PlayTrial,
        tree: &Tree,
        plans: Vec<Plan>,
        edition: &'static dyn Edition,
        log: &mut dyn FnMut(ShrinkEvent),
    ) -> Result<ShrinkOutcome, RunError> {
        let plan = match <[Plan; 1]>::try_from(plans) {
            Ok([only]) => only,
            Err(several) => self.first_to_fail(trial, several, log).await?,
        };
        let tree = narrow(&without_head(tree), &plan);
        let name = self.file.display().to_string();
        let narrowed = load_str(&name, &write(&tree));
        let Some(plan) = narrowed.plans.into_iter().next().filter(|_| narrowed.diagnostics.is_empty()) else {
            let message =
                format!("{} cannot be cut down to one play: {}", plan.id, first_message(&narrowed.diagnostics));
            return Err(RunError::usage(message).help("write its case and edition into a file of its own"));
        };
        let from = Size::of(&tree);
        log(ShrinkEvent::Began { plan: plan.id.clone(), size: from });
        let seen = trial.play_original(&plan).await.map_err(stop_error)?;
        let Some(requirement) = self.violated(&seen.plays)? else { return self.passing_outcome(seen) };
        let end = self.spec.role.subject;
        let Some(mut identity) = FailureIdentity::of(&seen.plays, end, requirement) else {
            return self.passing_outcome(seen);
        };
        let (failed, plays) = (seen.failed(&identity), seen.plays.len());
        log(ShrinkEvent::Fails { failed, plays, requirement });
        trial.look_for(identity.clone(), &seen);
        let mut beside = false;
        if self.reference {
            let mock = reference(&self.spec, edition);
            let mut run = self.run.clone();
            run.options.patience = mock.timeouts.expect;
            match trial.compare(mock, run, &plan).await.map_err(stop_error)? {
                None => log(ShrinkEvent::ReferencePasses),
                Some(why) => {
                    beside = true;
                    log(ShrinkEvent::ReferenceFails { why });
                    identity = identity.strictly(&seen.plays);
                    trial.look_for(identity.clone(), &seen);
                }
            }
        }
        let mut last = from;
        let mut tell = |size: Size, plays: u32| {
            if size != last {
                log(ShrinkEvent::Reduced { plays, size });
                last = size;
            }
        };
        let mut shrinker = Shrinker::new(self.spec.role, tree, trial, &mut tell);
        let mut stop = shrinker.run().await.err();
        let tree = shrinker.tree().clone();
        let found = |plays: &[Play]| {
            let of = |f: &&RawFinding| f.requirement == requirement && f.fault == FaultOwner::End(end);
            plays.iter().flat_map(|p| &p.findings).find(of).map(|f| f.message.clone())
        };
        let mut shrunk = ShrinkResult {
            tree,
            from,
            requirement,
            message: found(&seen.plays).unwrap_or_default(),
            seen: None,
            stop,
            reference_fails: beside,
        };
        let last = load_str(&name, &write(&shrunk.tree)).plans.pop().filter(|_| stop.is_none());
        if let Some(plan) = last {
            match trial.play_original(&plan).await {
                Ok(again) => {
                    shrunk.message = found(&again.plays).unwrap_or(shrunk.message);
                    shrunk.seen = Some((again.failed(&identity), again.plays.len()));
                }
                Err(ended) => stop = Some(ended),
            }
        }
        shrunk.stop = stop;
        Ok(ShrinkOutcome::Fails(Box::new(shrunk)))
    }

    /// The first play of a file that fails as requested; each one is played once before any is played again.
    async fn first_to_fail(
        &self,
        trial: &mut PlayTrial,
        plans: Vec<Plan>,
        log: &mut dyn FnMut(ShrinkEvent),
    ) -> Result<Plan, RunError> {
        log(ShrinkEvent::Searches { plays: plans.len() });
        for plan in &plans {
            let seen = trial.play_original(plan).await.map_err(stop_error)?;
            if self.violated(&seen.plays).is_ok_and(|found| found.is_some()) {
                return Ok(plan.clone());
            }
        }
        // None does: the last one tells so.
        plans.into_iter().next_back().ok_or_else(|| RunError::usage("there is nothing to play"))
    }

    /// The requirement that is violated: the requested one, else the first that binds, else the first.
    ///
    /// # Errors
    /// Where others are violated than the requested one.
    fn violated(&self, plays: &[Play]) -> Result<Option<Option<RequirementId>>, RunError> {
        let subject = FaultOwner::End(self.spec.role.subject);
        let found: Vec<Option<RequirementId>> =
            plays.iter().flat_map(|p| &p.findings).filter(|f| f.fault == subject).map(|f| f.requirement).collect();
        let Some(requested) = self.requested.as_deref() else {
            let binding = found.iter().find(|id| level_of((self.spec.protocol.requirements)(), **id) == Level::Must);
            return Ok(binding.or(found.first()).copied());
        };
        let is_it = |id: &&Option<RequirementId>| {
            id.is_some_and(|id| id == requested || id.ends_with(&format!("/{requested}")))
        };
        match found.iter().find(is_it) {
            Some(id) => Ok(Some(*id)),
            None if found.is_empty() => Ok(None),
            None => {
                let mut others: Vec<&str> = found.iter().map(|id| id.unwrap_or("no requirement")).collect();
                others.sort_unstable();
                others.dedup();
                let message = format!("{requested} is not violated here, but {}", others.join(", "));
                Err(RunError::usage(message).help("ask for one of these with --requirement"))
            }
        }
    }

    /// The outcome of a scenario that does not fail: it passes, or it could not be judged.
    fn passing_outcome(&self, seen: PlayedRuns) -> Result<ShrinkOutcome, RunError> {
        if let Some(error) = seen.launch_error {
            return Err(RunError::from(error));
        }
        let (judged, plays) = (seen.judged(), seen.plays.len());
        if judged == 0 {
            let reason = seen.plays.iter().find_map(|p| p.reason.clone()).unwrap_or_default();
            return Err(RunError::unjudged(format!("it could not be played: {reason}")));
        }
        let others = if judged as usize == plays { String::new() } else { format!(" ({plays} were begun)") };
        Ok(ShrinkOutcome::Passes(format!("it does not fail here: passed {judged} of {judged} times{others}")))
    }
}

/// What goes on while a scenario is shrunk. Its text is for people.
#[derive(Clone, Debug)]
pub enum ShrinkEvent {
    /// The file has several plays: the first one that fails is looked for.
    Searches {
        /// How many plays it has.
        plays: usize,
    },
    /// Shrinking begins.
    Began {
        /// The id of the plan.
        plan: String,
        /// How large the scenario is.
        size: Size,
    },
    /// The scenario was seen to fail.
    Fails {
        /// How often.
        failed: u32,
        /// In how many plays.
        plays: usize,
        /// What it violates.
        requirement: Option<RequirementId>,
    },
    /// Our own sound mock passes the scenario, and has to go on passing.
    ReferencePasses,
    /// Our own sound mock does not pass the scenario.
    ReferenceFails {
        /// Why not.
        why: String,
    },
    /// The scenario has become smaller.
    Reduced {
        /// How many plays that took so far.
        plays: u32,
        /// How large it is now.
        size: Size,
    },
    /// Shrinking is over.
    Ended {
        /// How large the scenario was.
        from: Size,
        /// How large the result is.
        to: Size,
        /// How many plays it took.
        plays: u32,
        /// How long it took.
        time: Duration,
    },
}

impl fmt::Display for ShrinkEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Searches { plays } => write!(f, "looking for the first of {plays} plays that fails"),
            Self::Began { plan, size } => write!(f, "{plan}: {} steps, {} parts", size.steps, size.parts),
            Self::Fails { failed, plays, requirement } => {
                write!(f, "fails {failed} of {plays} times: {}", requirement_name(*requirement))
            }
            Self::ReferencePasses => f.write_str("our own sound mock passes, and has to go on passing"),
            Self::ReferenceFails { why } => {
                write!(f, "our own sound mock does not pass, so only what fails in the same step counts: {why}")
            }
            Self::Reduced { plays, size } => {
                write!(f, "{plays:>5} plays: {} steps, {} parts", size.steps, size.parts)
            }
            Self::Ended { from, to, plays, time } => write!(
                f,
                "{} steps became {}, {} parts became {}, in {plays} plays and {:.1} s",
                from.steps,
                to.steps,
                from.parts,
                to.parts,
                time.as_secs_f64()
            ),
        }
    }
}

fn requirement_name(requirement: Option<RequirementId>) -> &'static str {
    requirement.unwrap_or("an expectation that proves no requirement")
}

fn first_message(diagnostics: &[crate::diagnostic::Diagnostic]) -> &str {
    diagnostics.first().map_or("it has several plays", |d| d.message.as_str())
}

fn stop_error(stop: Stop) -> RunError {
    match stop {
        Stop::Interrupted => RunError::Interrupted,
        Stop::Time => {
            RunError::unjudged("the time was up before it was seen to fail").help("give more with --max-time")
        }
        Stop::Plays => {
            RunError::unjudged("there were no plays left before it was seen to fail").help("give more with --max-plays")
        }
    }
}

/// How the head of a shrunk scenario begins.
const HEAD: &str = "Shrunk by wirecert";

/// The outcome of a shrink job.
pub enum ShrinkOutcome {
    /// The scenario fails; this is the smallest one that still fails.
    Fails(Box<ShrinkResult>),
    /// Why there is nothing to shrink.
    Passes(String),
}

/// The result of shrinking a scenario.
pub struct ShrinkResult {
    /// The smallest scenario.
    pub tree: Tree,
    pub from: Size,
    pub requirement: Option<RequirementId>,
    pub message: String,
    /// How often the result failed, in how many plays.
    pub seen: Option<(u32, usize)>,
    /// What ended it before nothing more could be taken out.
    pub stop: Option<Stop>,
    /// Whether our own sound mock does not pass either.
    pub reference_fails: bool,
}

impl ShrinkResult {
    /// How reliable the result is, in a sentence.
    pub fn summary(&self) -> String {
        let minimal = match self.stop {
            None => "Nothing more can be taken out of it.",
            Some(Stop::Interrupted) => "It was interrupted: there may be more to take out.",
            Some(Stop::Time) => "The time was up: there may be more to take out.",
            Some(Stop::Plays) => "There were to be no more plays: there may be more to take out.",
        };
        let seen = self.seen.map(|(failed, plays)| format!(" It failed {failed} of {plays} times."));
        // It may expect what only some have, or what nobody owes.
        let beside = if self.reference_fails { " wirecert's own mock does not pass it either." } else { "" };
        format!("{minimal}{}{beside}", seen.unwrap_or_default())
    }
}

impl ShrinkJob {
    /// The result with a comment at its head: what it shows, and how to play it.
    pub fn headed(&self, shrunk: &ShrinkResult, out: &Path) -> Tree {
        let to = Size::of(&shrunk.tree);
        let file = self.file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let mut head = vec![format!("{HEAD} from {file}: {} steps became {}.", shrunk.from.steps, to.steps)];
        match shrunk.requirement.and_then(|id| (self.spec.protocol.requirements)().iter().find(|r| r.id == id)) {
            Some(requirement) => {
                head.push(format!("It shows that {} violates {}", self.spec.name, requirement.id));
                head.push(format!("({}): {}", requirement.level.as_str(), requirement.statement));
            }
            None => head.push(format!("It shows that {} does not do what is expected here.", self.spec.name)),
        }
        head.push(format!("Seen: {}", shrunk.message));
        head.push(shrunk.summary());
        head.push(format!("Play it: {}", play_command(&self.repro, out)));
        let mut tree = shrunk.tree.clone();
        let line = |text: String| text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
        tree.above.splice(0..0, head.into_iter().map(line));
        tree
    }
}

/// The command that plays a file at the same subject.
fn play_command(repro: &Repro, file: &Path) -> String {
    let mut repro = repro.clone();
    repro.before.insert(2.min(repro.before.len()), file.display().to_string());
    repro.command(None)
}

/// The scenario without the head comment of an earlier shrinking.
fn without_head(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    let end = tree.above.iter().position(|line| line.starts_with("Play it: "));
    if let Some(end) = end.filter(|_| tree.above.first().is_some_and(|line| line.starts_with(HEAD))) {
        tree.above.drain(..=end);
    }
    tree
}
