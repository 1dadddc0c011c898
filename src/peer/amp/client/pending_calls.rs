//! The calls of the agent's caller: those that wait for a connection and those that wait for a response.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::protocol::amp::editions::{AmpEdition, Method};

use super::deviations::{AgentEffect, Deviations};

/// How long a response is waited for (docs/amp.md, Messages).
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// After which time a flaw makes a request again.
const REPEAT_AFTER: Duration = Duration::from_millis(20);
/// How many ids of past requests are kept, for the flaws that need them.
const MAX_PAST_IDS: usize = 1000;

/// What a client can do otherwise with calls: their ids, their order, and how long each of them waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSwitch {
    /// Every request has the id 1.
    OneId,
    /// Ids are numbers.
    NumericIds,
    /// The ids of requests hold quotation marks and backslashes.
    QuotedIds,
    /// The ids of requests are UUIDs.
    UuidIds,
    /// Each connection begins with a request for `initialize`.
    Greets,
    /// Each connection begins with a request for `authenticate`.
    Authenticates,
    /// The connection ends when a call is given up.
    LeavesLate,
    /// A request that is not answered at once is made again.
    Repeats,
    /// The next request waits for the response to the last.
    Serial,
    /// Answers go to calls in the order in which they come.
    InOrder,
    /// A response to a call that was given up goes to the next one.
    TakesLate,
    /// A response that comes again goes to the next call.
    TakesTwice,
    /// A response with an unknown id goes to the oldest call.
    TakesUnknown,
    /// Calls stay open when the connection ends, and take a response from the next one.
    KeepsOpen,
    /// Answers are waited for without end.
    NoTimeout,
}

/// A call that is a method of the edition.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentCall {
    /// The number under which the outcome is reported.
    pub number: Value,
    /// The method to call.
    pub method: Method,
    /// The parameters of the method.
    pub params: Value,
}

/// A request on its way out.
#[derive(Clone, Debug, PartialEq)]
pub struct OutgoingRequest {
    /// The text of the request.
    pub bytes: Vec<u8>,
    /// The flaw that had a hand in it.
    pub deliberate: Option<&'static str>,
}

/// A call that waits for its response.
#[derive(Debug)]
struct OpenCall {
    id: String,
    since: Instant,
    repeated: bool,
    call: AgentCall,
}

/// The calls that have no outcome yet.
#[derive(Debug)]
pub struct Calls {
    edition: &'static AmpEdition,
    deviations: Deviations,
    /// Waiting for a connection, each since when.
    waiting: VecDeque<(Instant, AgentCall)>,
    /// Waiting for a response, the oldest first.
    open: Vec<OpenCall>,
    /// The number of the last request on this connection.
    last: u64,
    /// The ids of requests that were given up, and of those that were answered.
    late: Vec<String>,
    answered: Vec<String>,
}

impl Calls {
    /// No calls yet.
    pub fn new(edition: &'static AmpEdition, deviations: Deviations) -> Self {
        Self { edition, deviations, waiting: VecDeque::new(), open: vec![], last: 0, late: vec![], answered: vec![] }
    }

