//! The last events of a trace, for people: [`Tail`].

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Event, Frame, Payload, Sink, What, describe};

/// Keeps the last events as lines, at most so many. Clones share them: give one to a recorder, ask the other.
///
/// A frame that is a whole message and nothing more is left out: the message follows.
///
/// Each line is short ([`describe`] bounds it), so that the memory is bounded too.
#[derive(Clone, Debug)]
pub struct Tail {
    most: usize,
    lines: Arc<Mutex<VecDeque<String>>>,
}

impl Tail {
    /// Keeps the last `most` events.
    pub fn new(most: usize) -> Self {
        Self { most, lines: Arc::default() }
    }

    /// Takes in an event.
    pub fn push(&self, event: &Event) {
        if is_repeated_by_its_message(&event.what) {
            return;
        }
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_back(describe(event));
        while lines.len() > self.most {
            lines.pop_front();
        }
    }

    /// The last events, oldest first.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

fn is_repeated_by_its_message(what: &What) -> bool {
    matches!(
        what,
        What::Frame(Frame { fin: true, rsv: 0, opcode: 1, length_bits: None, payload: Payload::Text(_), .. })
    )
}

impl Sink for Tail {
    fn event(&mut self, event: &Event) {
        self.push(event);
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
            recorder.record(None, None, What::Mark(Mark { mark: "step".into(), text: text.into() }));
        }
        let lines = tail.lines();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].ends_with("step two") && lines[1].ends_with("step three"), "{lines:?}");
    }

    #[test]
    fn what_crossed_the_wire_in_one_frame_is_told_once_and_odd_frames_are_told() {
        let tail = Tail::new(9);
        let recorder = Recorder::new(Clock::start(), vec![Box::new(tail.clone())]);
        let (payload, length_bits) = (Payload::Text("{}".into()), None);
        let frame = Frame { fin: true, rsv: 0, opcode: 1, masked: true, length: 2, length_bits, payload };
        recorder.record(None, None, What::Frame(frame.clone()));
        recorder.record(None, None, What::Message(Message::joined(true, b"{}", 1)));
        recorder.record(None, None, What::Frame(Frame { rsv: 4, ..frame }));
        let lines = tail.lines();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].ends_with("message {}") && lines[1].ends_with("frame text rsv 4, 2 bytes {}"), "{lines:?}");
    }
}
