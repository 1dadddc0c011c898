//! Pings and close frames: are they answered, and is the TCP connection closed after the closing handshake?

use std::collections::VecDeque;

use serde_json::json;

use crate::protocol::rfc6455::may_be_sent;
use crate::protocol::{Judgements, Rule, ViolationDetail};
use crate::trace::{Closed, Direction, End, Event, EventKind, Frame, opcode};

use super::{ConnectionStates, OVERDUE, RequirementIndex, omitting_end};

/// So many pings are remembered; of more, the latest.
const MAX_PINGS: usize = 1000;

/// Checks the pongs of one end against the pings of the other one (RFC 6455 sections 5.5.2 and 5.5.3).
///
/// A pong answers the ping with its payload and all before it. One with another payload may be a heartbeat,
/// and counts only if no right one follows. A ping is missed once it has waited for [`OVERDUE`] on a
/// connection that was open.
pub struct Pings {
    requirements: &'static RequirementIndex,
    /// The end that has to answer pings.
    judged: End,
    connections: ConnectionStates<PingState>,
    now: u64,
}

#[derive(Default)]
struct PingState {
    waiting: VecDeque<Ping>,
    /// When either end began to close, or did something on purpose after which anything may come.
    over: Option<u64>,
}

struct Ping {
    payload: Vec<u8>,
    index: u64,
    t: u64,
    /// The last pong since then that carries something else.
    other: Option<(u64, String)>,
}

impl Pings {
    pub fn new(requirements: &'static RequirementIndex, judged: End) -> Self {
        Self { requirements, judged, connections: ConnectionStates::new(), now: 0 }
    }
}

impl Rule for Pings {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let (requirements, judged) = (self.requirements, self.judged);
        self.now = event.t;
        let Some(connection) = self.connections.of(event) else { return };
        let closes = match &event.kind {
            EventKind::Frame(frame) => frame.opcode == opcode::CLOSE,
            EventKind::Closed(_) => true,
            _ => false,
        };
        let abused = event.deliberate.is_some() && omitting_end(event).is_none_or(|end| end == judged);
        if connection.over.is_none() && (closes || abused) {
            connection.over = Some(event.t);
        }
        if let EventKind::Frame(frame) = &event.kind {
            let payload = frame.payload.as_bytes();
            let own = event.dir.map(|dir| dir.sender() == judged);
            match (own, frame.opcode) {
                (Some(false), opcode::PING) if connection.over.is_none() => {
                    if connection.waiting.len() == MAX_PINGS {
                        connection.waiting.pop_front();
                    }
                    let payload = payload.to_vec();
                    connection.waiting.push_back(Ping { payload, index: event.i, t: event.t, other: None });
                }
                (Some(true), opcode::PONG) => connection.pong(payload, event.i, (requirements, judged), out),
                _ => {}
            }
        }
        if let Some(connection) = self.connections.ended(event) {
            connection.missed(event.t, (requirements, judged), out);
        }
    }

    fn end(&mut self, out: &mut Judgements) {
        for connection in self.connections.drain() {
            connection.missed(self.now, (self.requirements, self.judged), out);
        }
    }
}

impl PingState {
    fn pong(
        &mut self,
        payload: &[u8],
        index: u64,
        (requirements, judged): (&RequirementIndex, End),
        out: &mut Judgements,
    ) {
        match self.waiting.iter().rposition(|ping| ping.payload == payload) {
            Some(at) => {
                self.waiting.drain(..=at);
                requirements.check(out, judged, "framing/pong", index, None);
                requirements.check(out, judged, "framing/pong-payload", index, None);
            }
            None => {
                let text = String::from_utf8_lossy(payload).into_owned();
                self.waiting.iter_mut().for_each(|ping| ping.other = Some((index, text.clone())));
            }
        }
    }

    fn missed(&self, now: u64, (requirements, judged): (&RequirementIndex, End), out: &mut Judgements) {
        let until = self.over.unwrap_or(now);
        let Some(ping) = self.waiting.iter().find(|ping| until.saturating_sub(ping.t) >= OVERDUE) else { return };
        match &ping.other {
            Some((index, actual)) => {
                let fault = ViolationDetail::new("a pong carries something else than the ping before it")
                    .expected(String::from_utf8_lossy(&ping.payload).into_owned())
                    .actual(actual.clone());
                requirements.check(out, judged, "framing/pong-payload", *index, Some(fault));
            }
            None => {
                let waited = until.saturating_sub(ping.t) / 1_000_000;
                let fault = ViolationDetail::new(format!("a ping was not answered for {waited} s"));
                requirements.check(out, judged, "framing/pong", ping.index, Some(fault));
            }
        }
    }
}

/// Judges how one end takes part in the closing handshake (RFC 6455 sections 5.5.1 and 7.1.1).
///
/// Nothing is said of a connection on which the other end did something wrong on purpose: there any end will do. A
/// client may be leaving just when the server closes, so that it is blamed for what it owes only once it is clear
/// that its process lives on.
pub struct Closings {
    requirements: &'static RequirementIndex,
    judged: End,
    connections: ConnectionStates<ClosingState>,
    /// Clients that left without a response to a close frame: the event, and when.
    left: Vec<(u64, u64)>,
    now: u64,
}

