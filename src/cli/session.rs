//! A session with its reports: what `certify` and `run` have in common.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::certification::Session;
use crate::play::{Cancel, KeptTraces, RunError};
use crate::report::Progress;

use super::deliver::{deliver, progress};
use super::signals::run_cancellable;
use super::{CliError, Exit, SharedOptions, Terminal};

/// Runs a session, writes the reports, and gives the exit code. With `--list`, lists the scenarios instead.
///
/// # Errors
/// `--list` where no scenario is left; an asynchronous runtime that does not start.
pub fn run_session(session: &Session, options: &SharedOptions, terminal: &mut Terminal) -> Result<Exit, CliError> {
    if options.list {
        let plans = session.list();
        for plan in &plans {
            terminal.result(&format!("{}\n    {}\n", plan.id, plan.title));
        }
        return match plans.is_empty() {
            true => Err(CliError::usage("no scenario is left by what was asked for")),
            false => Ok(Exit::OK),
        };
    }
    let cancel = Cancel::default();
    remove_last_traces();
    let progress = progress(options.progress, terminal);
    run_cancellable(&cancel, async || {
        let on_error = |error: &RunError| terminal.diagnostics(&error.diagnostics());
        let session = session.run(&progress, &cancel, on_error);
        let outcome = reporting_interrupts(session, progress.as_ref(), &cancel).await;
        // From here on a signal ends the process.
        cancel.nothing_runs();
        let written = deliver(&outcome.report, &options.reports, terminal);
        note_failed_traces(outcome.failed_traces, terminal);
        Ok(Exit::of(outcome.report.standing(), cancel.is_cancelled(), !written || outcome.misused))
    })
}

/// The folder of the traces of the last session of this process: with `--watch` there are several.
static LAST_TRACES: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Removes the traces of failed plays that the session before this one has kept.
fn remove_last_traces() {
    if let Some(folder) = LAST_TRACES.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // What cannot be removed is in a temporary folder.
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Prints where the failed traces are, if there are any.
fn note_failed_traces(failed_traces: KeptTraces, terminal: &mut Terminal) {
    if let Some(error) = failed_traces.trouble {
        terminal.progress(&error);
    }
    let Some(folder) = failed_traces.folder else { return };
    let place = folder.display();
    terminal.progress(&match (failed_traces.traces, failed_traces.left_out) {
        (1, 0) => format!("the trace of the play that failed or could not be judged is in {place}"),
        (n, 0) => format!("the traces of the {n} plays that failed or could not be judged are in {place}"),
        (n, more) => format!(
            "the traces of the first {n} of {} plays that failed or could not be judged are in {place}; \
             --trace-dir DIR keeps all",
            n + more
        ),
    });
    *LAST_TRACES.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
}

/// Waits for something, and says so at once where the run is ended meanwhile: stopping subjects takes its time.
async fn reporting_interrupts<T>(work: impl Future<Output = T>, progress: &dyn Progress, cancel: &Cancel) -> T {
    tokio::pin!(work);
    tokio::select! {
        biased;
        () = cancel.cancelled() => progress.interrupted(),
        done = &mut work => {
            // It may have come, and ended everything, while the work was looked at.
            if cancel.is_cancelled() {
                progress.interrupted();
            }
            return done;
        }
    }
    work.await
}
