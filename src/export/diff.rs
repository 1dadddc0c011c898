//! What two traces differ in: [`compare`].
//!
//! Events are compared as they mean the same: without times, and with a placeholder for what is new in every run
//! (UUIDs, ports, tokens, ids of messages, run directories). What the protocols leave open is no difference: how the two
//! directions interleave, in how many frames or pieces something came, when keep-alives come. Each direction of each
//! connection is compared by itself; exchanges of HTTP that nobody named are taken together, in their order.

mod item;

use std::collections::{BTreeMap, HashMap, HashSet};

use anstyle::{AnsiColor, Color, Style};

use crate::protocol::Edition;
use crate::trace::{Direction, Event, EventKind, NormalisationFacts, ReadError, TraceFacts, ValueNormaliser};

use super::html::DiffStatus;
use super::label::Labels;
use super::text::{self, clean, cut};
use super::{TraceSource, TraceSurvey};
use item::{DiffColumn, DiffItem, Itemizer, align};

pub use item::{Change, changes};

/// How many folders are taken for a workspace.
const MOST_FOLDERS: usize = 20;

/// An event of either trace, or the same event of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffStep {
    /// The number of the event in the first trace.
    pub a: Option<u64>,
    /// The number of the event in the second trace.
    pub b: Option<u64>,
    /// How the event compares.
    pub status: DiffStatus,
}

/// What two traces differ in.
#[derive(Debug)]
pub struct Differences {
    /// All compared events, in the order of the first trace.
    pub steps: Vec<DiffStep>,
    /// How many there are of each sort.
    pub counts: ComparisonCounts,
    /// Whether they are the same but for what may differ: what a server sent at another place.
    pub same: bool,
}

/// How many compared events there are of each sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct ComparisonCounts {
    /// The same in both.
    pub same: u64,
    /// In both, with other content.
    pub changed: u64,
    /// Only in the first.
    pub missing: u64,
    /// Only in the second.
    pub extra: u64,
    /// In both, at another place.
    pub moved: u64,
}

/// One of two traces that are compared.
pub struct DiffSide<'a> {
    /// The trace.
    pub source: &'a TraceSource,
    /// What a first look at it learnt.
    pub survey: &'a TraceSurvey,
    /// The edition of the trace, where its protocol is known.
    pub edition: Option<&'static dyn Edition>,
    /// The only connection of it that is compared, whatever the other one is called; none: all of it.
    pub connection: Option<&'a str>,
}

impl DiffSide<'_> {
    /// The normaliser that makes values of this trace comparable.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn normaliser(&self) -> Result<ValueNormaliser, ReadError> {
        let (mut learnt, mut known) = (TraceFacts::default(), NormalisationFacts::default());
        for event in self.source.reader()? {
            let event = event?;
            learnt.event(&event);
            for folder in self.folders(&event) {
                let folder = ("workspace".to_owned(), folder);
                if known.folders.len() < MOST_FOLDERS && !known.folders.contains(&folder) {
                    known.folders.push(folder);
                }
            }
        }
        Ok(ValueNormaliser::new(&known, learnt))
    }

    /// The folders that a server says it has open, where this is what it says.
    fn folders(&self, event: &Event) -> Vec<String> {
        let EventKind::File(change) = &event.kind else { return vec![] };
        if change.is_by_play() {
            return vec![];
        }
        let read = self.edition.zip(change.content.as_ref());
        let lock = read.and_then(|(edition, content)| edition.read_lockfile(content.as_bytes()).ok());
        lock.map(|lock| lock.folders).unwrap_or_default()
    }

    fn items(&self, normaliser: &ValueNormaliser) -> Result<BTreeMap<DiffColumn, Vec<DiffItem>>, ReadError> {
        let mut itemizer = Itemizer::new(self.edition, normaliser);
        let mut lanes: BTreeMap<DiffColumn, Vec<DiffItem>> = BTreeMap::new();
        for event in self.source.reader()? {
            let event = event?;
            if self.connection.is_some_and(|connection| event.conn.as_deref() != Some(connection)) {
                continue;
            }
            if let Some((lane, item)) = itemizer.item(&event, self.survey) {
                let lane = if self.connection.is_some() { lane.of_any() } else { lane };
                lanes.entry(lane).or_default().push(item);
            }
        }
        Ok(lanes)
    }

    /// The events of these numbers.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn events(&self, wanted: &HashSet<u64>) -> Result<HashMap<u64, Event>, ReadError> {
        let mut found = HashMap::new();
        if wanted.is_empty() {
            return Ok(found);
        }
        for event in self.source.reader()? {
            let event = event?;
            if wanted.contains(&event.i) {
                found.insert(event.i, event);
                if found.len() == wanted.len() {
                    break;
                }
            }
        }
        Ok(found)
    }
}

