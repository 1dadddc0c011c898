//! Undoes the compression of messages (RFC 7692, `permessage-deflate`), where others have agreed on it.

use std::io::Write as _;

use flate2::write::DeflateDecoder;

use crate::trace::{End, Head};

/// Inflates the messages of one direction.
#[derive(Debug)]
pub struct Inflate {
    stream: DeflateDecoder<Vec<u8>>,
    /// Whether a message may refer to the ones before it.
    keeps: bool,
    /// Set once a message of a direction that keeps its context is lost: nothing after it can be undone.
    lost: bool,
}

/// What a sender leaves out at the end of each message (RFC 7692 section 7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];
/// So much is undone at once: it may become a thousand times as much.
const STEP: usize = 4 << 10;

impl Inflate {
    /// For what `sender` sends after a handshake with this response; none where no compression was agreed on.
    pub fn agreed(response: &Head, sender: End) -> Option<Self> {
        let extensions: Vec<&str> = response.header("sec-websocket-extensions").flat_map(|v| v.split(',')).collect();
        let mut words = extensions.first()?.split(';').map(str::trim);
        if extensions.len() != 1 || words.next() != Some("permessage-deflate") {
            return None;
        }
        let forgets = match sender {
            End::Client => "client_no_context_takeover",
            End::Server => "server_no_context_takeover",
        };
        Some(Self { stream: DeflateDecoder::new(vec![]), keeps: !words.any(|word| word == forgets), lost: false })
    }

    /// What a compressed message stands for; none where it is not compressed as it should be, or longer than `most`
    /// bytes.
    pub fn message(&mut self, payload: &[u8], most: usize) -> Option<Vec<u8>> {
        if self.lost {
            return None;
        }
        let mut plain = vec![];
        let mut whole = true;
        for step in payload.chunks(STEP).chain([&TAIL[..]]) {
            if self.stream.write_all(step).and_then(|()| self.stream.flush()).is_err() {
                self.lost();
                return None;
            }
            let given = std::mem::take(self.stream.get_mut());
            // What is too long is read over, so that the next message can be undone.
            whole &= plain.len() + given.len() <= most;
            if whole {
                plain.extend(given);
            }
        }
        if !self.keeps {
            self.stream = DeflateDecoder::new(vec![]);
        }
        whole.then_some(plain)
    }

    /// A compressed message is not all there.
    pub fn lost(&mut self) {
        self.lost |= self.keeps;
        self.stream = DeflateDecoder::new(vec![]);
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression, FlushCompress};

    use super::*;

    fn response(extensions: &str) -> Head {
        let headers = vec![("Sec-WebSocket-Extensions".to_owned(), extensions.to_owned())];
        Head { start: "HTTP/1.1 101 Switching Protocols".into(), headers, raw: None, body: None }
    }

    /// As a sender compresses a message: without the last four bytes.
    fn deflated(stream: &mut Compress, text: &str) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.len() + 100);
        stream.compress_vec(text.as_bytes(), &mut bytes, FlushCompress::Sync).expect("it compresses");
        assert!(bytes.ends_with(&TAIL));
        bytes.truncate(bytes.len() - 4);
        bytes
    }

    #[test]
    fn messages_are_undone_that_refer_to_the_ones_before_them() {
        let mut sender = Compress::new(Compression::default(), false);
        let mut inflate = Inflate::agreed(&response("permessage-deflate"), End::Server).expect("it was agreed on");
        for text in ["hello hello hello", "hello hello hello", "", &"long ".repeat(20_000)] {
            let plain = inflate.message(&deflated(&mut sender, text), 1 << 20);
            assert!(plain.as_deref() == Some(text.as_bytes()), "{} bytes", plain.map_or(0, |plain| plain.len()));
        }
    }

    #[test]
    fn a_message_that_is_too_long_or_broken_is_none() {
        let mut sender = Compress::new(Compression::default(), false);
        let mut inflate = Inflate::agreed(&response("permessage-deflate"), End::Client).expect("it was agreed on");
        assert_eq!(inflate.message(&deflated(&mut sender, &"x".repeat(1000)), 100), None);
        assert_eq!(inflate.message(&deflated(&mut sender, "next"), 100).as_deref(), Some(&b"next"[..]));
        assert_eq!(inflate.message(&[0xff, 0xff, 0xff], 100), None);
        assert_eq!(inflate.message(&deflated(&mut sender, "after it"), 100), None);
    }

    #[test]
    fn nothing_is_undone_that_nobody_agreed_on() {
        assert!(Inflate::agreed(&response(""), End::Server).is_none());
        assert!(Inflate::agreed(&response("x-other"), End::Server).is_none());
        let mut sender = Compress::new(Compression::default(), false);
        let agreed = "permessage-deflate; server_no_context_takeover; client_max_window_bits=12";
        let mut inflate = Inflate::agreed(&response(agreed), End::Server).expect("it was agreed on");
        assert_eq!(inflate.message(&[0xff, 0xff], 100), None);
        assert_eq!(inflate.message(&deflated(&mut sender, "fresh"), 100).as_deref(), Some(&b"fresh"[..]));
    }
}
