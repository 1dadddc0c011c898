//! Requests: is each one for a method of the edition with sound parameters and id, and does it get one response in
//! time?

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use crate::protocol::amp::editions::{AmpEdition, Method};
use crate::protocol::amp::lockfile::is_absolute;
use crate::protocol::amp::{envelope, is_probe};
use crate::protocol::{Judgements, Rule, ViolationDetail};
use crate::trace::{Direction, End, Event, EventKind, opcode};

use super::responses::{ResponseCheck, SchemaChecks};
use super::{ConnectionStates, OVERDUE, RequirementIndex, omitting_end};

/// Judges what is in each request (docs/amp.md, Methods; quick reference, section 5). Its envelope is left to the rule
/// for messages.
pub struct RequestContents {
    edition: &'static AmpEdition,
    requirements: &'static RequirementIndex,
    schema_checks: SchemaChecks,
}

impl RequestContents {
    pub fn new(edition: &'static AmpEdition, requirements: &'static RequirementIndex) -> Self {
        Self { edition, requirements, schema_checks: SchemaChecks::new(edition, requirements) }
    }

    fn params(&mut self, index: u64, (method, area): (&str, &str), params: &Value, out: &mut Judgements) {
        let place = self.edition.envelope.params_place(method);
        let faults = self.schema_checks.faults(&format!("{method}.params"), params);
        let fault = faults.into_iter().next().map(|(pointer, fault)| fault.at(format!("{place}{pointer}")));
        self.requirements.check(out, End::Client, &format!("{area}/params"), index, fault);
        let Some(path) = params.get("path").and_then(Value::as_str) else { return };
        if matches!(area, "read-file" | "edit-file" | "diagnostics") {
            let fault = ViolationDetail::new(format!("the path in a request for `{method}` is not absolute"));
            let fault = fault.at(format!("{place}/path")).actual(path);
            let short = format!("{area}/absolute-path");
            self.requirements.check(out, End::Client, &short, index, (!is_absolute(path)).then_some(fault));
        }
    }
}

impl Rule for RequestContents {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let (EventKind::Message(message), Some(Direction::ToServer)) = (&event.kind, event.dir) else { return };
        let Some(json) = message.json.as_ref().filter(|json| event.deliberate.is_none() && !is_probe(json)) else {
            return;
        };
        let Some(request) = envelope::request(self.edition, json) else { return };
        if let Some(id) = request.id {
            let fault =
                ViolationDetail::new("the id of a request is no string").at("/clientRequest/id").actual(id.clone());
            let fault = (!id.is_string()).then_some(fault);
            self.requirements.check(out, End::Client, "envelope/id-string", event.i, fault);
        }
        let (Some(method), Some(params)) = (request.method, request.params) else { return };
        let known = self.edition.method(method);
        let fault = ViolationDetail::new(format!("a request is for `{method}`, which is no method of the edition"));
        self.requirements.check(out, End::Client, "envelope/known-method", event.i, known.is_none().then_some(fault));
        // Where methods stand beside the id, what is no object may be a member of its own.
        let own = params.is_object() || self.edition.envelope.wrapper.is_some();
        if let Some(known) = known.filter(|_| own) {
            self.params(event.i, (method, known.area()), params, out);
        }
    }
}

/// Microseconds after which the CLI gives up on a response (docs/amp.md, Messages).
const RESPONSE_DEADLINE: u64 = 2_000_000;

/// For so many bytes that pass while a request waits, a second more is granted: they keep busy whoever records them,
/// and the times are his.
const BYTES_A_SECOND: u64 = 256 << 10;

/// So many answered ids are remembered for each connection.
const MAX_ANSWERED_IDS: usize = 4096;

/// Checks responses against requests.
///
/// Of a connection on which the client sent something wrong on purpose, something that is no request, or bytes that
/// nobody took apart, and of one whose beginning is not in the trace, ids that nobody asked for are passed over: they may
/// answer that. A request is missed once it has waited for
/// [`OVERDUE`] on a connection that was open.
pub struct Requests {
    edition: &'static AmpEdition,
    requirements: &'static RequirementIndex,
    schema_checks: SchemaChecks,
    connections: ConnectionStates<RequestState>,
    /// How many bytes frames carried so far, on all connections.
    bytes_passed: u64,
    now: u64,
}

