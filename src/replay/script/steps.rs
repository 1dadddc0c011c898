//! The steps of a trace, one after the other, however long it is.

use std::path::Path;

use crate::protocol::Lock;
use crate::trace::TraceReader;

use super::builder::{Builder, Facts};
use super::{ScriptError, Step};

/// So many steps of the record are held, at most, so that what belongs to one of them finds it.
const AHEAD: usize = 1000;
/// So many bytes of them are held; a single message may have more.
const AHEAD_BYTES: usize = 32 << 20;
/// So few steps are held, however many bytes they have.
const FEWEST: usize = 16;
/// More bytes are never held.
const MOST_BYTES: usize = 256 << 20;

/// How the content of a lockfile is understood.
pub(super) type ReadLock = Box<dyn Fn(&[u8]) -> Option<Lock> + Send>;

/// Reads a trace as steps. Each is whole once it is given: frames with the message that they make, a request with its
/// content. Of what lies more than a thousand steps apart, what came by then is given.
pub struct Steps {
    reader: TraceReader,
    builder: Builder,
    lock: ReadLock,
    path: String,
    over: bool,
}

impl Steps {
    /// The steps of a trace; `path` is for errors.
    pub(super) fn new(reader: TraceReader, path: &Path, lock: ReadLock) -> Self {
        Self { reader, builder: Builder::default(), lock, path: path.display().to_string(), over: false }
    }

    /// The next step; none at the end.
    ///
    /// # Errors
    /// Where the trace is damaged, or one message of it too large.
    pub fn step(&mut self) -> Result<Option<Step>, ScriptError> {
        loop {
            self.fill()?;
            let Some((step, spoken)) = self.builder.take() else { return Ok(None) };
            // A connection on which nothing was asked is somebody's look whether anybody listens.
            if spoken || !matches!(step.act, super::RecordedAct::Close(_)) {
                return Ok(Some(step));
            }
        }
    }

    fn fill(&mut self) -> Result<(), ScriptError> {
        while !self.over {
            let held = self.builder.held();
            if held >= AHEAD || held >= FEWEST && self.builder.bytes >= AHEAD_BYTES {
                break;
            }
            match self.reader.next() {
                Some(event) => self.builder.event(event?, self.reader.line(), &self.lock),
                None => {
                    self.over = true;
                    self.builder.finish(self.reader.is_cut());
                }
            }
            if self.builder.bytes > MOST_BYTES {
                return Err(ScriptError::TooLong { path: self.path.clone(), limit: "256 MiB in one message" });
            }
        }
        Ok(())
    }

    /// Whether the trace was cut; known at its end.
    pub(super) fn is_cut(&self) -> bool {
        self.reader.is_cut()
    }

    /// What was learnt of the whole so far.
    pub(super) fn facts(&mut self) -> &mut Facts {
        &mut self.builder.facts
    }
}
