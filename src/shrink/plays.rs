//! The [`Trial`] that plays at the subject and at our own sound mock, and what makes two failures the same.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::config::{Launch, SubjectSpec, own};
use crate::judge::{FaultOwner, Play, RawFinding, ScenarioStatus};
use crate::peer;
use crate::play::{Cancel, Run, SubjectPool};
use crate::protocol::{Edition, RequirementId};
use crate::report::Silent;
use crate::scenario::{Loaded, Plan, load_str};
use crate::subject::SubjectError;
use crate::trace::End;

use super::shrinker::{Stop, Trial};

/// The chance that a failure that comes and goes is missed by the plays of a candidate.
const MISS_CHANCE: f64 = 0.05;

/// A candidate is played no more often than this.
const MAX_PLAYS: u32 = 40;

/// What a play takes beside what the original took, at most.
const EXTRA_TIME: Duration = Duration::from_secs(2);

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How often the original is played, to see whether its failure comes and goes.
    pub repeat: u32,
    /// How many plays there are at most, those at our own mock included.
    pub plays: u32,
    /// How long it may take.
    pub time: Duration,
    /// Whether every play has a process of the subject for itself. Otherwise a candidate that fails is confirmed by a
    /// fresh one.
    pub isolated: bool,
}

/// The result of playing a scenario several times.
#[derive(Default)]
pub struct PlayedRuns {
    /// Every play.
    pub plays: Vec<Play>,
    /// Why the subject could not be started, if it could not.
    pub launch_error: Option<SubjectError>,
}

impl PlayedRuns {
    /// How many of the plays had this violation in them.
    pub fn failed(&self, identity: &FailureIdentity) -> u32 {
        u32::try_from(self.plays.iter().filter(|play| identity.is_in(play)).count()).unwrap_or(u32::MAX)
    }

    /// How many could be judged.
    pub fn judged(&self) -> u32 {
        let judged =
            |p: &&Play| matches!(p.status, ScenarioStatus::Passed | ScenarioStatus::Failed | ScenarioStatus::Blocked);
        u32::try_from(self.plays.iter().filter(judged).count()).unwrap_or(u32::MAX)
    }
}

/// Plays scenarios at a subject, and at our own sound mock.
pub struct PlayTrial {
    name: String,
    subject: SubjectPool,
    reference: Option<SubjectPool>,
    identity: Option<FailureIdentity>,
    limits: Limits,
    until: Instant,
    count: u32,
    isolated: bool,
    cancel: Cancel,
    /// The longest that a play may take.
    bound: Option<Duration>,
    /// How often the failure has to be seen, in how many plays.
    wanted: (u32, u32),
}

impl PlayTrial {
    /// For scenarios of this name (their file, as shown to people) at a subject. The time begins to run.
    pub fn new(name: &str, spec: SubjectSpec, run: Run, limits: Limits, cancel: Cancel) -> Self {
        let attached = spec.launch().is_none();
        Self {
            name: name.to_owned(),
            subject: SubjectPool::new(spec, run, Arc::new(Silent), cancel.clone()),
            reference: None,
            identity: None,
            limits,
            until: Instant::now() + limits.time,
            count: 0,
            // What we did not start, we cannot start again.
            isolated: limits.isolated && !attached,
            cancel,
            bound: None,
            wanted: (1, 1),
        }
    }

    /// Plays a scenario as often as the limits say, each time at a fresh subject.
    ///
    /// # Errors
    /// Where it was stopped before that.
    pub async fn play_original(&mut self, plan: &Plan) -> Result<PlayedRuns, Stop> {
        let mut seen = PlayedRuns::default();
        for _ in 0..self.limits.repeat.max(1) {
            self.subject.clear().await;
            seen.plays.push(self.once(plan, false).await?);
            // What cannot be started will not be started the next time.
            seen.launch_error = self.subject.launch_error();
            if seen.launch_error.is_some() {
                break;
            }
        }
        Ok(seen)
    }