    /// Whether every call has an outcome.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.open.is_empty()
    }

    /// Whether none waits for a response.
    pub fn has_no_open(&self) -> bool {
        self.open.is_empty()
    }

    /// Lets a call wait for a connection.
    pub fn wait(&mut self, call: AgentCall, now: Instant) {
        self.waiting.push_back((now, call));
    }

    /// Since when the oldest call has waited for a connection.
    pub fn oldest(&self) -> Option<Instant> {
        self.waiting.front().map(|(since, _)| *since)
    }

    /// Takes the calls that have waited for a connection for too long.
    pub fn take_unconnected(&mut self, patience: Duration, now: Instant) -> Vec<AgentCall> {
        let expired = self.waiting.iter().take_while(|(since, _)| *since + patience <= now).count();
        self.waiting.drain(..expired).map(|(_, call)| call).collect()
    }

    /// The request of the next call that waits for a connection, which from now on waits for its response.
    pub fn next_request(&mut self, now: Instant) -> Option<OutgoingRequest> {
        if self.deviations.has(CallSwitch::Serial) && !self.open.is_empty() {
            return None;
        }
        let (_, call) = self.waiting.pop_front()?;
        let (id, request) = self.request(&call);
        self.open.push(OpenCall { id, since: now, repeated: false, call });
        Some(request)
    }

    fn request(&mut self, call: &AgentCall) -> (String, OutgoingRequest) {
        self.last += 1;
        let id = match () {
            () if self.deviations.has(CallSwitch::UuidIds) => uuid(),
            () if self.deviations.has(CallSwitch::OneId) => "1".to_owned(),
            () if self.deviations.has(CallSwitch::QuotedIds) => format!("\"call\\{}\"", self.last),
            () => self.last.to_string(),
        };
        (id.clone(), encode_request(self.edition, &self.deviations, &id, call.method, &call.params))
    }

    /// The requests that a flaw makes again.
    pub fn repeat(&mut self, now: Instant) -> Vec<OutgoingRequest> {
        if !self.deviations.has(CallSwitch::Repeats) {
            return vec![];
        }
        let due = |open: &&mut OpenCall| !open.repeated && open.since + REPEAT_AFTER <= now;
        let mut calls = vec![];
        for open in self.open.iter_mut().filter(due) {
            open.repeated = true;
            calls.push(open.call.clone());
        }
        calls.iter().map(|call| self.request(call).1).collect()
    }

    /// The id under which a request waits for the response with this id, and its method.
    pub fn pending_request(&self, id: &str) -> Option<(String, Method)> {
        let known = |ids: &[String]| ids.iter().any(|known| known == id);
        let found = self.open.iter().find(|open| open.id == id);
        let is_late = found.is_none() && known(&self.late);
        let is_again = found.is_none() && !is_late && known(&self.answered);
        let is_unknown = found.is_none() && !is_late && !is_again;
        let has = |switch| self.deviations.has(switch);
        let misassigned = has(CallSwitch::InOrder)
            || (is_late && has(CallSwitch::TakesLate))
            || (is_again && has(CallSwitch::TakesTwice))
            || (is_unknown && has(CallSwitch::TakesUnknown));
        let open = if misassigned { self.open.first() } else { found };
        open.map(|open| (open.id.clone(), open.call.method))
    }

    /// Takes the call whose request has this id.
    pub fn take(&mut self, id: &str) -> Option<AgentCall> {
        let at = self.open.iter().position(|open| open.id == id)?;
        remember(&mut self.answered, id.to_owned());
        Some(self.open.remove(at).call)
    }

    /// Takes the calls whose time to be answered is over.
    pub fn take_late(&mut self, now: Instant) -> Vec<AgentCall> {
        if self.deviations.has(CallSwitch::NoTimeout) {
            return vec![];
        }
        let late: Vec<OpenCall> = self.open.extract_if(.., |open| open.since + RESPONSE_TIMEOUT <= now).collect();
        late.into_iter()
            .map(|open| {
                remember(&mut self.late, open.id);
                open.call
            })
            .collect()
    }

    /// The connection ended: takes the calls that wait for a response, since none will come. Ids are counted anew.
    pub fn take_open(&mut self) -> Vec<AgentCall> {
        self.last = 0;
        self.late.clear();
        self.answered.clear();
        if self.deviations.has(CallSwitch::KeepsOpen) {
            return vec![];
        }
        self.open.drain(..).map(|open| open.call).collect()
    }

    /// Takes all calls.
    pub fn take_all(&mut self) -> Vec<AgentCall> {
        let open = self.open.drain(..).map(|open| open.call);
        open.chain(self.waiting.drain(..).map(|(_, call)| call)).collect()
    }

    /// When time next brings something to the calls that wait for a response.
    pub fn next_due(&self) -> Option<Instant> {
        let again = self.deviations.has(CallSwitch::Repeats);
        let due = |open: &OpenCall| open.since + if again && !open.repeated { REPEAT_AFTER } else { RESPONSE_TIMEOUT };
        let timeouts = !self.deviations.has(CallSwitch::NoTimeout);
        self.open.iter().filter(|_| timeouts).map(due).min()
    }
}

fn remember(ids: &mut Vec<String>, id: String) {
    if ids.len() < MAX_PAST_IDS {
        ids.push(id);
    }
}

