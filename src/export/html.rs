//! A trace as one page for a browser: [`Page`].
//!
//! The page needs nothing but itself. What is in the trace is in it only as compressed blocks in base64, which no
//! parser of HTML can take for anything else; a policy in the page lets no script run but its own, by its digest.
//! Everything is written block by block, so that memory is flat however long the trace is.

mod block;
pub mod frame;
mod row;

use std::collections::HashMap;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::protocol::Edition;
use crate::trace::{Direction, Event, EventKind, Header, KINDS, write_event};

use super::chart::party;
use super::diff::ComparisonCounts;
use super::label::{LabelStyle, Labels};
use super::{Findings, TraceSurvey};
use block::{Block, BlockWriter};
use frame::STYLE;
use row::{Details, Row, Rows};

pub use row::DiffStatus;

const BODY: &str = include_str!("html/page.html");

/// The part of the script that is this page's own.
const OWN_SCRIPT: &str = concat!(
    include_str!("html/js/data.js"),
    include_str!("html/js/lanes.js"),
    include_str!("html/js/filter.js"),
    include_str!("html/js/list.js"),
    include_str!("html/js/detail.js"),
    include_str!("html/js/overview.js"),
    include_str!("html/js/main.js"),
);

/// The page's one script.
fn script() -> String {
    ["\"use strict\";\n\n", frame::SCRIPT, OWN_SCRIPT].concat()
}

/// How many characters of what an event carried stand on its line.
const FOLDED: usize = 220;

/// Writes a page, event by event.
pub struct Page<'a, W: Write + Send + 'static> {
    blocks: BlockWriter<W>,
    survey: &'a TraceSurvey,
    labels: Labels,
    /// Labels for events that others repeat: they must not disturb the requests that the other labels remember.
    side_labels: Labels,
    heads: HashMap<(String, bool), Event>,
    rows: Rows,
    details: Details,
}

/// A row of the page: an event, and in a comparison the one that stands beside it.
#[derive(Clone, Copy, Debug)]
pub struct PageEntry<'e> {
    /// The event.
    pub event: &'e Event,
    /// Which of the two traces it is from, and how it compares; none where there is one trace.
    pub status: Option<DiffStatus>,
    /// The number of the event of the other trace.
    pub other: Option<u64>,
    /// The event of the other trace.
    pub beside: Option<&'e Event>,
    /// What is different, as JSON for the page.
    pub changes: Option<&'e serde_json::Value>,
}

impl<'e> PageEntry<'e> {
    /// Of a trace that is compared with none.
    pub fn alone(event: &'e Event) -> Self {
        Self { event, status: None, other: None, beside: None, changes: None }
    }
}

impl<'a, W: Write + Send + 'static> Page<'a, W> {
    /// Begins a page.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(
        mut out: W,
        edition: Option<&'static dyn Edition>,
        header: &Header,
        survey: &'a TraceSurvey,
        findings: &Findings,
        meta: &Meta<'_>,
    ) -> io::Result<Self> {
        let script = script();
        let digest = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text)));
        let policy = format!(
            "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
            digest(STYLE),
            digest(&script)
        );
        let title = escaped(meta.name);
        write!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title} · wirecert</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{}",
            frame::framed(BODY)
        )?;
        let meta = json(meta, header, survey, findings);
        let mut blocks = BlockWriter::start(out)?;
        blocks.add(Block { name: "meta", from: 0, bytes: serde_json::to_vec(&meta)? })?;
        Ok(Self {
            blocks,
            survey,
            labels: Labels::new(edition),
            side_labels: Labels::new(edition),
            heads: HashMap::new(),
            rows: Rows::default(),
            details: Details::default(),
        })
    }

    /// Writes the next row.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn entry(&mut self, entry: PageEntry<'_>) -> io::Result<()> {
        let event = entry.event;
        // What is compared comes without what others tell; heads are compared by themselves.
        let repeated = entry.status.is_none() && self.survey.is_repeated(event.i);
        let key = (event.conn.clone().unwrap_or_default(), event.dir == Some(Direction::ToServer));
        let is_head = matches!(event.kind, EventKind::HttpRequest(_) | EventKind::HttpResponse(_));
        let head = match event.kind {
            EventKind::Message(_) => self.heads.remove(&key),
            _ => None,
        };
        let labels = if repeated { &mut self.side_labels } else { &mut self.labels };
        let label = labels.label(event, head.as_ref());
        self.rows.push(Row {
            event,
            conn: event.conn.as_deref().and_then(|conn| self.survey.place(conn)),
            tone: label.tone,
            what: if self.survey.ends_stream(event.i) { "the stream ends".to_owned() } else { label.what.clone() },
            folded: label.folded(FOLDED),
            after: label.after,
            head: head.as_ref().map(|head| head.i),
            repeated,
            status: entry.status,
            other: entry.other,
        });
        self.detail(entry)?;
        if repeated && is_head {
            self.heads.insert(key, event.clone());
        }
        if self.rows.is_full() {
            self.write_rows()?;
        }
        Ok(())
    }

    fn detail(&mut self, entry: PageEntry<'_>) -> io::Result<()> {
        let line = self.details.line();
        match entry.status {
            None => put(entry.event, line)?,
            Some(_) => {
                line.extend(b"{\"a\":");
                put(entry.event, line)?;
                if let Some(other) = entry.beside {
                    line.extend(b",\"b\":");
                    put(other, line)?;
                }
                if let Some(changes) = entry.changes {
                    line.extend(b",\"z\":");
                    serde_json::to_writer(&mut *line, changes).map_err(io::Error::from)?;
                }
                line.push(b'}');
            }
        }
        if self.details.is_full() {
            self.write_details()?;
        }
        Ok(())
    }

    fn write_rows(&mut self) -> io::Result<()> {
        self.rows.take()?.map_or(Ok(()), |block| self.blocks.add(block))
    }

    fn write_details(&mut self) -> io::Result<()> {
        self.details.take().map_or(Ok(()), |block| self.blocks.add(block))
    }

    /// Ends the page.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(mut self) -> io::Result<W> {
        self.write_rows()?;
        self.write_details()?;
        let mut out = self.blocks.end()?;
        write!(out, "<script>{}</script>\n</body>\n</html>\n", script())?;
        out.flush()?;
        Ok(out)
    }
}

