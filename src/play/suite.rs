//! Many plans, played by several jobs, each with a subject of its own.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::config::{Isolation, SubjectSpec};
use crate::judge::{Play, PlayPosition, Played, ScenarioStatus};
use crate::protocol::RequirementId;
use crate::report::Progress;
use crate::scenario::{Plan, ProcessSharing};
use crate::subject::{RunDir, Running, SubjectError};
use crate::trace::{Clock, Recorder};

use super::files::Traces;
use super::idle::IdleMeter;
use super::needs;
use super::one::{PlayContext, PlayOptions, PlayOutcome, play};
use super::sign_of_life::SilentPlays;
use super::steps::busy_start;
use super::subject_slot::{SubjectSlot, blame_death, exited, fresh_run_dir, late_exit, start, why_unusable};
use super::timing::{Cancel, LagMeter};
use order::order;

mod order;
#[cfg(test)]
mod tests;

/// After so many launches in a row that failed, a job gives up.
const FAILED_LAUNCHES: u32 = 2;

/// How often it is looked at whether the machine is idle, where jobs can be added.
const LOOK_INTERVAL: Duration = Duration::from_millis(300);

/// For how many plays for each job there is it is worth to start another subject.
const WORTH_A_JOB: usize = 4;

/// How often plays that were held up by others are repeated, one after the other, when all others are done.
const QUIET_REPEATS: usize = 2;

/// How a run is to go.
#[derive(Clone)]
pub struct Run {
    /// What all plays have in common.
    pub options: PlayOptions,
    /// How many jobs play at the same time.
    pub jobs: usize,
    /// How many more are added, one after the other, while the machine has processors to spare: subjects that mostly wait
    /// are played in less time so.
    pub spare_jobs: usize,
    /// How often every plan is played.
    pub repeat: u32,
    /// How often a play that could not be judged is repeated.
    pub retries: u32,
    /// When to stop.
    pub until: StopCondition,
    /// After how many plays the memory of a shared subject is measured each time; none: never.
    pub weigh_every: Option<NonZeroU32>,
    /// Whether the plays that wait longest come first, which takes least time where others are played meanwhile.
    pub longest_first: bool,
    /// Whether it stops early where nothing at all comes from the subject.
    pub until_silent: bool,
}

/// When a run stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCondition {
    /// Everything was played.
    AllPlayed,
    /// A scenario failed.
    Failure,
    /// This requirement was seen violated.
    Violation(RequirementId),
}

impl StopCondition {
    /// Whether this play is the last one.
    fn ends_with(self, play: &Play) -> bool {
        match self {
            Self::AllPlayed => false,
            Self::Failure => matches!(play.status, ScenarioStatus::Failed | ScenarioStatus::Blocked),
            Self::Violation(id) => play.findings.iter().any(|found| found.requirement == Some(id)),
        }
    }
}

/// Why a suite could not be played at all.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The subject could not be started or reached.
    #[error(transparent)]
    Subject(#[from] SubjectError),
}

/// Plays every plan. Results come in the order of the plans, whatever order they were played in; a plan that the
/// end of the run came before has no plays.
///
/// Each job is a task of its own, so that one which is busy with what it got holds up no other. Dropping the future
/// ends them all, and their subjects.
///
/// `first` is a subject that runs already (it was needed to find out its edition), with its run directory.
///
/// # Errors
/// Where the subject could not even once be started or reached.
pub async fn suite(
    spec: &SubjectSpec,
    plans: Arc<[Plan]>,
    run: &Run,
    first: Option<(Option<RunDir>, Running)>,
    progress: Arc<dyn Progress>,
    cancel: &Cancel,
) -> Result<Vec<Played>, SuiteError> {
    let jobs = if spec.launch().is_some() { run.jobs.clamp(1, plans.len().max(1)) } else { 1 };
    let shared = Arc::new(SuiteState::new(spec.clone(), plans, run.clone(), progress, cancel.clone()));
    let spare = if spec.launch().is_some() { run.spare_jobs } else { 0 };
    work(&shared, jobs, spare, run.repeat, first).await;
    for _ in 0..QUIET_REPEATS {
        if !shared.queue_held_up() {
            break;
        }
        work(&shared, 1, 0, 1, None).await;
    }
    if let Some(error) = shared.take_launch_error() {
        let was_judged = |play: &Play| {
            matches!(play.status, ScenarioStatus::Passed | ScenarioStatus::Failed | ScenarioStatus::Blocked)
                || !play.findings.is_empty()
        };
        let judged = shared.results.lock().values().any(|p: &Played| p.plays.iter().any(was_judged));
        if !judged {
            return Err(error.into());
        }
        let was_given_up = |played: &Played| played.plays.last().is_some_and(|p| p.status == ScenarioStatus::Error);
        // Each scenario has the reason in a line; what to do about it is reported once.
        if shared.results.lock().values().any(was_given_up) {
            shared.progress.diagnostic(&error.diagnostic());
        }
    }
    let mut results = std::mem::take(&mut *shared.results.lock());
    number_processes(results.values_mut());
    Ok(shared
        .plans
        .iter()
        .enumerate()
        .map(|(n, plan)| results.remove(&n).unwrap_or_else(|| not_played_yet(plan)))
        .collect())
}

