//! Event streams (HTML standard, section 9.2.5 and 9.2.6): an [`EventReader`] reads them however they are cut, and an
//! [`EventWriter`] writes them in every form that the standard permits, and some that it does not.

use crate::trace::StreamEvent;

/// Reads an event stream piece by piece. The result does not depend on where the pieces are cut.
#[derive(Debug)]
pub struct EventReader {
    max_event_len: usize,
    /// The line so far.
    line: Vec<u8>,
    /// Whether the line has any bytes, kept or not.
    line_started: bool,
    /// How many bytes of the current event are kept.
    size: usize,
    /// Whether a carriage return came last: a line feed after it belongs to the same line end.
    after_cr: bool,
    /// Whether this is the first line, which may begin with a byte order mark.
    first_line: bool,
    block: Block,
    last_id: String,
    id: String,
}

/// The fields of the current event so far.
#[derive(Debug, Default)]
struct Block {
    event: Option<String>,
    data: Option<String>,
    id: Option<String>,
    retry: Option<u64>,
}

impl EventReader {
    /// A reader that keeps at most `max_event_len` bytes of one event; the rest is dropped.
    pub fn new(max_event_len: usize) -> Self {
        Self {
            max_event_len,
            line: vec![],
            line_started: false,
            size: 0,
            after_cr: false,
            first_line: true,
            block: Block::default(),
            last_id: String::new(),
            id: String::new(),
        }
    }

    /// Reads the next piece; returns the events and comments that it completes.
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

    /// The last event id, which a client sends when it connects again.
    pub fn last_event_id(&self) -> &str {
        &self.last_id
    }

    /// Whether an event is incomplete: a client drops it at the end of the stream.
    pub fn is_pending(&self) -> bool {
        !self.line.is_empty() || self.block.data.is_some() || self.block.event.is_some()
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.line_started |= !bytes.is_empty();
        let room = self.max_event_len.saturating_sub(self.size);
        let retained = &bytes[..bytes.len().min(room)];
        self.line.extend_from_slice(retained);
        self.size += retained.len();
    }

