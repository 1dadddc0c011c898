//! The calls of the agent's caller: those that wait for a connection, those that wait for a response, and what is
//! reported of each.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::protocol::amp::editions::{AmpEdition, Method};

use super::deviations::{AgentEffect, Deviations, Switch};
use super::incoming::ResponseOutcome;

/// How long a response is waited for (docs/amp.md, Messages).
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// After which time a flaw makes a request again.
const REPEAT_AFTER: Duration = Duration::from_millis(20);
/// How many ids of past requests are kept, for the flaws that need them.
const MAX_PAST_IDS: usize = 1000;

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
        let mut expired = vec![];
        while let Some((_, call)) = self.waiting.pop_front_if(|(since, _)| *since + patience <= now) {
            expired.push(call);
        }
        expired
    }

    /// The request of the next call that waits for a connection, which from now on waits for its response.
    pub fn next_request(&mut self, now: Instant) -> Option<OutgoingRequest> {
        if self.deviations.has(Switch::Serial) && !self.open.is_empty() {
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
            () if self.deviations.has(Switch::UuidIds) => uuid(),
            () if self.deviations.has(Switch::OneId) => "1".to_owned(),
            () if self.deviations.has(Switch::QuotedIds) => format!("\"call\\{}\"", self.last),
            () => self.last.to_string(),
        };
        (id.clone(), encode_request(self.edition, &self.deviations, &id, call.method, &call.params))
    }

    /// The requests that a flaw makes again.
    pub fn repeat(&mut self, now: Instant) -> Vec<OutgoingRequest> {
        if !self.deviations.has(Switch::Repeats) {
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
        let misassigned = has(Switch::InOrder)
            || (is_late && has(Switch::TakesLate))
            || (is_again && has(Switch::TakesTwice))
            || (is_unknown && has(Switch::TakesUnknown));
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
        if self.deviations.has(Switch::NoTimeout) {
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
        if self.deviations.has(Switch::KeepsOpen) {
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
        let again = self.deviations.has(Switch::Repeats);
        let due = |open: &OpenCall| open.since + if again && !open.repeated { REPEAT_AFTER } else { RESPONSE_TIMEOUT };
        let timeouts = !self.deviations.has(Switch::NoTimeout);
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
    let number = id.parse::<u64>().ok().filter(|_| deviations.has(Switch::NumericIds));
    let id = number.map_or_else(|| json!(id), |number| json!(number));
    let mut request = edition.envelope.request(&id, edition.methods.of(method).unwrap_or_default(), &params);
    let change = |effect| if let AgentEffect::Request(change) = effect { Some(change) } else { None };
    why = deviations.rewrite(&mut request, change).or(why);
    let mut bytes = request.to_string().into_bytes();
    why = deviations.message_text(&mut bytes).or(why);
    let deliberate = why.or_else(|| {
        [Switch::OneId, Switch::NumericIds, Switch::Repeats].into_iter().find_map(|switch| deviations.why(switch))
    });
    OutgoingRequest { bytes, deliberate }
}

/// The request with which a flaw begins a connection: for a method that no edition has.
pub fn greeting(edition: &AmpEdition, deviations: &Deviations) -> OutgoingRequest {
    let request = edition.envelope.request(&json!("hello"), "initialize", &json!({}));
    OutgoingRequest { bytes: request.to_string().into_bytes(), deliberate: deviations.why(Switch::Greets) }
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

/// The key of the line that reports an outcome, `result` or `error`, and its value.
pub fn report_outcome(deviations: &Deviations, call: &AgentCall, outcome: ResponseOutcome) -> (&'static str, Value) {
    let failed = match &outcome {
        ResponseOutcome::Result(result) => result.get(flag(call.method)) == Some(&json!(false)),
        ResponseOutcome::Error(_) | ResponseOutcome::NoResult => true,
    };
    if failed && deviations.has(Switch::SuccessAnyway(call.method)) {
        return ("result", success(call));
    }
    match outcome {
        ResponseOutcome::Result(result) => report_result(deviations, call, result),
        ResponseOutcome::Error(error) if deviations.has(Switch::ErrorsAsResults) => {
            ("result", error["message"].clone())
        }
        ResponseOutcome::Error(error) if deviations.has(Switch::ErrorsWithDataAsResults) && has_more(&error) => {
            ("result", error)
        }
        ResponseOutcome::Error(error) => ("error", json!({"code": error["code"], "message": error["message"]})),
        ResponseOutcome::NoResult if deviations.has(Switch::NothingAsResult) => ("result", success(call)),
        ResponseOutcome::NoResult => ("error", error_json("no_result", "the editor answered without a result")),
    }
}

fn report_result(deviations: &Deviations, call: &AgentCall, mut result: Value) -> (&'static str, Value) {
    if deviations.has(Switch::EmptyIsFailure(call.method)) && is_empty(&result) {
        return ("error", error_json("empty", "there is nothing"));
    }
    let differs = call.method == Method::Ping && result.get("message") != call.params.get("message");
    if differs && call.params.get("message").is_some_and(Value::is_string) && !deviations.has(Switch::WrongTypes) {
        return ("error", error_json("wrong_echo", "the editor answered with another message"));
    }
    if deviations.has(Switch::FailuresAsErrors) && result.get(flag(call.method)) == Some(&json!(false)) {
        let message = result.get("message").cloned().unwrap_or_else(|| json!("the editor could not do it"));
        return ("error", json!({"message": message}));
    }
    deviations.rewrite(&mut result, |effect| match effect {
        AgentEffect::Result(of, change) if of.is_none_or(|of| of == call.method) => Some(change),
        _ => None,
    });
    if deviations.has(Switch::Essence) {
        result = essential_part(call.method, result);
    }
    ("result", result)
}

fn error_json(code: &str, message: &str) -> Value {
    json!({"code": code, "message": message})
}

/// Whether an error has more than it must have.
fn has_more(error: &Value) -> bool {
    error.as_object().is_some_and(|keys| keys.len() > 2)
}

/// The member of a result that says whether the method succeeded.
fn flag(method: Method) -> &'static str {
    if method == Method::Authenticate { "authenticated" } else { "success" }
}

/// The result of a success.
fn success(call: &AgentCall) -> Value {
    match call.method {
        Method::Ping => json!({"message": call.params["message"]}),
        Method::Authenticate => json!({"authenticated": true}),
        Method::ReadFile => json!({"success": true, "content": ""}),
        Method::EditFile | Method::OpenUri => json!({"success": true}),
        Method::GetDiagnostics => json!({"entries": []}),
    }
}

/// Whether a result has nothing in it.
fn is_empty(result: &Value) -> bool {
    let members = result.as_object().into_iter().flat_map(|members| members.iter());
    let empty = |value: &Value| *value == json!("") || *value == json!([]);
    empty(result) || members.into_iter().any(|(key, value)| (key == "content" || key == "entries") && empty(value))
}

/// The part of a result that a caller needs.
fn essential_part(method: Method, mut result: Value) -> Value {
    let key = match method {
        Method::Ping => "message",
        Method::Authenticate => "authenticated",
        Method::ReadFile => "content",
        Method::EditFile | Method::OpenUri => "success",
        Method::GetDiagnostics => "entries",
    };
    match result.get_mut(key) {
        Some(value) => value.take(),
        None => result,
    }
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

    fn reported(method: Method, outcome: ResponseOutcome) -> (&'static str, Value) {
        let call = AgentCall { number: json!(1), method, params: json!({"message": "m"}) };
        super::report_outcome(&Deviations::default(), &call, outcome)
    }

    #[test]
    fn results_are_told_as_they_came_and_errors_with_code_and_message() {
        let read = json!({"success": false, "message": "gone"});
        assert_eq!(reported(Method::ReadFile, ResponseOutcome::Result(read.clone())), ("result", read));
        let error = json!({"code": -32000, "message": "no", "data": 1});
        let expected = json!({"code": -32000, "message": "no"});
        assert_eq!(reported(Method::ReadFile, ResponseOutcome::Error(error)), ("error", expected));
        assert_eq!(reported(Method::ReadFile, ResponseOutcome::NoResult).0, "error");
    }

    #[test]
    fn a_ping_with_another_echo_is_no_success() {
        assert_eq!(reported(Method::Ping, ResponseOutcome::Result(json!({"message": "m"}))).0, "result");
        assert_eq!(reported(Method::Ping, ResponseOutcome::Result(json!({"message": "n"}))).0, "error");
    }
}
