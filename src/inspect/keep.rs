//! A stretch of a trace as a scenario, as fixtures or as a trace, saved in a folder: [`keep()`].

use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::atomic_file::{self, Readable};
use crate::export::scenario::{ScenarioBuilder, ScenarioGoal, ScenarioSpec};
use crate::fixture::{self, Cutter, FixtureKind, Folder, Format, Origin, SoundnessChecker};
use crate::judge::{FindingSource, FindingsReader};
use crate::protocol::{Level, Role};
use crate::scenario::load_str;
use crate::trace::{End, Event, EventKind, FileSink, Finding, Sink as _};

use super::api::{KeepForm, KeepRequest, KeepSide, Kept};
use super::feed::Feed;

/// The most events of a stretch that becomes a scenario or fixtures, those included that open its connections.
const MAX_EVENTS: usize = 200_000;

/// Why nothing was saved.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The request makes no sense: a sentence.
    #[error("{0}")]
    Request(String),
    /// The system is in the way.
    #[error("cannot save to {}: {source}", path.display())]
    System {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Saves a stretch of the trace below `folder`, which is made if it is not there. Reads and writes files: not for the event loop.
///
/// # Errors
/// A stretch with nothing in it, or with nothing of what it is to become; a file that cannot be read or written.
pub fn keep(feed: &Feed, request: &KeepRequest, folder: &Path) -> Result<Kept, KeepError> {
    let stretch = Stretch::new(feed, request)?;
    match request.form {
        KeepForm::Trace => stretch.trace(folder),
        KeepForm::Scenario => stretch.scenario(folder, request.side),
        KeepForm::Fixture => stretch.fixtures(folder),
    }
}

/// A part of a trace.
struct Stretch<'a> {
    feed: &'a Feed,
    range: Range<usize>,
}

impl<'a> Stretch<'a> {
    fn new(feed: &'a Feed, request: &KeepRequest) -> Result<Self, KeepError> {
        let events = feed.live().events;
        let last = request.to.unwrap_or(u64::MAX).min(events.saturating_sub(1));
        if events == 0 || request.from > last {
            return Err(KeepError::Request(format!("there are no events from {} to {last}", request.from)));
        }
        let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        Ok(Self { feed, range: number(request.from)..number(last) + 1 })
    }

