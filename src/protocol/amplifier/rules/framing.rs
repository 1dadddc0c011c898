//! Framing: event streams as bytes, and WebSockets as handshakes and frames.

use crate::protocol::amplifier::endpoints::{Endpoint, Route};
use crate::protocol::http::rule_context::RuleContext;
use crate::protocol::rfc6455::{accept_of_key, may_be_sent};
use crate::protocol::{Use, ViolationDetail};
use crate::trace::{End, Frame, Head, opcode};

/// How long after the last line of an event the blank line may come that ends it, in microseconds.
const MAX_UNFINISHED: u64 = 2_000_000;

/// The bytes of one stream.
#[derive(Default)]
pub struct EventStreamBytes {
    /// The beginning of a character that is not complete.
    incomplete_character: Vec<u8>,
    invalid: bool,
    /// Whether the line in progress has a byte, and the first one.
    line: Option<u8>,
    /// Whether an event is in progress: a line that is no comment has come since the last blank one.
    in_event: bool,
    /// When the last line of the event in progress ended.
    line_ended: u64,
    after_cr: bool,
    has_bytes: bool,
}

impl EventStreamBytes {
    /// A piece of the stream.
    /// `t`: when it came, in microseconds.
    pub fn feed(&mut self, bytes: &[u8], t: u64, ctx: &mut RuleContext<'_>) {
        if bytes.is_empty() {
            return;
        }
        self.utf8(bytes, ctx);
        let marked = !self.has_bytes && bytes.starts_with(b"\xef\xbb\xbf");
        self.has_bytes = true;
        for byte in &bytes[if marked { 3 } else { 0 }..] {
            match byte {
                b'\n' if self.after_cr => {}
                b'\n' | b'\r' => self.line_ends(t, ctx),
                _ => {
                    self.line.get_or_insert(*byte);
                }
            }
            self.after_cr = *byte == b'\r';
        }
    }

    fn line_ends(&mut self, t: u64, ctx: &mut RuleContext<'_>) {
        match self.line.take() {
            None => self.in_event = false,
            Some(b':') => {}
            Some(first) => {
                (self.in_event, self.line_ended) = (true, t);
                ctx.check_if("stream/data-field", first == b'{', || {
                    "a line of an event stream is JSON without a field name, so that no client gets it".to_owned()
                });
            }
        }
    }

    fn utf8(&mut self, bytes: &[u8], ctx: &mut RuleContext<'_>) {
        self.incomplete_character.extend_from_slice(bytes);
        let broken = match std::str::from_utf8(&self.incomplete_character) {
            Ok(_) => {
                self.incomplete_character.clear();
                false
            }
            Err(e) => {
                let (valid, broken) = (e.valid_up_to(), e.error_len().is_some());
                self.incomplete_character.drain(..valid);
                broken
            }
        };
        if broken {
            self.incomplete_character.clear();
        }
        if !self.invalid {
            ctx.check_if("stream/utf-8", broken, || "an event stream is no UTF-8".to_owned());
        }
        self.invalid |= broken;
    }

    /// The client left the stream at this time: an event that was not finished long before never comes.
    pub fn left(&self, t: u64, ctx: &mut RuleContext<'_>) {
        let unfinished = self.in_event && self.line.is_none() && t.saturating_sub(self.line_ended) > MAX_UNFINISHED;
        let fault = ViolationDetail::new("an event is not finished by a blank line, so that no client gets it");
        ctx.check("stream/complete-events", unfinished.then_some(fault));
    }

    /// The server ended the stream.
    pub fn end(&self, ctx: &mut RuleContext<'_>) {
        let within = self.in_event || self.line.is_some_and(|first| first != b':');
        let fault = ViolationDetail::new("an event stream ends within an event, which is lost with it");
        ctx.check("stream/complete-events", within.then_some(fault));
    }
}

