//! The asynchronous runtime of a command, and the signals that end it.

use std::io;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::play::Cancel;

use super::{CliError, Exit};

/// How long what still runs may take to end when the work of a command is over.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The runtime for sockets, processes and time. `threads`: how many; one for each core where there is none.
pub fn runtime(threads: Option<usize>) -> Result<Runtime, CliError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    threads.map(|threads| builder.worker_threads(threads));
    let runtime = builder.enable_all().build();
    let runtime =
        runtime.map_err(|e| CliError::unjudged(format!("the asynchronous runtime cannot be started: {e}")))?;
    let context = runtime.enter();
    // Writing beyond a limit on the size of files is to be an error like a full disk, not the end of us. Where that
    // cannot be had, it stays as it is. What is listened for once stays so.
    drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())));
    drop(context);
    Ok(runtime)
}

/// Runs work that plays against subjects, and that Ctrl-C, SIGTERM or SIGHUP cancel.
///
/// While subjects run, a second signal changes nothing: stopping them is bounded in time. Once none is left, it ends
/// the process: a report may go to a pipe that nobody reads.
///
/// # Errors
/// Those of the work; a runtime that does not start.
pub fn run_cancellable<T>(cancel: &Cancel, work: impl AsyncFnOnce() -> Result<T, CliError>) -> Result<T, CliError> {
    let runtime = runtime(None)?;
    let outcome = runtime.block_on(async {
        cancel_on_signals(cancel);
        work().await
    });
    cancel.nothing_runs();
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    outcome
}

/// Cancels at Ctrl-C, SIGTERM or SIGHUP, as [`run_cancellable`] describes.
pub fn cancel_on_signals(cancel: &Cancel) {
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

/// A signal that ends a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGINT: Ctrl-C in a terminal.
    Interrupt,
    /// SIGTERM or SIGHUP.
    Terminate,
}

/// The signals that end a command. They are registered when this is made.
pub struct EndSignals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl EndSignals {
    /// Registers the signals.
    ///
    /// # Errors
    /// Where the system does not allow that.
    pub fn register() -> Result<Self, CliError> {
        let registered =
            |kind| signal(kind).map_err(|e: io::Error| CliError::unjudged(format!("cannot listen for signals: {e}")));
        Ok(Self {
            interrupt: registered(SignalKind::interrupt())?,
            terminate: registered(SignalKind::terminate())?,
            hang_up: registered(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> EndSignal {
        tokio::select! {
            _ = self.interrupt.recv() => EndSignal::Interrupt,
            _ = self.terminate.recv() => EndSignal::Terminate,
            _ = self.hang_up.recv() => EndSignal::Terminate,
        }
    }
}
