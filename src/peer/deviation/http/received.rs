//! Requests as a flawed server sees them: with those that came before, and what was wrong with them.

use std::collections::BTreeSet;

use crate::trace::Closed;
use crate::wire::http::{HttpError, ReceiveError, Received};

/// How many connections are remembered.
const MAX_CONNECTIONS: usize = 100_000;
/// A body larger than this is a huge one, in bytes.
const HUGE: usize = 1 << 20;
/// JSON nested deeper than this is deep.
const DEEP: usize = 500;

/// A request that came, and what came before it.
pub struct ReceivedInContext<'a> {
    /// The request as received.
    pub received: &'a Received,
    /// What is wrong with it, if anything is, as the protocol has it.
    pub mistake: Option<ClientMistake>,
    /// The requests before it.
    pub history: &'a RequestHistory,
}

impl ReceivedInContext<'_> {
    /// The value of a header.
    pub fn header<'n>(&'n self, name: &'n str) -> Option<&'n str> {
        self.received.head.header(name).next()
    }

    /// Whether its connection had a request before.
    pub fn on_used_connection(&self) -> bool {
        self.history.connections.contains(&self.received.head.tcp)
    }
}

/// Something that was wrong with what a client sent or did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientMistake {
    /// A body that is no JSON.
    NoJson,
    /// JSON that is no request.
    NoRequest,
    /// A method that does not exist.
    NoMethod,
    /// Wrong parameters.
    Params,
    /// JSON that is nested too deep.
    Deep,
    /// A huge body.
    Huge,
    /// A head that is no HTTP.
    Head,
    /// An endless head.
    EndlessHead,
    /// A length that is none.
    Length,
    /// A body that ends before it is as long as the head says.
    Torn,
    /// Chunks that are none.
    Chunks,
    /// A connection that was cut while a request was open.
    Cut,
    /// A WebSocket that broke its protocol.
    Socket,
}

/// The requests so far, as far as flaws need them.
#[derive(Clone, Debug, Default)]
pub struct RequestHistory {
    /// How many requests came.
    pub requests: u64,
    /// The numbers of the TCP connections with requests, as long as there are not too many.
    connections: BTreeSet<u64>,
    mistakes: BTreeSet<ClientMistake>,
}

impl RequestHistory {
    /// Whether a client made this mistake before.
    pub fn had(&self, mistake: ClientMistake) -> bool {
        self.mistakes.contains(&mistake)
    }

    /// How many connections there were without any request, when this one came.
    pub fn unused_connections(&self, tcp: u64) -> u64 {
        tcp.saturating_sub(self.connections.len() as u64)
    }

    /// Remembers a request, and what is wrong with it as the protocol has it.
    pub fn note(&mut self, received: &Received, mistake: Option<ClientMistake>) {
        self.requests += 1;
        if self.connections.len() < MAX_CONNECTIONS {
            self.connections.insert(received.head.tcp);
        }
        if received.content.len() > HUGE {
            self.mistakes.insert(ClientMistake::Huge);
        }
        if is_deep(&received.content) {
            self.mistakes.insert(ClientMistake::Deep);
        } else {
            self.mistakes.extend(mistake);
        }
    }

    /// Remembers a mistake of a client.
    pub fn note_mistake(&mut self, mistake: ClientMistake) {
        self.mistakes.insert(mistake);
    }

    /// Remembers why no request came.
    pub fn note_error(&mut self, error: &ReceiveError) {
        self.mistakes.insert(match error {
            ReceiveError::Fault(HttpError::HeadTooLong(_)) => ClientMistake::EndlessHead,
            ReceiveError::Fault(HttpError::Chunk(_) | HttpError::Coding(_)) => ClientMistake::Chunks,
            ReceiveError::Fault(HttpError::Length(_) | HttpError::BodyTooLong(_)) => ClientMistake::Length,
            ReceiveError::Fault(_) => ClientMistake::Head,
            ReceiveError::Late | ReceiveError::Left(Closed::Eof) => ClientMistake::Torn,
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