/// Judges the head of a handshake request.
pub fn handshake_request(head: &Head, ctx: &mut RuleContext<'_>) {
    let mut words = head.start.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let route = Route::of(method, target);
    let has = |name: &str, token: &str| {
        head.header(name).flat_map(|line| line.split(',')).any(|item| item.trim().eq_ignore_ascii_case(token))
    };
    let sound = route.is_some_and(|route| route.endpoint == Endpoint::Socket)
        && has("upgrade", "websocket")
        && has("connection", "upgrade")
        && has("sec-websocket-version", "13")
        && head.header("sec-websocket-key").count() == 1
        && head.header("host").count() == 1;
    let fault = ViolationDetail::new("this is no handshake for the WebSocket of a session").actual(head.start.clone());
    ctx.check("websocket/client-handshake", (!sound).then_some(fault));
}

/// Judges the head of the response to a handshake.
pub fn handshake_response(request: &Head, head: &Head, ctx: &mut RuleContext<'_>) {
    // Frameworks refuse a handshake for which there is no route with 403 or 404.
    let refusal = head.status().filter(|status| matches!(status, 403 | 404 | 405 | 426 | 501)).map(i64::from);
    ctx.used(Use { capability: "websocket", request: "GET /sessions/{session_id}/ws".to_owned(), refusal });
    if head.status() != Some(101) {
        return;
    }
    let key = request.header("sec-websocket-key").next().map(str::trim).unwrap_or_default();
    let wanted = accept_of_key(key);
    let actual = head.header("sec-websocket-accept").next().map(str::trim).unwrap_or_default();
    let fault =
        ViolationDetail::new("the accept value of a handshake is not right").expected(wanted.clone()).actual(actual);
    ctx.check("websocket/handshake", (wanted != actual).then_some(fault));
}

/// What the frames before a frame on its connection say of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct FramesBefore {
    /// Whether one was masked.
    pub masked: bool,
    /// Whether it is a close frame like the first one, which it responds to.
    pub echoed: bool,
}

/// Judges a frame.
pub fn frame(sender: End, frame: &Frame, before: FramesBefore, ctx: &mut RuleContext<'_>) {
    let (masked, valid) = match sender {
        End::Server => ("websocket/unmasked", "websocket/frames"),
        End::Client => ("websocket/client-masked", "websocket/client-frames"),
    };
    let wrong = frame.masked != (sender == End::Client);
    ctx.check_if(masked, wrong, || format!("a frame is {}masked", if frame.masked { "" } else { "not " }));
    if sender == End::Client && frame.masked && before.masked {
        let fault = || "a frame is masked with the key of the frame before it".to_owned();
        ctx.check_if("websocket/client-mask-fresh", frame.mask_reused, fault);
    }
    let control = frame.opcode >= 8;
    let known = matches!(frame.opcode, 0 | 1 | 2 | 8 | 9 | 10);
    let sound = known && frame.rsv == 0 && (!control || frame.fin && frame.length <= 125);
    ctx.check_if(valid, !sound, || format!("a frame with the opcode {} is not valid", frame.opcode));
    if let Some(bits) = frame.length_bits {
        ctx.check_if(valid, true, || format!("a length of {} is written in {bits} bits", frame.length));
    }
    let payload = frame.payload.as_bytes();
    if frame.opcode == opcode::CLOSE && !before.echoed && frame.length == payload.len() as u64 {
        let fault = close_fault(payload);
        ctx.check_if(valid, fault.is_some(), || format!("a close frame carries {}", fault.unwrap_or_default()));
    }
}

/// What is wrong with the payload of a close frame (RFC 6455 sections 5.5.1 and 7.4).
fn close_fault(payload: &[u8]) -> Option<String> {
    match payload {
        [] => None,
        [_] => Some("a single byte".to_owned()),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            if !may_be_sent(code) {
                Some(format!("the code {code}"))
            } else if std::str::from_utf8(reason).is_err() {
                Some("a reason that is not UTF-8".to_owned())
            } else {
                None
            }
        }
    }
}