/// Plays what is in the queue, each plan `times` times. While there is much left and the machine is idle, up to `spare` jobs
/// are added.
async fn work(
    shared: &Arc<SuiteState>,
    jobs: usize,
    spare: usize,
    times: u32,
    mut first: Option<(Option<RunDir>, Running)>,
) {
    let mut numbers = 1..=(jobs + spare) as u64;
    let numbered = numbers.by_ref().take(jobs);
    let mut working: JoinSet<()> = numbered.map(|job| run_job(shared.clone(), job, times, first.take())).collect();
    let mut idle = IdleMeter::start();
    loop {
        let ended = tokio::select! {
            ended = working.join_next() => ended,
            () = tokio::time::sleep(LOOK_INTERVAL), if !numbers.is_empty() => {
                let is_worth_it = shared.queue.lock().len() > WORTH_A_JOB * working.len();
                if idle.is_idle() && is_worth_it && let Some(job) = numbers.next() {
                    working.spawn(run_job(shared.clone(), job, times, None));
                }
                continue;
            }
        };
        match ended {
            None => break,
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Some(_) => {}
        }
    }
}

/// Numbers the processes of this subject from 1: there may be others of other subjects between them.
fn number_processes<'p>(results: impl Iterator<Item = &'p mut Played>) {
    let mut turns: Vec<&mut PlayPosition> =
        results.flat_map(|p| &mut p.plays).filter_map(|p| p.position.as_mut()).collect();
    turns.sort_by_key(|turn| turn.process);
    for (number, turns) in (1..).zip(turns.chunk_by_mut(|a, b| a.process == b.process)) {
        turns.iter_mut().for_each(|turn| turn.process = number);
    }
}

/// What the jobs have in common.
pub(super) struct SuiteState {
    pub(super) spec: SubjectSpec,
    plans: Arc<[Plan]>,
    run: Run,
    progress: Arc<dyn Progress>,
    pub(super) cancel: Cancel,
    queue: Mutex<VecDeque<usize>>,
    results: Mutex<BTreeMap<usize, Played>>,
    stop: AtomicBool,
    silent: SilentPlays,
    launch_error: Mutex<Option<SubjectError>>,
}

impl SuiteState {
    pub(super) fn new(
        spec: SubjectSpec,
        plans: Arc<[Plan]>,
        run: Run,
        progress: Arc<dyn Progress>,
        cancel: Cancel,
    ) -> Self {
        Self {
            spec,
            queue: Mutex::new(order(&plans, run.longest_first)),
            plans,
            run,
            progress,
            cancel,
            results: Mutex::new(BTreeMap::new()),
            stop: AtomicBool::new(false),
            silent: SilentPlays::default(),
            launch_error: Mutex::new(None),
        }
    }

    /// Puts the plans into the queue whose last play was held up. Whether there are any.
    fn queue_held_up(&self) -> bool {
        let results = self.results.lock();
        let held_up = results.iter().filter(|(_, played)| played.plays.last().is_some_and(|play| play.held_up));
        let again: VecDeque<usize> = held_up.map(|(n, _)| *n).collect();
        let any = !again.is_empty();
        self.queue.lock().extend(again);
        any
    }

    /// Why the subject could not be started for the first time, if it could not.
    pub(super) fn take_launch_error(&self) -> Option<SubjectError> {
        self.launch_error.lock().take()
    }
}

fn not_played_yet(plan: &Plan) -> Played {
    Played {
        id: plan.id.clone(),
        file: plan.file.clone(),
        title: plan.title.clone(),
        requirements: plan.requirements.clone(),
        plays: vec![],
    }
}

/// One job, and beside it the measure of how late it is.
async fn run_job(shared: Arc<SuiteState>, job: u64, times: u32, first: Option<(Option<RunDir>, Running)>) {
    let lag = Arc::new(LagMeter::default());
    let mut slot = SubjectSlot::empty(lag.clone());
    if let Some((run_dir, subject)) = first {
        slot.begin(run_dir, subject);
    }
    tokio::select! {
        biased;
        () = lag.run() => {}
        () = play_queue(&shared, job, times, slot) => {}
    }
}

