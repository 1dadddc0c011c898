//! What is different about a mock provider, and how; and what a flawed one remembers of earlier requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::peer::deviation::{DeviationTable, Why, includes};
use crate::wire::http::{HttpError as Wrong, ReceiveError, Received, Response};

use super::flaws::{envelope, methods, requests, transport};
use super::freedoms::FREEDOMS;
use super::request::{Method, Request, RequestFault};

/// What a flaw or freedom does.
#[derive(Clone, Copy, Debug)]
pub enum ProviderEffect {
    /// Does something else than to answer, where it says so.
    Instead(fn(&RequestInContext<'_>) -> Option<Instead>),
    /// Changes what was asked.
    Request(fn(&mut Request, &RequestMemory)),
    /// Changes the result of a method, or of all.
    Result(Option<Method>, fn(&mut Value)),
    /// Changes an error.
    Error(fn(&mut Value)),
    /// Changes an answer, be it a result or an error.
    Envelope(fn(&mut Value)),
    /// Changes the bytes of a body.
    Body(fn(&mut Vec<u8>)),
    /// Changes how an answer is carried.
    Carried(fn(&mut Response)),
    /// Changes how a response is carried, given the request.
    CarriedFor(fn(&mut Response, &Received)),
    /// Switches a behaviour.
    Switch(Switch),
}

includes!(ProviderEffect: Switch(Switch));

/// Behaviour that is decided where it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// One connection is served at a time, and closed after each answer.
    OneAtATime,
    /// Requests that wait for `100 Continue` wait in vain.
    NoContinue,
    /// Requests that come at the same time are confused.
    SharesRequest,
    /// Requests are held for a moment, and those that come while so many are held get no answer.
    AtMost(usize),
    /// A body goes on as long as anybody reads it.
    Endless,
    /// Answers take their time.
    Takes(u64),
    /// Character offsets count code points.
    CodePoints,
    /// An interim answer comes before each answer.
    Interim,
}

/// A request that came, and what came before it.
pub struct RequestInContext<'a> {
    /// The request as received.
    pub received: &'a Received,
    /// The request as parsed.
    pub request: &'a Result<Request, RequestFault>,
    /// The requests before it.
    pub memory: &'a RequestMemory,
}

impl RequestInContext<'_> {
    /// Whether it is a sound request for this method.
    pub fn is(&self, method: Method) -> bool {
        self.request.as_ref().is_ok_and(|request| request.method == method)
    }

    /// A parameter that is a text.
    pub fn text(&self, name: &str) -> &str {
        self.request.as_ref().map_or("", |request| request.text(name))
    }

    /// The body as text; empty where it is none.
    pub fn body(&self) -> &str {
        std::str::from_utf8(&self.received.content).unwrap_or_default()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.received.content).unwrap_or_default()
    }

    /// The value of a header.
    pub fn header<'n>(&'n self, name: &'n str) -> Option<&'n str> {
        self.received.head.header(name).next()
    }
}

/// What a flawed provider does instead of the regular response.
#[derive(Clone, Debug)]
pub enum Instead {
    /// A response with this result.
    Result(Value),
    /// A response with this error.
    Error(Value),
    /// A complete response.
    Respond(Box<Response>),
    /// The request is taken for one that cannot be understood.
    Refuse(RequestFault),
    /// Nothing, and the connection is held.
    Never,
    /// The connection is closed.
    Close,
    /// The connection is cut.
    Reset,
    /// The provider exits.
    Die,
}

impl Instead {
    /// An answer with this status and JSON.
    pub fn status(status: &str, body: &Value) -> Self {
        Self::Respond(Box::new(Response::new(status).json(body)))
    }

    /// An error with this code.
    pub fn error(code: i64, message: &str) -> Self {
        Self::Error(json!({"code": code, "message": message}))
    }
}

/// The deviations that are on.
pub type Deviations = crate::peer::deviation::Deviations<ProviderEffect>;

