//! Saved scenarios that fail, made smaller: [`Suite::shrink`].

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::diagnostic::yaml;
use crate::play::Cancel;
use crate::scenario::Plan;
use crate::scenario::text::{Tree, write};
use crate::shrink::{Limits, ShrinkEvent, ShrinkJob, ShrinkOutcome};
use crate::subject::RunError;

use super::super::api::{Kept, PlayProgress, ShrinkRequest};
use super::super::keep;
use super::{Suite, entry, milliseconds};

/// How far shrinking goes.
const LIMITS: Limits = Limits { repeat: 1, plays: 5000, time: Duration::from_secs(300), isolated: false };

impl Suite {
    /// Begins to shrink a saved scenario. Reads files: not for the event loop.
    ///
    /// # Errors
    /// Others are under way; a file that is no scenario for the subject.
    pub fn shrink(self: &Arc<Self>, request: &ShrinkRequest, runtime: &Handle) -> Result<(), String> {
        let (path, plans) = self.kept(&request.kept)?;
        let mut state = self.idle()?;
        let number = state.plays.last().map_or(1, |play| play.number + 1);
        state.plays.push(entry(number, &request.kept, "the least of it that still fails", PlayProgress::Shrinking));
        let cancel = Cancel::default();
        let job = ShrinkJob {
            spec: self.subject.spec.clone(),
            run: self.subject.run.clone(),
            cancel: cancel.clone(),
            file: path,
            requested: request.requirement.clone(),
            reference: true,
            limits: LIMITS,
            repro: self.subject.repro.clone(),
        };
        let (suite, runtime) = (self.clone(), runtime.clone());
        let handle = runtime.clone();
        // What it tells while it works cannot be sent from one thread to another.
        let task = runtime.spawn(async move {
            let work = move || handle.block_on(shrink(&suite, number, &job, plans));
            // It fails only where it panics, and then the entry stays as it is.
            let _ = spawn_blocking(work).await;
        });
        state.under_way = Some((cancel, task));
        Ok(())
    }
}

/// Shrinks a saved scenario, and saves the result beside it.
async fn shrink(suite: &Suite, number: u64, job: &ShrinkJob, plans: Vec<Plan>) {
    let began = Instant::now();
    let done = least(suite, number, job, plans).await;
    let took = milliseconds(began.elapsed());
    suite.note(number, |play| {
        play.took = Some(took);
        play.progress = PlayProgress::Over;
        match done {
            Ok((summary, kept)) => {
                play.reason = Some(summary);
                play.kept = kept;
            }
            Err(RunError::Interrupted) => play.progress = PlayProgress::Stopped,
            Err(error) => {
                let told: Vec<String> =
                    error.diagnostics().iter().map(|diagnostic| diagnostic.message.clone()).collect();
                play.reason = Some(told.join("; "));
            }
        }
    });
}

async fn least(
    suite: &Suite,
    number: u64,
    job: &ShrinkJob,
    plans: Vec<Plan>,
) -> Result<(String, Option<Kept>), RunError> {
    let tree = Tree::parse(&yaml::read(&job.file)?)?;
    let mut log = |event: ShrinkEvent| {
        suite.note(number, |play| play.reason = Some(event.to_string().trim_start().to_owned()));
    };
    match job.least(&tree, plans, suite.subject.edition, &mut log).await? {
        ShrinkOutcome::Passes(why) => Ok((why, None)),
        ShrinkOutcome::Fails(shrunk) => {
            let text = |path: &Path| write(&job.headed(&shrunk, path));
            let kept =
                keep::scenario(&suite.subject.keep, text).map_err(|error| RunError::unjudged(error.to_string()))?;
            Ok((shrunk.summary(), Some(kept)))
        }
    }
}
