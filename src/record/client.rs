//! The client that is recorded, where it is ours to start: it has the terminal, as if it had been started by hand.

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

/// How long a client may take to end, before more is done about it.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long those may take to be gone whom it leaves behind when we end it.
const SWEEP: Duration = Duration::from_secs(2);

/// Why a client could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start `{command}`: {source}")]
pub struct ClientError {
    /// What was to be run.
    pub command: String,
    /// What the system said.
    pub source: io::Error,
}

/// A client that runs.
pub struct Client {
    child: Child,
    pid: u32,
    descendants: Descendants,
    asked: bool,
}

impl Client {
    /// Starts a command as a client of what is recorded: its placeholders replaced, in the environment that leads it to
    /// us, in `folder`, or where we are.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn start(recording: &Recording, command: &[String], folder: Option<&Path>) -> Result<Self, ClientError> {
        let places = recording.places();
        let place = |name: &str| places.iter().find(|(n, _)| *n == name).map(|(_, value)| value.clone());
        let command: Vec<String> = command.iter().map(|word| fill(word, &place)).collect();
        let (program, arguments) = command.split_first().map_or(("", &[][..]), |(p, a)| (p.as_str(), a));
        let mut prepared = Command::new(program);
        prepared.args(arguments).envs(recording.environment()).kill_on_drop(true);
        if let Some(folder) = folder {
            prepared.current_dir(folder);
        }
        let child = prepared.spawn().map_err(|source| ClientError { command: program.to_owned(), source })?;
        let pid = child.id().unwrap_or_default();
        recording.record(EventKind::Launched(Launched { command, pid }));
        Ok(Self { child, pid, descendants: Descendants::of(pid), asked: false })
    }

    /// Waits for its end, and records that.
    pub async fn ended(&mut self, recording: &Recording) -> Exited {
        let status = self.child.wait().await.ok();
        let signal = status.as_ref().and_then(std::os::unix::process::ExitStatusExt::signal);
        let code = status.as_ref().and_then(ExitStatus::code);
        let exited = Exited { pid: self.pid, code, signal, asked: self.asked };
        recording.record(EventKind::Exited(exited.clone()));
        exited
    }

    /// Has it end: gives it some time where it has been `told` already, as by Ctrl-C in its terminal; then asks; then kills
    /// it. What it started and leaves behind is killed.
    pub async fn end(&mut self, recording: &Recording, told: bool) -> Exited {
        self.asked = true;
        let signals = [None, Some(Signal::TERM), Some(Signal::KILL)];
        for signal in signals.into_iter().skip(usize::from(!told)) {
            self.descendants.note();
            let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
            if let (Some(signal), Some(pid)) = (signal, pid) {
                // Fails only where it has ended.
                let _ = kill_process(pid, signal);
            }
            if let Ok(exited) = timeout(PATIENCE, self.ended(recording)).await {
                self.descendants.kill(SWEEP);
                return exited;
            }
        }
        let exited = self.ended(recording).await;
        self.descendants.kill(SWEEP);
        exited
    }
}