/// Compares two traces. Holds a few numbers for each event.
///
/// # Errors
/// One of them cannot be read.
pub fn compare(
    a: (&DiffSide<'_>, &ValueNormaliser),
    b: (&DiffSide<'_>, &ValueNormaliser),
) -> Result<Differences, ReadError> {
    let (ours, mut theirs) = (a.0.items(a.1)?, b.0.items(b.1)?);
    let mut placed: Vec<((u64, u64), DiffStep)> = vec![];
    let mut same = true;
    let none = vec![];
    let mut lanes: Vec<DiffColumn> = ours.keys().chain(theirs.keys()).cloned().collect();
    lanes.sort();
    lanes.dedup();
    for lane in lanes {
        let other = theirs.remove(&lane).unwrap_or_default();
        let mut last = 0;
        for step in align(ours.get(&lane).unwrap_or(&none), &other) {
            same &= match step.status {
                DiffStatus::Same => true,
                DiffStatus::Moved => !lane.is_ordered(),
                DiffStatus::Changed | DiffStatus::Missing | DiffStatus::Extra => false,
            };
            // What only the second trace has stands after what came before it there.
            let at = match (step.a, step.b) {
                (Some(a), _) => {
                    last = a;
                    (a, 0)
                }
                (None, b) => (last, 1 + b.unwrap_or_default()),
            };
            placed.push((at, step));
        }
    }
    placed.sort_by_key(|(at, _)| *at);
    let steps: Vec<DiffStep> = placed.into_iter().map(|(_, step)| step).collect();
    let count = |standing| steps.iter().filter(|step| step.status == standing).count() as u64;
    let counts = ComparisonCounts {
        same: count(DiffStatus::Same),
        changed: count(DiffStatus::Changed),
        missing: count(DiffStatus::Missing),
        extra: count(DiffStatus::Extra),
        moved: count(DiffStatus::Moved),
    };
    Ok(Differences { steps, counts, same })
}

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(colour)))
}

const GONE: Style = colour(AnsiColor::Red);
const NEW: Style = colour(AnsiColor::Green);
const OTHER: Style = colour(AnsiColor::Yellow);
const DIM: Style = Style::new().dimmed();

/// Draws differences, one by one.
pub struct DiffText {
    width: usize,
}

impl DiffText {
    /// On lines of so many columns.
    pub fn new(width: usize) -> Self {
        Self { width }
    }

    /// Which traces are compared.
    pub fn title(&self, first: &str, second: &str) -> String {
        format!("{GONE}--- {}{GONE:#}\n{NEW}+++ {}{NEW:#}\n\n", clean(first), clean(second))
    }

    /// One difference: an event, of the first trace where it is there, and its number in the second.
    pub fn step(
        &self,
        edition: Option<&'static dyn Edition>,
        standing: DiffStatus,
        event: &Event,
        other: Option<u64>,
        changes: &[Change],
    ) -> String {
        let (style, sign) = match standing {
            DiffStatus::Same => (DIM, " "),
            DiffStatus::Changed => (OTHER, "≠"),
            DiffStatus::Missing => (GONE, "-"),
            DiffStatus::Extra => (NEW, "+"),
            DiffStatus::Moved => (DIM, "⇅"),
        };
        let label = Labels::new(edition).label(event, None);
        let arrow = match event.dir {
            Some(Direction::ToServer) => "→",
            Some(Direction::ToClient) => "←",
            None => "·",
        };
        let numbers = match other {
            Some(other) => format!("#{}·{other}", event.i),
            None => format!("#{}", event.i),
        };
        let conn = event.conn.as_deref().map(clean).unwrap_or_default();
        let line =
            format!("{sign} {numbers:<11} {:<8} {arrow} {} {}", cut(&conn, 14), label.what, label.folded(self.width));
        let mut out = format!("{style}{}{style:#}\n", cut(&line, self.width));
        let room = self.width.saturating_sub(8);
        for change in changes {
            let path = if change.path.is_empty() { "the whole of it".to_owned() } else { clean(&change.path) };
            out += &format!("    {}\n", cut(&path, room));
            for (style, sign, value) in [(GONE, "-", &change.was), (NEW, "+", &change.is)] {
                if let Some(value) = value {
                    out += &format!("      {style}{sign} {}{style:#}\n", cut(&text::json(value, room), room - 2));
                }
            }
        }
        out
    }