/// Writes an event as its line of the trace, without the line's end.
fn put(event: &Event, line: &mut Vec<u8>) -> io::Result<()> {
    write_event(event, line)?;
    while line.last() == Some(&b'\n') {
        line.pop();
    }
    Ok(())
}

/// A text that HTML takes for nothing but a text.
fn escaped(text: &str) -> String {
    let clean = super::text::clean(text);
    clean.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Metadata of the page that is not in the trace.
#[derive(Clone, Debug)]
pub struct Meta<'a> {
    /// What the trace is called.
    pub name: &'a str,
    /// Whether it was judged.
    pub judged: bool,
    /// The other trace, where it is compared with one.
    pub comparison: Option<ComparedWith>,
}

/// The trace that this one is compared with, and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ComparedWith {
    /// What the other trace is called.
    pub name: String,
    /// How many events there are of each sort.
    #[serde(flatten)]
    pub counts: ComparisonCounts,
}

/// All metadata as JSON for the page.
pub fn json(meta: &Meta<'_>, header: &Header, survey: &TraceSurvey, findings: &Findings) -> Value {
    let found: Vec<Value> = findings
        .all()
        .map(|(i, remark)| {
            let mut value = serde_json::to_value(remark).unwrap_or_default();
            value["i"] = i.into();
            value
        })
        .collect();
    let requirements: serde_json::Map<String, Value> = findings
        .requirements()
        .map(|requirement| {
            let source = format!("{}, {}", requirement.source.document, requirement.source.section);
            let description = json!({"statement": requirement.statement, "why": requirement.why, "source": source});
            (requirement.id.to_owned(), description)
        })
        .collect();
    let connections: Vec<Value> =
        survey.connections.iter().map(|c| json!([c.name, c.first, c.last, c.events])).collect();
    json!({
        "name": meta.name,
        "suite": header.suite,
        "protocol": header.protocol,
        "edition": header.edition,
        "client": party(&header.client),
        "server": party(&header.server),
        "scenario": header.scenario,
        "start": header.clock.start.to_string(),
        "events": survey.events,
        "last": survey.last,
        "cut": survey.cut,
        "connections": connections,
        "more_connections": survey.more_connections,
        "kinds": KINDS,
        "tones": LabelStyle::ALL.map(LabelStyle::name),
        "judged": meta.judged,
        "findings": found,
        "uncounted": findings.uncounted,
        "requirements": requirements,
        "comparison": meta.comparison,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use crate::trace::{Mark, Message};

    use super::*;

    /// What would end a script, begin one, or confuse a parser.
    const HOSTILE: &str = "</script><script>alert(1)</script><!--<script>\u{2028}\u{2029}\u{0}&lt;\"'`${1}]]>";

    fn page(events: &[Event], name: &str) -> String {
        let mut survey = TraceSurvey::default();
        events.iter().for_each(|event| survey.event(event));
        let header = Header::new("amp", "cli");
        let meta = Meta { name, judged: false, comparison: None };
        let findings = Findings::default();
        let mut page = Page::begin(vec![], None, &header, &survey, &findings, &meta).unwrap();
        events.iter().for_each(|event| page.entry(PageEntry::alone(event)).unwrap());
        String::from_utf8(page.end().unwrap()).unwrap()
    }

    fn message(i: u64, text: &str) -> Event {
        let json = serde_json::json!({ text: text }).to_string();
        let what = EventKind::Message(Message::joined(true, json.as_bytes(), 1));
        Event {
            i,
            t: i,
            conn: Some(text.into()),
            dir: Some(Direction::ToServer),
            deliberate: Some(text.into()),
            kind: what,
        }
    }

    /// The texts of the blocks of one sort.
    fn blocks(page: &str, class: &str) -> Vec<String> {
        let begin = format!("<script type=\"application/octet-stream\" class=\"{class}\" data-from=\"");
        let packed = page.split(&begin).skip(1).map(|rest| rest.split(['>', '<']).nth(1).unwrap());
        let unpack = |packed: &str| {
            let bytes = BASE64.decode(packed).unwrap();
            let mut text = String::new();
            flate2::read::ZlibDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
            text
        };
        packed.map(unpack).collect()
    }

    #[test]
    fn nothing_in_a_trace_becomes_markup() {
        let mark = EventKind::Mark(Mark { mark: HOSTILE.into(), text: HOSTILE.into() });
        let hostile = Event { i: 1, t: 1, conn: None, dir: None, deliberate: None, kind: mark };
        let harmless = page(&[message(0, "m")], "name");
        let hostile = page(&[message(0, HOSTILE), hostile], HOSTILE);
        let count = |page: &str, what: &str| page.matches(what).count();
        for what in ["<script", "</script", "<!--", "<img"] {
            assert_eq!(count(&hostile, what), count(&harmless, what), "{what}");
        }
        assert!(!hostile.contains(['\u{2028}', '\u{2029}', '\u{0}']));
        assert!(blocks(&hostile, "detail")[0].contains("</script><script>alert(1)"));
    }

    #[test]
    fn the_policy_lets_only_the_pages_own_script_and_style_be() {
        let page = page(&[message(0, "m")], "name");
        let script = page.rsplit_once("<script>").unwrap().1.split("</script>").next().unwrap();
        let digest = BASE64.encode(Sha256::digest(script));
        assert!(
            page.contains(&format!("script-src 'sha256-{digest}'")),
            "the digest of the script stands in the policy"
        );
        let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
        assert!(page.contains(&BASE64.encode(Sha256::digest(style))));
        assert!(page.contains("default-src 'none'") && !page.contains("http://") && !page.contains("https://"));
        assert!(!page.contains(" style=\"") && !page.contains(" onclick="), "the policy forbids them");
    }

    #[test]
    fn every_event_is_in_it_in_blocks_of_bounded_size() {
        let events: Vec<Event> = (0..10_000).map(|i| message(i, "x")).collect();
        let page = page(&events, "name");
        let details = blocks(&page, "detail");
        assert_eq!(details.iter().map(|block| block.lines().count()).sum::<usize>(), 10_000);
        assert!(details.iter().all(|block| block.lines().count() <= 1024));
        let last: serde_json::Value = serde_json::from_str(details.last().unwrap().lines().last().unwrap()).unwrap();
        assert_eq!(last["i"], 9_999);
        let rows: Vec<serde_json::Value> =
            blocks(&page, "rows").iter().map(|block| serde_json::from_str(block).unwrap()).collect();
        assert_eq!(rows.iter().map(|block| block["w"].as_array().unwrap().len()).sum::<usize>(), 10_000);
        assert_eq!(rows[1]["i"][0], 4096);
    }

    #[test]
    fn a_comparison_has_both_events_on_one_line() {
        let (first, second) = (message(0, "a"), message(3, "b"));
        let mut survey = TraceSurvey::default();
        survey.event(&first);
        let counts = ComparisonCounts { changed: 1, ..ComparisonCounts::default() };
        let comparison = Some(ComparedWith { name: "other".to_owned(), counts });
        let meta = Meta { name: "name", judged: false, comparison };
        let mut page =
            Page::begin(vec![], None, &Header::new("amp", "cli"), &survey, &Findings::default(), &meta).unwrap();
        let changes = serde_json::json!([["/a", null, "1"]]);
        let standing = Some(DiffStatus::Changed);
        let entry = PageEntry {
            event: &first,
            status: standing,
            other: Some(3),
            beside: Some(&second),
            changes: Some(&changes),
        };
        page.entry(entry).unwrap();
        let page = String::from_utf8(page.end().unwrap()).unwrap();
        let detail: serde_json::Value = serde_json::from_str(&blocks(&page, "detail")[0]).unwrap();
        assert_eq!((&detail["a"]["i"], &detail["b"]["i"], &detail["z"]), (&0.into(), &3.into(), &changes));
        let rows: serde_json::Value = serde_json::from_str(&blocks(&page, "rows")[0]).unwrap();
        assert_eq!((&rows["g"][0], &rows["o"]["0"]), (&1.into(), &3.into()));
        assert!(!blocks(&page, "detail")[0].contains('\n'));
    }
}
