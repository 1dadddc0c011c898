//! What the commands that play have in common: the runtime, interrupts, and a session with its reports.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use crate::certification::{Session, SessionError};
use crate::play::{Cancel, KeptTraces};
use crate::report::Progress;

use super::deliver::{deliver, progress};
use super::{CliError, Exit, SharedOptions, Terminal};

/// How long what still runs may take to end when a session is over.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

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
    let runtime = runtime()?;
    let cancel = Cancel::default();
    remove_last_traces();
    let progress = progress(options.progress, terminal);
    let outcome = runtime.block_on(async {
        watch_for_interrupts(cancel.clone());
        let on_error = |error: &SessionError| terminal.diagnostics(&error.diagnostics());
        reporting_interrupts(session.run(&progress, &cancel, on_error), progress.as_ref(), &cancel).await
    });
    cancel.nothing_runs();
    let written = deliver(&outcome.report, &options.reports, terminal);
    let exit = Exit::of(outcome.report.standing(), cancel.is_cancelled(), !written || outcome.misused);
    note_failed_traces(outcome.failed_traces, terminal);
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    Ok(exit)
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

/// What runs everything that waits for sockets, processes and time.
pub fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| CliError::unjudged(format!("the asynchronous runtime could not be started: {e}")))?;
    let context = runtime.enter();
    // Writing beyond a limit on the size of files is to be an error like a full disk, not the end of us. Where that
    // cannot be had, it stays as it is. What is listened for once stays so.
    drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())));
    drop(context);
    Ok(runtime)
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

/// Cancels the run at Ctrl-C, SIGTERM or SIGHUP.
///
/// While subjects run, a second one changes nothing: stopping them is bounded in time. Once none is left, it ends
/// the process: a report may go to a pipe that nobody reads.
pub fn watch_for_interrupts(cancel: Cancel) {
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        // Registered at once, so that no moment is left in which it would end us with subjects running.
        let Ok(mut signals) = signal(kind) else { continue };
        let cancel = cancel.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if cancel.is_cancelled() && !cancel.something_runs() {
                    std::process::exit(Exit::INTERRUPTED.0.into());
                }
                cancel.cancel();
            }
        });
    }
}
