//! Messages from frames: joined, and their compression undone (RFC 7692, `permessage-deflate`) where the ends have
//! agreed on it.

use std::io::Write as _;

use flate2::write::DeflateDecoder;

use crate::trace::{End, Frame, Head, Message, Payload, has_too_many_values, trim_field};

use crate::trace::opcode;

/// Joins the frames of one direction to messages (RFC 6455 section 5.4).
///
/// Invalid frames give no message: reserved bits or opcodes, a continuation without a first frame, a truncated payload,
/// a message beyond the bound.
#[derive(Debug)]
pub struct Joiner {
    limit: usize,
    open: Option<PartialMessage>,
    /// Set where compression was negotiated.
    inflater: Option<Inflater>,
}

#[derive(Debug)]
struct PartialMessage {
    text: bool,
    payload: Vec<u8>,
    frames: u64,
    /// Whether the message is compressed.
    compressed: bool,
    /// Whether the frames cannot become a message any more.
    invalid: bool,
}

impl Joiner {
    /// A joiner for messages of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, open: None, inflater: None }
    }

    /// A joiner for a direction in which messages may be compressed (RFC 7692).
    pub fn inflating(mut self, inflater: Inflater) -> Self {
        self.inflater = Some(inflater);
        self
    }

    /// The message that this frame completes, if it does.
    pub fn frame(&mut self, frame: &Frame) -> Option<Message> {
        match frame.opcode {
            opcode::TEXT | opcode::BINARY => {
                let text = frame.opcode == opcode::TEXT;
                // Only the first frame says that the message is compressed (RFC 7692 section 6).
                let compressed = frame.rsv == COMPRESSED && self.inflater.is_some();
                let invalid = frame.rsv != 0 && !compressed;
                self.open = Some(PartialMessage { text, payload: vec![], frames: 0, compressed, invalid });
            }
            opcode::CONTINUATION => {}
            _ => return None,
        }
        let open = self.open.as_mut()?;
        let payload = frame.payload.as_bytes();
        open.frames += 1;
        open.invalid |= frame.opcode == opcode::CONTINUATION && frame.rsv != 0
            || payload.len() as u64 != frame.length
            || open.payload.len().saturating_add(payload.len()) > self.limit;
        if open.invalid {
            open.payload = vec![];
        } else {
            open.payload.extend_from_slice(payload);
        }
        if !frame.fin {
            return None;
        }
        let open = self.open.take()?;
        let payload = match (&mut self.inflater, open.compressed) {
            (Some(inflater), true) if open.invalid => {
                inflater.lost();
                return None;
            }
            (Some(inflater), true) => inflater.message(&open.payload, self.limit)?,
            _ if open.invalid => return None,
            _ => open.payload,
        };
        Some(message(open.text, payload, open.frames))
    }
}

/// The reserved bits of the first frame of a compressed message (RFC 7692 section 6).
const COMPRESSED: u8 = 4;

/// A message of these bytes, with its JSON if it is JSON. JSON with too many values is not decoded.
fn message(text: bool, payload: Vec<u8>, frames: u64) -> Message {
    let json = if has_too_many_values(&payload) { None } else { serde_json::from_slice(&payload).ok() };
    let payload: Option<Payload> = if json.is_none() { Some(Payload::from(payload)) } else { None };
    Message { text, json, payload, frames }
}

/// Decompresses the messages of one direction.
#[derive(Debug)]
pub struct Inflater {
    stream: DeflateDecoder<Vec<u8>>,
    /// Whether the context is kept between messages.
    keeps_context: bool,
    /// Set once a message was lost and the context is kept: later messages cannot be decompressed.
    lost: bool,
}

/// The bytes that a sender leaves out at the end of each message (RFC 7692 section 7.2.1).
const DEFLATE_TAIL: [u8; 4] = [0, 0, 0xff, 0xff];
/// How many bytes are decompressed at once: they may become a thousand times as many.
const INFLATE_STEP: usize = 4 << 10;

impl Inflater {
    /// For the messages of `sender` after a handshake with this response; none if no compression was negotiated.
    pub fn negotiated(response: &Head, sender: End) -> Option<Self> {
        let extensions: Vec<&str> = response.header("sec-websocket-extensions").flat_map(|v| v.split(',')).collect();
        let mut words = extensions.first()?.split(';').map(trim_field);
        if extensions.len() != 1 || words.next() != Some("permessage-deflate") {
            return None;
        }
        let no_takeover = match sender {
            End::Client => "client_no_context_takeover",
            End::Server => "server_no_context_takeover",
        };
        Some(Self {
            stream: DeflateDecoder::new(vec![]),
            keeps_context: !words.any(|word| word == no_takeover),
            lost: false,
        })
    }

