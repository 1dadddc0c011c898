//! A trace as one page for a browser: [`Page`].
//!
//! The page needs nothing but itself. What is in the trace is in it only as compressed blocks in base64, which no
//! parser of HTML can take for anything else; a policy in the page lets no script run but its own, by its digest.
//! Everything is written block by block, so that memory is flat however long the trace is.

mod block;
mod meta;
mod row;

use std::collections::HashMap;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};

use crate::protocol::Protocol;
use crate::trace::{Direction, Event, EventKind, Header, write_event};

use super::label::Labels;
use super::{Findings, TraceSurvey};

use self::block::Block;
use self::row::{Row, Rows};

pub use self::meta::{Comparison, Meta};
pub use self::row::Standing;

const STYLE: &str = include_str!("page.css");
const BODY: &str = include_str!("page.html");

/// The parts of the page's one script, in order.
const SCRIPT: [&str; 8] = [
    include_str!("js/data.js"),
    include_str!("js/lanes.js"),
    include_str!("js/filter.js"),
    include_str!("js/list.js"),
    include_str!("js/tree.js"),
    include_str!("js/detail.js"),
    include_str!("js/overview.js"),
    include_str!("js/main.js"),
];

/// How many characters of what an event carried stand on its line.
const FOLDED: usize = 220;

/// Writes a page, event by event.
pub struct Page<'a, W: Write> {
    out: W,
    survey: &'a TraceSurvey,
    labels: Labels,
    /// For events that are told by others: they must not disturb what the labels remember.
    aside: Labels,
    heads: HashMap<(String, bool), Event>,
    rows: Rows,
    details: Block,
    written: u64,
}

/// A row of the page: an event, and in a comparison the one that stands beside it.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'e> {
    /// The event.
    pub event: &'e Event,
    /// Which of the two traces it is from, and how it compares; none where there is one trace.
    pub standing: Option<Standing>,
    /// The number of the event of the other trace.
    pub other: Option<u64>,
    /// That event.
    pub beside: Option<&'e Event>,
    /// What is different, as JSON for the page.
    pub changes: Option<&'e serde_json::Value>,
}

impl<'e> Entry<'e> {
    /// Of a trace that is compared with none.
    pub fn alone(event: &'e Event) -> Self {
        Self { event, standing: None, other: None, beside: None, changes: None }
    }
}

impl<'a, W: Write> Page<'a, W> {
    /// Begins a page.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(
        mut out: W,
        protocol: Option<&'static Protocol>,
        header: &Header,
        survey: &'a TraceSurvey,
        findings: &Findings,
        meta: &Meta<'_>,
    ) -> io::Result<Self> {
        let script = SCRIPT.concat();
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
             <title>{title} · wirecert</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{BODY}"
        )?;
        let meta = meta::json(meta, header, survey, findings);
        block::write(&mut out, "meta", 0, &serde_json::to_vec(&meta)?)?;
        let labels = Labels::new(protocol, &header.edition);
        Ok(Self {
            out,
            survey,
            labels,
            aside: Labels::new(protocol, &header.edition),
            heads: HashMap::new(),
            rows: Rows::default(),
            details: Block::default(),
            written: 0,
        })
    }

    /// Writes the next row.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn entry(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let event = entry.event;
        // What is compared comes without what others tell; heads are compared by themselves.
        let repeated = entry.standing.is_none() && self.survey.is_repeated(event.i);
        let key = (event.conn.clone().unwrap_or_default(), event.dir == Some(Direction::ToServer));
        let is_head = matches!(event.kind, EventKind::HttpRequest(_) | EventKind::HttpResponse(_));
        let head = match event.kind {
            EventKind::Message(_) => self.heads.remove(&key),
            _ => None,
        };
        let labels = if repeated { &mut self.aside } else { &mut self.labels };
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
            standing: entry.standing,
            other: entry.other,
        });
        self.detail(entry)?;
        if repeated && is_head {
            self.heads.insert(key, event.clone());
        }
        if self.rows.is_full() {
            self.rows.write(&mut self.out)?;
        }
        Ok(())
    }

    fn detail(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let line = self.details.line();
        match entry.standing {
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
        self.written += 1;
        if self.details.is_full() {
            self.details.write(&mut self.out, "detail", self.written)?;
        }
        Ok(())
    }

    /// Ends the page.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(mut self) -> io::Result<W> {
        self.rows.write(&mut self.out)?;
        self.details.write(&mut self.out, "detail", self.written)?;
        write!(self.out, "<script>{}</script>\n</body>\n</html>\n", SCRIPT.concat())?;
        self.out.flush()?;
        Ok(self.out)
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

#[cfg(test)]
mod tests;
