//! The rows of the page's list, in columns, and the lines of its details.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use super::block::Block;

use crate::export::label::LabelStyle;
use crate::export::text::clean;
use crate::trace::{Direction, Event, KINDS};

/// How many rows there are in a block.
const ROWS: usize = 4096;

/// How an event of two compared traces compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffStatus {
    /// Both traces have it.
    Same,
    /// Both have it, and something in it is different.
    Changed,
    /// Only the first has it.
    Missing,
    /// Only the second has it.
    Extra,
    /// Both have it, at another place.
    Moved,
}

/// A row of the list.
pub struct Row<'a> {
    pub event: &'a Event,
    /// The place of its connection in the survey.
    pub conn: Option<usize>,
    pub tone: LabelStyle,
    pub what: String,
    pub folded: String,
    pub after: Option<u64>,
    /// The number of the head that it tells with it.
    pub head: Option<u64>,
    pub repeated: bool,
    pub status: Option<DiffStatus>,
    pub other: Option<u64>,
}

/// Rows that are not written yet. The names are short since the page has them again for each block.
#[derive(Default, Serialize)]
pub struct Rows {
    /// Numbers of events.
    i: Vec<u64>,
    /// Microseconds.
    t: Vec<u64>,
    /// Connections; -1 for none.
    c: Vec<i64>,
    /// Directions: 0 none, 1 to the server, 2 to the client.
    d: Vec<u8>,
    /// Kinds.
    k: Vec<usize>,
    /// Tones.
    s: Vec<usize>,
    /// Flags: 1 where others tell it.
    f: Vec<u8>,
    /// Labels of the events.
    w: Vec<String>,
    /// Folded contents of the events.
    x: Vec<String>,
    /// By row: microseconds since the request.
    a: BTreeMap<usize, u64>,
    /// By row: why it was wrong on purpose.
    p: BTreeMap<usize, String>,
    /// By row: the number of the head that it tells with it.
    h: BTreeMap<usize, u64>,
    /// Of a comparison: how each compares.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    g: Vec<u8>,
    /// By row: the number of the event in the other trace.
    o: BTreeMap<usize, u64>,
    #[serde(skip)]
    from: u64,
}

impl Rows {
    /// Adds one.
    pub fn push(&mut self, row: Row<'_>) {
        let n = self.i.len();
        let event = row.event;
        self.i.push(event.i);
        self.t.push(event.t);
        self.c.push(row.conn.and_then(|conn| i64::try_from(conn).ok()).unwrap_or(-1));
        self.d.push(match event.dir {
            None => 0,
            Some(Direction::ToServer) => 1,
            Some(Direction::ToClient) => 2,
        });
        self.k.push(KINDS.iter().position(|kind| *kind == event.kind.kind()).unwrap_or_default());
        self.s.push(LabelStyle::ALL.iter().position(|tone| *tone == row.tone).unwrap_or_default());
        self.f.push(u8::from(row.repeated));
        self.w.push(row.what);
        self.x.push(row.folded);
        self.a.extend(row.after.map(|after| (n, after)));
        self.p.extend(event.deliberate.as_deref().map(|why| (n, clean(why))));
        self.h.extend(row.head.map(|head| (n, head)));
        self.o.extend(row.other.map(|other| (n, other)));
        self.g.extend(row.status.map(|standing| match standing {
            DiffStatus::Same => 0,
            DiffStatus::Changed => 1,
            DiffStatus::Missing => 2,
            DiffStatus::Extra => 3,
            DiffStatus::Moved => 4,
        }));
    }

    /// Whether they are to be written.
    pub fn is_full(&self) -> bool {
        self.i.len() >= ROWS
    }

    /// Takes what there is, and begins anew; none where there is nothing.
    pub fn take(&mut self) -> io::Result<Option<Block>> {
        if self.i.is_empty() {
            return Ok(None);
        }
        let block = Block { name: "rows", from: self.from, bytes: serde_json::to_vec(self)? };
        *self = Self { from: self.from + self.i.len() as u64, ..Self::default() };
        Ok(Some(block))
    }
}

/// A block is full with so many bytes…
const BYTES: usize = 512 << 10;

/// …or so many lines.
const LINES: u64 = 1024;

/// Details that are written together, a line for each event.
#[derive(Default)]
pub struct Details {
    bytes: Vec<u8>,
    lines: u64,
    from: u64,
}

impl Details {
    /// Room for the next line, which is to hold no line end.
    pub fn line(&mut self) -> &mut Vec<u8> {
        if self.lines > 0 {
            self.bytes.push(b'\n');
        }
        self.lines += 1;
        &mut self.bytes
    }

    /// Whether they are to be written.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= BYTES || self.lines >= LINES
    }

    /// Takes what there is, and begins anew; none where there is nothing.
    pub fn take(&mut self) -> Option<Block> {
        if self.lines == 0 {
            return None;
        }
        let block = Block { name: "detail", from: self.from, bytes: std::mem::take(&mut self.bytes) };
        self.from += std::mem::take(&mut self.lines);
        Some(block)
    }
}