    /// The events of a range, one after the other.
    fn each(&self, range: Range<usize>, mut event: impl FnMut(Event)) -> Result<(), KeepError> {
        let failed = |source| KeepError::System { path: self.feed.path().to_owned(), source };
        let mut from = range.start;
        while from < range.end {
            let events = self.feed.together(from..range.end);
            from = events.end;
            let lines = self.feed.read(events).map_err(failed)?;
            for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                event(serde_json::from_slice(line).map_err(|error| failed(error.into()))?);
            }
        }
        Ok(())
    }

    /// The events of the stretch, after those that open its connections and that happened on none. They are numbered anew.
    fn events(&self) -> Result<Vec<Event>, KeepError> {
        if self.range.len() > MAX_EVENTS {
            let message = format!("a stretch of more than {MAX_EVENTS} events can be saved as a trace only");
            return Err(KeepError::Request(message));
        }
        let mut events = vec![];
        self.each(self.range.clone(), |event| events.push(event))?;
        let connections: HashSet<String> = events.iter().filter_map(|event| event.conn.clone()).collect();
        let mut opening = vec![];
        self.each(0..self.range.start, |event| {
            let opens = match &event.kind {
                EventKind::Connected { .. } | EventKind::Handshake(_) => {
                    event.conn.as_ref().is_some_and(|conn| connections.contains(conn))
                }
                EventKind::File(_) | EventKind::Launched(_) => event.conn.is_none(),
                _ => false,
            };
            if opens && opening.len() < MAX_EVENTS {
                opening.push(event);
            }
        })?;
        opening.append(&mut events);
        opening.iter_mut().zip(0..).for_each(|(event, i)| event.i = i);
        Ok(opening)
    }

    fn trace(&self, folder: &Path) -> Result<Kept, KeepError> {
        let path = vacant(folder, "stretch", ".trace")?;
        let failed = |source| KeepError::System { path: path.clone(), source };
        let (mut sink, status) =
            FileSink::create(&path, self.feed.header()).map_err(|error| failed(io::Error::other(error.to_string())))?;
        let mut i = 0;
        self.each(self.range.clone(), |event| {
            sink.event(&std::sync::Arc::new(Event { i, ..event }));
            i += 1;
        })?;
        sink.end();
        status.outcome().map_err(|error| failed(io::Error::other(error.to_string())))?;
        let command = format!("wirecert view {}", path.display());
        Ok(Kept { path: path.display().to_string(), files: 1, text: None, command })
    }

    fn scenario(&self, folder: &Path, side: KeepSide) -> Result<Kept, KeepError> {
        let subject = match side {
            KeepSide::Client => End::Server,
            KeepSide::Server => End::Client,
        };
        let protocol = self.feed.protocol();
        let role = protocol.roles.iter().find(|role| role.subject == subject);
        let role: &'static Role =
            role.ok_or_else(|| KeepError::Request(format!("{} has no such role", protocol.name)))?;
        let edition = self.feed.edition();
        let mut events = self.events()?;
        // What a mock does wrong on purpose, its scenario is to find.
        let theirs = events.iter_mut().filter(|event| event.dir.is_some_and(|dir| dir.sender() == subject));
        theirs.for_each(|event| event.deliberate = None);
        let mut reading = FindingsReader::new(edition, self.feed.header(), FindingSource::Rules);
        events.iter().for_each(|event| reading.event(event));
        let found = reading.end(true);
        let named = |id: &String| (protocol.requirements)().iter().find(|requirement| requirement.id == id);
        let goal = |finding: &Finding| ScenarioGoal {
            requirement: finding.requirement.as_ref().and_then(named),
            finding: finding.clone(),
        };
        let theirs: Vec<ScenarioGoal> =
            found.list.iter().filter(|finding| finding.blame.end() == Some(subject)).map(goal).collect();
        let finding = theirs.iter().find(|goal| goal.level() == Level::Must).or(theirs.first()).cloned();
        let spec = ScenarioSpec { role, edition, trace: "an inspected session".to_owned(), finding };
        let mut builder = ScenarioBuilder::new(spec, &found.by_rules);
        events.iter().for_each(|event| builder.event(event));
        let text = builder.write().map_err(|nothing| KeepError::Request(format!("no scenario: {nothing}")))?;
        let loaded = load_str("scenario.yaml", &text);
        if let Some(fault) = loaded.diagnostics.first() {
            return Err(KeepError::Request(format!("no scenario can be made of it: {}", fault.message)));
        }
        scenario(folder, |_| text)
    }

    fn fixtures(&self, folder: &Path) -> Result<Kept, KeepError> {
        let (protocol, edition) = (self.feed.protocol(), self.feed.edition());
        let checker = SoundnessChecker::new(protocol, edition, 1)
            .map_err(|error| KeepError::Request(format!("making messages of {}: {error}", protocol.name)))?;
        let mut cutter = Cutter::new(&checker, false);
        self.events()?.iter().for_each(|event| cutter.event(event));
        let (fixtures, _) = cutter.finish(false, &FixtureKind::ALL);
        if fixtures.is_empty() {
            return Err(KeepError::Request("there is no message in it whose type is known".to_owned()));
        }
        let origin = Origin {
            protocol: protocol.name.to_owned(),
            edition: edition.id().to_owned(),
            seed: None,
            trace: self.feed.path().file_name().map(|name| name.to_string_lossy().into_owned()),
        };
        let path = vacant(folder, "fixtures", "")?;
        let files = fixture::files(&fixtures, &origin, Format::Json);
        let failed = |error: fixture::FolderError| KeepError::System {
            path: path.clone(),
            source: io::Error::other(error.to_string()),
        };
        let written = Folder::at(&path).write(&files).map_err(failed)?;
        let command = format!("wirecert fixtures {} --from TRACE --out {} --check", protocol.name, path.display());
        Ok(Kept { path: path.display().to_string(), files: written.written.len() as u64, text: None, command })
    }
}

/// Saves a scenario below a folder, which is made if it is not there. `text` gives it for the path that it gets.
///
/// # Errors
/// A file that cannot be written.
pub fn scenario(folder: &Path, text: impl FnOnce(&Path) -> String) -> Result<Kept, KeepError> {
    let path = vacant(folder, "scenario", ".yaml")?;
    let text = text(&path);
    write(&path, text.as_bytes())?;
    let command = format!("wirecert run {} -- COMMAND", path.display());
    Ok(Kept { path: path.display().to_string(), files: 1, text: Some(text), command })
}

/// A name below a folder that nothing has yet: `scenario-1.yaml`. The folder is made.
fn vacant(folder: &Path, name: &str, ending: &str) -> Result<PathBuf, KeepError> {
    std::fs::create_dir_all(folder).map_err(|source| KeepError::System { path: folder.to_owned(), source })?;
    let mut names = (1_u32..).map(|n| folder.join(format!("{name}-{n}{ending}")));
    names.find(|path| !path.exists()).ok_or_else(|| KeepError::Request("there are too many files".to_owned()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), KeepError> {
    atomic_file::write(path, bytes, Readable::ByAll)
        .map_err(|source| KeepError::System { path: path.to_owned(), source })
}