    /// Decompresses a message; none if it is invalid, or longer than `max_len` bytes.
    pub fn message(&mut self, payload: &[u8], max_len: usize) -> Option<Vec<u8>> {
        if self.lost {
            return None;
        }
        let mut plain = vec![];
        let mut fits = true;
        for step in payload.chunks(INFLATE_STEP).chain([&DEFLATE_TAIL[..]]) {
            if self.stream.write_all(step).and_then(|()| self.stream.flush()).is_err() {
                self.lost();
                return None;
            }
            let given = std::mem::take(self.stream.get_mut());
            // The rest of a message beyond the bound is decompressed and dropped, to keep the context.
            fits &= plain.len() + given.len() <= max_len;
            if fits {
                plain.extend(given);
            }
        }
        if !self.keeps_context {
            self.stream = DeflateDecoder::new(vec![]);
        }
        fits.then_some(plain)
    }

    /// Takes note that a compressed message was lost.
    pub fn lost(&mut self) {
        self.lost |= self.keeps_context;
        self.stream = DeflateDecoder::new(vec![]);
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression, FlushCompress};
    use serde_json::json;

    use super::*;

    fn frame(opcode: u8, fin: bool, payload: &str) -> Frame {
        let length = payload.len() as u64;
        let payload = Payload::from(payload.as_bytes());
        Frame { fin, rsv: 0, opcode, masked: false, mask_reused: false, length, length_bits: None, payload }
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
        const MAX_VALUES: usize = 1_000_000;
        let mut joiner = Joiner::new(16 << 20);
        let many = format!("[{}0]", "0,".repeat(MAX_VALUES));
        assert_eq!(joiner.frame(&frame(1, true, &many)).map(|m| (m.json, m.payload.is_some())), Some((None, true)));
        let text = json!(["\\\",,,,", ",".repeat(MAX_VALUES)]);
        assert_eq!(joiner.frame(&frame(1, true, &text.to_string())).and_then(|m| m.json), Some(text));
        let deep = "[".repeat(MAX_VALUES / 2);
        assert_eq!(joiner.frame(&frame(1, true, &deep)).and_then(|m| m.json), None);
    }

    #[test]
    fn a_new_message_in_the_middle_of_one_takes_its_place() {
        let mut joiner = Joiner::new(100);
        assert_eq!(joiner.frame(&frame(1, false, "1")), None);
        assert_eq!(joiner.frame(&frame(1, true, "2")).and_then(|m| m.json), Some(json!(2)));
    }

    fn response(extensions: &str) -> Head {
        let headers = vec![("Sec-WebSocket-Extensions".to_owned(), extensions.to_owned())];
        Head { start: "HTTP/1.1 101 Switching Protocols".into(), headers, raw: None, body: None }
    }

    /// As a sender compresses a message: without the last four bytes.
    fn compressed(stream: &mut Compress, text: &str) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.len() + 100);
        stream.compress_vec(text.as_bytes(), &mut bytes, FlushCompress::Sync).expect("it compresses");
        assert!(bytes.ends_with(&DEFLATE_TAIL));
        bytes.truncate(bytes.len() - 4);
        bytes
    }

    #[test]
    fn messages_are_undone_that_refer_to_the_ones_before_them() {
        let mut sender = Compress::new(Compression::default(), false);
        let mut inflater =
            Inflater::negotiated(&response("permessage-deflate"), End::Server).expect("it was agreed on");
        for text in ["hello hello hello", "hello hello hello", "", &"long ".repeat(20_000)] {
            let plain = inflater.message(&compressed(&mut sender, text), 1 << 20);
            assert!(plain.as_deref() == Some(text.as_bytes()), "{} bytes", plain.map_or(0, |plain| plain.len()));
        }
    }

    #[test]
    fn a_message_that_is_too_long_or_broken_is_none() {
        let mut sender = Compress::new(Compression::default(), false);
        let mut inflater =
            Inflater::negotiated(&response("permessage-deflate"), End::Client).expect("it was agreed on");
        assert_eq!(inflater.message(&compressed(&mut sender, &"x".repeat(1000)), 100), None);
        assert_eq!(inflater.message(&compressed(&mut sender, "next"), 100).as_deref(), Some(&b"next"[..]));
        assert_eq!(inflater.message(&[0xff, 0xff, 0xff], 100), None);
        assert_eq!(inflater.message(&compressed(&mut sender, "after it"), 100), None);
    }

    #[test]
    fn nothing_is_undone_that_nobody_agreed_on() {
        assert!(Inflater::negotiated(&response(""), End::Server).is_none());
        assert!(Inflater::negotiated(&response("x-other"), End::Server).is_none());
        let mut sender = Compress::new(Compression::default(), false);
        let negotiated = "permessage-deflate; server_no_context_takeover; client_max_window_bits=12";
        let mut inflater = Inflater::negotiated(&response(negotiated), End::Server).expect("it was agreed on");
        assert_eq!(inflater.message(&[0xff, 0xff], 100), None);
        assert_eq!(inflater.message(&compressed(&mut sender, "fresh"), 100).as_deref(), Some(&b"fresh"[..]));
    }
}
