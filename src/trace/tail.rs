//! The last events of a trace, for people: [`Tail`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::{Event, EventKind, Frame, Payload, Sink, describe};

/// How many events are kept for each line that is shown: others may belong to another connection.
const KEPT_PER_LINE: usize = 32;

/// Keeps the last events, and describes those of one connection as a bounded number of lines. Clones share the events:
/// give one to a recorder, and query the other.
///
/// A frame that is a complete message and nothing more is left out: the message follows.
///
/// Most events are never shown, so a small event is kept and described on demand. A large event is described at once;
/// its line is short ([`describe()`] bounds it), so the memory is bounded.
#[derive(Clone, Debug)]
pub struct Tail {
    max_lines: usize,
    entries: Arc<Mutex<VecDeque<TailEntry>>>,
    /// The number of the next event.
    next: Arc<AtomicU64>,
}

#[derive(Debug)]
struct TailEntry {
    i: u64,
    conn: Option<String>,
    output: bool,
    content: TailContent,
}

#[derive(Debug)]
enum TailContent {
    Event(Arc<Event>),
    Line(String),
}

impl Tail {
    /// A tail that shows at most `max_lines` events.
    pub fn new(max_lines: usize) -> Self {
        Self { max_lines, entries: Arc::default(), next: Arc::default() }
    }

    /// Adds an event.
    pub fn push(&self, event: &Event) {
        self.add(event, || Arc::new(event.clone()));
    }

    /// Adds an event, and keeps it as `shared`.
    fn add(&self, event: &Event, shared: impl FnOnce() -> Arc<Event>) {
        self.next.store(event.i + 1, Ordering::Relaxed);
        if is_repeated_by_its_message(&event.kind) {
            return;
        }
        let mut entries = self.entries.lock();
        entries.push_back(TailEntry {
            i: event.i,
            conn: event.conn.clone(),
            output: matches!(event.kind, EventKind::Output(_)),
            content: if event.is_small() { TailContent::Event(shared()) } else { TailContent::Line(describe(event)) },
        });
        while entries.len() > self.max_lines * KEPT_PER_LINE {
            entries.pop_front();
        }
    }

    /// The number of the last event, if one came.
    pub fn newest(&self) -> Option<u64> {
        self.next.load(Ordering::Relaxed).checked_sub(1)
    }

    /// The last events, oldest first.
    pub fn lines(&self) -> Vec<String> {
        self.last(|_| true)
    }

    /// The last events up to `index` that belong to a connection or to none, oldest first. The output of processes is
    /// left out where there are other events.
    pub fn lines_about(&self, conn: Option<&str>, index: Option<u64>) -> Vec<String> {
        let fits = |entry: &TailEntry| {
            let here = conn.is_none() || entry.conn.is_none() || entry.conn.as_deref() == conn;
            here && index.is_none_or(|index| entry.i <= index)
        };
        let lines = self.last(|entry| fits(entry) && !entry.output);
        if lines.is_empty() { self.last(fits) } else { lines }
    }

    fn last(&self, fits: impl Fn(&TailEntry) -> bool) -> Vec<String> {
        let line = |entry: &TailEntry| match &entry.content {
            TailContent::Event(event) => describe(event),
            TailContent::Line(line) => line.clone(),
        };
        let entries = self.entries.lock();
        let mut lines: Vec<String> =
            entries.iter().rev().filter(|entry| fits(entry)).take(self.max_lines).map(line).collect();
        lines.reverse();
        lines
    }
}

fn is_repeated_by_its_message(what: &EventKind) -> bool {
    matches!(
        what,
        EventKind::Frame(Frame { fin: true, rsv: 0, opcode: 1, length_bits: None, payload: Payload::Text(_), .. })
    )
}

impl Sink for Tail {
    fn event(&mut self, event: &Arc<Event>) {
        self.add(event, || event.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Clock, Mark, Message, Recorder};

    #[test]
    fn only_the_last_events_are_kept_oldest_first() {
        let tail = Tail::new(2);
        let recorder = Recorder::new(Clock::start(), vec![Box::new(tail.clone())]);
        for text in ["one", "two", "three"] {
            recorder.record(None, None, EventKind::Mark(Mark { mark: "step".into(), text: text.into() }));
        }
        let lines = tail.lines();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].ends_with("step two") && lines[1].ends_with("step three"), "{lines:?}");
    }

    #[test]
    fn what_is_kept_of_a_large_message_is_its_line() {
        let tail = Tail::new(9);
        let recorder = Recorder::new(Clock::start(), vec![Box::new(tail.clone())]);
        for bytes in [format!("[{}1]", "[],".repeat(1000)), format!("\"{}\"", "x".repeat(10_000)), "[1]".to_owned()] {
            recorder.record(None, None, EventKind::Message(Message::joined(true, bytes.as_bytes(), 1)));
        }
        let entries = tail.entries.lock();
        let lines: Vec<bool> = entries.iter().map(|entry| matches!(entry.content, TailContent::Line(_))).collect();
        assert_eq!(lines, [true, true, false]);
    }

    #[test]
    fn what_is_told_about_a_connection_is_its_events_up_to_the_one_that_is_meant() {
        let tail = Tail::new(2);
        let recorder = Recorder::new(Clock::start(), vec![Box::new(tail.clone())]);
        for (conn, n) in [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5)] {
            let message = EventKind::Message(Message::joined(true, n.to_string().as_bytes(), 1));
            recorder.record(Some(conn), None, message);
        }
        let ends = |lines: Vec<String>| -> String { lines.iter().filter_map(|line| line.chars().last()).collect() };
        assert_eq!(ends(tail.lines()), "45");
        assert_eq!(ends(tail.lines_about(Some("a"), None)), "34");
        assert_eq!(ends(tail.lines_about(Some("a"), Some(2))), "13");
        assert_eq!(ends(tail.lines_about(None, Some(3))), "34");
    }

    proptest::proptest! {
        #[test]
        fn a_line_is_the_same_whenever_it_is_made(event in crate::trace::strategy::event()) {
            let tail = Tail::new(1);
            tail.push(&event);
            let expected = if is_repeated_by_its_message(&event.kind) { vec![] } else { vec![describe(&event)] };
            proptest::prop_assert_eq!(tail.lines(), expected);
        }
    }

    #[test]
    fn what_crossed_the_wire_in_one_frame_is_told_once_and_odd_frames_are_told() {
        let tail = Tail::new(9);
        let recorder = Recorder::new(Clock::start(), vec![Box::new(tail.clone())]);
        let frame = Frame { masked: true, ..Frame::unmasked(1, b"{}") };
        recorder.record(None, None, EventKind::Frame(frame.clone()));
        recorder.record(None, None, EventKind::Message(Message::joined(true, b"{}", 1)));
        recorder.record(None, None, EventKind::Frame(Frame { rsv: 4, ..frame }));
        let lines = tail.lines();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].ends_with("message {}") && lines[1].ends_with("frame text rsv 4, 2 bytes {}"), "{lines:?}");
    }
}
