//! What an export reads and writes: a trace that can be read more than once ([`TraceSource`]), which of its events are
//! shown ([`EventFilter`]), and files that are written piece by piece and are there as a whole or not at all ([`NewFile`]).

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::atomic_file::{self, Readable};
use crate::scenario::filter::glob;
use crate::trace::{Event, ReadError, TraceReader, write_event};

/// A file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
pub struct WriteError {
    /// The file that was to be written.
    pub path: PathBuf,
    /// What went wrong.
    pub source: io::Error,
}

/// A file that is being written. Until [`NewFile::keep`] it has no name; dropped before, it leaves nothing behind.
pub struct NewFile {
    path: PathBuf,
    out: Out,
}

enum Out {
    /// To take the place of the path.
    New(BufWriter<NamedTempFile>),
    /// A pipe or a device, which is written to as it is; stdout.
    Stream(BufWriter<Box<dyn Write + Send>>),
}

impl NewFile {
    /// Begins a file; `-` is stdout. Folders that are not there are made.
    ///
    /// # Errors
    /// There is no room or no right to write there.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        let out = Self::begin(path).map_err(|source| WriteError { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), out })
    }

    fn begin(path: &Path) -> io::Result<Out> {
        if path.as_os_str() == "-" {
            return Ok(Out::Stream(BufWriter::new(Box::new(io::stdout()))));
        }
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(meta) if !meta.is_file() => {
                let stream = fs::OpenOptions::new().write(true).open(path)?;
                return Ok(Out::Stream(BufWriter::new(Box::new(stream))));
            }
            _ => {}
        }
        Ok(Out::New(BufWriter::with_capacity(1 << 16, atomic_file::create(path, Readable::ByAll)?)))
    }

    /// What went wrong, with the name of the file.
    pub fn failed(&self, source: io::Error) -> WriteError {
        WriteError { path: self.path.clone(), source }
    }

    /// Gives the file its name. A link stays a link.
    ///
    /// # Errors
    /// It cannot be written to its end, or not take its place.
    pub fn keep(self) -> Result<(), WriteError> {
        let Self { path, out } = self;
        let kept = match out {
            Out::Stream(mut stream) => stream.flush(),
            Out::New(file) => file.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| {
                let target = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
                file.persist(target).map(drop).map_err(|error| error.error)
            }),
        };
        kept.map_err(|source| WriteError { path, source })
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Out::New(file) => file.write(bytes),
            Out::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::New(file) => file.flush(),
            Out::Stream(stream) => stream.flush(),
        }
    }
}

/// A trace file; what comes through a pipe is kept in a temporary file first.
pub struct TraceSource {
    name: PathBuf,
    kept: Option<NamedTempFile>,
}

impl TraceSource {
    /// Of a path; `-` is stdin.
    ///
    /// # Errors
    /// What comes through a pipe cannot be kept.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        if path.as_os_str() == "-" {
            return Self::keep(io::stdin().lock(), Path::new("<stdin>"));
        }
        let is_stream = std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
        match File::open(path) {
            Ok(file) if is_stream => Self::keep(file, path),
            // Reading it reports what is wrong with it.
            _ => Ok(Self { name: path.to_owned(), kept: None }),
        }
    }

    fn keep(mut from: impl io::Read, name: &Path) -> Result<Self, ReadError> {
        let kept = NamedTempFile::new().and_then(|mut kept| io::copy(&mut from, &mut kept).map(|_| kept));
        match kept {
            Ok(kept) => Ok(Self { name: name.to_owned(), kept: Some(kept) }),
            Err(error) => Err(ReadError {
                path: name.to_owned(),
                line: 0,
                column: 0,
                message: format!("cannot be kept in a temporary file to be read twice: {error}"),
                remedy: "make room in the folder for temporary files, or name a file",
            }),
        }
    }

    /// What errors and titles call it.
    pub fn name(&self) -> String {
        self.name.display().to_string()
    }

    /// Reads it from the beginning.
    ///
    /// # Errors
    /// As [`TraceReader::open`].
    pub fn reader(&self) -> Result<TraceReader, ReadError> {
        match &self.kept {
            None => TraceReader::open(&self.name),
            Some(kept) => {
                let file = kept.reopen().map_err(|error| ReadError {
                    path: self.name.clone(),
                    line: 0,
                    column: 0,
                    message: format!("cannot be read again: {error}"),
                    remedy: "name a file",
                })?;
                TraceReader::new(Box::new(BufReader::with_capacity(1 << 16, file)), &self.name)
            }
        }
    }
}

