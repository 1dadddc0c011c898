//! Where each event of a trace file is, and its row: [`Index`]. It keeps 24 bytes for an event, and the rows in a temporary file.

use std::fs::File;
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use crate::export::{Bits, EventRow, TONES};
use crate::trace::{Event, KINDS};

use super::runs::Runs;

/// How many bytes of rows are kept in memory before they are written.
const BUFFER: usize = 64 << 10;

/// The place in a row for an event without a connection.
const NO_CONNECTION: u32 = u32::MAX;

/// What is known of an event without reading it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Where its line begins in the trace file.
    offset: u64,
    /// Where its row begins in the file of rows.
    row: u64,
    conn: u32,
    tone: u8,
    kind: u8,
}

impl Entry {
    /// The place of its connection.
    pub fn place(&self) -> Option<usize> {
        usize::try_from(self.conn).ok().filter(|_| self.conn != NO_CONNECTION)
    }

    /// Its tone, by its place in [`TONES`].
    pub fn tone(&self) -> u8 {
        self.tone
    }

    /// Its kind, by its place in [`KINDS`].
    pub fn kind(&self) -> u8 {
        self.kind
    }
}

/// The index of a trace that is being recorded.
pub struct Index {
    entries: Vec<Entry>,
    trace: Arc<File>,
    rows: Arc<File>,
    buffer: Vec<u8>,
    /// How many bytes of rows are in the file.
    written: u64,
    /// Events whose rows are pieces of others.
    pieces: Bits,
    runs: Runs,
}

/// Lines of a file that is read without the lock of the index.
pub struct Lines {
    file: Arc<File>,
    range: Range<u64>,
}

impl Lines {
    /// Reads them, as one piece.
    ///
    /// # Errors
    /// As of reading a file.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let length = usize::try_from(self.range.end - self.range.start).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, self.range.start)?;
        Ok(bytes)
    }
}

impl Index {
    /// Of the trace file at this path, which is there.
    ///
    /// # Errors
    /// The file cannot be read again, or there is no room for a temporary one.
    pub fn new(trace: &Path) -> io::Result<Self> {
        let trace = File::open(trace)?;
        if !trace.metadata()?.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is no ordinary file, and cannot be read again",
            ));
        }
        Ok(Self {
            entries: vec![],
            trace: Arc::new(trace),
            rows: Arc::new(tempfile::tempfile()?),
            buffer: Vec::with_capacity(BUFFER),
            written: 0,
            pieces: Bits::default(),
            runs: Runs::default(),
        })
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds an event whose line begins at this offset of the trace file.
    pub fn add(&mut self, event: &Event, row: &EventRow, offset: u64) {
        let place = |known: Option<usize>| known.and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX);
        let entry = Entry {
            offset,
            row: self.written + self.buffer.len() as u64,
            conn: row.place.unwrap_or(NO_CONNECTION),
            tone: row.tone_number(),
            kind: place(KINDS.iter().position(|kind| *kind == event.kind.kind())),
        };
        if TONES.get(usize::from(entry.tone)) == Some(&"piece") {
            self.pieces.set(event.i);
        }
        self.runs.add(row);
        self.entries.push(entry);
        // A row is made of texts and numbers, which always serialise.
        let _ = serde_json::to_writer(&mut self.buffer, row);
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
    }

    /// Writes the rows that are in memory. Where the disk is full, the rows from here on are lost, and reading them fails.
    fn flush(&mut self) {
        if self.rows.as_ref().write_all(&self.buffer).is_ok() {
            self.written += self.buffer.len() as u64;
        }
        self.buffer.clear();
    }

    /// What is known of the events from this one on, at most so many.
    pub fn entries(&self, from: usize, most: usize) -> &[Entry] {
        let from = from.min(self.entries.len());
        &self.entries[from..self.entries.len().min(from + most)]
    }

    /// The events that are pieces of others.
    pub fn pieces(&self) -> &Bits {
        &self.pieces
    }

    /// The notifications that continue others of their name.
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// The lines of these events in the trace; `end`: where the file ends now.
    pub fn lines(&self, events: Range<usize>, end: u64) -> Lines {
        let offset = |at: usize| self.entries.get(at).map_or(end, |entry| entry.offset);
        Lines { file: self.trace.clone(), range: offset(events.start)..offset(events.end).max(offset(events.start)) }
    }

    /// Where the lines of these events begin and end in what [`Index::lines`] reads of them.
    pub fn offsets(&self, events: Range<usize>, end: u64) -> Vec<Range<usize>> {
        let offset = |at: usize| self.entries.get(at).map_or(end, |entry| entry.offset);
        let base = offset(events.start);
        let inside = |at: usize| usize::try_from(offset(at).saturating_sub(base)).unwrap_or_default();
        events.map(|at| inside(at)..inside(at + 1)).collect()
    }

    /// The events from `from` on, at most `most`, whose lines have no more than so many bytes together; one at least, if there is one.
    pub fn within(&self, from: usize, most: usize, bytes: u64, end: u64) -> Range<usize> {
        let offset = |at: usize| self.entries.get(at).map_or(end, |entry| entry.offset);
        let from = from.min(self.entries.len());
        let last = self.entries.len().min(from.saturating_add(most));
        let base = offset(from);
        let fitting = self.entries[from..last].partition_point(|entry| entry.offset - base <= bytes);
        // The line of the last one ends beyond its beginning.
        let until = if offset(from + fitting) - base > bytes { fitting.saturating_sub(1) } else { fitting };
        from..last.min(from + until.max(1))
    }

    /// The event `at` and those before it, at most `most`, whose lines have no more than so many bytes together.
    pub fn before(&self, at: usize, most: usize, bytes: u64) -> Range<usize> {
        let from = at.saturating_sub(most);
        let known = &self.entries[from.min(self.entries.len())..at.min(self.entries.len())];
        let base = self.entries.get(at).map_or(0, |entry| entry.offset);
        from + known.partition_point(|entry| base - entry.offset > bytes)..at + 1
    }

    /// The row of an event.
    pub fn row(&mut self, at: usize) -> Lines {
        if !self.buffer.is_empty() {
            self.flush();
        }
        let start = self.entries.get(at).map_or(self.written, |entry| entry.row);
        let end = self.entries.get(at + 1).map_or(self.written, |entry| entry.row);
        Lines { file: self.rows.clone(), range: start..end.max(start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of events whose lines are of these lengths.
    fn index(lengths: &[u64]) -> Index {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut index = Index::new(file.path()).unwrap();
        let mut offset = 100;
        for length in lengths {
            index.entries.push(Entry { offset, row: 0, conn: NO_CONNECTION, tone: 0, kind: 0 });
            offset += length;
        }
        index
    }

    #[test]
    fn lines_that_are_read_together_have_a_bound_but_one_is_always_read() {
        let index = index(&[10, 10, 1000, 10, 10]);
        let end = 100 + 1040;
        assert_eq!(index.within(0, 9, 25, end), 0..2);
        assert_eq!(index.within(0, 1, 25, end), 0..1);
        assert_eq!(index.within(2, 9, 25, end), 2..3);
        assert_eq!(index.within(3, 9, 25, end), 3..5);
        assert_eq!(index.within(3, 9, 15, end), 3..4);
        assert_eq!(index.within(5, 9, 25, end), 5..5);
        assert_eq!(index.before(4, 9, 25), 3..5);
        assert_eq!(index.before(4, 9, 5000), 0..5);
        assert_eq!(index.before(4, 2, 5000), 2..5);
        assert_eq!(index.before(0, 9, 25), 0..1);
    }
}
