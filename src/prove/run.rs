//! Playing the suite against every flaw and freedom.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use jiff::civil::Date;
use tokio::task::JoinSet;

use crate::config::{Access, Isolation, SubjectSpec, own};
use crate::judge::{
    Baseline, Blame, Play, Played, RawFinding, Repro, ScenarioResult, ScenarioStatus, Scope, Selection, Status,
    SubjectReport, SubjectRun, judge_subject,
};
use crate::peer;
use crate::peer::deviation::{LATE, Modifier};
use crate::play::{Cancel, Run, StopCondition, SuiteError, fresh_run_dir, start, suite};
use crate::protocol::{Level, Protocol, Reach, Requirement, Role, area};
use crate::report::Silent;
use crate::scenario::Plan;
use crate::subject::{RunDir, Running, Start, SubjectError};
use crate::trace::{Clock, Recorder};

use super::proof::{Case, CaseKind, CaseResult, PairOutcome, Proof};

/// A flawed mock that may never be found is waited for no longer than this: it is on this machine.
const MAX_READY: Duration = Duration::from_secs(2);

/// A flawed mock is waited for no longer than this, whatever a step says.
const MAX_WAIT: Duration = Duration::from_millis(3500);

/// However long a step may wait, a flawed mock that is not hurried is waited for no longer than this: what it does not withhold
/// comes within a fraction of it.
const UNHURRIED_WAIT: Duration = Duration::from_secs(12);

/// A URL at which nothing listens.
const CLOSED_PORT_URL: &str = "http://127.0.0.1:9";

/// A flaw that shows at every third message or at the second one is looked for by so many plays of a scenario at one mock.
const REPEATS: u32 = 3;

/// The number of plays at once where the whole suite is played against a flaw, since most of them wait: each has a process of its own.
const WHOLE_SUITE_JOBS: usize = 6;

/// Likewise against a mock that is sound, which is waited for as long as any subject: fewer, since nothing late excuses it.
const SOUND_JOBS: usize = 2;

/// How many more are added to those while the machine is idle: a mock that takes its time is the last to be done otherwise.
const SOUND_SPARE_JOBS: usize = 8;

/// How long a mock is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// Not long: what a flawed mock withholds never comes.
    Hurried,
    /// As long as any subject.
    Unhurried,
}

/// How much is played for a flaw. For a sound mock it is always the whole suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The whole suite of the role: exactly what the flaw breaks has to be seen violated.
    Whole,
    /// The scenarios of the requirement that it breaks, and where these do not catch it, its area and then all others; until
    /// one catches it. What is violated beside it does not count.
    UntilCaught,
}

/// Why a proof could not be attempted.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// Our own mock could not be started.
    #[error("{case}: {source}")]
    Suite {
        /// Which mock.
        case: String,
        /// Why not.
        source: SuiteError,
    },
}

/// What the cases of a role are played with.
#[derive(Clone)]
pub struct Prover {
    /// The protocol.
    pub protocol: &'static Protocol,
    /// The role whose mock is made wrong.
    pub role: &'static Role,
    /// The whole suite.
    pub plans: Arc<[Plan]>,
    /// How each play goes.
    pub run: Run,
    /// How long a flawed mock is waited for where a scenario does not say.
    pub patience: Duration,
    /// How much is played for a flaw.
    pub extent: Extent,
    /// Ends the proof early.
    pub cancel: Cancel,
}

