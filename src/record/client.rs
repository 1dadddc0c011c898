//! [`Client`]: a client process that we start in order to record it. It has the terminal, as if it had been started by
//! hand.

use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::config::fill;
use crate::subject::Descendants;
use crate::trace::{EventKind, Exited, Launched};

use super::Recording;

/// How long a client may take to end, before a stronger signal is sent.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// How long the processes that it leaves behind may take to be gone.
const DESCENDANTS_TIMEOUT: Duration = Duration::from_secs(2);

/// Why a client could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start `{command}`: {source}")]
pub struct ClientError {
    /// The program that was to run.
    pub command: String,
    /// The error of the system.
    pub source: io::Error,
}

/// A running client process.
pub struct Client {
    child: Child,
    pid: u32,
    descendants: Descendants,
    stop_requested: bool,
}

impl Client {
    /// Starts a command as a client of a recording, with its placeholders replaced and the variables that lead it to
    /// the proxy, in `folder` or else in the current folder.
    ///
    /// # Errors
    /// The command cannot be run.
    pub fn start(recording: &Recording, command: &[String], folder: Option<&Path>) -> Result<Self, ClientError> {
        let placeholders = recording.placeholders();
        let placeholder = |name: &str| placeholders.iter().find(|(n, _)| *n == name).map(|(_, value)| value.clone());
        let command: Vec<String> = command.iter().map(|word| fill(word, &placeholder)).collect();
        let (program, arguments) = command.split_first().map_or(("", &[][..]), |(p, a)| (p.as_str(), a));
        let mut prepared = Command::new(program);
        prepared.args(arguments).envs(recording.environment()).kill_on_drop(true);
        if let Some(folder) = folder {
            prepared.current_dir(folder);
        }
        let child = prepared.spawn().map_err(|source| ClientError { command: program.to_owned(), source })?;
        let pid = child.id().unwrap_or_default();
        recording.record(EventKind::Launched(Launched { command, pid }));
        Ok(Self { child, pid, descendants: Descendants::of(pid), stop_requested: false })
    }

    /// Waits for the end of the client, and records it.
    pub async fn ended(&mut self, recording: &Recording) -> Exited {
        let status = self.child.wait().await.ok();
        let signal = status.as_ref().and_then(std::os::unix::process::ExitStatusExt::signal);
        let code = status.as_ref().and_then(ExitStatus::code);
        let exited = Exited { pid: self.pid, code, signal, asked: self.stop_requested };
        recording.record(EventKind::Exited(exited.clone()));
        exited
    }

    /// Ends the client: waits a little where it was `signalled` already, as by Ctrl-C in its terminal; then sends
    /// SIGTERM; then SIGKILL. Processes that it started and leaves behind are killed.
    pub async fn end(&mut self, recording: &Recording, signalled: bool) -> Exited {
        self.stop_requested = true;
        let signals = [None, Some(Signal::TERM), Some(Signal::KILL)];
        for signal in signals.into_iter().skip(usize::from(!signalled)) {
            self.descendants.note();
            let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
            if let (Some(signal), Some(pid)) = (signal, pid) {
                // Fails only where it has ended.
                let _ = kill_process(pid, signal);
            }
            if let Ok(exited) = timeout(STOP_TIMEOUT, self.ended(recording)).await {
                self.descendants.kill(DESCENDANTS_TIMEOUT);
                return exited;
            }
        }
        let exited = self.ended(recording).await;
        self.descendants.kill(DESCENDANTS_TIMEOUT);
        exited
    }
}
