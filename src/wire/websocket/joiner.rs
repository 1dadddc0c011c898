//! Messages from frames.

use crate::trace::{Frame, Message, Payload};

use super::decoder::payload_of;
use super::frame::opcode;

/// Joins the frames of one direction to messages (RFC 6455 section 5.4).
///
/// Frames that cannot belong to a message give none: reserved bits or opcodes, a continuation of
/// nothing, a payload that is not all there, a message beyond the bound.
#[derive(Debug)]
pub(super) struct Joiner {
    limit: usize,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    text: bool,
    payload: Vec<u8>,
    frames: u64,
    /// Set once it cannot become a message any more.
    spoilt: bool,
}

impl Joiner {
    /// `limit` bounds the joined payload, in bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, open: None }
    }

    /// The message that this frame completes, if it does.
    pub(super) fn frame(&mut self, frame: &Frame) -> Option<Message> {
        match frame.opcode {
            opcode::TEXT | opcode::BINARY => {
                let text = frame.opcode == opcode::TEXT;
                self.open = Some(Open { text, payload: vec![], frames: 0, spoilt: false });
            }
            opcode::CONTINUATION => {}
            _ => return None,
        }
        let open = self.open.as_mut()?;
        let payload = frame.payload.as_bytes();
        open.frames += 1;
        open.spoilt |= frame.rsv != 0
            || payload.len() as u64 != frame.length
            || open.payload.len().saturating_add(payload.len()) > self.limit;
        if open.spoilt {
            open.payload = vec![];
        } else {
            open.payload.extend_from_slice(payload);
        }
        if !frame.fin {
            return None;
        }
        let whole = self.open.take().filter(|open| !open.spoilt)?;
        Some(message(whole.text, whole.payload, whole.frames))
    }
}

/// A message of these bytes, with its JSON where it is JSON.
fn message(text: bool, payload: Vec<u8>, frames: u64) -> Message {
    match serde_json::from_slice(&payload) {
        Ok(json) => Message { text, json: Some(json), payload: None, frames },
        Err(_) => {
            let payload: Payload = payload_of(payload);
            Message { text, json: None, payload: Some(payload), frames }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frame(opcode: u8, fin: bool, payload: &str) -> Frame {
        let length = payload.len() as u64;
        let payload = Payload::from(payload.as_bytes());
        Frame { fin, rsv: 0, opcode, masked: false, length, length_bits: None, payload }
    }

    #[test]
    fn parts_join_across_a_ping_between_them() {
        let mut joiner = Joiner::new(100);
        assert_eq!(joiner.frame(&frame(1, false, "{\"a\"")), None);
        assert_eq!(joiner.frame(&frame(9, true, "?")), None);
        assert_eq!(joiner.frame(&frame(0, false, ":")), None);
        let message = joiner.frame(&frame(0, true, "1}"));
        assert_eq!(message, Some(Message { text: true, json: Some(json!({"a": 1})), payload: None, frames: 3 }));
    }

    #[test]
    fn what_is_no_json_keeps_its_payload() {
        let message = Joiner::new(100).frame(&frame(2, true, "hello"));
        let payload = Some(Payload::Text("hello".into()));
        assert_eq!(message, Some(Message { text: false, json: None, payload, frames: 1 }));
    }

    #[test]
    fn a_continuation_of_nothing_and_reserved_bits_give_no_message() {
        let mut joiner = Joiner::new(100);
        assert_eq!(joiner.frame(&frame(0, true, "1")), None);
        assert_eq!(joiner.frame(&Frame { rsv: 4, ..frame(1, true, "1") }), None);
        assert_eq!(joiner.frame(&frame(3, true, "1")), None);
        assert_eq!(joiner.frame(&Frame { length: 9, ..frame(1, true, "1") }), None);
    }

    #[test]
    fn a_message_beyond_the_bound_is_dropped_and_the_next_one_comes() {
        let mut joiner = Joiner::new(3);
        assert_eq!(joiner.frame(&frame(1, false, "12")), None);
        assert_eq!(joiner.frame(&frame(0, false, "34")), None);
        assert_eq!(joiner.frame(&frame(0, true, "5")), None);
        assert!(joiner.frame(&frame(1, true, "123")).is_some());
    }

    #[test]
    fn a_new_message_in_the_middle_of_one_takes_its_place() {
        let mut joiner = Joiner::new(100);
        assert_eq!(joiner.frame(&frame(1, false, "1")), None);
        assert_eq!(joiner.frame(&frame(1, true, "2")).and_then(|m| m.json), Some(json!(2)));
    }
}