#[derive(Default)]
struct RequestState {
    /// How many bytes the frames carried that the client sent since its last message.
    sending: u64,
    /// Whether the client sent something that is no sound request.
    tainted: bool,
    /// Whether the client does, or did, something on purpose that may delay responses.
    delayed: bool,
    /// When the last frame from the server came. The message in it is known later, the larger it is the more.
    arrived: Option<u64>,
    /// When one of the ends began to close.
    closing: Option<u64>,
    /// The pending requests, by id as JSON text.
    pending: HashMap<String, VecDeque<PendingRequest>>,
    /// What answered the last ids, as hashes.
    answered: HashMap<String, u64>,
    answered_order: VecDeque<String>,
}

/// A request that waits for its response.
pub struct PendingRequest {
    /// The id of the request.
    pub id: Value,
    /// The name of its method; none where it names none or several.
    pub method: Option<String>,
    /// Its method, where the edition has it.
    pub known: Option<Method>,
    /// The text that a `ping` has to give back.
    pub ping: Option<String>,
    /// The verdict on its parameters.
    pub params: ParamsVerdict,
    /// Whether it is wrong on purpose.
    pub deliberate: bool,
    index: u64,
    t: u64,
    /// How many bytes had passed when its first frame was sent.
    bytes_passed: u64,
}

/// The parameters of a request, by its method's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamsVerdict {
    /// The parameters are valid, or there is no schema for them.
    Sound,
    /// A parameter is missing.
    Missing,
    /// A parameter has the wrong type.
    Wrong,
}

impl Requests {
    pub fn new(edition: &'static AmpEdition, requirements: &'static RequirementIndex) -> Self {
        let schema_checks = SchemaChecks::new(edition, requirements);
        Self { edition, requirements, schema_checks, connections: ConnectionStates::new(), bytes_passed: 0, now: 0 }
    }

    fn on_request(&mut self, event: &Event, json: &Value, out: &mut Judgements) {
        // A probe may be in the envelope of another edition.
        let (sound, deliberate) = (event.deliberate.is_none(), event.deliberate.is_some() || is_probe(json));
        let request = envelope::request(self.edition, json);
        let pending = request.and_then(|request| {
            let (id, method) = (request.id?.clone(), request.method.map(str::to_owned));
            let known = request.method.and_then(|method| self.edition.method(method));
            let ping = request.params.and_then(|params| params.get("message")).and_then(Value::as_str);
            let ping = ping.filter(|_| known == Some(Method::Ping)).map(str::to_owned);
            let params = self.params(method.as_deref(), request.params);
            Some(PendingRequest {
                id,
                method,
                known,
                ping,
                params,
                deliberate,
                index: event.i,
                t: event.t,
                bytes_passed: self.bytes_passed,
            })
        });
        let Some(connection) = self.connections.of(event) else { return };
        let Some(mut pending) = pending else {
            connection.tainted = true;
            return;
        };
        pending.bytes_passed = pending.bytes_passed.saturating_sub(connection.sending);
        connection.tainted |= !sound || !pending.id.is_string() || pending.method.is_none();
        let key = pending.id.to_string();
        connection.answered.remove(&key);
        let waiting = connection.pending.entry(key).or_default();
        self.requirements.check_if(out, End::Client, "envelope/id-unique", event.i, !waiting.is_empty(), || {
            format!("the id {} is used again before the request was answered", pending.id)
        });
        waiting.push_back(pending);
    }

    fn params(&mut self, method: Option<&str>, params: Option<&Value>) -> ParamsVerdict {
        let (Some(method), Some(params)) = (method, params) else { return ParamsVerdict::Sound };
        let name = format!("{method}.params");
        let Some((pointer, _)) = self.schema_checks.faults(&name, params).into_iter().next() else {
            return ParamsVerdict::Sound;
        };
        // A missing member is reported at the object around it.
        if pointer.is_empty() && params.is_object() { ParamsVerdict::Missing } else { ParamsVerdict::Wrong }
    }