/// Plays all cases, so many side by side, and gathers what came of them in their order. `done` is called with each case as it
/// ends.
///
/// A busy machine excuses what is late. So a flaw that is not reported as it should be is played once more by itself at the end, and
/// that counts. A sound mock has to be found sound however busy the machine is.
///
/// # Errors
/// Where a mock that should be ready could not be started.
pub async fn prove(work: &[(Prover, Vec<Case>)], jobs: usize, done: &dyn Fn(&CaseResult)) -> Result<Proof, ProveError> {
    let cases = work.iter().flat_map(|(prover, cases)| cases.iter().map(move |case| (prover, case)));
    let mut waiting: Vec<_> = cases.enumerate().collect();
    // Sound mocks are played against to the end, which takes longest, so that they come first (the last ones here).
    waiting.sort_by_key(|(n, (_, case))| (!matches!(case.kind, CaseKind::Flaw { .. }), Reverse(*n)));
    let mut playing = JoinSet::new();
    let (mut results, mut doubtful) = (vec![], vec![]);
    loop {
        while playing.len() < jobs.max(1)
            && let Some((n, (prover, case))) = waiting.pop()
            && !prover.cancel.is_cancelled()
        {
            let (prover, case) = (prover.clone(), case.clone());
            playing.spawn(async move { (n, prover.one(&case).await, prover) });
        }
        let Some(ended) = playing.join_next().await else { break };
        let (n, result, prover) = ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        match &result {
            Ok(first) if first.case.is_flawed() && !first.holds() && jobs > 1 => {
                doubtful.push((n, prover, first.clone()));
                continue;
            }
            Ok(result) => done(result),
            Err(_) => {}
        }
        results.push((n, result));
    }
    for (n, prover, first) in doubtful {
        let result = match prover.cancel.is_cancelled() {
            true => Ok(first),
            false => prover.one(&first.case).await.map(|result| CaseResult { alone: true, ..result }),
        };
        if let Ok(result) = &result {
            done(result);
        }
        results.push((n, result));
    }
    results.sort_by_key(|(n, _)| *n);
    let results = results.into_iter().map(|(_, result)| result).collect::<Result<Vec<_>, _>>()?;
    let unproved = work.iter().flat_map(|(prover, _)| unproved(prover.protocol, prover.role)).collect();
    Ok(Proof { results, unproved })
}

impl Prover {
    async fn one(&self, case: &Case) -> Result<CaseResult, ProveError> {
        let flags = match &case.kind {
            CaseKind::Sound => vec![],
            CaseKind::Freedom { name, .. } => vec!["--freedom".to_owned(), (*name).to_owned()],
            CaseKind::Flaw { name, when: None, .. } => vec!["--flaw".to_owned(), (*name).to_owned()],
            CaseKind::Flaw { name, when: Some(when), .. } => vec!["--flaw".into(), format!("{name}@{}", when.name())],
            CaseKind::Pair { flaws } => flaws.iter().flat_map(|(name, _)| ["--flaw".into(), (*name).into()]).collect(),
        };
        let mut spec = own(self.protocol, self.role, case.edition, &flags, peer::described(self.role.name));
        if let (true, Access::Launch(launch)) = (case.is_flawed(), &mut spec.access) {
            launch.ready.within = launch.ready.within.min(MAX_READY);
        }
        let mut result = CaseResult::of(case.clone());
        if result.modifier().is_some() {
            // When it shows depends on what has happened at the mock before.
            spec.isolation = Isolation::Run;
        }
        match (&case.kind, self.extent_of(case)) {
            (CaseKind::Flaw { .. }, Extent::UntilCaught) => self.until_caught(&spec, &mut result).await?,
            (CaseKind::Flaw { .. }, Extent::Whole) => self.whole(&spec, &mut result).await?,
            (CaseKind::Pair { .. }, _) => {
                _ = self.play(&spec, self.plans_of(case).cloned().collect(), Pace::Hurried, &mut result).await?;
            }
            _ => _ = self.play(&spec, self.plans_of(case).cloned().collect(), Pace::Unhurried, &mut result).await?,
        }
        Ok(result)
    }

