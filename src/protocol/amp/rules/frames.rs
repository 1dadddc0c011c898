//! Frames: is each one formed as RFC 6455 wants it, and do they follow each other as they may?

use std::collections::VecDeque;

use crate::protocol::rfc6455::{Utf8, items, may_be_sent};
use crate::protocol::{Judgements, Rule};
use crate::trace::{Direction, End, Event, EventKind, Frame, opcode};

use super::{ConnectionStates, RequirementIndex};

/// Judges every frame of both ends, and the messages that they make up (RFC 6455 sections 5 and 8.1).
pub struct Frames {
    requirements: &'static RequirementIndex,
    connections: ConnectionStates<FrameState>,
}

#[derive(Default)]
struct FrameState {
    /// Whether an extension was agreed on, which may give the reserved bits and payloads a meaning.
    extended: bool,
    client: FrameDirection,
    server: FrameDirection,
}

/// The state of one direction.
#[derive(Default)]
struct FrameDirection {
    /// Whether it is known which message its frames belong to.
    known: bool,
    /// The message whose last frame has not come yet.
    open: Option<OpenMessage>,
    closed: bool,
    /// Whether one of its frames was masked.
    masked: bool,
    /// Its control frames that break the RFC, and that the other end may send back as they are; of many, the latest.
    bad_controls: VecDeque<Frame>,
}

/// So many control frames that break the RFC are remembered.
const MAX_BAD_CONTROLS: usize = 16;

/// A message that has begun.
struct OpenMessage {
    /// Its text so far; none where it is no text, or not wholly known.
    text: Option<Utf8>,
}

impl Frames {
    pub fn new(requirements: &'static RequirementIndex) -> Self {
        Self { requirements, connections: ConnectionStates::new() }
    }
}

impl Rule for Frames {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let requirements = self.requirements;
        if self.connections.of(event).is_none() {
            return;
        }
        let began_before_trace = self.connections.began_before_trace(event);
        let Some(connection) = self.connections.of(event) else { return };
        match (&event.kind, event.dir) {
            (EventKind::Handshake(head), Some(Direction::ToClient)) => {
                connection.extended = items(head, "sec-websocket-extensions").next().is_some();
            }
            (EventKind::Frame(frame), Some(dir)) => {
                let end = dir.sender();
                let FrameState { extended, client, server } = connection;
                let (side, other) = match end {
                    End::Client => (client, server),
                    End::Server => (server, client),
                };
                // An extension may have been agreed on before the trace began, and a message have begun.
                let extended = *extended || began_before_trace;
                side.known |= !began_before_trace;
                let echoed = other.bad_controls.iter().rev().find(|theirs| is_echo(frame, theirs));
                let context = FrameContext { requirements, end, index: event.i, extended, frame, echoed };
                context.bits(out);
                if end == End::Client && frame.masked {
                    context.mask(out, side);
                }
                if opcode::is_control(frame.opcode) {
                    context.control(out);
                    if is_bad_control(frame) {
                        if side.bad_controls.len() == MAX_BAD_CONTROLS {
                            side.bad_controls.pop_front();
                        }
                        side.bad_controls.push_back(frame.clone());
                    }
                }
                if frame.opcode == opcode::CLOSE {
                    context.close(out);
                    side.closed = true;
                }
                if opcode::is_data(frame.opcode) {
                    context.data(out, side);
                }
            }
            _ => {}
        }
        self.connections.ended(event);
    }
}

/// The context in which a frame is judged.
struct FrameContext<'a> {
    requirements: &'static RequirementIndex,
    end: End,
    index: u64,
    extended: bool,
    frame: &'a Frame,
    /// The control frame of the other end that it sends back. What is wrong with that one is not the fault of this end,
    /// which treats it in its own way: that is no more than a `should`.
    echoed: Option<&'a Frame>,
}