    fn on_response(&mut self, event: &Event, json: &Value, out: &mut Judgements) {
        let Some(response) = envelope::response(self.edition, json) else { return };
        let Some(id) = response.id.cloned() else {
            if let Some(connection) = self.connections.of(event).filter(|connection| !connection.tainted) {
                let fault = ViolationDetail::new("a response has no id").at("/serverResponse");
                self.requirements.check(out, End::Server, "envelope/id", event.i, Some(fault));
                connection.tainted = true;
            }
            return;
        };
        let key = id.to_string();
        let here = event.conn.as_deref().unwrap_or_default();
        let elsewhere = self.connections.iter().find(|(conn, state)| *conn != here && state.pending.contains_key(&key));
        let elsewhere = elsewhere.map(|(conn, _)| conn.to_owned());
        let Some(connection) = self.connections.of(event) else { return };
        let Some((pending, exact)) = connection.take(&id) else {
            return connection.unexpected(event.i, &id, hash(json), elsewhere, self.requirements, out);
        };
        connection.note_answered(pending.id.to_string(), hash(json));
        let met = |out: &mut Judgements, short: &str| self.requirements.check(out, End::Server, short, event.i, None);
        for short in ["envelope/answered", "envelope/unasked", "envelope/answered-once"] {
            met(out, short);
        }
        if elsewhere.is_some() {
            met(out, "envelope/ids-per-connection");
        }
        if !connection.delayed && !pending.deliberate {
            let t = connection.arrived.unwrap_or(event.t);
            late(self.requirements, &pending, event.i, t, self.bytes_passed, out);
        }
        let check =
            ResponseCheck { requirements: self.requirements, edition: self.edition, index: event.i, request: &pending };
        check.id(&id, exact, out);
        check.judge(&response, &mut self.schema_checks, out);
    }

    /// Judges the requests that got no response.
    fn check_unanswered(&self, connection: &RequestState, now: u64, out: &mut Judgements) {
        if connection.delayed {
            return;
        }
        let until = connection.closing.unwrap_or(now);
        let mut left: Vec<_> =
            connection.pending.values().flatten().filter(|p| !p.deliberate && p.id.is_string()).collect();
        left.sort_by_key(|pending| pending.index);
        for pending in left {
            let waited = until.saturating_sub(pending.t);
            // What never came is not late as well.
            if waited >= OVERDUE {
                let method = pending.method.as_deref().unwrap_or("no method");
                let fault = ViolationDetail::new(format!(
                    "a request for {method} was not answered for {} s",
                    waited / 1_000_000
                ));
                self.requirements.check(
                    out,
                    End::Server,
                    "envelope/answered",
                    pending.index,
                    Some(fault.actual(pending.id.clone()).late(waited - OVERDUE)),
                );
            }
        }
    }
}

impl Rule for Requests {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        self.now = event.t;
        if self.connections.of(event).is_none() {
            return;
        }
        let began_before_trace = self.connections.began_before_trace(event);
        let Some(connection) = self.connections.of(event) else { return };
        // What it answers may have been asked before the trace began.
        connection.tainted |= began_before_trace;
        if event.deliberate.is_some() && event.dir == Some(Direction::ToServer) {
            connection.tainted = true;
            // A wrong message is answered or not; a wrong frame or a connection that is not read may delay the rest.
            connection.delayed |= !matches!(event.kind, EventKind::Message(_) | EventKind::Frame(_));
        }
        connection.delayed |= omitting_end(event) == Some(End::Server);
        let mut closes = false;
        match &event.kind {
            EventKind::Frame(frame) => {
                closes = frame.opcode == opcode::CLOSE;
                self.bytes_passed = self.bytes_passed.saturating_add(frame.length);
                match event.dir {
                    Some(Direction::ToClient) => connection.arrived = Some(event.t),
                    _ => connection.sending = connection.sending.saturating_add(frame.length),
                }
            }
            EventKind::Closed(_) => closes = true,
            // Requests may be in it.
            EventKind::Bytes { .. } if event.dir == Some(Direction::ToServer) => connection.tainted = true,
            _ => {}
        }
        if closes {
            connection.closing.get_or_insert(event.t);
        }
        if let EventKind::Message(message) = &event.kind {
            match (event.dir, &message.json) {
                (Some(Direction::ToServer), Some(json)) => self.on_request(event, json, out),
                (Some(Direction::ToServer), None) => connection.tainted = true,
                (Some(Direction::ToClient), Some(json)) => self.on_response(event, json, out),
                // It may have been a response, if nobody can read it.
                (Some(Direction::ToClient), None) => connection.delayed = true,
                _ => {}
            }
            if event.dir == Some(Direction::ToServer)
                && let Some(connection) = self.connections.of(event)
            {
                connection.sending = 0;
            }
        }
        if let Some(connection) = self.connections.ended(event) {
            self.check_unanswered(&connection, event.t, out);
        }
    }

    fn end(&mut self, out: &mut Judgements) {
        for connection in self.connections.drain() {
            self.check_unanswered(&connection, self.now, out);
        }
    }
}

impl RequestState {
    /// The request that an id answers, and whether the id is the very same.
    fn take(&mut self, id: &Value) -> Option<(PendingRequest, bool)> {
        let exact = id.to_string();
        let loose = match id {
            Value::String(text) => text.clone(),
            other => Value::String(other.to_string()).to_string(),
        };
        let key = [exact, loose].into_iter().find(|key| self.pending.contains_key(key))?;
        let waiting = self.pending.get_mut(&key)?;
        let pending = waiting.pop_front()?;
        if waiting.is_empty() {
            self.pending.remove(&key);
        }
        let same = pending.id == *id;
        Some((pending, same))
    }

