//! Event streams as bytes: encoding, and whether they end where an event does.

use crate::protocol::ViolationDetail;
use crate::protocol::http::requirement_index::RuleContext;

/// How long after the last line of an event the blank line may come that ends it, in microseconds.
const UNFINISHED: u64 = 2_000_000;

/// The bytes of one stream.
#[derive(Default)]
pub struct Bytes {
    /// The beginning of a character that is not whole.
    half: Vec<u8>,
    invalid: bool,
    /// Whether the line under way has a byte, and the first one.
    line: Option<u8>,
    /// Whether an event is under way: a line that is no comment has come since the last blank one.
    event: bool,
    /// When the last line of the event under way ended.
    since: u64,
    after_cr: bool,
    any: bool,
}

impl Bytes {
    /// A piece of the stream.
    /// `t`: when it came, in microseconds.
    pub fn feed(&mut self, bytes: &[u8], t: u64, ctx: &mut RuleContext<'_>) {
        if bytes.is_empty() {
            return;
        }
        self.utf8(bytes, ctx);
        let marked = !self.any && bytes.starts_with(b"\xef\xbb\xbf");
        self.any = true;
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
            None => self.event = false,
            Some(b':') => {}
            Some(first) => {
                (self.event, self.since) = (true, t);
                ctx.check_if("stream/data-field", first == b'{', || {
                    "a line of an event stream is JSON without a field name, so that no client is told of it".to_owned()
                });
            }
        }
    }

    fn utf8(&mut self, bytes: &[u8], ctx: &mut RuleContext<'_>) {
        self.half.extend_from_slice(bytes);
        let broken = match std::str::from_utf8(&self.half) {
            Ok(_) => {
                self.half.clear();
                false
            }
            Err(e) => {
                let (valid, broken) = (e.valid_up_to(), e.error_len().is_some());
                self.half.drain(..valid);
                broken
            }
        };
        if broken {
            self.half.clear();
        }
        if !self.invalid {
            ctx.check_if("stream/utf-8", broken, || "an event stream is no UTF-8".to_owned());
        }
        self.invalid |= broken;
    }

    /// The client left the stream at this time: an event that was not finished long before is never told.
    pub fn left(&self, t: u64, ctx: &mut RuleContext<'_>) {
        let unfinished = self.event && self.line.is_none() && t.saturating_sub(self.since) > UNFINISHED;
        let fault = ViolationDetail::new("an event is not finished by a blank line, so that no client is told of it");
        ctx.check("stream/complete-events", unfinished.then_some(fault));
    }

    /// The server ended the stream.
    pub fn end(&self, ctx: &mut RuleContext<'_>) {
        let within = self.event || self.line.is_some_and(|first| first != b':');
        let fault = ViolationDetail::new("an event stream ends within an event, which is lost with it");
        ctx.check("stream/complete-events", within.then_some(fault));
    }
}