/// Every flaw and freedom of the mock provider, in the order of the areas.
pub static TABLE: LazyLock<DeviationTable<ProviderEffect>> = LazyLock::new(|| {
    DeviationTable::new("openctx-provider")
        .with_flaws(transport::CARRIED)
        .with_flaws(transport::STATUSES)
        .with_flaws(requests::REQUESTS)
        .with_flaws(envelope::ENVELOPE)
        .with_flaws(methods::META)
        .with_flaws(methods::MENTIONS)
        .with_flaws(methods::ITEMS)
        .with_flaws(methods::ANNOTATIONS)
        .with_flaws(requests::ROBUSTNESS)
        .with_freedoms(FREEDOMS)
});

impl Deviations {
    /// What is done instead of an answer, and why that is wrong, if it is.
    pub fn instead(&self, seen: &RequestInContext<'_>) -> Option<(Instead, Option<&'static str>)> {
        self.choose_with_why(|effect| if let ProviderEffect::Instead(decide) = effect { decide(seen) } else { None })
    }

    /// Changes the request.
    pub fn change_request(&self, request: &mut Request, memory: &RequestMemory) -> Why {
        self.apply(request, |effect, request| {
            if let ProviderEffect::Request(change) = effect {
                change(request, memory);
            }
        })
    }

    /// Changes a result.
    pub fn result(&self, method: Method, result: &mut Value) -> Why {
        self.apply(result, |effect, result| match effect {
            ProviderEffect::Result(of, change) if of.is_none_or(|of| of == method) => change(result),
            _ => {}
        })
    }

    /// Changes an error.
    pub fn error(&self, error: &mut Value) -> Why {
        self.apply(error, |effect, error| {
            if let ProviderEffect::Error(change) = effect {
                change(error);
            }
        })
    }

    /// Changes an answer.
    pub fn envelope(&self, answer: &mut Value) -> Why {
        self.apply(answer, |effect, answer| {
            if let ProviderEffect::Envelope(change) = effect {
                change(answer);
            }
        })
    }

    /// Changes a body.
    pub fn body(&self, body: &mut Vec<u8>) -> Why {
        self.apply(body, |effect, body| {
            if let ProviderEffect::Body(change) = effect {
                change(body);
            }
        })
    }

    /// Changes how an answer is carried.
    pub fn carried(&self, response: &mut Response, received: &Received) -> Why {
        self.apply(response, |effect, response| match effect {
            ProviderEffect::Carried(change) => change(response),
            ProviderEffect::CarriedFor(change) => change(response, received),
            _ => {}
        })
    }
}

/// How many connections are remembered.
const MOST: usize = 100_000;

/// A body larger than this is a huge one, in bytes.
const HUGE: usize = 1 << 20;

/// JSON nested deeper than this is deep.
const DEEP: usize = 500;

/// What a flawed provider remembers of the requests so far.
#[derive(Clone, Debug, Default)]
pub struct RequestMemory {
    /// How many requests came.
    pub requests: u64,
    /// The methods that were asked for.
    pub methods: BTreeSet<Method>,
    /// The settings that came last, if any did.
    pub settings: Map<String, Value>,
    /// The sound request that came last.
    pub last: Option<Request>,
    /// The last sound request for each method.
    pub last_of: BTreeMap<Method, Request>,
    /// The numbers of the TCP connections with requests.
    pub connections: BTreeSet<u64>,
    /// How many requests are being answered.
    pub active: usize,
    /// The mistakes that clients made so far.
    mistakes: BTreeSet<ClientMistake>,
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

impl RequestMemory {
    /// Whether this happened before.
    pub fn had(&self, mistake: ClientMistake) -> bool {
        self.mistakes.contains(&mistake)
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
            self.mistakes.insert(ClientMistake::Huge);
        }
        if is_deep(&received.content) {
            self.mistakes.insert(ClientMistake::Deep);
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
                self.mistakes.insert(match fault {
                    RequestFault::NoJson => ClientMistake::NoJson,
                    RequestFault::NoRequest => ClientMistake::NoRequest,
                    RequestFault::NoMethod => ClientMistake::NoMethod,
                    RequestFault::Params(_) => ClientMistake::Params,
                });
            }
        }
    }

    /// Remembers a mistake of a client.
    pub fn note_error(&mut self, error: &ReceiveError) {
        self.mistakes.insert(match error {
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

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        // Whoever takes longer than that is caught by what they withhold.
        crate::peer::deviation::fits_the_catalogue("openctx-provider", &["http/timely"]);
    }
}
