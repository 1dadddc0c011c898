//! What is done to a subject that is up: signals, stimuli, and its end ([`StopResult`]).

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::config::{StimulusWay, StopHow};
use crate::subject::process::{self, CommandOutcome, Problem, SubjectProcess, one_line, signal_named};
use crate::subject::{SubjectError, control, lockfile};
use crate::trace::{EventKind, Exited, Stimulus};

use super::Running;

/// How long a driven client may take to end once it was requested to; then it is stopped as any process is.
pub(super) const CLIENT_EXIT_WAIT: Duration = Duration::from_secs(1);

/// How a subject was stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct StopResult {
    /// How its main process ended; none where it is not ours, or could not be ended.
    pub exited: Option<Exited>,
    /// Whether it ended as asked, before it was killed.
    pub graceful: bool,
    /// How many processes of it outlived the main one and had to be killed.
    pub left: usize,
    /// Whether every process of it is gone. Only a system that refuses to kill one leaves this false.
    pub clean: bool,
}

impl Running {
    /// Sends a signal to its process group: `TERM`, `INT`, `HUP`, `KILL`, `STOP` or `CONT`. After one that ends
    /// processes its end counts as asked for.
    ///
    /// # Errors
    /// [`SubjectError::Unable`] where it is not ours, has ended, or the signal is unknown.
    pub fn signal(&self, name: &str) -> Result<(), SubjectError> {
        let unable = |why: String| SubjectError::Unable(format!("cannot send {name} to the subject: {why}"));
        let process = self.process.as_ref().ok_or_else(|| unable("it was not started by us".to_owned()))?;
        let signal = signal_named(name).ok_or_else(|| unable("there is no such signal".to_owned()))?;
        if signal != Signal::STOP && signal != Signal::CONT {
            process.will_exit();
        }
        process.signal(signal).map_err(|e| unable(e.to_string()))
    }

    /// Has something done to it from outside, and writes the `Stimulus` to the trace.
    ///
    /// # Errors
    /// [`SubjectError::Unable`] where it has no such stimulus, [`SubjectError::Incapable`] where it says that it cannot do
    /// this, [`SubjectError::Stimulus`] where the command failed or took too long.
    pub async fn stimulate(&self, name: &str, params: &Map<String, Value>) -> Result<(), SubjectError> {
        let Some(way) = self.spec.stimuli.get(name) else {
            return Err(SubjectError::Unable(format!(
                "the subject has no stimulus `{name}`; add it to `stimuli:` of its subject file"
            )));
        };
        let within = self.spec.timeouts.stimulus;
        match way {
            StimulusWay::Command(template) => {
                self.run(name, params, self.surroundings.stimulus(template, params), within).await
            }
            StimulusWay::Socket(template) => {
                let socket = self.surroundings.control_socket(template);
                let outcome = control::send(&socket, name, params, within).await;
                self.stimulated(name, params, vec![socket.display().to_string()], outcome)
            }
        }
    }

    /// Asks it to stop, waits, and kills whatever is left of its process tree. Takes at most the configured time
    /// plus a few seconds. Writes `Exited` and what became of the lockfile to the trace. What is not ours is left alone.
    pub async fn stop(mut self) -> StopResult {
        let Some(process) = self.process.take() else {
            return StopResult { exited: None, graceful: true, left: 0, clean: true };
        };
        process.will_exit();
        let graceful = self.ask_to_stop(&process).await;
        let exit = process.watch();
        let (left, clean) = process.finish().await;
        let exited = exit.borrow().clone();
        if let Some(path) = &self.lockfile {
            match lockfile::read_bounded(path) {
                Ok((content, _)) => self.tap.record_file(path, "read", Some(&content)),
                Err(_) if path.exists() => self.tap.record_file(path, "read", None),
                Err(_) => self.tap.record_file(path, "absent", None),
            }
        }
        StopResult { exited, graceful, left, clean }
    }

    /// Whether it ended within the time it has for that.
    async fn ask_to_stop(&self, process: &SubjectProcess) -> bool {
        let Some(launch) = self.spec.launch() else { return false };
        if process.exited().is_some() {
            return true;
        }
        if let Some(driver) = process.driver() {
            driver.close();
            driver.end();
            if timeout(launch.stop.within.min(CLIENT_EXIT_WAIT), process.ended()).await.is_ok() {
                return true;
            }
        }
        let asking = async {
            match &launch.stop.how {
                StopHow::Signal(name) => {
                    if let Some(signal) = signal_named(name) {
                        // One that is halted would never get to it.
                        let _ = process.signal(signal).and_then(|()| process.signal(Signal::CONT));
                    }
                }
                StopHow::Command(template) => {
                    let command = self.surroundings.command(template);
                    // What is wrong with it is in the trace; killing follows.
                    let _ = self.run("stop", &Map::new(), command, launch.stop.within).await;
                }
            }
            process.ended().await
        };
        timeout(launch.stop.within, asking).await.is_ok()
    }

    async fn run(
        &self,
        name: &str,
        params: &Map<String, Value>,
        command: Vec<String>,
        within: Duration,
    ) -> Result<(), SubjectError> {
        let outcome = process::run_command(&command, &self.surroundings, within).await;
        self.stimulated(name, params, command, outcome)
    }

    /// Records what became of a stimulus, by a command or over a socket.
    fn stimulated(
        &self,
        name: &str,
        params: &Map<String, Value>,
        command: Vec<String>,
        outcome: CommandOutcome,
    ) -> Result<(), SubjectError> {
        let line = one_line(&command);
        let (name, params) = (name.to_owned(), params.clone());
        self.tap.record(EventKind::Stimulus(Stimulus { name: name.clone(), params, command, outcome: outcome.short }));
        match outcome.problem {
            None => Ok(()),
            Some(Problem::Failed(problem)) => {
                Err(SubjectError::Stimulus { name, command: line, problem, output: outcome.output })
            }
            Some(Problem::Unable(why)) => Err(SubjectError::Incapable { name, why }),
        }
    }
}
