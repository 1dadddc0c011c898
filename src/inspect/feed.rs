//! A trace while it is recorded, for whoever looks at it: [`Feed`].

mod page;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::export::{Bits, EventRows, Findings, Remark};
use crate::judge::FindingSource;
use crate::protocol::{Edition, Protocol};
use crate::trace::{End, Event, EventKind, FileSink, Head, Header, Sink, TraceFileStatus, WriteError, exchange_number};

use super::api::{FindingList, FoundAt, LiveState};
use super::index::Index;
use super::query::View;
use rules::{LiveFinding, LiveRules};

/// How many bytes of lines are read in one go.
const MAX_READ: u64 = 8 << 20;

/// How many connections are named.
const MAX_NAMES: usize = 100;

/// How many events after the first one of a connection its handshake is looked for in.
const BEGINNING: usize = 50;

/// Why a trace cannot be inspected.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The file cannot be read again, or there is no room for the index.
    #[error("cannot inspect the trace {}: {source}", path.display())]
    Index {
        /// The trace file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Writes a trace file, judges the events, and keeps an index of them. Clones are the same feed: one is a sink of the recorder,
/// the others are asked.
#[derive(Clone)]
pub struct Feed(Arc<FeedInner>);

struct FeedInner {
    header: Header,
    protocol: &'static Protocol,
    edition: &'static dyn Edition,
    path: PathBuf,
    /// Removes the trace file at the end, where nobody asked for one.
    _temporary: Option<tempfile::TempDir>,
    written: Arc<AtomicU64>,
    state: Mutex<FeedState>,
    views: Mutex<Vec<View>>,
    changed: watch::Sender<u64>,
}

struct FeedState {
    file: FileSink,
    status: TraceFileStatus,
    index: Index,
    rows: EventRows,
    rules: LiveRules,
    by: FindingSource,
    findings: Findings,
    /// The flaws that findings are of, by the event and the requirement.
    purposes: HashMap<(u64, Option<String>), String>,
    found: Bits,
    count: usize,
    /// Where the end line begins in the trace file, once the trace has ended.
    end: Option<u64>,
}

/// Counts what is written to a file.
struct CountingWriter {
    file: File,
    written: Arc<AtomicU64>,
}

impl Write for CountingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.written.fetch_add(count as u64, Ordering::AcqRel);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Feed {
    /// A feed that writes to this file, or to a temporary one. The rules find what is wrong, as each event comes.
    ///
    /// # Errors
    /// The file cannot be written, or not be read again.
    pub fn create(
        path: Option<&Path>,
        header: &Header,
        protocol: &'static Protocol,
        edition: &'static dyn Edition,
    ) -> Result<Self, FeedError> {
        Self::new(path, header, (protocol, edition), FindingSource::Rules)
    }

    /// A feed of a play, which is judged when it is over: its trace then tells what was found.
    ///
    /// # Errors
    /// As of [`Feed::create`].
    pub fn of_play(
        header: &Header,
        protocol: &'static Protocol,
        edition: &'static dyn Edition,
    ) -> Result<Self, FeedError> {
        Self::new(None, header, (protocol, edition), FindingSource::Trace)
    }

    fn new(
        path: Option<&Path>,
        header: &Header,
        (protocol, edition): (&'static Protocol, &'static dyn Edition),
        by: FindingSource,
    ) -> Result<Self, FeedError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| FeedError::Index { path, source }
        };
        let temporary = match path {
            Some(_) => None,
            None => {
                let folder = tempfile::Builder::new().prefix("wirecert-inspect-").tempdir();
                Some(folder.map_err(failed(&std::env::temp_dir()))?)
            }
        };
        let path = match (path, &temporary) {
            (Some(path), _) => std::path::absolute(path).map_err(failed(path))?,
            (None, Some(folder)) => folder.path().join("inspected.trace"),
            (None, None) => PathBuf::new(),
        };
        let file = File::create(&path).map_err(failed(&path))?;
        let written = Arc::new(AtomicU64::new(0));
        let writer = CountingWriter { file, written: written.clone() };
        let (file, status) = FileSink::to_writer(Box::new(writer), &path, header)?;
        let index = Index::new(&path).map_err(failed(&path))?;
        let state = FeedState {
            file,
            status,
            index,
            rows: EventRows::new(Some(edition)),
            rules: LiveRules::new(edition, header),
            by,
            findings: Findings::default(),
            purposes: HashMap::new(),
            found: Bits::default(),
            count: 0,
            end: None,
        };
        Ok(Self(Arc::new(FeedInner {
            header: header.clone(),
            protocol,
            edition,
            path,
            _temporary: temporary,
            written,
            state: Mutex::new(state),
            views: Mutex::default(),
            changed: watch::Sender::new(0),
        })))
    }

    /// The header of the trace.
    pub fn header(&self) -> &Header {
        &self.0.header
    }

    /// The protocol of the trace.
    pub fn protocol(&self) -> &'static Protocol {
        self.0.protocol
    }

    /// The edition by which it is judged.
    pub fn edition(&self) -> &'static dyn Edition {
        self.0.edition
    }

    /// The trace file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What became of the trace file, for whoever asked for one.
    pub fn status(&self) -> TraceFileStatus {
        self.state().status.clone()
    }

    /// Changes with each event and finding.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// How far the trace is.
    pub fn live(&self) -> LiveState {
        let state = self.state();
        let survey = state.rows.survey();
        LiveState {
            events: survey.events,
            settled: survey.settled(),
            findings: state.count as u64,
            connections: survey.connections.len() as u64 + survey.more_connections,
            last: survey.last,
            ended: state.end.is_some(),
            error: state.status.outcome().err().map(|error| error.to_string()),
        }
    }

    /// The names of the first connections; exchanges of HTTP that nobody named are left out.
    pub fn connections(&self) -> Vec<String> {
        let state = self.state();
        let names = state.rows.survey().connections.iter().map(|connection| connection.name.clone());
        names.filter(|name| exchange_number(name).is_none()).take(MAX_NAMES).collect()
    }

    /// The request that a connection began with, where that was a handshake.
    pub fn handshake(&self, conn: &str) -> Option<Head> {
        let first = self.state().rows.survey().connections.iter().find(|one| one.name == conn)?.first;
        let first = usize::try_from(first).ok()?;
        let end = self.state().index.len().min(first + BEGINNING);
        let lines = self.read(first..end).ok()?;
        let mut events =
            lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Event>(line).ok());
        events.find_map(|event| match event.kind {
            EventKind::Handshake(head) if event.conn.as_deref() == Some(conn) => Some(head),
            _ => None,
        })
    }

    /// What was found so far.
    pub fn findings(&self) -> FindingList {
        let state = self.state();
        let findings = state.findings.all().map(|(i, remark)| state.found_at(i, remark)).collect();
        let requirements = state.findings.requirements().map(|r| (r.id.to_owned(), r.into())).collect();
        FindingList { findings, uncounted: state.rules.dropped(), requirements }
    }

    /// What was found at an event.
    pub fn findings_at(&self, i: u64) -> Vec<FoundAt> {
        let state = self.state();
        state.findings.at(i).iter().map(|remark| state.found_at(i, remark)).collect()
    }

    /// The line of an event in the trace.
    ///
    /// # Errors
    /// As of reading a file; [`io::ErrorKind::NotFound`] where there is no such event.
    pub fn line(&self, i: u64) -> io::Result<Vec<u8>> {
        let at = usize::try_from(i).map_err(io::Error::other)?;
        self.read(at..at + 1)
    }

    /// The events from this one on that are read together: some of so many.
    pub fn together(&self, events: Range<usize>) -> Range<usize> {
        let state = self.state();
        state.index.within(events.start, events.len(), MAX_READ, self.events_end(&state))
    }

    /// An event and those before it, at most `most`, that are read together.
    pub fn before(&self, at: usize, most: usize) -> Range<usize> {
        self.state().index.before(at, most, MAX_READ)
    }

    /// The lines of these events.
    ///
    /// # Errors
    /// As of [`Feed::line`].
    pub fn read(&self, events: Range<usize>) -> io::Result<Vec<u8>> {
        let lines = {
            let state = self.state();
            if events.end > state.index.len() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "there is no such event"));
            }
            state.index.lines(events, self.events_end(&state))
        };
        lines.read()
    }

    /// Where the events end in the file: an end line may follow.
    fn events_end(&self, state: &FeedState) -> u64 {
        state.end.unwrap_or_else(|| self.0.written.load(Ordering::Acquire))
    }

    fn state(&self) -> MutexGuard<'_, FeedState> {
        self.0.state.lock()
    }
}