/// Plays what is left, until there is nothing.
async fn play_queue(shared: &SuiteState, job: u64, times: u32, mut slot: SubjectSlot) {
    let mut last = None;
    loop {
        if shared.stop.load(Ordering::Relaxed) || shared.cancel.is_cancelled() {
            break;
        }
        let Some(n) = shared.queue.lock().pop_front() else { break };
        let plan = &shared.plans[n];
        shared.progress.scenario_started(&plan.id);
        let mut result = shared.results.lock().remove(&n).unwrap_or_else(|| not_played_yet(plan));
        let before = result.plays.len();
        tokio::select! {
            () = shared.cancel.cancelled() => {}
            () = all_plays(shared, plan, times, &mut slot, &mut result) => {}
        }
        result.plays[before..].iter_mut().filter_map(|play| play.position.as_mut()).for_each(|turn| turn.job = job);
        if result.plays.len() > before {
            shared.progress.scenario_finished(&result);
        }
        let silent = |play| shared.run.until_silent && shared.silent.are_enough(play);
        if result.plays[before..].iter().any(|play| shared.run.until.ends_with(play) || silent(play)) {
            shared.stop.store(true, Ordering::Relaxed);
        }
        slot.report_memory(shared.run.weigh_every, shared.progress.as_ref());
        if slot.subject.is_some() {
            last = Some(n);
        }
        shared.results.lock().insert(n, result);
    }
    blame_late_death(shared, &mut slot, last).await;
    if let Some(subject) = slot.subject.take() {
        subject.expect_exit();
        subject.stop().await;
    }
}

/// Plays a plan some times.
async fn all_plays(shared: &SuiteState, plan: &Plan, times: u32, slot: &mut SubjectSlot, result: &mut Played) {
    if let Some(reason) = needs::missing(plan, &shared.spec) {
        result.plays.push(Play::skipped(reason));
        return;
    }
    // Where there are plays, the last of them was held up.
    let mut again = !result.plays.is_empty();
    for _ in 0..times.max(1) {
        let mut retry = std::mem::take(&mut again);
        for _ in 0..=shared.run.retries {
            // The trace of the next play takes the place of what went before, but for what may be looked at.
            let count = result.plays.len();
            let failed_or_error = |play: &&mut Play| {
                matches!(play.status, ScenarioStatus::Failed | ScenarioStatus::Blocked | ScenarioStatus::Error)
            };
            let same_file = matches!(shared.run.options.traces, Traces::All(_));
            if let Some(failed) = result.plays.last_mut().filter(failed_or_error).filter(|_| same_file) {
                set_aside(failed, count);
            }
            let mut play = one_play(shared, plan, slot).await;
            play.retry = retry;
            let again = play.status == ScenarioStatus::Error;
            result.plays.push(play);
            if !again {
                break;
            }
            retry = true;
        }
        if result.plays.last().is_some_and(|play| shared.run.until.ends_with(play)) {
            break;
        }
    }
}

/// Gives the trace of the `n`th play of a scenario a name of its own, where it has one.
fn set_aside(play: &mut Play, n: usize) {
    let Some(path) = &play.trace else { return };
    let aside = Path::new(path).with_extension(format!("{n}.trace"));
    // Where that fails, the next play reports what is wrong with the folder.
    if std::fs::rename(path, &aside).is_ok() {
        play.trace = Some(aside.display().to_string());
    }
}

/// Plays a plan once, and keeps its trace where that is wanted of plays that went as this one did.
pub(super) async fn one_play(shared: &SuiteState, plan: &Plan, slot: &mut SubjectSlot) -> Play {
    slot.end_trace();
    let PlayOutcome { mut play, trace, draft, .. } = played_once(shared, plan, slot).await;
    let passed = play.status == ScenarioStatus::Passed;
    match trace {
        // Its subject may yet be found to have died of it.
        Some(trace) if passed && slot.subject.is_some() && trace.is_kept() => {
            slot.trace = Some((trace, play.clone()));
        }
        Some(trace) => trace.end(&mut play),
        None => {}
    }
    shared.run.options.traces.settle(plan, &mut play, draft);
    play
}

