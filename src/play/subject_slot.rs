//! A job's subject: its start, where it lives, and whether it can be used again.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::config::{Launch, SubjectSpec};
use crate::judge::Play;
use crate::peer::{self, Setting};
use crate::report::Progress;
use crate::subject::{RunDir, Running, Start, SubjectError};
use crate::trace::{Clock, Exited, Recorder};

use super::lag::LagMeter;
use super::one::OpenTrace;

/// Tells subjects from each other.
static SUBJECTS: AtomicU64 = AtomicU64::new(0);

/// How long the end of a process that no longer serves is waited for.
const DYING: Duration = Duration::from_millis(500);
/// How long a subject that serves may take at least to show it, also where the run has less patience.
const HEALTHY: Duration = Duration::from_secs(2);

/// A job's subject and where it lives.
///
/// The subject comes first, so that it is also dropped first: it writes into the run directory as long as it lives.
pub struct SubjectSlot {
    /// The subject, while one runs.
    pub subject: Option<Running>,
    /// Its run directory, or that of the next one; none where one is still to be made, or we start no subjects.
    pub run_dir: Option<RunDir>,
    /// How many launches in a row have failed.
    pub failed_launches: u32,
    /// The subject's number, and how often it was played at.
    number: u64,
    plays: u32,
    /// By how much the job is late.
    pub lag: Arc<LagMeter>,
    /// The trace of the last play, with what is said of that, where it has not ended.
    pub trace: Option<(OpenTrace, Play)>,
}

impl SubjectSlot {
    /// Without a subject; the first play starts one.
    pub fn empty(lag: Arc<LagMeter>) -> Self {
        Self { subject: None, run_dir: None, failed_launches: 0, number: 0, plays: 0, lag, trace: None }
    }

    /// Ends the trace of the last play: nothing more is found in that.
    pub fn end_trace(&mut self) {
        if let Some((trace, mut play)) = self.trace.take() {
            trace.end(&mut play);
        }
    }

    /// Has a subject from now on that was not played at.
    pub fn begin(&mut self, run_dir: Option<RunDir>, subject: Running) {
        (self.run_dir, self.subject, self.failed_launches) = (run_dir, Some(subject), 0);
        (self.number, self.plays) = (SUBJECTS.fetch_add(1, Ordering::Relaxed), 0);
    }

    /// The subject was played at: once in so many times, its memory is told.
    pub fn weigh(&mut self, every: Option<NonZeroU32>, progress: &dyn Progress) {
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
            subject.will_exit();
            subject.stop().await;
        }
        self.run_dir = None;
        self.failed_launches = 0;
    }

    /// How the job's subject ended, if it did or is about to: the system may tell of the end of its connections first.
    pub async fn exited(&self) -> Option<Exited> {
        self.subject.as_ref()?.wait(DYING).await
    }

    /// Whether the subject cannot be used again: it ended, or after a play that was not clean it no longer
    /// serves a new connection.
    pub async fn spoilt(&self, spec: &SubjectSpec, edition: &str, patience: Duration, clean: bool) -> Option<String> {
        let subject = self.subject.as_ref()?;
        if !subject.alive().await {
            return Some("it had ended".into());
        }
        if clean {
            return None;
        }
        let served = serves(spec, edition, subject, patience).await;
        served.err().map(|trouble| format!("it no longer served: {trouble}"))
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
    let env = BTreeMap::new();
    let running =
        Running::launch(Start { spec, run_dir: &run_dir, scenario: None, env: &env, server: None, recorder }).await?;
    Ok((Some(run_dir), running))
}

/// Makes a run directory, and says where it is if it is to stay.
pub fn fresh_run_dir(launch: &Launch, progress: &dyn Progress) -> Result<RunDir, SubjectError> {
    let run_dir = RunDir::create(launch)?;
    if run_dir.is_kept() {
        progress.remark(&format!("the run directory stays: {}", run_dir.root().display()));
    }
    Ok(run_dir)
}

/// Whether the subject serves a new connection: why not, if not.
///
/// # Errors
/// What kept it, in one sentence.
pub async fn serves(spec: &SubjectSpec, edition: &str, subject: &Running, patience: Duration) -> Result<(), String> {
    let setting = Setting {
        edition: edition.to_owned(),
        recorder: Recorder::new(Clock::start(), vec![]),
        server: subject.lock().cloned(),
        patience,
        longest: None,
        place: None,
        settings: spec.settings.clone(),
        described: spec.described.clone(),
        folder: None,
    };
    let kind = peer::kind(spec.role.name).ok_or_else(|| format!("no peer stands opposite {}", spec.role.name))?;
    let mut peer = (kind.new)(setting);
    let served = peer.alive(patience.max(HEALTHY)).await;
    peer.finish().await;
    served.map_err(|trouble| trouble.to_string())
}
