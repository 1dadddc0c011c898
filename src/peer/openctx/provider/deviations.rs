//! What is different about a mock provider, and how; and what a flawed one remembers of earlier requests.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::peer::deviation::http::received::{ClientMistake, ReceivedInContext, RequestHistory};
use crate::peer::deviation::http::response::{Instead, ResponseEffect};
use crate::peer::deviation::http::{server_flaws, server_freedoms};
use crate::peer::deviation::{DeviationTable, Why, includes};
use crate::wire::http::{Received, Response};

use super::flaws::{envelope, methods, requests, transport};
use super::freedoms::FREEDOMS;
use super::request::{Method, Request, RequestFault};

/// What a flaw or freedom does.
#[derive(Clone, Copy, Debug)]
pub enum ProviderEffect {
    /// Does something else than to answer, where it says so.
    Instead(fn(&RequestInContext<'_>) -> Option<Instead<ProviderAnswer>>),
    /// Changes what was asked.
    Request(fn(&mut Request, &RequestMemory)),
    /// Changes the result of a method, or of all.
    Result(Option<Method>, fn(&mut Value)),
    /// Changes an error.
    Error(fn(&mut Value)),
    /// Changes an answer, be it a result or an error.
    Envelope(fn(&mut Value)),
    /// Changes how an answer is carried.
    Http(ResponseEffect),
    /// Switches a behaviour.
    Switch(Switch),
}

includes!(ProviderEffect: Http(ResponseEffect), Switch(Switch));

/// Changes the bytes of a body.
pub const fn body(change: fn(&mut Vec<u8>)) -> ProviderEffect {
    ProviderEffect::Http(ResponseEffect::Body(change))
}

/// Changes how an answer is carried.
pub const fn response(change: fn(&mut Response)) -> ProviderEffect {
    ProviderEffect::Http(ResponseEffect::Response(change))
}

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
    pub http: ReceivedInContext<'a>,
    /// The request as parsed.
    pub request: &'a Result<Request, RequestFault>,
    /// The requests before it.
    pub memory: &'a RequestMemory,
}

impl<'a> Deref for RequestInContext<'a> {
    type Target = ReceivedInContext<'a>;

    fn deref(&self) -> &Self::Target {
        &self.http
    }
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
}

/// An answer as the protocol has it, in the place of the usual one.
#[derive(Clone, Debug)]
pub enum ProviderAnswer {
    /// This result.
    Result(Value),
    /// This error.
    Error(Value),
    /// The error for a request with this fault.
    Fault(RequestFault),
}

impl Instead<ProviderAnswer> {
    /// An answer with this result.
    pub fn result(result: Value) -> Self {
        Self::Answer(ProviderAnswer::Result(result))
    }

    /// An error with this code.
    pub fn error(code: i64, message: &str) -> Self {
        Self::Answer(ProviderAnswer::Error(json!({"code": code, "message": message})))
    }

    /// An answer with this status and JSON.
    pub fn status(status: &str, body: &Value) -> Self {
        Self::respond(Response::new(status).json(body))
    }
}

/// The deviations that are on.
pub type Deviations = crate::peer::deviation::Deviations<ProviderEffect>;

/// Every flaw and freedom of the mock provider, in the order of the areas.
pub static TABLE: LazyLock<DeviationTable<ProviderEffect>> = LazyLock::new(|| {
    DeviationTable::new("openctx-provider")
        .with_shared_flaws(server_flaws::RESPONSES)
        .with_flaws(transport::CARRIED)
        .with_flaws(transport::STATUSES)
        .with_shared_flaws(server_flaws::REQUESTS)
        .with_flaws(requests::REQUESTS)
        .with_flaws(envelope::ENVELOPE)
        .with_flaws(methods::META)
        .with_flaws(methods::MENTIONS)
        .with_flaws(methods::ITEMS)
        .with_flaws(methods::ANNOTATIONS)
        .with_shared_flaws(server_flaws::ROBUSTNESS)
        .with_flaws(requests::ROBUSTNESS)
        .with_shared_freedoms(server_freedoms::FREEDOMS)
        .with_freedoms(FREEDOMS)
});

impl Deviations {
    /// What is done instead of an answer, and why that is wrong, if it is.
    pub fn instead(&self, seen: &RequestInContext<'_>) -> Option<(Instead<ProviderAnswer>, Why)> {
        self.choose_with_why(|effect| match effect {
            ProviderEffect::Instead(decide) => decide(seen),
            ProviderEffect::Http(ResponseEffect::Instead(decide)) => decide(seen).map(Instead::of_protocol),
            _ => None,
        })
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
        self.rewrite(error, |effect| if let ProviderEffect::Error(change) = effect { Some(change) } else { None })
    }

    /// Changes an answer.
    pub fn envelope(&self, answer: &mut Value) -> Why {
        self.rewrite(answer, |effect| if let ProviderEffect::Envelope(change) = effect { Some(change) } else { None })
    }
}

/// What a flawed provider remembers of the requests so far.
#[derive(Clone, Debug, Default)]
pub struct RequestMemory {
    /// The requests, whatever they were for.
    pub http: RequestHistory,
    /// The methods that were asked for.
    pub methods: BTreeSet<Method>,
    /// The settings that came last, if any did.
    pub settings: Map<String, Value>,
    /// The sound request that came last.
    pub last: Option<Request>,
    /// The last sound request for each method.
    pub last_of: BTreeMap<Method, Request>,
    /// How many requests are being answered.
    pub active: usize,
}

impl RequestMemory {
    /// Remembers a request.
    pub fn note(&mut self, received: &Received, request: &Result<Request, RequestFault>) {
        self.http.note(received, request.as_ref().err().map(|fault| fault.mistake()));
        if let Ok(request) = request {
            self.methods.insert(request.method);
            if !request.settings.is_empty() {
                self.settings = request.settings.clone();
            }
            self.last = Some(request.clone());
            self.last_of.insert(request.method, request.clone());
        }
    }
}

impl RequestFault {
    /// What a client did wrong that made such a request.
    pub fn mistake(self) -> ClientMistake {
        match self {
            Self::NoJson => ClientMistake::NoJson,
            Self::NoRequest => ClientMistake::NoRequest,
            Self::NoMethod => ClientMistake::NoMethod,
            Self::Params(_) => ClientMistake::Params,
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        // Whoever takes longer than that is caught by what they withhold.
        crate::peer::deviation::fits_the_catalogue("openctx-provider", &["http/timely"]);
    }
}