    fn note_answered(&mut self, key: String, response: u64) {
        if self.answered_order.len() == MAX_ANSWERED_IDS
            && let Some(oldest) = self.answered_order.pop_front()
        {
            self.answered.remove(&oldest);
        }
        self.answered_order.push_back(key.clone());
        self.answered.insert(key, response);
    }

    /// The request that waits, which then waits no more; none where there are several.
    fn only_pending(&mut self) -> Option<PendingRequest> {
        let only = self.pending.values().map(VecDeque::len).sum::<usize>() == 1;
        let key = self.pending.keys().next().filter(|_| only)?.clone();
        self.pending.remove(&key)?.pop_front()
    }

    /// A response that answers no request that waits.
    fn unexpected(
        &mut self,
        index: u64,
        id: &Value,
        response: u64,
        elsewhere: Option<String>,
        requirements: &RequirementIndex,
        out: &mut Judgements,
    ) {
        if let Some(first) = self.answered.get(&id.to_string()) {
            // Another response than the first one is that to the request that waits.
            if *first != response
                && let Some(pending) = self.only_pending()
            {
                let fault = ViolationDetail::new("a response has the id of a request that was answered before");
                let fault = fault.at("/serverResponse/id").expected(pending.id).actual(id.clone());
                return requirements.check(out, End::Server, "envelope/id", index, Some(fault));
            }
            let fault = ViolationDetail::new(format!("the request {id} is answered again")).at("/serverResponse/id");
            return requirements.check(
                out,
                End::Server,
                "envelope/answered-once",
                index,
                Some(fault.actual(id.clone())),
            );
        }
        if self.tainted {
            return;
        }
        // The right one may still come.
        let altered = self.pending.values().flatten().find(|pending| is_altered(&pending.id, id));
        if elsewhere.is_none()
            && let Some(pending) = altered
        {
            let fault = ViolationDetail::new("a response does not have the whole id of its request, or not as it was");
            let fault = fault.at("/serverResponse/id").expected(pending.id.clone()).actual(id.clone());
            return requirements.check(out, End::Server, "envelope/id", index, Some(fault));
        }
        let whose = match elsewhere {
            Some(conn) => format!("no request on this connection, but one on `{conn}`"),
            None => "no request".to_owned(),
        };
        let fault =
            ViolationDetail::new(format!("a response with the id {id} answers {whose}")).at("/serverResponse/id");
        requirements.check(out, End::Server, "envelope/unasked", index, Some(fault.actual(id.clone())));
    }
}

/// Whether an id is the beginning of another one, or that with more, or the same in another case.
fn is_altered(requested: &Value, responded: &Value) -> bool {
    let (Some(requested), Some(responded)) = (requested.as_str(), responded.as_str()) else { return false };
    let (requested, responded) = (requested.trim(), responded.trim());
    let either_is_empty = requested.is_empty() || responded.is_empty();
    let cut = || requested.starts_with(responded) || responded.starts_with(requested);
    !either_is_empty && (cut() || requested.to_lowercase() == responded.to_lowercase())
}

fn hash(json: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    json.hash(&mut hasher);
    hasher.finish()
}

/// Judges how long a response took that came, or had not come, at `t`, when so many bytes had passed.
fn late(
    requirements: &RequirementIndex,
    pending: &PendingRequest,
    index: u64,
    t: u64,
    bytes_passed: u64,
    out: &mut Judgements,
) {
    let took = t.saturating_sub(pending.t);
    let granted = bytes_passed.saturating_sub(pending.bytes_passed).saturating_mul(1_000_000) / BYTES_A_SECOND;
    if took > RESPONSE_DEADLINE && took <= RESPONSE_DEADLINE.saturating_add(granted) {
        return;
    }
    let fault = || {
        let fault = ViolationDetail::new(format!("no response to the request {} came within two seconds", pending.id));
        fault
            .expected("at most 2 s")
            .actual(json!(format!("{:.1} s", took as f64 / 1e6)))
            .late(took.saturating_sub(RESPONSE_DEADLINE))
    };
    requirements.check(out, End::Server, "envelope/timely", index, (took > RESPONSE_DEADLINE).then(fault));
    if pending.known == Some(Method::Ping) {
        requirements.check(out, End::Server, "ping/timely", index, (took > RESPONSE_DEADLINE).then(fault));
    }
}
