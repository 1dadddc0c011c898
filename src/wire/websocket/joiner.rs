//! Messages from frames.

use crate::trace::{Frame, Message, Payload};

use super::decoder::payload_of;
use super::frame::opcode;
use super::inflate::Inflate;

/// Joins the frames of one direction to messages (RFC 6455 section 5.4).
///
/// Frames that cannot belong to a message give none: reserved bits or opcodes, a continuation of
/// nothing, a payload that is not all there, a message beyond the bound.
#[derive(Debug)]
pub struct Joiner {
    limit: usize,
    open: Option<Open>,
    /// What undoes compression, where the ends have agreed on it.
    inflate: Option<Inflate>,
}

#[derive(Debug)]
struct Open {
    text: bool,
    payload: Vec<u8>,
    frames: u64,
    /// Whether it is compressed.
    deflated: bool,
    /// Set once it cannot become a message any more.
    spoilt: bool,
}

impl Joiner {
    /// `limit` bounds the joined payload, in bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, open: None, inflate: None }
    }

    /// The same of a direction in which messages may be compressed (RFC 7692).
    pub fn inflating(mut self, inflate: Inflate) -> Self {
        self.inflate = Some(inflate);
        self
    }

    /// The message that this frame completes, if it does.
    pub fn frame(&mut self, frame: &Frame) -> Option<Message> {
        match frame.opcode {
            opcode::TEXT | opcode::BINARY => {
                let text = frame.opcode == opcode::TEXT;
                // Only the first frame says that the message is compressed (RFC 7692 section 6).
                let deflated = frame.rsv == COMPRESSED && self.inflate.is_some();
                let spoilt = frame.rsv != 0 && !deflated;
                self.open = Some(Open { text, payload: vec![], frames: 0, deflated, spoilt });
            }
            opcode::CONTINUATION => {}
            _ => return None,
        }
        let open = self.open.as_mut()?;
        let payload = frame.payload.as_bytes();
        open.frames += 1;
        open.spoilt |= frame.opcode == opcode::CONTINUATION && frame.rsv != 0
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
        let open = self.open.take()?;
        let payload = match (&mut self.inflate, open.deflated) {
            (Some(inflate), true) if open.spoilt => {
                inflate.lost();
                return None;
            }
            (Some(inflate), true) => inflate.message(&open.payload, self.limit)?,
            _ if open.spoilt => return None,
            _ => open.payload,
        };
        Some(message(open.text, payload, open.frames))
    }
}

/// The reserved bits of the first frame of a compressed message (RFC 7692 section 6).
const COMPRESSED: u8 = 4;

/// How many values one message may hold. In memory a value takes many times the two bytes that it may take on the
/// wire, so the bound on the length alone would not bound the memory.
const MOST_VALUES: usize = 1_000_000;

/// A message of these bytes, with its JSON where it is JSON. JSON with too many values in it is left undecoded.
fn message(text: bool, payload: Vec<u8>, frames: u64) -> Message {
    let json = if values(&payload) <= MOST_VALUES { serde_json::from_slice(&payload).ok() } else { None };
    let payload: Option<Payload> = if json.is_none() { Some(payload_of(payload)) } else { None };
    Message { text, json, payload, frames }
}

/// How many values these bytes hold if they are JSON: no more than there are commas, colons and opening brackets
/// outside strings, and one.
fn values(json: &[u8]) -> usize {
    let (mut count, mut in_string, mut escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b':' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count
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
    fn json_that_would_fill_memory_is_left_undecoded() {
        let mut joiner = Joiner::new(16 << 20);
        let many = format!("[{}0]", "0,".repeat(MOST_VALUES));
        assert_eq!(joiner.frame(&frame(1, true, &many)).map(|m| (m.json, m.payload.is_some())), Some((None, true)));
        let text = json!(["\\\",,,,", ",".repeat(MOST_VALUES)]);
        assert_eq!(joiner.frame(&frame(1, true, &text.to_string())).and_then(|m| m.json), Some(text));
        let deep = "[".repeat(MOST_VALUES / 2);
        assert_eq!(joiner.frame(&frame(1, true, &deep)).and_then(|m| m.json), None);
    }

    #[test]
    fn a_new_message_in_the_middle_of_one_takes_its_place() {
        let mut joiner = Joiner::new(100);
        assert_eq!(joiner.frame(&frame(1, false, "1")), None);
        assert_eq!(joiner.frame(&frame(1, true, "2")).and_then(|m| m.json), Some(json!(2)));
    }
}
