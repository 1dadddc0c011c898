//! The trace file: JSON Lines with a header, one event a line, and an end line.
//!
//! [`FileSink`] writes a file while the trace is recorded, [`TraceReader`] reads a file event by event. A file without
//! an end line was cut: its writer was stopped, or the disk was full. The events in it are still valid.

mod format;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Event, Flush, Sink};
use format::{EndKind, EndLine};

pub use format::{Header, Party, PartyKind, Timebase, VERSION, schema, write_event};

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

/// Writes every event to a file, by the time it is flushed: then it is in the file even if this process dies in the next
/// moment. After a failure nothing more is written; [`TraceFileStatus`] reports it.
pub struct FileSink(Arc<TraceFile>);

struct TraceFile {
    path: PathBuf,
    /// Events that are not written yet.
    pending: Mutex<Vec<Arc<Event>>>,
    /// Locked while events are written, so that they are in order.
    output: Mutex<LineOutput>,
    state: Arc<Mutex<FileSinkState>>,
}

struct LineOutput {
    file: Box<dyn Write + Send>,
    /// Empty between two writes; kept for its memory.
    lines: Vec<u8>,
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
        let state = self.state.lock();
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
        let regular = file.metadata().is_ok_and(|meta| meta.is_file());
        Self::to_writer(Box::new(file), path, header).inspect_err(|_| {
            // Without its header it is no trace, and nobody can read it.
            if regular {
                let _ = std::fs::remove_file(path);
            }
        })
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
        json_line(header)
            .and_then(|line| file.write_all(&line))
            .map_err(|error| write_error("write", path, &error, 0))?;
        let state = Arc::new(Mutex::new(FileSinkState::default()));
        let written = TraceFileStatus { path: path.to_owned(), state: state.clone() };
        let output = Mutex::new(LineOutput { file, lines: vec![] });
        Ok((Self(Arc::new(TraceFile { path: path.to_owned(), pending: Mutex::default(), output, state })), written))
    }

    /// Writes the events that are not written yet.
    pub fn flush(&self) {
        self.0.flush();
    }
}

impl TraceFile {
    fn write(&self, events: &[Arc<Event>], output: &mut LineOutput) {
        if self.state.lock().error.is_some() {
            return;
        }
        let LineOutput { file, lines } = output;
        let mut result = Ok(());
        for event in events {
            let len = lines.len();
            result = write_event(event, lines).map_err(io::Error::from);
            if result.is_err() {
                lines.truncate(len);
                break;
            }
        }
        let (written, outcome) = write_all(file, lines);
        self.state.lock().events += memchr::memchr_iter(b'\n', &lines[..written]).count() as u64;
        lines.clear();
        // A huge event must not keep its memory until the end.
        lines.shrink_to(MAX_LINES);
        if let Err(error) = outcome.and(result) {
            self.failed(&error);
        }
    }

    fn end(&self) {
        self.flush();
        let events = {
            let state = self.state.lock();
            if state.error.is_some() {
                return;
            }
            state.events
        };
        let line = EndLine { end: EndKind::Complete, events };
        let file = &mut self.output.lock().file;
        let result = json_line(&line).and_then(|line| file.write_all(&line)).and_then(|()| file.flush());
        if let Err(error) = result {
            self.failed(&error);
        }
    }

    fn failed(&self, error: &io::Error) {
        let mut state = self.state.lock();
        let events = state.events;
        state.error.get_or_insert_with(|| write_error("write", &self.path, error, events));
    }
}

impl Flush for TraceFile {
    fn flush(&self) {
        // Dropped when nobody waits for it any more.
        let pending;
        let mut output = self.output.lock();
        pending = std::mem::take(&mut *self.pending.lock());
        if !pending.is_empty() {
            self.write(&pending, &mut output);
        }
    }
}

/// Writes bytes; returns how many were written, and why not all.
fn write_all(file: &mut dyn Write, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}

