//! What a server with flaws remembers of earlier requests.

use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::amplifier::Endpoint;
use crate::trace::Closed;
use crate::wire::http::{HttpError, ReceiveError, Received};

use super::model::Ask;

/// A body larger than this is a huge one, in bytes.
const HUGE: usize = 1 << 20;
/// JSON nested deeper than this is deep.
const DEEP: usize = 500;

/// What came so far.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// How many requests for the same endpoint came, one after the other.
    pub alike: u64,
    /// The endpoint of the last request.
    last: Option<Endpoint>,
    /// How many subscribers have left each session.
    left: BTreeMap<String, u64>,
    /// The numbers of the TCP connections with requests, as long as there are not too many.
    connections: BTreeSet<u64>,
    /// The numbers of the TCP connections with a request of which the head alone has come.
    begun: BTreeSet<u64>,
    /// What was wrong with something earlier.
    troubles: BTreeSet<ClientMistake>,
}

/// Something that was wrong with what a client sent or did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientMistake {
    /// A body that is no JSON.
    NoJson,
    /// A body that is not as it should be.
    Body,
    /// JSON that is nested too deep.
    Deep,
    /// A huge body.
    Huge,
    /// A head that is no HTTP.
    Head,
    /// An endless head.
    EndlessHead,
    /// A body that is not as long as the head says.
    Length,
    /// A connection that was cut while a request was open.
    Cut,
    /// A WebSocket that broke its protocol.
    Socket,
}

impl Memory {
    /// Whether this happened before.
    pub fn had(&self, trouble: ClientMistake) -> bool {
        self.troubles.contains(&trouble)
    }

    /// How many subscribers have left a session.
    pub fn left(&self, session: &str) -> u64 {
        self.left.get(session).copied().unwrap_or_default()
    }

    /// Remembers that a subscriber has left a session.
    pub fn note_left(&mut self, session: &str) {
        *self.left.entry(session.to_owned()).or_default() += 1;
    }

    /// Whether this TCP connection had a request before.
    pub fn knows(&self, tcp: u64) -> bool {
        self.connections.contains(&tcp)
    }

    /// Whether another TCP connection than this has a request that is not whole.
    pub fn waits_for_another(&self, tcp: u64) -> bool {
        self.begun.iter().any(|begun| *begun != tcp)
    }

    /// Remembers that the head of a request has come.
    pub fn note_head(&mut self, tcp: u64) {
        self.begun.insert(tcp);
    }

    /// Remembers a request.
    pub fn note(&mut self, received: &Received, ask: Option<&Ask>) {
        let endpoint = ask.map(|ask| ask.route.endpoint);
        self.alike = if endpoint == self.last { self.alike + 1 } else { 0 };
        self.last = endpoint;
        self.begun.remove(&received.head.tcp);
        if self.connections.len() < 100_000 {
            self.connections.insert(received.head.tcp);
        }
        if received.content.len() > HUGE {
            self.troubles.insert(ClientMistake::Huge);
        }
        if is_deep(&received.content) {
            self.troubles.insert(ClientMistake::Deep);
        } else if ask.is_some_and(|ask| ask.body.is_err()) {
            let json = serde_json::from_slice::<serde_json::Value>(&received.content).is_ok();
            self.troubles.insert(if json { ClientMistake::Body } else { ClientMistake::NoJson });
        }
    }

    /// Remembers that this happened.
    pub fn trouble(&mut self, trouble: ClientMistake) {
        self.troubles.insert(trouble);
    }

    /// Remembers what went wrong.
    pub fn note_mishap(&mut self, error: &ReceiveError) {
        // Which request it was is not told.
        self.begun.clear();
        self.troubles.insert(match error {
            ReceiveError::Fault(HttpError::HeadTooLong(_)) => ClientMistake::EndlessHead,
            ReceiveError::Fault(
                HttpError::Length(_) | HttpError::BodyTooLong(_) | HttpError::Chunk(_) | HttpError::Coding(_),
            ) => ClientMistake::Length,
            ReceiveError::Fault(_) => ClientMistake::Head,
            ReceiveError::Late => ClientMistake::Length,
            ReceiveError::Left(Closed::Eof) => ClientMistake::Length,
            ReceiveError::Left(Closed::Reset) => ClientMistake::Cut,
        });
    }
}

/// Whether JSON is nested too deep to be read by whoever reads it by calling itself.
pub fn is_deep(body: &[u8]) -> bool {
    let mut depth = 0_usize;
    body.iter().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEEP
    })
}