async fn played_once(shared: &SuiteState, plan: &Plan, slot: &mut SubjectSlot) -> PlayOutcome {
    let options = &shared.run.options;
    // What is pinned must not depend on what was played before.
    let pinned = options.snapshotter.is_some() && shared.spec.launch().is_some();
    let own = plan.process == ProcessSharing::Own || shared.spec.isolation == Isolation::Scenario || pinned;
    let keeps_run_dir = shared.spec.launch().is_some_and(|launch| launch.keep_run_dir);
    if !own && !keeps_run_dir && shared.spec.role.is_client() {
        return client_play(shared, plan, slot).await;
    }
    if own || shared.spec.role.is_client() {
        let Some(launch) = shared.spec.launch() else { return not_started() };
        let run_dir = match fresh_run_dir(launch, shared.progress.as_ref()) {
            Ok(run_dir) => run_dir,
            Err(error) => return Play::error(error.to_string()).into(),
        };
        let mut subject = None;
        let play_context = PlayContext {
            spec: &shared.spec,
            run_dir: Some(&run_dir),
            subject: &mut subject,
            idle: None,
            lag: &slot.lag,
        };
        return play(plan, play_context, options).await;
    }
    if let Err(play) = ensure_subject(shared, slot).await {
        return play.into();
    }
    let run_dir = slot.run_dir.as_ref();
    let subject = &mut slot.subject;
    let play_context = PlayContext { spec: &shared.spec, run_dir, subject, idle: None, lag: &slot.lag };
    let mut outcome = play(plan, play_context, options).await;
    let Some(subject) = &slot.subject else { return outcome };
    if let Some(why) = why_unusable(subject, &shared.spec, plan.edition, options.patience, outcome.clean).await {
        if let Some(exited) = exited(subject).await {
            blame_death(&mut outcome.play, &exited, &shared.spec, plan.edition);
        }
        if shared.spec.launch().is_some() {
            shared.progress.subject_restarted(&why);
        }
        if let Some(subject) = slot.subject.take() {
            subject.expect_exit();
            subject.stop().await;
        }
    }
    outcome
}

fn not_started() -> PlayOutcome {
    Play::skipped("we did not start this subject").into()
}

/// A play of a client that several scenarios share: it waits from one to the next, in a run directory that is fresh
/// again for each.
async fn client_play(shared: &SuiteState, plan: &Plan, slot: &mut SubjectSlot) -> PlayOutcome {
    let Some(launch) = shared.spec.launch() else { return not_started() };
    if slot.run_dir.as_ref().is_some_and(|run_dir| run_dir.renew(launch).is_err()) {
        slot.clear().await;
    }
    if slot.run_dir.is_none() {
        match fresh_run_dir(launch, shared.progress.as_ref()) {
            Ok(run_dir) => slot.run_dir = Some(run_dir),
            Err(error) => return Play::error(error.to_string()).into(),
        }
    }
    let run_dir = slot.run_dir.as_ref();
    let mut subject = None;
    let idle = Some(&mut slot.subject);
    let play_context = PlayContext { spec: &shared.spec, run_dir, subject: &mut subject, idle, lag: &slot.lag };
    play(plan, play_context, &shared.run.options).await
}

/// Starts the job's subject, if it is not up.
///
/// # Errors
/// The play that cannot be judged without it.
async fn ensure_subject(shared: &SuiteState, slot: &mut SubjectSlot) -> Result<(), Play> {
    if slot.subject.is_some() {
        return Ok(());
    }
    if slot.failed_launches >= FAILED_LAUNCHES
        && let Some(play) = &slot.failed_launch
    {
        return Err(play.clone());
    }
    slot.lag.begin();
    let recorder = Recorder::new(Clock::start(), vec![]);
    let started = start(&shared.spec, slot.run_dir.take(), recorder, shared.progress.as_ref()).await;
    match started {
        Ok((run_dir, subject)) => {
            slot.begin(run_dir, subject);
            Ok(())
        }
        Err(error) => {
            slot.failed_launches += 1;
            let busy = busy_start(&slot.lag, &error);
            let play = Play { held_up: busy.is_some(), ..Play::error(busy.unwrap_or_else(|| error.brief())) };
            slot.failed_launch = Some(play.clone());
            shared.launch_error.lock().get_or_insert(error);
            Err(play)
        }
    }
}

/// Blames an end that was not requested, and that was not noticed so far, on the job's last play.
async fn blame_late_death(shared: &SuiteState, slot: &mut SubjectSlot, last: Option<usize>) {
    let Some(n) = last.filter(|_| !shared.cancel.is_cancelled()) else { return };
    let clean = |played: &Played| played.plays.last().is_some_and(|p| p.status == ScenarioStatus::Passed);
    let Some(subject) = &slot.subject else { return };
    let (edition, patience) = (shared.plans[n].edition, shared.run.options.patience);
    if !shared.results.lock().get(&n).is_some_and(clean) {
        return;
    }
    let Some(exited) = late_exit(subject, &shared.spec, edition, patience).await else { return };
    if let Some(play) = shared.results.lock().get_mut(&n).and_then(|played| played.plays.last_mut()) {
        blame_death(play, &exited, &shared.spec, shared.plans[n].edition);
        if let Some((trace, _)) = slot.trace.take() {
            trace.end(play);
        }
        let reason = play.reason.clone().unwrap_or_default();
        shared.progress.remark(&format!("{}: {reason}", shared.plans[n].id));
    }
}