/// Which events are shown. A field that is empty lets every event pass.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Patterns for the name of the connection, in which `*` stands for any text.
    pub connections: Vec<String>,
    /// The kinds of events.
    pub kinds: Vec<String>,
    /// Texts that the event's line in the trace must hold, in any case.
    pub texts: Vec<String>,
    /// The earliest event.
    pub from: Option<TraceMoment>,
    /// The latest event.
    pub to: Option<TraceMoment>,
    /// Whether only events with findings are shown.
    pub with_findings: bool,
}

/// A place in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceMoment {
    /// Microseconds since it began.
    Time(u64),
    /// The number of an event.
    Event(u64),
}

impl EventFilter {
    /// Whether an event is to be seen; `found`: whether something was found at it.
    pub fn matches(&self, event: &Event, found: bool) -> bool {
        (!self.with_findings || found)
            && self.in_range(event)
            && self.on_connection(event)
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == event.kind.kind()))
            && self.says(event)
    }

    /// Whether nothing that follows an event can be seen any more.
    pub fn is_past(&self, event: &Event) -> bool {
        self.to.is_some_and(|to| to.of(event) > to.value())
    }

    fn in_range(&self, event: &Event) -> bool {
        self.from.is_none_or(|from| from.of(event) >= from.value()) && !self.is_past(event)
    }

    fn on_connection(&self, event: &Event) -> bool {
        let conn = event.conn.as_deref();
        self.connections.is_empty()
            || conn.is_some_and(|conn| self.connections.iter().any(|pattern| glob(pattern, conn)))
    }

    fn says(&self, event: &Event) -> bool {
        if self.texts.is_empty() {
            return true;
        }
        let mut line = vec![];
        if write_event(event, &mut line).is_err() {
            return false;
        }
        let line = String::from_utf8_lossy(&line).to_lowercase();
        self.texts.iter().all(|text| line.contains(&text.to_lowercase()))
    }
}

impl TraceMoment {
    fn value(self) -> u64 {
        match self {
            Self::Time(n) | Self::Event(n) => n,
        }
    }

    fn of(self, event: &Event) -> u64 {
        match self {
            Self::Time(_) => event.t,
            Self::Event(_) => event.i,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::trace::{EventKind, Mark};

    use super::*;

    #[test]
    fn a_file_is_there_only_when_it_is_whole() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/page.html");
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(fs::read_dir(root.path().join("a")).unwrap().count(), 0);
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"whole").unwrap();
        file.keep().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
        assert!(NewFile::create(root.path()).is_err());
    }

    fn event(i: u64) -> Event {
        let what = EventKind::Mark(Mark { mark: "step".into(), text: "Over Here".into() });
        Event { i, t: i * 1000, conn: Some(format!("x{i}")), dir: None, deliberate: None, kind: what }
    }

    fn seen(filter: &EventFilter) -> Vec<u64> {
        (0..5).filter(|i| filter.matches(&event(*i), *i == 4)).collect()
    }

    #[test]
    fn each_condition_narrows_what_is_seen() {
        let all = EventFilter::default();
        assert_eq!(seen(&all), [0, 1, 2, 3, 4]);
        assert_eq!(seen(&EventFilter { connections: vec!["x1".into(), "*3".into()], ..all.clone() }), [1, 3]);
        assert_eq!(
            seen(&EventFilter { from: Some(TraceMoment::Event(2)), to: Some(TraceMoment::Time(3000)), ..all.clone() }),
            [2, 3]
        );
        assert_eq!(seen(&EventFilter { with_findings: true, ..all.clone() }), [4]);
        assert_eq!(seen(&EventFilter { kinds: vec!["frame".into()], ..all.clone() }), [0; 0]);
        assert_eq!(seen(&EventFilter { texts: vec!["over".into(), "HERE".into()], ..all }).len(), 5);
    }
}