    /// From now on, only what fails like this fails. What was seen of the original says how long plays may take, and how
    /// many it takes to see a failure that comes and goes.
    pub fn look_for(&mut self, identity: FailureIdentity, seen: &PlayedRuns) {
        let longest = seen.plays.iter().map(|p| p.duration).max().unwrap_or_default();
        self.bound = Some(longest * 3 + EXTRA_TIME);
        self.wanted = required_failures(seen.failed(&identity), u32::try_from(seen.plays.len()).unwrap_or(u32::MAX));
        self.identity = Some(identity);
    }

    /// Plays at our own sound mock from now on, to see that it passes: nothing that fails there as well proves anything.
    /// Gives why that cannot be done, where the original does not pass there.
    ///
    /// # Errors
    /// Where it was stopped.
    pub async fn compare(&mut self, mock: SubjectSpec, run: Run, plan: &Plan) -> Result<Option<String>, Stop> {
        let cancel = self.cancel.clone();
        let pool = |run: Run| SubjectPool::new(mock.clone(), run, Arc::new(Silent), cancel.clone());
        self.reference = Some(pool(run.clone()));
        let play = self.once(plan, true).await?;
        if let Some(pool) = &mut self.reference {
            pool.clear().await;
        }
        if play.status != ScenarioStatus::Passed {
            self.reference = None;
            let why = play.reason.unwrap_or_else(|| format!("{:?}", play.status).to_lowercase());
            return Ok(Some(why));
        }
        // What is sound comes soon: what a candidate waits for in vain is not waited for very long.
        let mut run = run;
        run.options.longest = Some(play.duration + EXTRA_TIME);
        self.reference = Some(pool(run));
        Ok(None)
    }

    /// How many plays there were.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Ends the subject and our mock.
    pub async fn end(&mut self) {
        self.subject.clear().await;
        if let Some(reference) = &mut self.reference {
            reference.clear().await;
        }
    }

    async fn once(&mut self, plan: &Plan, at_mock: bool) -> Result<Play, Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Interrupted);
        }
        if self.count >= self.limits.plays {
            return Err(Stop::Plays);
        }
        self.count += 1;
        let pool = match (&mut self.reference, at_mock) {
            (Some(reference), true) => reference,
            _ => &mut self.subject,
        };
        match tokio::time::timeout_at(self.until, pool.play(plan)).await {
            Ok(Some(play)) => Ok(play),
            Ok(None) => Err(Stop::Interrupted),
            Err(_) => Err(Stop::Time),
        }
    }

    /// Whether our own mock passes, without this violation.
    async fn is_sound(&mut self, plan: &Plan) -> Result<bool, Stop> {
        if self.reference.is_none() {
            return Ok(true);
        }
        let play = self.once(plan, true).await?;
        let accused = self.identity.as_ref().is_some_and(|identity| identity.is_in(&play));
        Ok(play.status == ScenarioStatus::Passed && !accused)
    }

    async fn violates(&mut self, plan: &Plan, fresh: bool) -> Result<bool, Stop> {
        let (wanted, most) = self.wanted;
        let (mut seen, mut played) = (0, 0);
        while seen < wanted && played < most && wanted - seen <= most - played {
            if fresh {
                self.subject.clear().await;
            }
            let play = self.once(plan, false).await?;
            played += 1;
            seen += u32::from(self.identity.as_ref().is_some_and(|identity| identity.is_in(&play)));
        }
        Ok(seen >= wanted)
    }

    fn plan(&self, text: &str) -> Option<Plan> {
        let Loaded { mut plans, diagnostics } = load_str(&self.name, text);
        let mut plan = plans.pop().filter(|_| diagnostics.is_empty() && plans.is_empty())?;
        if let Some(bound) = self.bound {
            plan.timeout = Some(plan.timeout.map_or(bound, |own| own.min(bound)));
        }
        Some(plan)
    }
}

impl Trial for PlayTrial {
    async fn fails(&mut self, text: &str) -> Result<bool, Stop> {
        let Some(plan) = self.plan(text) else { return Ok(false) };
        if !self.is_sound(&plan).await? || !self.violates(&plan, self.isolated).await? {
            return Ok(false);
        }
        // A subject that others have played at may fail because of them.
        Ok(self.isolated || self.violates(&plan, true).await?)
    }