/// How many events may be pending, before they are written without a flush.
const MAX_PENDING: usize = 256;
/// How much memory for lines is kept, in bytes.
const MAX_LINES: usize = 1 << 16;

impl Sink for FileSink {
    fn event(&mut self, event: &Arc<Event>) {
        let many = {
            let mut pending = self.0.pending.lock();
            pending.push(event.clone());
            pending.len() >= MAX_PENDING
        };
        if many || !event.is_small() {
            self.flush();
        }
    }

    fn flusher(&self) -> Option<Arc<dyn Flush>> {
        Some(self.0.clone())
    }

    fn end(&mut self) {
        self.0.end();
    }
}

impl Drop for FileSink {
    fn drop(&mut self) {
        self.flush();
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

/// The longest line that is read, in bytes. The largest message that is recorded is far smaller.
const MAX_LINE: u64 = 256 << 20;

/// An error in a trace file: position, message and remedy.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", position(path, *line, *column))]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; 0 where the file could not be read at all.
    pub line: u64,
    /// The column, from 1, counted in bytes; 0 for the whole line.
    pub column: usize,
    /// The fault.
    pub message: String,
    /// What to do next.
    pub remedy: &'static str,
}

/// `file:line:column`, as far as it is known.
fn position(path: &Path, line: u64, column: usize) -> String {
    match (line, column) {
        (0, _) => path.display().to_string(),
        (line, 0) => format!("{}:{line}", path.display()),
        (line, column) => format!("{}:{line}:{column}", path.display()),
    }
}

/// Reads a trace event by event, one line at a time. After an error it gives no more events.
pub struct TraceReader {
    path: PathBuf,
    input: Box<dyn BufRead + Send>,
    header: Header,
    line: Vec<u8>,
    lines: u64,
    next: u64,
    state: ReaderState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReaderState {
    Reading,
    Complete,
    Cut,
    Failed,
}

const NOT_A_TRACE: &str = "name a file written by `--trace-dir` or `wirecert record`";
const DAMAGED: &str = "the file was changed after it was written: record it again, or take it from its original source";

impl TraceReader {
    /// Opens a trace file and reads its header.
    ///
    /// # Errors
    /// The file cannot be opened, is no trace, or has a version that is not known here.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(|error| ReadError {
            path: path.to_owned(),
            line: 0,
            column: 0,
            message: format!("cannot be opened: {error}"),
            remedy: "check the path and its permissions",
        })?;
        Self::new(Box::new(BufReader::with_capacity(1 << 16, file)), path)
    }

    /// Reads from any input; `path` is its name in errors.
    ///
    /// # Errors
    /// As [`TraceReader::open`].
    pub fn new(input: Box<dyn BufRead + Send>, path: &Path) -> Result<Self, ReadError> {
        let mut reader = Self {
            path: path.to_owned(),
            input,
            header: Header::new("", ""),
            line: Vec::new(),
            lines: 0,
            next: 0,
            state: ReaderState::Reading,
        };
        if reader.read_line()?.is_none() {
            return Err(reader.error(1, "the file is empty".to_owned(), NOT_A_TRACE));
        }
        reader.header = reader.parse_header()?;
        Ok(reader)
    }

    /// The header of the file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Whether the file ends before its end line. Known once the last event was read.
    pub fn is_cut(&self) -> bool {
        self.state == ReaderState::Cut
    }

    /// The number of the line that was read last, from 1.
    pub fn line(&self) -> u64 {
        self.lines
    }

    fn parse_header(&self) -> Result<Header, ReadError> {
        #[derive(Deserialize)]
        struct Versioned {
            version: serde_json::Value,
        }
        let versioned: Versioned = serde_json::from_slice(&self.line).map_err(|error| {
            self.error(
                error.column(),
                format!("the first line is no header of a trace: {}", parser_message(&error)),
                NOT_A_TRACE,
            )
        })?;
        if versioned.version != VERSION {
            let message =
                format!("version {} of the trace format is not known, only version {VERSION}", versioned.version);
            return Err(self.error(1, message, "read it with the version of wirecert that wrote it, or a later one"));
        }
        let header: Header = serde_json::from_slice(&self.line).map_err(|error| {
            self.error(error.column(), format!("in the header: {}", parser_message(&error)), DAMAGED)
        })?;
        if header.clock.unit != "us" {
            let message = format!("times in {:?} are not known, only in \"us\", microseconds", header.clock.unit);
            return Err(self.error(1, message, DAMAGED));
        }
        Ok(header)
    }

    /// Reads the next line that is not blank into `self.line`. Returns whether it had a line end; none at the end of
    /// the file.
    fn read_line(&mut self) -> Result<Option<bool>, ReadError> {
        loop {
            self.line.clear();
            self.line.shrink_to(1 << 20);
            let got = self.input.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut self.line);
            match got {
                Ok(0) => return Ok(None),
                Ok(_) => self.lines += 1,
                Err(error) => {
                    self.lines += 1;
                    return Err(self.io_error(&error));
                }
            }
            if self.line.len() as u64 > MAX_LINE {
                let message = format!("the line is longer than {} MiB", MAX_LINE >> 20);
                return Err(self.error(1, message, DAMAGED));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(self.line.ends_with(b"\n")));
            }
        }
    }

    fn io_error(&self, error: &io::Error) -> ReadError {
        match error.kind() {
            io::ErrorKind::IsADirectory => {
                self.error(0, "is a folder".to_owned(), "name the trace files in it: `wirecert check DIR/*.jsonl`")
            }
            _ => self.error(0, format!("cannot be read: {error}"), "check the disk, or copy the file and try again"),
        }
    }

    fn error(&self, column: usize, message: String, remedy: &'static str) -> ReadError {
        let line = if column == 0 && self.lines <= 1 { 0 } else { self.lines.max(1) };
        ReadError { path: self.path.clone(), line, column, message, remedy }
    }

    /// Reads one event; none at the end.
    fn read(&mut self) -> Result<Option<Event>, ReadError> {
        let Some(has_line_end) = self.read_line()? else {
            self.state = ReaderState::Cut;
            return Ok(None);
        };
        match serde_json::from_slice::<Event>(&self.line) {
            Ok(event) if event.i == self.next => {
                self.next += 1;
                Ok(Some(event))
            }
            Ok(event) => {
                let message = match self.next.checked_sub(1) {
                    Some(last) => format!("event {} follows event {last}: events are missing or out of order", event.i),
                    None => format!("the first event has number {}, not 0: events are missing", event.i),
                };
                Err(self.error(1, message, DAMAGED))
            }
            // An incomplete last line means that the file was cut while it was written.
            Err(_) if !has_line_end && serde_json::from_slice::<IgnoredAny>(&self.line).is_err() => {
                self.state = ReaderState::Cut;
                Ok(None)
            }
            Err(error) => match serde_json::from_slice::<EndLine>(&self.line) {
                Ok(end) => self.end(&end).map(|()| None),
                Err(_) => Err(self.error(error.column(), parser_message(&error), DAMAGED)),
            },
        }
    }

    fn end(&mut self, end: &EndLine) -> Result<(), ReadError> {
        if end.events != self.next {
            let message = format!("the end line counts {} events, but {} came before it", end.events, self.next);
            return Err(self.error(1, message, DAMAGED));
        }
        if self.read_line()?.is_some() {
            return Err(self.error(1, "something follows the end line".to_owned(), DAMAGED));
        }
        self.state = ReaderState::Complete;
        Ok(())
    }
}

impl Iterator for TraceReader {
    type Item = Result<Event, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state != ReaderState::Reading {
            return None;
        }
        let read = self.read().transpose();
        if let Some(Err(_)) = &read {
            self.state = ReaderState::Failed;
        }
        read
    }
}

/// The message of the parser, without its position: it does not know the line of the file.
fn parser_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}