    /// How many there are of each sort.
    pub fn summary(&self, differences: &Differences, left_out: u64) -> String {
        let counts = &differences.counts;
        let parts = [
            (counts.changed, "changed"),
            (counts.missing, "missing"),
            (counts.extra, "extra"),
            (counts.moved, "at another place"),
            (counts.same, "the same"),
        ];
        let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}")).collect();
        let more = if left_out > 0 { format!("{left_out} more differences are not shown\n") } else { String::new() };
        let verdict = match (differences.same, differences.steps.is_empty()) {
            (_, true) => "nothing to compare".to_owned(),
            (true, _) => "no difference".to_owned(),
            (false, _) => "different".to_owned(),
        };
        format!("{more}\n{verdict}: {}\n", parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use crate::trace::{FileSink, Header, Sink as _};

    use super::*;

    /// A trace of messages on the connection `main`: a direction sign, then JSON.
    fn source(lines: &[&str]) -> (TraceSource, TraceSurvey, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.trace");
        let (mut sink, _) = FileSink::create(&path, &Header::new("amp", "cli")).unwrap();
        let mut survey = TraceSurvey::default();
        for (i, line) in lines.iter().enumerate() {
            let (way, json) = line.split_at(1);
            let dir = if way == ">" { crate::trace::Direction::ToServer } else { crate::trace::Direction::ToClient };
            let what = crate::trace::EventKind::Message(crate::trace::Message::joined(true, json.as_bytes(), 1));
            let i = i as u64;
            let event = Event { i, t: i * 7, conn: Some("main".into()), dir: Some(dir), deliberate: None, kind: what };
            survey.event(&event);
            sink.event(&std::sync::Arc::new(event));
        }
        sink.end();
        (TraceSource::open(&path).unwrap(), survey, dir)
    }

    fn compared(a: &[&str], b: &[&str]) -> (Differences, Vec<Change>) {
        let ((a, a_survey, _a), (b, b_survey, _b)) = (source(a), source(b));
        let edition = crate::protocol::role("amp-server").map(|(protocol, _)| protocol.default_edition());
        let side = |source, survey| DiffSide { source, survey, edition, connection: None };
        let (a, b) = (side(&a, &a_survey), side(&b, &b_survey));
        let (x, y) = (a.normaliser().unwrap(), b.normaliser().unwrap());
        let found = compare((&a, &x), (&b, &y)).unwrap();
        let all: HashSet<u64> = (0..100).collect();
        let (ours, theirs) = (a.events(&all).unwrap(), b.events(&all).unwrap());
        let changed = found.steps.iter().filter(|step| step.status == DiffStatus::Changed);
        let changed = changed.flat_map(|step| {
            let (first, second) = (&ours[&step.a.unwrap()], &theirs[&step.b.unwrap()]);
            changes((first, (edition, &x)), (second, (edition, &y)))
        });
        let changed = changed.collect();
        (found, changed)
    }

    const ASK: &str = r#">{"clientRequest":{"id":"1","ping":{"message":"hi"}}}"#;
    const TOLD: &str = r#"<{"serverNotification":{"pluginMetadata":{"version":"0.1.0"}}}"#;

    #[test]
    fn ids_uuids_and_versions_that_are_new_in_every_run_are_no_difference() {
        let again = r#">{"clientRequest":{"id":"88","ping":{"message":"hi"}}}"#;
        let newer = r#"<{"serverNotification":{"pluginMetadata":{"version":"0.2.0"}}}"#;
        let (found, _) = compared(&[ASK, TOLD], &[newer, again]);
        assert!(found.same, "{found:?}");
        assert_eq!(found.counts.same, 2);
    }

    #[test]
    fn a_changed_value_is_told_with_its_place() {
        let (found, changed) = compared(&[ASK], &[r#">{"clientRequest":{"id":"1","ping":{"message":"ho","x":1}}}"#]);
        assert!(!found.same);
        let paths: Vec<&str> = changed.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, ["/clientRequest/ping/message", "/clientRequest/ping/x"]);
        assert_eq!((&changed[0].was, &changed[0].is), (&Some("hi".into()), &Some("ho".into())));
        assert_eq!(changed[1].was, None);
    }

    #[test]
    fn another_type_of_an_id_is_a_difference() {
        let (found, changed) = compared(&[ASK], &[r#">{"clientRequest":{"id":1,"ping":{"message":"hi"}}}"#]);
        assert_eq!((found.counts.changed, changed[0].path.as_str()), (1, "/clientRequest/id"));
    }

    #[test]
    fn what_a_server_sends_elsewhere_is_told_and_is_no_difference_and_what_is_missing_is() {
        let other = r#"<{"serverNotification":{"visibleFilesDidChange":{"uris":[]}}}"#;
        let (found, _) = compared(&[TOLD, other], &[other, TOLD]);
        assert!(found.same && found.counts.moved == 1, "{found:?}");
        let (found, _) = compared(&[TOLD, other], &[other]);
        assert!(!found.same && found.counts.missing == 1, "{found:?}");
    }
}
