//! A job's subject: its start, its run directory, whether it can be used again, and its unexpected end. [`SubjectPool`] keeps
//! one for a caller who decides from each play what comes next.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::config::{Launch, SubjectSpec};
use crate::judge::{ALIVE, BlockedRequirement, FaultOwner, MissKind, Play, RawFinding, ScenarioStatus};
use crate::peer::{self, Setting};
use crate::protocol::{Edition, Part, Requirement, RequirementId};
use crate::report::Progress;
use crate::scenario::Plan;
use crate::subject::{RunDir, Running, Start, SubjectError};
use crate::trace::{Clock, Exited, Recorder};

use super::needs;
use super::one::OpenTrace;
use super::suite::{Run, SuiteState, one_play};
use super::timing::{Cancel, LagMeter};

/// The number of the next subject.
static SUBJECTS: AtomicU64 = AtomicU64::new(0);

/// How long the end of a process that no longer serves is waited for.
const EXIT_WAIT: Duration = Duration::from_millis(500);
/// How long a subject that serves may take at least to show it, also where the run has less patience.
const ALIVE_WAIT: Duration = Duration::from_secs(2);

/// A job's subject and its run directory.
///
/// The subject comes first, so that it is also dropped first: it writes into the run directory as long as it lives.
pub struct SubjectSlot {
    /// The subject, while one runs.
    pub subject: Option<Running>,
    /// The run directory of the subject, or of the next one; none where it is still to be made, or we start no subjects.
    pub run_dir: Option<RunDir>,
    /// How many launches in a row have failed.
    pub failed_launches: u32,
    /// The play that the last failed launch was for.
    pub failed_launch: Option<Play>,
    /// The subject's number, and how often it was played at.
    number: u64,
    plays: u32,
    /// By how much the job is late.
    pub lag: Arc<LagMeter>,
    /// The trace of the last play, with that play, where it has not ended.
    pub trace: Option<(OpenTrace, Play)>,
}

impl SubjectSlot {
    /// Without a subject; the first play starts one.
    pub fn empty(lag: Arc<LagMeter>) -> Self {
        Self {
            subject: None,
            run_dir: None,
            failed_launches: 0,
            failed_launch: None,
            number: 0,
            plays: 0,
            lag,
            trace: None,
        }
    }

    /// Ends the trace of the last play: nothing more can be found in it.
    pub fn end_trace(&mut self) {
        if let Some((trace, mut play)) = self.trace.take() {
            trace.end(&mut play);
        }
    }

    /// Takes a subject that was not played at.
    pub fn begin(&mut self, run_dir: Option<RunDir>, subject: Running) {
        (self.run_dir, self.subject, self.failed_launches) = (run_dir, Some(subject), 0);
        (self.number, self.plays) = (SUBJECTS.fetch_add(1, Ordering::Relaxed), 0);
    }

    /// The subject was played at: after every `every` plays, reports the memory that it takes.
    pub fn report_memory(&mut self, every: Option<NonZeroU32>, progress: &dyn Progress) {
        let (Some(subject), Some(every)) = (&self.subject, every) else { return };
        self.plays += 1;
        if self.plays.is_multiple_of(every.get())
            && let Some(bytes) = subject.memory()
        {
            progress.subject_weighed(self.number, self.plays, bytes);
        }
    }

    /// Stops the subject, if one runs. The next play begins with a fresh one, in a run directory of its own.
    pub async fn clear(&mut self) {
        if let Some(subject) = self.subject.take() {
            subject.expect_exit();
            subject.stop().await;
        }
        self.run_dir = None;
        self.failed_launches = 0;
    }
}

impl Drop for SubjectSlot {
    fn drop(&mut self) {
        self.end_trace();
    }
}

/// Starts the subject, or attaches to it.
///
/// # Errors
/// Where it cannot be started or reached.
pub async fn start(
    spec: &SubjectSpec,
    run_dir: Option<RunDir>,
    recorder: Recorder,
    progress: &dyn Progress,
) -> Result<(Option<RunDir>, Running), SubjectError> {
    let Some(launch) = spec.launch() else {
        return Ok((None, Running::attach(spec, recorder).await?));
    };
    let run_dir = match run_dir {
        Some(run_dir) => run_dir,
        None => fresh_run_dir(launch, progress)?,
    };
    let running = Running::launch(Start::new(spec, &run_dir, recorder)).await?;
    Ok((Some(run_dir), running))
}

/// Makes a run directory, and reports where it is if it is to stay.
pub fn fresh_run_dir(launch: &Launch, progress: &dyn Progress) -> Result<RunDir, SubjectError> {
    let run_dir = RunDir::create(launch)?;
    if run_dir.is_kept() {
        progress.remark(&format!("the run directory stays: {}", run_dir.root().display()));
    }
    Ok(run_dir)
}

/// How the subject ended, if it did or is about to: the system may report the end of its connections first.
pub async fn exited(subject: &Running) -> Option<Exited> {
    subject.wait(EXIT_WAIT).await
}

/// Why the subject cannot be used again, if it cannot: it ended, or after a play that was not clean it no longer serves
/// new connections.
pub async fn why_unusable(
    subject: &Running,
    spec: &SubjectSpec,
    edition: &'static dyn Edition,
    patience: Duration,
    clean: bool,
) -> Option<String> {
    if !subject.alive().await {
        return Some("it had ended".into());
    }
    if clean {
        return None;
    }
    let served = serves(spec, edition, subject, patience).await;
    served.err().map(|error| format!("it no longer served: {error}"))
}

