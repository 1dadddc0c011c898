//! [`FileSink`]: writes a trace file while the trace is recorded.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::trace::{Event, Sink};

use super::format::{EndKind, EndLine};
use super::{Header, write_event};

/// Why a trace is not on disk, or not all of it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot {operation} trace {}: {reason} (events kept: {events}); {}", path.display(), remedy(*kind))]
pub struct WriteError {
    /// `create` or `write`.
    pub operation: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The message of the system.
    pub reason: String,
    /// The kind of error.
    pub kind: io::ErrorKind,
    /// How many events reached the file before that.
    pub events: u64,
}

fn remedy(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room on the disk, or write traces elsewhere",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "write traces to a folder that can be written to"
        }
        io::ErrorKind::NotFound => "create its folder first",
        _ => "write traces elsewhere",
    }
}

/// Writes every event to a file, with one system call for each: a recorded event is in the file even if this process
/// dies in the next moment. After a failure nothing more is written; [`TraceFileStatus`] reports it.
pub struct FileSink {
    path: PathBuf,
    file: Box<dyn Write + Send>,
    line: Vec<u8>,
    state: Arc<Mutex<FileSinkState>>,
}

#[derive(Debug, Default)]
struct FileSinkState {
    events: u64,
    error: Option<WriteError>,
}

/// The outcome of writing a trace file, for the code that created it.
#[derive(Clone, Debug)]
pub struct TraceFileStatus {
    path: PathBuf,
    state: Arc<Mutex<FileSinkState>>,
}

impl TraceFileStatus {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of events in the file, if none was lost.
    ///
    /// # Errors
    /// The first failure to write; the file ends before the event that did not fit.
    pub fn outcome(&self) -> Result<u64, WriteError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &state.error {
            Some(error) => Err(error.clone()),
            None => Ok(state.events),
        }
    }
}

impl FileSink {
    /// Begins a file with its header. Replaces a file that is there.
    ///
    /// # Errors
    /// The file cannot be created, or not even the header fits.
    pub fn create(path: &Path, header: &Header) -> Result<(Self, TraceFileStatus), WriteError> {
        let file = File::create(path).map_err(|error| write_error("create", path, &error, 0))?;
        Self::to_writer(Box::new(file), path, header)
    }

    /// Writes to any output, such as a pipe; `path` is its name in errors.
    ///
    /// # Errors
    /// The header cannot be written.
    pub fn to_writer(
        mut file: Box<dyn Write + Send>,
        path: &Path,
        header: &Header,
    ) -> Result<(Self, TraceFileStatus), WriteError> {
        let line = Vec::with_capacity(4096);
        json_line(header)
            .and_then(|line| file.write_all(&line))
            .map_err(|error| write_error("write", path, &error, 0))?;
        let state = Arc::new(Mutex::new(FileSinkState::default()));
        let written = TraceFileStatus { path: path.to_owned(), state: state.clone() };
        Ok((Self { path: path.to_owned(), file, line, state }, written))
    }

    fn write(&mut self, bytes: impl FnOnce(&mut Vec<u8>, u64) -> io::Result<()>, counts: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.error.is_some() {
            return;
        }
        self.line.clear();
        let result = bytes(&mut self.line, state.events).and_then(|()| self.file.write_all(&self.line));
        match result {
            Ok(()) => state.events += u64::from(counts),
            Err(error) => state.error = Some(write_error("write", &self.path, &error, state.events)),
        }
        // A huge event must not keep its memory until the end.
        self.line.shrink_to(1 << 16);
    }
}

impl Sink for FileSink {
    fn event(&mut self, event: &Event) {
        self.write(|line, _| write_event(event, line).map_err(io::Error::from), true);
    }

    fn end(&mut self) {
        let end = |line: &mut Vec<u8>, events| {
            line.extend(json_line(&EndLine { end: EndKind::Complete, events })?);
            Ok(())
        };
        self.write(end, false);
        if let Err(error) = self.file.flush() {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let events = state.events;
            state.error.get_or_insert_with(|| write_error("write", &self.path, &error, events));
        }
    }
}

fn json_line(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

fn write_error(operation: &'static str, path: &Path, error: &io::Error, events: u64) -> WriteError {
    WriteError { operation, path: path.to_owned(), reason: error.to_string(), kind: error.kind(), events }
}
