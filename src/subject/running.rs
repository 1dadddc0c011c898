//! A subject that answers.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::config::SubjectSpec;
use crate::protocol::Lock;
use crate::trace::{Exited, Recorder};

use super::{RunDir, SubjectError};

/// What to start a subject with.
#[derive(Clone)]
pub struct Start<'a> {
    /// The subject.
    pub spec: &'a SubjectSpec,
    /// Where it lives. Starting again in the same one keeps what it left there.
    pub run_dir: &'a RunDir,
    /// The scenario it is started for alone, by its id; none where several share it.
    pub scenario: Option<&'a str>,
    /// Further environment variables; an empty value removes one. They have the very last word.
    pub env: &'a BTreeMap<String, String>,
    /// The trace.
    pub recorder: Recorder,
}

/// A subject that is up: started by us, or attached to. Dropping it ends the process tree that we started.
pub struct Running {}

/// How a subject was stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    /// How its main process ended; none where it is not ours, or could not be ended.
    pub exited: Option<Exited>,
    /// Whether it ended as asked, before it was killed.
    pub graceful: bool,
    /// How many processes of it outlived the main one and had to be killed.
    pub left: usize,
}

/// The subject's lockfile as it is now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockfileState {
    /// Whether it is there.
    pub exists: bool,
    /// Its file name.
    pub name: Option<String>,
    /// Its JSON, where it parses.
    pub content: Option<Value>,
}

impl Running {
    /// Starts the subject and waits until it is ready. Writes `Launched`, its output and its lockfile to the trace.
    ///
    /// # Errors
    /// Where it cannot be started, ends, or does not become ready in time. Nothing of it is left running then, and
    /// the lockfiles that it did write are in the trace, so that rules can judge them.
    pub async fn launch(start: Start<'_>) -> Result<Self, SubjectError> {
        let _ = start;
        unimplemented!()
    }

    /// Finds a subject that runs already.
    ///
    /// # Errors
    /// [`SubjectError::NotFound`] where it is not there, or does not accept a connection.
    pub async fn attach(spec: &SubjectSpec, recorder: Recorder) -> Result<Self, SubjectError> {
        let _ = (spec, recorder);
        unimplemented!()
    }

    /// Where a client finds it.
    pub fn lock(&self) -> &Lock {
        unimplemented!()
    }

    /// The editions whose clients would accept its lockfile, in the protocol's order. Never empty.
    pub fn editions(&self) -> &[&'static str] {
        unimplemented!()
    }

    /// The workspace that it works on, where we know one.
    pub fn workspace(&self) -> Option<&Path> {
        unimplemented!()
    }

    /// Its process, where it is known.
    pub fn pid(&self) -> Option<u32> {
        unimplemented!()
    }

    /// Whether we started it, so that it can be stopped, signalled and started again.
    pub fn is_ours(&self) -> bool {
        unimplemented!()
    }

    /// Whether it is still there: its process, or for one that is not ours, whoever accepts its port.
    pub async fn alive(&self) -> bool {
        unimplemented!()
    }

    /// How its main process ended, if it did.
    pub fn exited(&self) -> Option<Exited> {
        unimplemented!()
    }

    /// Waits for its main process to end; none where it does not within this time, or is not ours.
    pub async fn wait(&self, within: Duration) -> Option<Exited> {
        let _ = within;
        unimplemented!()
    }

    /// Says that its end is wanted from here on (it was asked to quit), so that it is no crash.
    pub fn will_exit(&self) {
        unimplemented!()
    }

    /// Sends a signal to its process group: `TERM`, `INT`, `HUP`, `KILL`, `STOP` or `CONT`.
    ///
    /// # Errors
    /// [`SubjectError::Unable`] where it is not ours, has ended, or the signal is unknown.
    pub fn signal(&self, name: &str) -> Result<(), SubjectError> {
        let _ = name;
        unimplemented!()
    }

    /// Has something done to it from outside, and writes the `Stimulus` to the trace.
    ///
    /// # Errors
    /// [`SubjectError::Unable`] where it has no such stimulus, [`SubjectError::Stimulus`] where the command failed or
    /// took too long.
    pub async fn stimulate(&self, name: &str, params: &Map<String, Value>) -> Result<(), SubjectError> {
        let _ = (name, params);
        unimplemented!()
    }

    /// Lets what it writes, and its end, go to another trace from here on.
    pub fn record_to(&self, recorder: Recorder) {
        let _ = recorder;
        unimplemented!()
    }

    /// Its lockfile as it is now.
    pub fn lockfile(&self) -> LockfileState {
        unimplemented!()
    }

    /// Its last lines of output, the newest last: for people.
    pub fn last_output(&self) -> Vec<String> {
        unimplemented!()
    }

    /// Asks it to stop, waits, and kills whatever is left of its process tree. Takes at most the configured time
    /// plus a few seconds. Writes `Exited` and what became of the lockfile to the trace.
    pub async fn stop(self) -> Stopped {
        unimplemented!()
    }
}
