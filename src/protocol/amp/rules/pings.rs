//! Pings: does a pong with the same payload answer them?

use std::collections::VecDeque;

use crate::protocol::amp::opcode;
use crate::protocol::{Judgements, Rule};
use crate::trace::{End, Event, EventKind};

use super::OVERDUE;
use super::connections::{Connections, omits};
use super::requirement_index::RequirementIndex;
use crate::protocol::ViolationDetail;

/// So many pings are remembered; of more, the latest.
const REMEMBERED: usize = 1000;

/// Holds the pongs of one end against the pings of the other one (RFC 6455 sections 5.5.2 and 5.5.3).
///
/// A pong answers the ping with its payload and all before it. One with another payload may be a heartbeat,
/// and tells only if no right one follows. A ping is missed once it has waited for [`OVERDUE`] on a
/// connection that stood.
pub struct Pings {
    book: &'static RequirementIndex,
    /// Who has to answer.
    judged: End,
    connections: Connections<Connection>,
    now: u64,
}

#[derive(Default)]
struct Connection {
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
    pub fn new(book: &'static RequirementIndex, judged: End) -> Self {
        Self { book, judged, connections: Connections::new(), now: 0 }
    }
}

impl Rule for Pings {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let (book, judged) = (self.book, self.judged);
        self.now = event.t;
        let Some(connection) = self.connections.of(event) else { return };
        let closes = match &event.kind {
            EventKind::Frame(frame) => frame.opcode == opcode::CLOSE,
            EventKind::Closed(_) => true,
            _ => false,
        };
        let abused = event.deliberate.is_some() && omits(event).is_none_or(|end| end == judged);
        if connection.over.is_none() && (closes || abused) {
            connection.over = Some(event.t);
        }
        if let EventKind::Frame(frame) = &event.kind {
            let payload = frame.payload.as_bytes();
            let own = event.dir.map(|dir| dir.sender() == judged);
            match (own, frame.opcode) {
                (Some(false), opcode::PING) if connection.over.is_none() => {
                    if connection.waiting.len() == REMEMBERED {
                        connection.waiting.pop_front();
                    }
                    let payload = payload.to_vec();
                    connection.waiting.push_back(Ping { payload, index: event.i, t: event.t, other: None });
                }
                (Some(true), opcode::PONG) => connection.pong(payload, event.i, (book, judged), out),
                _ => {}
            }
        }
        if let Some(connection) = self.connections.ended(event) {
            connection.missed(event.t, (book, judged), out);
        }
    }

    fn end(&mut self, out: &mut Judgements) {
        for connection in self.connections.left() {
            connection.missed(self.now, (self.book, self.judged), out);
        }
    }
}

impl Connection {
    fn pong(&mut self, payload: &[u8], index: u64, (book, judged): (&RequirementIndex, End), out: &mut Judgements) {
        match self.waiting.iter().rposition(|ping| ping.payload == payload) {
            Some(at) => {
                self.waiting.drain(..=at);
                book.check(out, judged, "framing/pong", index, None);
                book.check(out, judged, "framing/pong-payload", index, None);
            }
            None => {
                let text = String::from_utf8_lossy(payload).into_owned();
                self.waiting.iter_mut().for_each(|ping| ping.other = Some((index, text.clone())));
            }
        }
    }

    fn missed(&self, now: u64, (book, judged): (&RequirementIndex, End), out: &mut Judgements) {
        let until = self.over.unwrap_or(now);
        let Some(ping) = self.waiting.iter().find(|ping| until.saturating_sub(ping.t) >= OVERDUE) else { return };
        match &ping.other {
            Some((index, actual)) => {
                let fault = ViolationDetail::new("a pong carries something else than the ping before it")
                    .expected(String::from_utf8_lossy(&ping.payload).into_owned())
                    .actual(actual.clone());
                book.check(out, judged, "framing/pong-payload", *index, Some(fault));
            }
            None => {
                let waited = until.saturating_sub(ping.t) / 1_000_000;
                let fault = ViolationDetail::new(format!("a ping was not answered for {waited} s"));
                book.check(out, judged, "framing/pong", ping.index, Some(fault));
            }
        }
    }
}
