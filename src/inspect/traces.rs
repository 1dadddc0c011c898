//! The traces that can be looked at: that of the session, those of plays, and files that were opened beside them: [`Traces`].

use std::path::Path;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::protocol::Protocol;
use crate::trace::{EventKind, ReadError, Sink as _, TraceReader};

use super::api::TraceName;
use super::feed::Feed;
use super::suite::Suite;

/// The name of the trace of the session.
pub const SESSION: &str = "session";

/// How many files can be opened.
const MAX_FILES: usize = 20;

/// Traces by their names.
pub struct Traces {
    session: Feed,
    suite: Option<Arc<Suite>>,
    files: Mutex<Vec<(TraceName, Feed)>>,
}

impl Traces {
    /// The trace of a session and those of its plays.
    pub fn new(session: Feed, suite: Option<Arc<Suite>>) -> Self {
        Self { session, suite, files: Mutex::default() }
    }

    /// The trace of a name.
    pub fn get(&self, name: &str) -> Option<Feed> {
        if name == SESSION {
            return Some(self.session.clone());
        }
        let opened = self.files().iter().find(|(file, _)| file.name == name).map(|(_, feed)| feed.clone());
        opened.or_else(|| self.suite.as_ref()?.trace(name))
    }

    /// All of them; that of the session comes first.
    pub fn list(&self) -> Vec<TraceName> {
        let session = TraceName {
            name: SESSION.to_owned(),
            title: "this session".to_owned(),
            connections: self.session.connections(),
        };
        let files: Vec<TraceName> = self.files().iter().map(|(file, _)| file.clone()).collect();
        let plays = self.suite.iter().flat_map(|suite| suite.traces());
        std::iter::once(session).chain(files).chain(plays).collect()
    }

    /// Opens a trace file beside the others. Reads it whole: not for the event loop.
    ///
    /// # Errors
    /// A file that cannot be read, or that is no trace of the protocol of the session: a sentence.
    pub fn open(&self, path: &Path) -> Result<TraceName, String> {
        if !path.is_file() {
            return Err(format!("{} is no file", path.display()));
        }
        let feed = read(path, self.session.protocol())?;
        let mut files = self.files();
        if files.len() >= MAX_FILES {
            return Err(format!("{MAX_FILES} files are open already"));
        }
        let title = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = TraceName { name: format!("file-{}", files.len() + 1), title, connections: feed.connections() };
        files.push((name.clone(), feed));
        Ok(name)
    }

    fn files(&self) -> MutexGuard<'_, Vec<(TraceName, Feed)>> {
        self.files.lock()
    }
}

/// A copy of a trace file, judged as the file says.
fn read(path: &Path, protocol: &'static Protocol) -> Result<Feed, String> {
    let unreadable = |error: ReadError| format!("{}: {}", path.display(), error.message);
    let mut reader = TraceReader::open(path).map_err(unreadable)?;
    let header = reader.header().clone();
    if header.protocol != protocol.name {
        return Err(format!("{} is a trace of {:.40}, not of {}", path.display(), header.protocol, protocol.name));
    }
    let edition = protocol.edition(&header.edition).unwrap_or(protocol.default_edition());
    let judged = reader.by_ref().any(|event| event.is_ok_and(|event| matches!(event.kind, EventKind::Judged(_))));
    let made =
        if judged { Feed::of_play(&header, protocol, edition) } else { Feed::create(None, &header, protocol, edition) };
    let mut feed = made.map_err(|error| error.to_string())?;
    for event in TraceReader::open(path).map_err(unreadable)? {
        feed.event(&Arc::new(event.map_err(unreadable)?));
    }
    feed.end();
    Ok(feed)
}