    fn carefully(&mut self) -> bool {
        !std::mem::replace(&mut self.isolated, true)
    }

    fn plays(&self) -> u32 {
        self.count
    }
}

/// How often a failure has to be seen in how many plays, where the original showed it in `failed` of `plays`.
fn required_failures(failed: u32, plays: u32) -> (u32, u32) {
    if failed >= plays {
        return (1, 1);
    }
    // One failure may be another one's last appearance: of what comes and goes, it takes two to agree.
    let passes = 1.0 - f64::from(failed.max(1)) / f64::from(plays);
    let one = (MISS_CHANCE.ln() / passes.ln()).ceil().max(2.0);
    (2, (one as u32).saturating_mul(2).min(MAX_PLAYS))
}

/// Our own sound mock of a subject's role, and how to play at it.
pub fn reference(spec: &SubjectSpec, edition: &'static dyn Edition) -> SubjectSpec {
    let mut mock = own(spec.protocol, spec.role, edition, &[], peer::described(spec.role.name));
    if let (Some(theirs), crate::config::Access::Launch(ours)) = (spec.launch(), &mut mock.access) {
        let Launch { run_dir, .. } = theirs;
        ours.run_dir.clone_from(run_dir);
    }
    mock
}

/// How a violation showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureEvidence {
    /// A rule saw it in the trace.
    Rule,
    /// Something came that was not as an expectation has it, or that must not come.
    Wrong,
    /// Something that an expectation awaits did not come.
    Missing,
}

/// What a violation is recognised by: who broke which requirement, and how that showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureIdentity {
    /// The end that is to blame.
    pub blame: End,
    /// The requirement; none where an expectation that proves nothing did not come true.
    pub requirement: Option<RequirementId>,
    /// How it showed.
    pub evidence: BTreeSet<FailureEvidence>,
    /// Where nothing else makes sure that it is still the same: the steps that saw it, and where in the message.
    pub places: Option<BTreeSet<(String, String)>>,
}

impl FailureIdentity {
    /// The identity of the violation of a requirement that these plays found. None where they found none.
    pub fn of(plays: &[Play], blame: End, requirement: Option<RequirementId>) -> Option<Self> {
        let mut identity = Self { blame, requirement, evidence: BTreeSet::new(), places: None };
        let found = plays.iter().flat_map(|p| &p.findings).filter(|f| identity.names(f)).collect::<Vec<_>>();
        identity.evidence = found.iter().map(|f| evidence(f)).collect();
        (!found.is_empty()).then_some(identity)
    }

    /// The same violation, recognised also by the steps that saw it.
    pub fn strictly(mut self, plays: &[Play]) -> Self {
        let found = plays.iter().flat_map(|p| &p.findings).filter(|f| self.names(f));
        self.places = Some(found.map(place).collect());
        self
    }

    /// Whether a play has this violation in it.
    pub fn is_in(&self, play: &Play) -> bool {
        play.findings.iter().any(|found| {
            self.names(found)
                && self.evidence.contains(&evidence(found))
                && self.places.as_ref().is_none_or(|places| places.contains(&place(found)))
        })
    }

    fn names(&self, found: &RawFinding) -> bool {
        found.fault == FaultOwner::End(self.blame) && found.requirement == self.requirement
    }
}

fn evidence(found: &RawFinding) -> FailureEvidence {
    match (&found.step, found.index) {
        (None, _) => FailureEvidence::Rule,
        (Some(_), Some(_)) => FailureEvidence::Wrong,
        (Some(_), None) => FailureEvidence::Missing,
    }
}

fn place(found: &RawFinding) -> (String, String) {
    (found.step.clone().unwrap_or_default(), found.path.clone().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_and_goes_is_played_until_it_would_hardly_be_missed() {
        assert_eq!(required_failures(3, 3), (1, 1));
        assert_eq!(required_failures(1, 2), (2, 10));
        assert_eq!(required_failures(9, 10), (2, 4));
        assert_eq!(required_failures(1, 100), (2, MAX_PLAYS));
    }
}