#[derive(Default)]
struct ClosingState {
    established: bool,
    tainted: bool,
    /// Whether the other end sent a frame that breaks the RFC.
    faulted: bool,
    /// Whether the other end is within a fragmented message.
    fragmented: bool,
    /// Whether the end that is judged sent anything but a close frame.
    has_sent: bool,
    /// Whether the end that is judged may have sent its close frame before the trace begins: it has not shown that it
    /// had not.
    may_have_closed: bool,
    /// The close frame of the end that is judged.
    own: Option<CloseFrame>,
    /// The close frame of the other end.
    other: Option<CloseFrame>,
    /// How many bytes of a frame that never ended came from the end that is judged.
    incomplete: Option<usize>,
    ended: bool,
    other_ended: bool,
}

#[derive(Clone, Copy)]
struct CloseFrame {
    code: Option<u16>,
    /// Whether it holds no code that may be sent: that is judged by itself.
    wrong: bool,
    index: u64,
    t: u64,
}

impl CloseFrame {
    fn new(event: &Event, frame: &Frame) -> Self {
        let payload = frame.payload.as_bytes();
        let code = match payload {
            [high, low, ..] => Some(u16::from_be_bytes([*high, *low])),
            _ => None,
        };
        let wrong = payload.len() == 1 || code.is_some_and(|code| !may_be_sent(code));
        Self { code, wrong, index: event.i, t: event.t }
    }
}

/// Whether a frame breaks RFC 6455 (sections 5.1, 5.2, 5.4, 5.5 and 8.1): the other end has to fail the connection
/// for it. What only makes a message that is not supported, a fragment for one, does not.
///
/// `fragmented`: whether its sender is within a fragmented message; `to`: the end that gets it.
fn breaks_rfc(frame: &Frame, fragmented: bool, to: End) -> bool {
    let control = frame.opcode >= opcode::CLOSE;
    let known = matches!(frame.opcode, 0..=2 | opcode::CLOSE..=10);
    let in_order = control || (frame.opcode == 0) == fragmented;
    let complete_text = frame.opcode == 1 && frame.fin;
    let close = frame.opcode == opcode::CLOSE;
    let payload = frame.payload.as_bytes();
    let code = payload.first_chunk::<2>().map(|code| u16::from_be_bytes(*code));
    !known
        || !in_order
        || frame.rsv != 0
        || frame.masked != (to == End::Server)
        || control && (!frame.fin || frame.length > 125)
        || complete_text && frame.payload.as_text().is_none()
        || close && (payload.len() == 1 || code.is_some_and(|code| !may_be_sent(code)))
}

/// The meaning of the end of a stream for the end that is judged.
enum StreamEnd {
    /// Nothing is owed, or it was judged already.
    Settled,
    /// A close frame was not answered.
    Unanswered,
}

impl Closings {
    pub fn new(requirements: &'static RequirementIndex, judged: End) -> Self {
        Self { requirements, judged, connections: ConnectionStates::new(), left: vec![], now: 0 }
    }

    /// Judges the clients that left, and whose process was there for long after that.
    fn settle(&mut self, out: &mut Judgements) {
        let (requirements, now) = (self.requirements, self.now);
        self.left.retain(|(index, t)| {
            let waits = now.saturating_sub(*t) < OVERDUE;
            if !waits {
                requirements.check(out, End::Client, "framing/close-answered", *index, Some(unanswered(End::Client)));
            }
            waits
        });
    }
}