    fn end_line(&mut self) -> Option<StreamEvent> {
        let bytes = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.line_started) && bytes.is_empty() {
            return None; // no room was left for the line
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
                    return None; // the bytes count as kept
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
        // Only the last value of a field is kept, and no other fields.
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
    /// The bytes of the line end.
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
    /// Whether a space follows the colon of a field. Without it, a value that begins with a space gets one all the
    /// same.
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
        // All after the colon belongs to a comment.
        if !field.is_empty() && (self.space || value.starts_with(' ')) {
            out.push(' ');
        }
        *out += value;
        *out += self.line_end.as_str();
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Vec<StreamEvent> {
        EventReader::new(1 << 20).read(bytes)
    }

    fn data(bytes: &[u8]) -> Vec<Option<String>> {
        read(bytes).into_iter().map(|event| event.data).collect()
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn the_examples_of_the_standard_read_as_it_says() {
        assert_eq!(data(b"data: YHOO\ndata: +2\ndata: 10\n\n"), [some("YHOO\n+2\n10")]);
        let events =
            read(b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n");
        assert_eq!(events[0], StreamEvent { comment: some(" test stream"), ..StreamEvent::default() });
        assert_eq!(events[1], StreamEvent { id: some("1"), ..StreamEvent::data("first event") });
        assert_eq!(events[2], StreamEvent { id: some(""), ..StreamEvent::data("second event") });
        assert_eq!(events[3], StreamEvent::data(" third event"));
        assert_eq!(data(b"data\n\ndata\ndata\n\ndata:"), [some(""), some("\n")]);
        assert_eq!(data(b"data:test\n\ndata: test\n\n"), [some("test"), some("test")]);
    }

    #[test]
    fn lines_end_in_each_of_three_ways_and_in_all_of_them_at_once() {
        for stream in ["data: a\n\ndata: b\n\n", "data: a\r\rdata: b\r\r", "data: a\r\n\r\ndata: b\r\n\r\n"] {
            assert_eq!(data(stream.as_bytes()), [some("a"), some("b")], "{stream:?}");
        }
        assert_eq!(data(b"data: a\r\n\rdata: b\n\r\n"), [some("a"), some("b")]);
        assert_eq!(data(b"data: a\r\ndata: b\n\n"), [some("a\nb")]);
    }

    #[test]
    fn a_byte_order_mark_is_passed_over_at_the_beginning_only() {
        assert_eq!(data(b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n"), [some("a")]);
        assert_eq!(data(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n"), []);
    }

    #[test]
    fn fields_that_are_no_data_dispatch_nothing_and_are_told() {
        let events =
            read(b"event: a\nevent: b\n\nretry: 10\nretry: 1x\n\nother: x\n\nid: 1\nid: \0\n\nevent\ndata: x\n\n");
        let none = StreamEvent::default;
        assert_eq!(
            events,
            [
                StreamEvent { event: some("b"), ..none() },
                StreamEvent { retry: Some(10), ..none() },
                StreamEvent { id: some("1"), ..none() },
                StreamEvent { event: some(""), ..StreamEvent::data("x") },
            ]
        );
        assert_eq!(events[3].event_type(), "message");
    }

    #[test]
    fn the_last_event_id_is_that_of_the_last_event_that_ended() {
        let mut reader = EventReader::new(100);
        reader.read(b"id: 1\ndata: x\n\ndata: y\n\nid: 2\n");
        assert_eq!(reader.last_event_id(), "1");
        assert!(reader.is_pending() || reader.block.id.is_some());
        reader.read(b"\n");
        assert_eq!(reader.last_event_id(), "2");
    }

    #[test]
    fn bytes_that_are_no_utf8_become_replacement_characters() {
        assert_eq!(data(b"data: \xff\xe2\x82\n\n"), [some("\u{fffd}\u{fffd}")]);
    }

    #[test]
    fn an_endless_event_is_cut_and_the_next_one_is_whole() {
        let mut reader = EventReader::new(100);
        for _ in 0..1000 {
            assert_eq!(reader.read(b"data: 0123456789\n"), []);
        }
        assert!(reader.line.capacity() + reader.block.data.as_ref().map_or(0, String::len) < 400);
        let event = reader.read(b"\n").remove(0);
        assert!(event.data.is_some_and(|data| data.starts_with("0123456789\n0123456789") && data.len() < 101));
        assert_eq!(reader.read(b"data: x\n\n"), [StreamEvent::data("x")]);
        let endless = [b"data: ".to_vec(), vec![b'x'; 1 << 20], b"\n\n".to_vec()].concat();
        assert_eq!(reader.read(&endless)[0].data.as_ref().map(String::len), Some(94));
        for _ in 0..1000 {
            assert_eq!(reader.read(b": keep-alive\n").len(), 1);
        }
    }

    /// Pieces of streams that are likely to go wrong.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            prop::sample::select(vec![
                "\r", "\n", "\r\n", ":", " ", "data", "data:", "data: ", "id: 7", "event:", "retry: 1", "\u{feff}",
                "ü", "𝄞", "\0", "x",
            ])
            .prop_map(|text| text.as_bytes().to_vec()),
            vec(any::<u8>(), 0..3),
        ];
        vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

        #[test]
        fn what_is_read_does_not_depend_on_where_it_is_cut(
            stream in stream(),
            cuts in vec(0..8usize, 0..40),
            max_event_len in prop_oneof![Just(1 << 20), 1..20usize],
        ) {
            let mut whole = EventReader::new(max_event_len);
            let expected = whole.read(&stream);
            let mut reader = EventReader::new(max_event_len);
            let (mut found, mut rest) = (vec![], &stream[..]);
            for cut in cuts {
                let (piece, tail) = rest.split_at(cut.min(rest.len()));
                found.extend(reader.read(piece));
                rest = tail;
            }
            found.extend(reader.read(rest));
            prop_assert_eq!(found, expected);
            prop_assert_eq!(reader.last_event_id(), whole.last_event_id());
        }

        #[test]
        fn what_is_written_is_read_back(
            name in "[a-zü]{0,5}",
            text in "[a-z ü:𝄞\n]{0,12}",
            id in proptest::option::of("[a-z ]{0,3}"),
            retry in proptest::option::of(any::<u32>().prop_map(u64::from)),
            line_end in prop::sample::select(vec![LineEnd::Lf, LineEnd::Cr, LineEnd::CrLf]),
            space in any::<bool>(),
        ) {
            let event = StreamEvent { event: Some(name), data: Some(text), id, retry, comment: None };
            let written = EventWriter { line_end, space }.write(&event);
            prop_assert_eq!(read(&[BYTE_ORDER_MARK, &written[..]].concat()), [event]);
        }
    }
}