    /// Plays round after round until the flaw is caught.
    async fn until_caught(&self, spec: &SubjectSpec, result: &mut CaseResult) -> Result<(), ProveError> {
        // On a busy machine a sound response may take longer than a flawed mock is waited for, and a scenario fails before it
        // comes to the flaw. So what most likely catches the flaw is played a second time with all the time there is.
        let mut rounds: Vec<_> = self.rounds(&result.case).into_iter().map(|plans| (plans, Pace::Hurried)).collect();
        if let Some((plans, _)) = rounds.first().cloned() {
            rounds.insert(1, (plans, Pace::Unhurried));
        }
        for (plans, pace) in rounds {
            self.play(spec, plans, pace, result).await?;
            if !result.caught_by.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Plays the whole suite, and what then seems not to be as it should once more with all the time there is: only what
    /// is seen both times counts as violated beside the flaw.
    async fn whole(&self, spec: &SubjectSpec, result: &mut CaseResult) -> Result<(), ProveError> {
        result.whole = true;
        let played = self.play(spec, self.plans_of(&result.case).cloned().collect(), Pace::Hurried, result).await?;
        let unseen = result.unseen();
        let doubtful = |plan: &&Plan| {
            let missing = |id: &&str| plan.requirements.contains(id) || area(&plan.id) == area(id);
            unseen.iter().any(missing) || result.saw_beside(plan.id.as_str())
        };
        let plans: Arc<[Plan]> = self.plans_of(&result.case).filter(doubtful).cloned().collect();
        if !plans.is_empty() {
            let mut again = CaseResult::of(result.case.clone());
            let replayed = self.play(spec, plans, Pace::Unhurried, &mut again).await?;
            // What explains a violation may have been seen in any other scenario.
            let is_replayed = |played: &Played| replayed.iter().any(|other| other.id == played.id);
            let kept = played.into_iter().filter(|played| !is_replayed(played)).collect::<Vec<_>>();
            let mut confirmed = CaseResult::of(result.case.clone());
            confirmed.add(&[kept, replayed].concat(), self);
            result.confirm(confirmed);
        }
        Ok(())
    }

    /// Plays these plans, and takes in what came of them. Gives the plays.
    async fn play(
        &self,
        spec: &SubjectSpec,
        plans: Arc<[Plan]>,
        pace: Pace,
        result: &mut CaseResult,
    ) -> Result<Vec<Played>, ProveError> {
        let flawed = result.case.is_flawed();
        let until = self.until(&result.case);
        let jobs = match until {
            StopCondition::AllPlayed if flawed => WHOLE_SUITE_JOBS,
            StopCondition::AllPlayed => SOUND_JOBS,
            _ => 1,
        };
        let spare_jobs = if flawed { 0 } else { SOUND_SPARE_JOBS };
        let mut run = Run { jobs, spare_jobs, until, longest_first: jobs > 1, ..self.run.clone() };
        if matches!(result.modifier(), Some(Modifier::Sometimes | Modifier::Second)) {
            run.repeat = REPEATS;
        }
        if pace == Pace::Hurried {
            run.options.patience = self.patience;
            // Our own mocks give up after two seconds and try again after one: what comes later is withheld.
            run.options.longest = Some(MAX_WAIT.max(self.patience));
        } else if flawed {
            run.options.longest = Some(UNHURRIED_WAIT.max(self.patience));
        }
        let first = self.late(spec, &result.case).await;
        match suite(spec, plans.clone(), &run, first, Arc::new(Silent), &self.cancel).await {
            // Nothing could be played against a server that accepts no connection either, whatever rules made of its start.
            Ok(played) if flawed && !self.was_judged(&played) && self.breaks_reach(&result.case, true) => {
                result.unreachable(plans.len(), "its port accepts no connection");
            }
            Ok(played) => {
                result.add(&played, self);
                return Ok(played);
            }
            // Nothing can be played against a server that nobody finds: that is how this one is caught.
            Err(SuiteError::Subject(SubjectError::NotReady { found, .. }))
                if self.breaks_reach(&result.case, found) =>
            {
                let how = if found { "its port accepts no connection" } else { "the subject is not found" };
                result.unreachable(plans.len(), how);
            }
            Err(SuiteError::Subject(error)) if flawed => {
                result.scenarios += plans.len();
                result.errors.push(("every scenario".to_owned(), error.brief()));
            }
            Err(source) => return Err(ProveError::Suite { case: format!("{:?}", result.case.kind), source }),
        }
        Ok(vec![])
    }

    /// A mock whose flaw shows late, which has run for so long that it shows. None for other mocks, and where it does not
    /// start: whoever plays finds out why.
    async fn late(&self, spec: &SubjectSpec, case: &Case) -> Option<(Option<RunDir>, Running)> {
        if !matches!(case.kind, CaseKind::Flaw { when: Some(Modifier::Late), .. }) {
            return None;
        }
        let recorder = Recorder::new(Clock::start(), vec![]);
        if !self.role.is_client() {
            let started = start(spec, None, recorder, &Silent).await.ok()?;
            tokio::time::sleep(LATE).await;
            return Some(started);
        }
        let run_dir = fresh_run_dir(spec.launch()?, &Silent).ok()?;
        // The client has nothing to do yet, and no server to talk to.
        let server = Some(CLOSED_PORT_URL.to_owned());
        let begins = Start { server, ..Start::new(spec, &run_dir, recorder) };
        let client = Running::launch(begins).await.ok()?;
        tokio::time::sleep(LATE).await;
        client.reset().await.then_some((Some(run_dir), client))
    }

    /// The plans of the role and the edition.
    fn plans_of(&self, case: &Case) -> impl Iterator<Item = &Plan> {
        let edition = case.edition;
        self.plans.iter().filter(move |plan| plan.role == self.role.name && plan.edition == edition)
    }

    /// What a flaw breaks that shows now and then is broken now and then: nothing is exact about it.
    fn extent_of(&self, case: &Case) -> Extent {
        match case.kind {
            CaseKind::Flaw { when: Some(_), .. } => Extent::UntilCaught,
            _ => self.extent,
        }
    }

    fn until(&self, case: &Case) -> StopCondition {
        match (&case.kind, self.extent_of(case)) {
            (CaseKind::Flaw { breaks, .. }, Extent::UntilCaught) => StopCondition::Violation(breaks),
            _ => StopCondition::AllPlayed,
        }
    }

    /// What is played for a case, one round after the other until the flaw is caught.
    fn rounds(&self, case: &Case) -> Vec<Arc<[Plan]>> {
        let CaseKind::Flaw { breaks, .. } = &case.kind else { return vec![] };
        let (proving, others): (Vec<&Plan>, Vec<&Plan>) =
            self.plans_of(case).partition(|p| p.requirements.contains(breaks));
        // Rules may hold what no scenario asks for, most likely where its area is played.
        let (of_area, others): (Vec<&Plan>, Vec<&Plan>) = others.iter().partition(|p| area(&p.id) == area(breaks));
        let (touching, rest): (Vec<&Plan>, Vec<&Plan>) =
            others.into_iter().partition(|p| p.requirements.iter().any(|id| area(id) == area(breaks)));
        let rounds = [proving, of_area, touching, rest].map(|plans| plans.into_iter().cloned().collect());
        rounds.into_iter().filter(|plans: &Arc<[Plan]>| !plans.is_empty()).collect()
    }

    /// Whether any scenario came to a verdict but that no connection is accepted.
    fn was_judged(&self, played: &[Played]) -> bool {
        let accepting = match &self.role.reach {
            Reach::Lockfile { accepting, .. } => *accepting,
            Reach::Url { .. } | Reach::Seeks { .. } => &[],
        };
        let is_accepting = |found: &RawFinding| {
            found.requirement.is_some_and(|id| accepting.iter().any(|short| id.ends_with(&format!("/{short}"))))
        };
        let verdict = |play: &Play| match play.status {
            ScenarioStatus::Passed | ScenarioStatus::Blocked => true,
            ScenarioStatus::Failed => !play.findings.iter().all(is_accepting),
            ScenarioStatus::Skipped | ScenarioStatus::Error => false,
        };
        played.iter().flat_map(|played| &played.plays).any(verdict)
    }

    /// Whether the flaw is that the server cannot be found or, where it is found, that it cannot be connected to.
    fn breaks_reach(&self, case: &Case, found: bool) -> bool {
        let reach = match &self.role.reach {
            Reach::Lockfile { accepting, .. } if found => *accepting,
            Reach::Lockfile { proves, .. } | Reach::Url { proves, .. } => std::slice::from_ref(proves),
            Reach::Seeks { .. } => return false,
        };
        let is_reach = |breaks: &str| reach.iter().any(|short| breaks.ends_with(&format!("/{short}")));
        match &case.kind {
            CaseKind::Flaw { breaks, .. } => is_reach(breaks),
            CaseKind::Pair { flaws } => flaws.iter().any(|(_, breaks)| is_reach(breaks)),
            CaseKind::Sound | CaseKind::Freedom { .. } => false,
        }
    }
}

/// Whether the mock could not be reached by any play that is about this requirement: the report says so at each of them.
fn was_unreachable(report: &SubjectReport, breaks: &str) -> bool {
    let proving = || report.scenarios.iter().filter(|scenario| scenario.requirements.iter().any(|id| id == breaks));
    let is = |status: ScenarioStatus| move |scenario: &ScenarioResult| scenario.status == status;
    if proving().next().is_some() {
        return proving().all(is(ScenarioStatus::Error));
    }
    // What rules alone judge is about any play.
    report.scenarios.iter().any(is(ScenarioStatus::Error)) && !report.scenarios.iter().any(is(ScenarioStatus::Passed))
}

/// How the flaw that breaks this requirement shows in the report.
fn pair_outcome(report: &SubjectReport, breaks: &str) -> PairOutcome {
    let Some(result) = report.requirements.iter().find(|r| r.id == breaks) else {
        return PairOutcome::Hidden("not asked for".to_owned());
    };
    let reason = result.reason.as_deref().unwrap_or_default();
    match result.status {
        Status::Violated => PairOutcome::Violated,
        Status::NotAssessed | Status::Met if !result.because.is_empty() => PairOutcome::Blocked(result.because.clone()),
        Status::NotAssessed if was_unreachable(report, breaks) => PairOutcome::Blocked(vec![reason.to_owned()]),
        Status::NotAssessed => PairOutcome::Hidden(format!("not assessed: {reason}")),
        Status::Excused => PairOutcome::Hidden(format!("excused: {reason}")),
        Status::Met => PairOutcome::Hidden("met".to_owned()),
    }
}

impl CaseResult {
    /// Takes in what was played.
    fn add(&mut self, played: &[Played], prover: &Prover) {
        let catalogue = (prover.protocol.requirements)();
        let level = |id: &str| catalogue.iter().find(|r| r.id == id).map_or(Level::Must, |r| r.level);
        for played in played {
            let skipped = |play: &&Play| play.status == ScenarioStatus::Skipped;
            let Some(last) = played.plays.iter().rfind(|play| !skipped(play)) else { continue };
            self.scenarios += 1;
            // What could not be judged and was played again says nothing.
            if last.status == ScenarioStatus::Error {
                self.errors.push((played.id.clone(), last.reason.clone().unwrap_or_default()));
            }
        }
        // Of a pair all is played, so that what was not seen is known to have been hidden by something.
        let scope = if self.is_pair() { Scope::Full } else { Scope::Partial };
        let judged = judge_subject(&SubjectRun {
            name: String::new(),
            role: prover.role.name.to_owned(),
            end: prover.role.subject,
            edition: self.case.edition.id().to_owned(),
            catalogue,
            missing: &[],
            baseline: &Baseline::default(),
            today: Date::ZERO,
            scope,
            selection: Selection::default(),
            strict: false,
            repro: Repro::default(),
            played,
            snapshots: vec![],
            notes: vec![],
        });
        if let CaseKind::Pair { flaws } = &self.case.kind {
            self.reported = flaws.iter().map(|(_, breaks)| pair_outcome(&judged, breaks)).collect();
        }
        for found in judged.findings {
            let (id, scenario) = (found.requirement, found.scenario.unwrap_or_default());
            self.violated.entry(id.clone()).or_default().insert((scenario.clone(), found.message.clone()));
            let whose = if found.blame == Blame::Subject { "" } else { " (not the mock's fault)" };
            match &self.case.kind {
                CaseKind::Flaw { breaks, .. } if id == *breaks => _ = self.caught_by.insert(scenario),
                CaseKind::Flaw { also, .. } if also.iter().any(|(also, _)| *also == id) => {}
                CaseKind::Flaw { .. } => _ = self.beside.insert(id),
                CaseKind::Pair { .. } => {}
                CaseKind::Freedom { forgoes, .. } if forgoes.contains(&id.as_str()) && level(&id) != Level::Must => {}
                CaseKind::Freedom { .. } | CaseKind::Sound => {
                    self.accused.insert((id, format!("{scenario}: {}{whose}", found.message)));
                }
            }
        }
    }
}

/// Every `must` that binds the role and that no flaw breaks.
fn unproved(protocol: &'static Protocol, role: &Role) -> Vec<&'static str> {
    let catalogue = (protocol.requirements)();
    let flaws = peer::flaws(role.name);
    let broken = |r: &Requirement| flaws.iter().any(|f| f.breaks == r.short() && f.editions.contains(&r.edition()));
    let must = catalogue.iter().filter(|r| r.binds == role.subject && r.level == Level::Must);
    must.filter(|r| !broken(r)).map(|r| r.id).collect()
}
