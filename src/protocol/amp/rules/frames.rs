//! Frames: is each one formed as RFC 6455 wants it, and do they follow each other as they may?

use crate::protocol::{Judgements, Rule};
use crate::trace::{Direction, End, Event, Frame, What};

use super::book::Book;
use super::connections::Connections;
use crate::protocol::amp::handshake::items;
use crate::protocol::amp::opcode;
use crate::protocol::amp::utf8::Utf8;

/// Judges every frame of both ends, and the messages that they make up (RFC 6455 sections 5 and 8.1).
pub struct Frames {
    book: &'static Book,
    connections: Connections<Connection>,
}

#[derive(Default)]
struct Connection {
    /// Whether an extension was agreed on, which may give the reserved bits and payloads a meaning.
    extended: bool,
    client: Side,
    server: Side,
}

/// One direction.
#[derive(Default)]
struct Side {
    /// Whether it is known which message its frames belong to.
    known: bool,
    /// The message whose last frame has not come yet.
    open: Option<Open>,
    closed: bool,
    /// The code of its close frame, if that may not be sent.
    bad_code: Option<u16>,
}

/// A message that has begun.
struct Open {
    /// Its text so far; none where it is no text, or not wholly known.
    text: Option<Utf8>,
}

impl Frames {
    pub fn new(book: &'static Book) -> Self {
        Self { book, connections: Connections::new() }
    }
}

impl Rule for Frames {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let book = self.book;
        if self.connections.of(event).is_none() {
            return;
        }
        let unseen = self.connections.is_unseen(event);
        let Some(connection) = self.connections.of(event) else { return };
        match (&event.what, event.dir) {
            (What::Handshake(head), Some(Direction::ToClient)) => {
                connection.extended = items(head, "sec-websocket-extensions").next().is_some();
            }
            (What::Frame(frame), Some(dir)) => {
                let end = dir.sender();
                let Connection { extended, client, server } = connection;
                let (side, other) = match end {
                    End::Client => (client, server),
                    End::Server => (server, client),
                };
                // An extension may have been agreed on before the trace began, and a message have begun.
                let extended = *extended || unseen;
                side.known |= !unseen;
                let judge = Judge { book, end, index: event.i, extended, frame };
                judge.bits(out);
                if opcode::is_control(frame.opcode) {
                    judge.control(out);
                }
                if frame.opcode == opcode::CLOSE {
                    side.bad_code = judge.close(out, other.bad_code);
                    side.closed = true;
                }
                if opcode::is_data(frame.opcode) {
                    judge.data(out, side);
                }
            }
            _ => {}
        }
        self.connections.ended(event);
    }
}

/// One frame before its judge.
struct Judge<'a> {
    book: &'static Book,
    end: End,
    index: u64,
    extended: bool,
    frame: &'a Frame,
}

impl Judge<'_> {
    fn hold(&self, out: &mut Judgements, short: &str, broken: bool, message: impl FnOnce() -> String) {
        self.book.hold_if(out, self.end, short, self.index, broken, message);
    }

    /// Whether the whole payload is known.
    fn whole(&self) -> bool {
        self.frame.payload.as_bytes().len() as u64 == self.frame.length
    }

    fn bits(&self, out: &mut Judgements) {
        let frame = self.frame;
        match self.end {
            End::Server => self.hold(out, "framing/unmasked", frame.masked, || "the server masked a frame".to_owned()),
            End::Client => {
                self.hold(out, "framing/masked", !frame.masked, || "the client did not mask a frame".to_owned());
            }
        }
        if !self.extended {
            let rsv = frame.rsv;
            self.hold(out, "framing/reserved-bits", rsv != 0, || format!("a frame has the reserved bits {rsv:03b}"));
        }
        let named = opcode::name(frame.opcode).is_some();
        self.hold(out, "framing/opcode", !named, || format!("a frame has the reserved opcode {}", frame.opcode));
        self.hold(out, "framing/shortest-length", frame.length_bits.is_some(), || {
            format!("a length of {} is written in {} bits", frame.length, frame.length_bits.unwrap_or_default())
        });
    }

    fn control(&self, out: &mut Judgements) {
        let length = self.frame.length;
        self.hold(out, "framing/control-length", length > 125, || format!("a control frame carries {length} bytes"));
        self.hold(out, "framing/control-whole", !self.frame.fin, || "a control frame is fragmented".to_owned());
    }

    /// Judges a close frame; gives its code, if that may not be sent. `answered` is the bad code that the other end had
    /// sent before: to send it back is a way to treat an end that breaks the RFC, and no more than a `should`.
    fn close(&self, out: &mut Judgements, answered: Option<u16>) -> Option<u16> {
        if !self.whole() {
            return None;
        }
        let payload = self.frame.payload.as_bytes();
        self.hold(out, "framing/close-payload", payload.len() == 1, || {
            "a close frame carries a single byte".to_owned()
        });
        let [high, low, reason @ ..] = payload else { return None };
        let code = u16::from_be_bytes([*high, *low]);
        let bad = !may_be_sent(code);
        if bad && answered == Some(code) {
            self.hold(out, "framing/close-refused", true, || {
                format!("the code {code}, which may not be sent, is sent back")
            });
        } else {
            self.hold(out, "framing/close-code", bad, || format!("a close frame carries the code {code}"));
        }
        let broken = std::str::from_utf8(reason).is_err();
        self.hold(out, "framing/close-reason", broken, || "the reason in a close frame is not UTF-8".to_owned());
        bad.then_some(code)
    }

    fn data(&self, out: &mut Judgements, side: &mut Side) {
        let frame = self.frame;
        self.hold(out, "framing/close-last", side.closed, || "data follow the close frame".to_owned());
        let continues = frame.opcode == opcode::CONTINUATION;
        if !side.known && continues {
            return;
        }
        side.known = true;
        self.hold(out, "framing/fragments", continues != side.open.is_some(), || match continues {
            true => "a continuation frame continues nothing".to_owned(),
            false => "a message begins within another one".to_owned(),
        });
        if !continues {
            let binary = frame.opcode == opcode::BINARY;
            self.hold(out, "framing/text-frames", binary, || "a message is sent as binary data".to_owned());
            self.hold(out, "framing/one-frame", !frame.fin, || "a message is sent in several frames".to_owned());
            side.open = Some(Open { text: (!binary && !self.extended).then(Utf8::default) });
        }
        let Some(open) = &mut side.open else { return };
        if !self.whole() {
            open.text = None;
        }
        if let Some(text) = &mut open.text {
            text.feed(frame.payload.as_bytes());
            if frame.fin {
                let broken = !text.is_whole();
                self.hold(out, "framing/utf8", broken, || "the text of a message is not UTF-8".to_owned());
            }
        }
        if frame.fin {
            side.open = None;
        }
    }
}

/// Whether a close code may be sent (RFC 6455 section 7.4, and the codes registered since).
pub(super) fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}