/// How the subject ended, if it dies of a play that is over.
pub async fn late_exit(
    subject: &Running,
    spec: &SubjectSpec,
    edition: &'static dyn Edition,
    patience: Duration,
) -> Option<Exited> {
    why_unusable(subject, spec, edition, patience, false).await?;
    exited(subject).await
}

/// Checks that the subject serves new connections: two, one after the other. It may answer the first one before it has
/// seen the end of those of the play.
///
/// # Errors
/// What kept it, in one sentence.
pub async fn serves(
    spec: &SubjectSpec,
    edition: &'static dyn Edition,
    subject: &Running,
    patience: Duration,
) -> Result<(), String> {
    let kind = peer::kind(spec.role.name).ok_or_else(|| format!("no peer stands opposite {}", spec.role.name))?;
    for _ in 0..2 {
        let setting = Setting {
            edition,
            recorder: Recorder::new(Clock::start(), vec![]),
            server: subject.lock().cloned(),
            patience,
            longest: None,
            place: None,
            settings: spec.settings.clone(),
            described: spec.described.clone(),
            folder: None,
        };
        let mut peer = (kind.new)(setting);
        let served = peer.alive(patience.max(ALIVE_WAIT)).await;
        peer.finish().await;
        served.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// A subject, started when it is first needed and kept from one play to the next as its description says: see
/// [`Isolation`](crate::config::Isolation). One that a play has killed or soiled is started again before the next.
///
/// Where it is dropped, its processes are ended; [`SubjectPool::clear`] ends them in an orderly way.
pub struct SubjectPool {
    shared: SuiteState,
    slot: SubjectSlot,
}

impl SubjectPool {
    /// For plays at this subject. Of `run`, what concerns several plays (`jobs`, `repeat`, `retries`) is not used.
    pub fn new(spec: SubjectSpec, run: Run, progress: Arc<dyn Progress>, cancel: Cancel) -> Self {
        let shared = SuiteState::new(spec, Arc::from([]), run, progress, cancel);
        Self { shared, slot: SubjectSlot::empty(Arc::new(LagMeter::default())) }
    }

    /// Plays a plan once; none where the run was ended meanwhile.
    pub async fn play(&mut self, plan: &Plan) -> Option<Play> {
        if self.shared.cancel.is_cancelled() {
            return None;
        }
        if let Some(reason) = needs::missing(plan, &self.shared.spec) {
            return Some(Play::skipped(reason));
        }
        let lag = self.slot.lag.clone();
        tokio::select! {
            biased;
            () = lag.run() => None,
            () = self.shared.cancel.cancelled() => None,
            play = one_play(&self.shared, plan, &mut self.slot) => Some(play),
        }
    }

    /// Stops the subject, if one runs. The next play begins with a fresh one, in a run directory of its own.
    pub async fn clear(&mut self) {
        self.slot.clear().await;
    }

    /// Why the subject could not be started, if it could not; returned once.
    pub fn launch_error(&self) -> Option<SubjectError> {
        self.shared.take_launch_error()
    }
}

/// The finding that the subject died although its end was not requested.
pub fn death_finding(exited: &Exited, spec: &SubjectSpec, edition: &dyn Edition) -> RawFinding {
    let how = match (exited.code, exited.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown cause".to_owned(),
    };
    RawFinding {
        requirement: alive_requirement(spec, edition),
        fault: FaultOwner::End(spec.role.subject),
        step: None,
        place: None,
        message: format!("{DIED} ({how})"),
        path: None,
        expected: None,
        actual: None,
        index: None,
        known_after: None,
        last_events: vec![],
        part: Part::Body,
        conn: None,
        missed: None,
    }
}

/// Why a subject that is only watched cannot be judged, which ended with this exit code. `output`: its last lines.
pub fn ended_by_itself(code: i32, output: &[String]) -> String {
    let said = match output {
        [] => "it wrote nothing".to_owned(),
        lines => format!("its last output: {}", lines.join(" / ")),
    };
    format!("the subject ended by itself while it was watched (exit code {code}); {said}")
}

/// The message of the finding that a subject died.
const DIED: &str = "the subject's process ended although nobody asked it to";

/// The requirement that the subject's process goes on whatever comes.
fn alive_requirement(spec: &SubjectSpec, edition: &dyn Edition) -> Option<RequirementId> {
    let mut catalogue = (spec.protocol.requirements)().iter();
    let meant =
        |r: &&Requirement| r.binds == spec.role.subject && r.edition() == edition.id() && ALIVE.contains(&r.short());
    catalogue.find(meant).map(|r| r.id)
}

/// Adds to a play that is over that the subject died of it, unless that was seen while it went on. What then did not come,
/// or failed, could not be judged.
pub fn blame_death(play: &mut Play, exited: &Exited, spec: &SubjectSpec, edition: &dyn Edition) {
    let requirement = alive_requirement(spec, edition);
    let known = |found: &RawFinding| found.requirement == requirement;
    if exited.asked || play.findings.iter().any(known) {
        return;
    }
    let found = death_finding(exited, spec, edition);
    let is_about_process = |found: &RawFinding| {
        let way = found.missed.as_ref().map(|missed| missed.way);
        matches!(way, Some(MissKind::Absent | MissKind::Failure | MissKind::Unreachable))
    };
    for consequence in play.findings.extract_if(.., |found| is_about_process(found)) {
        let (because, message) = (found.requirement, found.message.clone());
        play.blocked.push(BlockedRequirement {
            requirement: consequence.requirement,
            because,
            message,
            explained: true,
        });
    }
    play.status = ScenarioStatus::Failed;
    play.reason.get_or_insert_with(|| found.message.clone());
    play.findings.push(found);
}