/// A request.
pub fn encode_request(
    edition: &AmpEdition,
    deviations: &Deviations,
    id: &str,
    method: Method,
    params: &Value,
) -> OutgoingRequest {
    let mut params = params.clone();
    let mut why = deviations.rewrite(&mut params, |effect| match effect {
        AgentEffect::Params(of, change) if of.is_none_or(|of| of == method) => Some(change),
        _ => None,
    });
    let number = id.parse::<u64>().ok().filter(|_| deviations.has(CallSwitch::NumericIds));
    let id = number.map_or_else(|| json!(id), |number| json!(number));
    let mut request = edition.envelope.request(&id, edition.methods.of(method).unwrap_or_default(), &params);
    let change = |effect| if let AgentEffect::Request(change) = effect { Some(change) } else { None };
    why = deviations.rewrite(&mut request, change).or(why);
    let mut bytes = request.to_string().into_bytes();
    why = deviations.message_text(&mut bytes).or(why);
    let deliberate = why.or_else(|| {
        [CallSwitch::OneId, CallSwitch::NumericIds, CallSwitch::Repeats]
            .into_iter()
            .find_map(|switch| deviations.why(switch))
    });
    OutgoingRequest { bytes, deliberate }
}

/// The request with which a flaw begins a connection: for a method that no edition has.
pub fn greeting(edition: &AmpEdition, deviations: &Deviations) -> OutgoingRequest {
    let request = edition.envelope.request(&json!("hello"), "initialize", &json!({}));
    OutgoingRequest { bytes: request.to_string().into_bytes(), deliberate: deviations.why(CallSwitch::Greets) }
}

/// The request with which a freedom begins a connection: it shows the token once more.
pub fn authentication(edition: &AmpEdition, token: &str) -> OutgoingRequest {
    let params = json!({"authToken": token});
    let request = edition.envelope.request(&json!("authentication"), "authenticate", &params);
    OutgoingRequest { bytes: request.to_string().into_bytes(), deliberate: None }
}

/// A random id of version 4 (RFC 9562 section 5.4).
fn uuid() -> String {
    use std::hash::{BuildHasher as _, Hasher as _};
    let random = || std::hash::RandomState::new().build_hasher().finish();
    let (a, b) = (random(), random());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        b >> 48 & 0x3fff | 0x8000,
        b & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::amp::editions::CLI;

    fn calls() -> Calls {
        Calls::new(&CLI, Deviations::default())
    }

    fn call(number: u64) -> AgentCall {
        AgentCall { number: json!(number), method: Method::Ping, params: json!({"message": "m"}) }
    }

    fn open(calls: &mut Calls, number: u64, now: Instant) -> String {
        calls.wait(call(number), now);
        String::from_utf8(calls.next_request(now).unwrap().bytes).unwrap()
    }

    #[tokio::test]
    async fn ids_are_counted_as_texts_and_anew_on_the_next_connection() {
        let (mut calls, now) = (calls(), Instant::now());
        assert_eq!(open(&mut calls, 7, now), r#"{"clientRequest":{"id":"1","ping":{"message":"m"}}}"#);
        assert!(open(&mut calls, 8, now).contains(r#""id":"2""#));
        assert_eq!(calls.pending_request("2"), Some(("2".to_owned(), Method::Ping)));
        assert_eq!(calls.take("2"), Some(call(8)));
        assert_eq!(calls.take("2"), None);
        assert_eq!(calls.pending_request("2"), None);
        assert_eq!(calls.take_open(), [call(7)]);
        assert!(open(&mut calls, 9, now).contains(r#""id":"1""#));
    }

    #[tokio::test]
    async fn what_waits_too_long_is_given_up() {
        let (mut calls, start) = (calls(), Instant::now());
        open(&mut calls, 3, start);
        calls.wait(call(1), start);
        calls.wait(call(2), start + RESPONSE_TIMEOUT);
        assert_eq!(calls.take_unconnected(RESPONSE_TIMEOUT, start + RESPONSE_TIMEOUT), [call(1)]);
        assert_eq!(calls.take_late(start), []);
        assert_eq!(calls.next_due(), Some(start + RESPONSE_TIMEOUT));
        assert_eq!(calls.take_late(start + RESPONSE_TIMEOUT), [call(3)]);
        assert_eq!(calls.pending_request("1"), None);
        assert!(calls.has_no_open() && !calls.is_empty());
    }

    #[test]
    fn a_uuid_has_its_form() {
        let id = uuid();
        assert_eq!(id.len(), 36);
        assert_eq!(&id[14..15], "4");
        assert!("89ab".contains(&id[19..20]), "{id}");
    }
}
