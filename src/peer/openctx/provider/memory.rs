//! What a provider with flaws remembers of earlier requests. Sound ones remember nothing: providers are stateless.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::wire::http::{HttpError as Wrong, ReceiveError, Received};

use super::request::{Method, Request, RequestFault};

/// How many connections are remembered.
const MOST: usize = 100_000;

/// A body larger than this is a huge one, in bytes.
const HUGE: usize = 1 << 20;

/// JSON nested deeper than this is deep.
const DEEP: usize = 500;

/// What came so far.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// How many requests came.
    pub requests: u64,
    /// The methods that were asked for.
    pub methods: BTreeSet<Method>,
    /// The settings that came last, if any did.
    pub settings: Map<String, Value>,
    /// The sound request that came last.
    pub last: Option<Request>,
    /// And that for each method.
    pub last_of: BTreeMap<Method, Request>,
    /// The numbers of the TCP connections with requests.
    pub connections: BTreeSet<u64>,
    /// How many requests are being answered.
    pub active: usize,
    /// What was wrong with something earlier.
    troubles: BTreeSet<ClientMistake>,
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
}

impl Memory {
    /// Whether this happened before.
    pub fn had(&self, trouble: ClientMistake) -> bool {
        self.troubles.contains(&trouble)
    }

    /// Whether this TCP connection had a request before.
    pub fn knows(&self, tcp: u64) -> bool {
        self.connections.contains(&tcp)
    }

    /// How many connections there were without any request, when this one came.
    pub fn unused(&self, tcp: u64) -> u64 {
        tcp.saturating_sub(self.connections.len() as u64)
    }

    /// Remembers a request.
    pub fn note(&mut self, received: &Received, request: &Result<Request, RequestFault>) {
        self.requests += 1;
        if self.connections.len() < MOST {
            self.connections.insert(received.head.tcp);
        }
        if received.content.len() > HUGE {
            self.troubles.insert(ClientMistake::Huge);
        }
        if is_deep(&received.content) {
            self.troubles.insert(ClientMistake::Deep);
        }
        match request {
            Ok(request) => {
                self.methods.insert(request.method);
                if !request.settings.is_empty() {
                    self.settings = request.settings.clone();
                }
                self.last = Some(request.clone());
                self.last_of.insert(request.method, request.clone());
            }
            Err(fault) => {
                self.troubles.insert(match fault {
                    RequestFault::NoJson => ClientMistake::NoJson,
                    RequestFault::NoRequest => ClientMistake::NoRequest,
                    RequestFault::NoMethod => ClientMistake::NoMethod,
                    RequestFault::Params(_) => ClientMistake::Params,
                });
            }
        }
    }

    /// Remembers what went wrong.
    pub fn note_mishap(&mut self, error: &ReceiveError) {
        self.troubles.insert(match error {
            ReceiveError::Fault(Wrong::HeadTooLong(_)) => ClientMistake::EndlessHead,
            ReceiveError::Fault(Wrong::Chunk(_) | Wrong::Coding(_)) => ClientMistake::Chunks,
            ReceiveError::Fault(Wrong::Length(_) | Wrong::BodyTooLong(_)) => ClientMistake::Length,
            ReceiveError::Fault(_) => ClientMistake::Head,
            ReceiveError::Late | ReceiveError::Left(crate::trace::Closed::Eof) => ClientMistake::Torn,
            ReceiveError::Left(crate::trace::Closed::Reset) => ClientMistake::Cut,
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