impl FeedState {
    fn event(&mut self, event: &Arc<Event>, written: &AtomicU64, protocol: &Protocol) {
        let offset = written.load(Ordering::Acquire);
        self.file.event(event);
        self.file.flush();
        let row = self.rows.event(event);
        self.index.add(event, &row, offset);
        let end = written.load(Ordering::Acquire);
        let found = match (self.by, &event.kind) {
            (FindingSource::Rules, _) => self.rules.event(event, |i| reason(&self.index, i, end)),
            (FindingSource::Trace, EventKind::Finding(finding)) => vec![(finding.clone(), None)],
            (FindingSource::Trace, _) => return,
        };
        self.find(found, protocol);
    }

    fn end(&mut self, end: u64, protocol: &Protocol) {
        if self.by == FindingSource::Rules {
            let found = self.rules.end(|i| reason(&self.index, i, end));
            self.find(found, protocol);
        }
        self.end = Some(end);
        self.file.end();
    }

    fn find(&mut self, found: Vec<LiveFinding>, protocol: &Protocol) {
        for (finding, purpose) in found {
            self.found.set(finding.at);
            self.count += 1;
            self.purposes.extend(purpose.map(|purpose| ((finding.at, finding.requirement.clone()), purpose)));
            self.findings.add_finding(protocol, finding);
        }
    }

    fn found_at(&self, i: u64, remark: &Remark) -> FoundAt {
        let deliberate = self.purposes.get(&(i, remark.requirement.clone())).cloned();
        FoundAt { i, deliberate, finding: remark.clone().into() }
    }
}

/// Why an event was wrong on purpose, and who sent it; `end`: where the trace file ends now.
fn reason(index: &Index, i: u64, end: u64) -> Option<(String, Option<End>)> {
    let at = usize::try_from(i).ok().filter(|at| *at < index.len())?;
    let event: Event = serde_json::from_slice(&index.lines(at..at + 1, end).read().ok()?).ok()?;
    Some((event.deliberate?, event.dir.map(|dir| dir.sender())))
}

impl Sink for Feed {
    fn event(&mut self, event: &Arc<Event>) {
        self.state().event(event, &self.0.written, self.0.protocol);
        self.0.changed.send_modify(|count| *count += 1);
    }

    fn end(&mut self) {
        {
            let mut state = self.state();
            state.end(self.0.written.load(Ordering::Acquire), self.0.protocol);
        }
        self.0.changed.send_modify(|count| *count += 1);
    }
}