impl Rule for Closings {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let context = CloseContext { requirements: self.requirements, end: self.judged, index: event.i };
        self.now = event.t;
        self.settle(out);
        if matches!(event.kind, EventKind::Exited(_)) {
            self.left.clear();
        }
        if self.connections.of(event).is_none() {
            return;
        }
        let began_before_trace = self.connections.began_before_trace(event);
        let Some(connection) = self.connections.of(event) else { return };
        let own = event.dir.map(|dir| dir.sender() == self.judged);
        connection.tainted |= match omitting_end(event) {
            Some(end) => end == self.judged,
            None => event.deliberate.is_some() && own != Some(true),
        };
        if let (EventKind::Frame(frame), Some(false)) = (&event.kind, own) {
            connection.faulted |= breaks_rfc(frame, connection.fragmented, self.judged);
            if frame.opcode < opcode::CLOSE {
                connection.fragmented = !frame.fin;
            }
        }
        match (&event.kind, own) {
            (EventKind::Handshake(head), _) if event.dir == Some(Direction::ToClient) => {
                connection.established = head.start.contains(" 101");
            }
            (EventKind::Frame(frame), Some(false)) if frame.opcode == opcode::CLOSE => {
                // Then this is the response to it.
                connection.may_have_closed = began_before_trace && !connection.has_sent;
                connection.other.get_or_insert(CloseFrame::new(event, frame));
            }
            (EventKind::Frame(frame), Some(true)) if frame.opcode == opcode::CLOSE && connection.own.is_none() => {
                let close = CloseFrame::new(event, frame);
                connection.own = Some(close);
                connection.on_close_response(close, &context, out);
            }
            // After a close frame nothing else is sent.
            (EventKind::Frame(_), Some(true)) => connection.has_sent = true,
            // A close frame may be in it.
            (EventKind::Bytes { .. }, Some(false)) => connection.tainted = true,
            (EventKind::Bytes { bytes }, Some(true)) if connection.established => {
                connection.incomplete = Some(bytes.as_bytes().len());
            }
            (EventKind::Closed(_), Some(false)) => {
                connection.check_overdue(event.t, &context, out);
                connection.other_ended = true;
            }
            (EventKind::Closed(how), Some(true)) => {
                let left = connection.on_end(*how, &context, out);
                connection.ended = true;
                match (left, self.judged) {
                    (StreamEnd::Settled, _) => {}
                    (StreamEnd::Unanswered, End::Client) => self.left.push((event.i, event.t)),
                    // The close frame may be in what was announced as the payload of another.
                    (StreamEnd::Unanswered, End::Server) => match connection.incomplete {
                        Some(size) => {
                            let fault = ViolationDetail::new(format!(
                                "the last {size} bytes of the server are no whole frame: the length says more"
                            ));
                            context.check(out, "framing/shortest-length", Some(fault));
                        }
                        None => context.check(out, "framing/close-answered", Some(unanswered(End::Server))),
                    },
                }
            }
            _ => {}
        }
        self.connections.ended(event);
    }

    fn end(&mut self, out: &mut Judgements) {
        self.settle(out);
        for connection in self.connections.drain() {
            let context = CloseContext { requirements: self.requirements, end: self.judged, index: 0 };
            connection.check_overdue(self.now, &context, out);
        }
    }
}

/// The context in which an event is judged.
struct CloseContext {
    requirements: &'static RequirementIndex,
    end: End,
    index: u64,
}

impl CloseContext {
    fn check(&self, out: &mut Judgements, short: &str, fault: Option<ViolationDetail>) {
        self.requirements.check(out, self.end, short, self.index, fault);
    }
}

fn unanswered(end: End) -> ViolationDetail {
    let who = match end {
        End::Client => "client",
        End::Server => "server",
    };
    ViolationDetail::new(format!("the {who} ended the connection without a response to the close frame"))
}

impl ClosingState {
    /// The end that is judged sent its close frame.
    fn on_close_response(&self, close: CloseFrame, context: &CloseContext, out: &mut Judgements) {
        let Some(received) = self.other.filter(|_| !self.tainted) else { return };
        context.check(out, "framing/close-answered", None);
        let Some(code) = received.code else { return };
        // What an end sends that was about to close anyway.
        let parting = match context.end {
            End::Server => close.code == Some(1001),
            End::Client => matches!(close.code, Some(1000 | 1001)),
        };
        let other = close.code != Some(code) && !parting;
        if close.wrong {
            return;
        }
        let fault = ViolationDetail::new("the response to a close frame carries another code")
            .expected(code)
            .actual(json!(close.code));
        context.check(out, "framing/close-echoed", other.then_some(fault));
    }

    /// The end that is judged ended its stream.
    fn on_end(&self, how: Closed, context: &CloseContext, out: &mut Judgements) -> StreamEnd {
        if self.other_ended {
            return StreamEnd::Settled;
        }
        let server = context.end == End::Server;
        if self.tainted {
            // A client may have had reasons of its own.
            let silent = how == Closed::Eof && self.own.is_none() && self.other.is_none();
            if server && self.established && self.faulted && silent {
                let fault = ViolationDetail::new(
                    "the server ended the connection for a fault of the client without a close frame",
                );
                context.check(out, "framing/failure-code", Some(fault));
            }
            return StreamEnd::Settled;
        }
        match (self.other, self.own) {
            (Some(_), Some(_)) if server => context.check(out, "framing/tcp-closed", None),
            // A reset may destroy a close frame on its way.
            (Some(_), None) if how == Closed::Eof && !self.may_have_closed => return StreamEnd::Unanswered,
            _ => {}
        }
        StreamEnd::Settled
    }

    /// Judges what the end that is judged has not done by now, though it had the time.
    fn check_overdue(&self, now: u64, context: &CloseContext, out: &mut Judgements) {
        let Some(received) = self.other else { return };
        if self.tainted || self.other_ended || self.ended || self.own.is_none() && self.may_have_closed {
            return;
        }
        let since = self.own.map_or(received.t, |response| response.t.max(received.t));
        let waited = now.saturating_sub(since);
        if waited < OVERDUE {
            return;
        }
        let (short, what) = match self.own {
            None => ("framing/close-answered", "a close frame was not answered"),
            // It is for the server to close (RFC 6455 section 7.1.1).
            Some(_) if context.end == End::Client => return,
            Some(_) => ("framing/tcp-closed", "the TCP connection was left open after close frames had gone both ways"),
        };
        let fault = ViolationDetail::new(format!("{what} for {} s", waited / 1_000_000));
        context.requirements.check(out, context.end, short, received.index, Some(fault));
    }
}
