//! Event streams (HTML standard, section 9.2.5 and 9.2.6): reading them however they are cut, and writing them in
//! every way that the standard allows, and some that it does not.

use crate::trace::StreamEvent;

/// Reads an event stream piece by piece. What it gives does not depend on where the pieces are cut.
#[derive(Debug)]
pub struct EventReader {
    most: usize,
    /// The line so far.
    line: Vec<u8>,
    /// Whether that line has any bytes, kept or not.
    begun: bool,
    /// How much of this event is kept.
    size: usize,
    /// A carriage return came last: a line feed after it belongs to it.
    after_cr: bool,
    /// Nothing came before this line, so that it may begin with a byte order mark.
    first_line: bool,
    block: Block,
    last_id: String,
    id: String,
}

/// What the lines of a block have said so far.
#[derive(Debug, Default)]
struct Block {
    event: Option<String>,
    data: Option<String>,
    id: Option<String>,
    retry: Option<u64>,
}

impl EventReader {
    /// Keeps at most `most` bytes of one event; what goes beyond is dropped.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            line: vec![],
            begun: false,
            size: 0,
            after_cr: false,
            first_line: true,
            block: Block::default(),
            last_id: String::new(),
            id: String::new(),
        }
    }

    /// Takes in the next piece; gives what it completes.
    pub fn read(&mut self, piece: &[u8]) -> Vec<StreamEvent> {
        let mut found = vec![];
        let mut rest = piece;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            let (line, end) = (&rest[..at], rest[at]);
            rest = &rest[at + 1..];
            // The line feed of a CRLF ended no line of its own.
            if !(std::mem::take(&mut self.after_cr) && line.is_empty() && end == b'\n') {
                self.keep(line);
                found.extend(self.end_line());
            }
            self.after_cr = end == b'\r';
        }
        if !rest.is_empty() {
            self.after_cr = false;
            self.keep(rest);
        }
        found
    }

    /// The last event id that a client would know by now, which it gives when it connects again.
    pub fn last_event_id(&self) -> &str {
        &self.last_id
    }

    /// Whether an event has begun and not ended: a client drops it at the end of the stream.
    pub fn is_pending(&self) -> bool {
        !self.line.is_empty() || self.block.data.is_some() || self.block.event.is_some()
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.begun |= !bytes.is_empty();
        let room = self.most.saturating_sub(self.size);
        let kept = &bytes[..bytes.len().min(room)];
        self.line.extend_from_slice(kept);
        self.size += kept.len();
    }

    fn end_line(&mut self) -> Option<StreamEvent> {
        let bytes = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.begun) && bytes.is_empty() {
            return None; // there was no room for it
        }
        let first = std::mem::take(&mut self.first_line);
        let bytes = if first { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes) } else { &bytes };
        if bytes.is_empty() {
            return self.dispatch();
        }
        let line = String::from_utf8_lossy(bytes);
        let (field, value) = match line.split_once(':') {
            Some(("", comment)) => {
                self.size = self.size.saturating_sub(bytes.len());
                return Some(StreamEvent { comment: Some(comment.to_owned()), ..StreamEvent::default() });
            }
            Some((field, value)) => (field, value.strip_prefix(' ').unwrap_or(value)),
            None => (&*line, ""),
        };
        match field {
            "event" => self.block.event = Some(value.to_owned()),
            "data" => match &mut self.block.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                    return None; // its bytes stay
                }
                None => {
                    self.block.data = Some(value.to_owned());
                    return None;
                }
            },
            "id" if !value.contains('\0') => {
                self.id = value.to_owned();
                self.block.id = Some(value.to_owned());
            }
            "retry" if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) => {
                self.block.retry = Some(value.parse().unwrap_or(u64::MAX));
            }
            _ => {}
        }
        // The last value counts; those before it and fields of other names are not kept.
        self.size = self.size.saturating_sub(bytes.len());
        None
    }

    fn dispatch(&mut self) -> Option<StreamEvent> {
        self.size = 0;
        self.last_id.clone_from(&self.id);
        let Block { event, data, id, retry } = std::mem::take(&mut self.block);
        let nothing = event.is_none() && data.is_none() && id.is_none() && retry.is_none();
        (!nothing).then_some(StreamEvent { event, data, id, retry, comment: None })
    }
}

/// How lines end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// A line feed.
    #[default]
    Lf,
    /// A carriage return.
    Cr,
    /// Both.
    CrLf,
}

impl LineEnd {
    /// Its bytes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::Cr => "\r",
            Self::CrLf => "\r\n",
        }
    }
}

/// How events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventWriter {
    /// How lines end.
    pub line_end: LineEnd,
    /// Whether a space follows the colon of a field. Without it, a value that begins with a space gets one all the same.
    pub space: bool,
}

impl Default for EventWriter {
    fn default() -> Self {
        Self { line_end: LineEnd::Lf, space: true }
    }
}

/// The byte order mark with which a stream may begin.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl EventWriter {
    /// An event, a comment, or fields without data, with the empty line that ends it. What has several lines gets a
    /// field for each.
    pub fn write(&self, event: &StreamEvent) -> Vec<u8> {
        let mut out = String::new();
        event.comment.iter().for_each(|text| self.lines(&mut out, "", text));
        event.retry.iter().for_each(|retry| self.line(&mut out, "retry", &retry.to_string()));
        event.id.iter().for_each(|id| self.line(&mut out, "id", id));
        event.event.iter().for_each(|name| self.line(&mut out, "event", name));
        event.data.iter().for_each(|data| self.lines(&mut out, "data", data));
        out += self.line_end.as_str();
        out.into_bytes()
    }

    fn lines(&self, out: &mut String, field: &str, text: &str) {
        let unified = text.replace("\r\n", "\n").replace('\r', "\n");
        unified.split('\n').for_each(|line| self.line(out, field, line));
    }

    fn line(&self, out: &mut String, field: &str, value: &str) {
        *out += field;
        *out += ":";
        // What follows the colon of a comment is all of it.
        if !field.is_empty() && (self.space || value.starts_with(' ')) {
            out.push(' ');
        }
        *out += value;
        *out += self.line_end.as_str();
    }
}