impl FrameContext<'_> {
    fn check(&self, out: &mut Judgements, short: &str, broken: bool, message: impl FnOnce() -> String) {
        self.requirements.check_if(out, self.end, short, self.index, broken, message);
    }

    /// Whether the whole payload is known.
    fn is_complete(&self) -> bool {
        self.frame.payload.as_bytes().len() as u64 == self.frame.length
    }

    fn bits(&self, out: &mut Judgements) {
        let frame = self.frame;
        match self.end {
            End::Server => self.check(out, "framing/unmasked", frame.masked, || "the server masked a frame".to_owned()),
            End::Client => {
                self.check(out, "framing/masked", !frame.masked, || "the client did not mask a frame".to_owned());
            }
        }
        let rsv = frame.rsv;
        let repeated = rsv != 0 && self.echoed.is_some_and(|theirs| theirs.rsv == rsv);
        if repeated {
            self.check(out, "framing/reserved-bits-refused", true, || {
                format!("a control frame with the reserved bits {rsv:03b} is sent back with them")
            });
        } else if !self.extended {
            self.check(out, "framing/reserved-bits", rsv != 0, || format!("a frame has the reserved bits {rsv:03b}"));
        }
        let named = opcode::name(frame.opcode).is_some();
        self.check(out, "framing/opcode", !named, || format!("a frame has the reserved opcode {}", frame.opcode));
        self.check(out, "framing/shortest-length", frame.length_bits.is_some(), || {
            format!("a length of {} is written in {} bits", frame.length, frame.length_bits.unwrap_or_default())
        });
    }

    /// Judges the key of a mask: the first of a connection can be any.
    fn mask(&self, out: &mut Judgements, side: &mut FrameDirection) {
        if std::mem::replace(&mut side.masked, true) {
            self.check(out, "framing/mask-fresh", self.frame.mask_reused, || {
                "a frame is masked with the key of the frame before it".to_owned()
            });
        }
    }

    fn control(&self, out: &mut Judgements) {
        let (length, fin) = (self.frame.length, self.frame.fin);
        if length > MAX_CONTROL_PAYLOAD && self.echoed.is_some_and(|theirs| theirs.payload == self.frame.payload) {
            self.check(out, "framing/control-refused", true, || {
                format!("a control frame of {length} bytes is sent back")
            });
        } else {
            self.check(out, "framing/control-length", length > MAX_CONTROL_PAYLOAD, || {
                format!("a control frame carries {length} bytes")
            });
        }
        if !fin && self.echoed.is_some_and(|theirs| !theirs.fin) {
            self.check(out, "framing/control-refused", true, || "a fragmented control frame is sent back".to_owned());
        } else {
            self.check(out, "framing/control-whole", !fin, || "a control frame is fragmented".to_owned());
        }
    }

    /// Judges a close frame.
    fn close(&self, out: &mut Judgements) {
        if !self.is_complete() {
            return;
        }
        let payload = self.frame.payload.as_bytes();
        let theirs = self.echoed.map(|theirs| theirs.payload.as_bytes());
        let check = |out: &mut Judgements, short: &str, broken: bool, echoed: bool, what: String| match broken && echoed
        {
            true => self.check(out, "framing/close-refused", true, || format!("{what}, as that of the other end did")),
            false => self.check(out, short, broken, || what),
        };
        let same = theirs == Some(payload);
        check(out, "framing/close-payload", payload.len() == 1, same, "a close frame carries a single byte".to_owned());
        let [high, low, reason @ ..] = payload else {
            // Carries neither a code nor a reason: nothing is wrong with them.
            if payload.is_empty() {
                check(out, "framing/close-code", false, same, String::new());
                check(out, "framing/close-reason", false, same, String::new());
            }
            return;
        };
        let code = u16::from_be_bytes([*high, *low]);
        let same_code = theirs.is_some_and(|theirs| theirs.starts_with(&payload[..2]));
        let what = format!("a close frame carries the code {code}");
        check(out, "framing/close-code", !may_be_sent(code), same_code, what);
        let broken = std::str::from_utf8(reason).is_err();
        let same_reason = theirs.is_some_and(|theirs| theirs.get(2..) == Some(reason));
        let what = "a close frame carries a reason that is not UTF-8".to_owned();
        check(out, "framing/close-reason", broken, same_reason, what);
    }

    fn data(&self, out: &mut Judgements, side: &mut FrameDirection) {
        let frame = self.frame;
        self.check(out, "framing/close-last", side.closed, || "data follow the close frame".to_owned());
        let continues = frame.opcode == opcode::CONTINUATION;
        if !side.known && continues {
            return;
        }
        side.known = true;
        self.check(out, "framing/fragments", continues != side.open.is_some(), || match continues {
            true => "a continuation frame continues nothing".to_owned(),
            false => "a message begins within another one".to_owned(),
        });
        if !continues {
            let binary = frame.opcode == opcode::BINARY;
            self.check(out, "framing/text-frames", binary, || "a message is sent as binary data".to_owned());
            self.check(out, "framing/one-frame", !frame.fin, || "a message is sent in several frames".to_owned());
            side.open = Some(OpenMessage { text: (!binary && !self.extended).then(Utf8::default) });
        }
        let Some(open) = &mut side.open else { return };
        if !self.is_complete() {
            open.text = None;
        }
        if let Some(text) = &mut open.text {
            text.feed(frame.payload.as_bytes());
            if frame.fin {
                let broken = !text.is_complete();
                self.check(out, "framing/utf8", broken, || "the text of a message is not UTF-8".to_owned());
            }
        }
        if frame.fin {
            side.open = None;
        }
    }
}

/// The most bytes that a control frame may carry (RFC 6455 section 5.5).
const MAX_CONTROL_PAYLOAD: u64 = 125;

/// Whether a control frame breaks the RFC in a way that shows when it is sent back.
fn is_bad_control(frame: &Frame) -> bool {
    let bad_payload = || match frame.payload.as_bytes() {
        [] => false,
        [_] => true,
        [high, low, reason @ ..] => {
            !may_be_sent(u16::from_be_bytes([*high, *low])) || std::str::from_utf8(reason).is_err()
        }
    };
    !frame.fin || frame.rsv != 0 || frame.length > MAX_CONTROL_PAYLOAD || frame.opcode == opcode::CLOSE && bad_payload()
}

/// Whether a frame sends a control frame of the other end back: a pong a ping with its payload, a close frame a close frame,
/// whose code or reason may be another one.
fn is_echo(frame: &Frame, theirs: &Frame) -> bool {
    match (frame.opcode, theirs.opcode) {
        (opcode::PONG, opcode::PING) => frame.length == theirs.length && frame.payload == theirs.payload,
        (opcode::CLOSE, opcode::CLOSE) => true,
        _ => false,
    }
}
