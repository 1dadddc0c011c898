//! Handshakes: is a request one that a server has to accept, is an acceptance valid, is a bad request refused, and how often does
//! a client connect?

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::json;

use crate::protocol::rfc6455::{accept_key, has_token, is_key, items, only, stray_extension, stray_subprotocol};
use crate::protocol::{Judgements, Rule, ViolationDetail};
use crate::trace::{Direction, End, Event, EventKind, Head, Mark};

use super::lockfiles::auth;
use super::{ConnectionStates, RequirementIndex};

/// So many keys are remembered; of more, none is taken for an old one.
const MAX_KEYS: usize = 10_000;

/// Judges every handshake of the client by itself, and against those before it (RFC 6455 section 4.1).
pub struct HandshakeRequests {
    requirements: &'static RequirementIndex,
    connections: ConnectionStates<HandshakeStage>,
    keys: HashSet<String>,
}

/// How far the handshake of a connection has come.
#[derive(Default)]
enum HandshakeStage {
    /// No handshake was seen.
    #[default]
    Unknown,
    /// The request waits for its response.
    Requested,
    /// The handshake was refused.
    Refused,
    /// The connection is established, or a violation of the client was reported.
    Over,
}

impl HandshakeRequests {
    pub fn new(requirements: &'static RequirementIndex) -> Self {
        Self { requirements, connections: ConnectionStates::new(), keys: HashSet::new() }
    }

    fn request(&mut self, index: u64, head: &Head, out: &mut Judgements) {
        let mut check = |short: &str, fault: Option<ViolationDetail>| {
            self.requirements.check(out, End::Client, short, index, fault)
        };
        let line = &head.start;
        let mut words = line.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let wrong = |what: &str, expected: &str| ViolationDetail::new(what).expected(expected).actual(line.clone());
        check("connection/method", (method != "GET").then(|| wrong("a handshake is no GET request", "GET")));
        let version = line.rsplit(' ').next().and_then(|word| word.strip_prefix("HTTP/"));
        let recent = version.and_then(|v| v.split_once('.')).is_some_and(|(major, minor)| {
            let (major, minor) = (major.parse::<u32>().unwrap_or(0), minor.parse::<u32>().unwrap_or(0));
            (major, minor) >= (1, 1)
        });
        check("connection/http-version", (!recent).then(|| wrong("a handshake is not made in HTTP/1.1", "HTTP/1.1")));
        let root = path(target) == "/";
        check("connection/target", (!root).then(|| wrong("a handshake is made for another path", "/")));
        let values = |name: &str| json!(head.header(name).collect::<Vec<_>>());
        let lacks = |name: &str, expected: &str| {
            let what = format!("a handshake has no header `{name}` as it has to be");
            ViolationDetail::new(what).expected(expected).actual(values(name))
        };
        let host = only(head, "host").is_some_and(|host| !host.is_empty());
        check("connection/host", (!host).then(|| lacks("Host", "one, not empty")));
        let upgrade = has_token(head, "upgrade", "websocket");
        check("connection/upgrade", (!upgrade).then(|| lacks("Upgrade", "websocket")));
        let connection = has_token(head, "connection", "upgrade");
        check("connection/connection", (!connection).then(|| lacks("Connection", "Upgrade")));
        let version = only(head, "sec-websocket-version") == Some("13");
        check("connection/version", (!version).then(|| lacks("Sec-WebSocket-Version", "13")));
        let key = only(head, "sec-websocket-key").filter(|key| is_key(key));
        check("connection/key", key.is_none().then(|| lacks("Sec-WebSocket-Key", "16 bytes in base64")));
        if let Some(key) = key {
            let old = self.keys.contains(key);
            if self.keys.len() < MAX_KEYS {
                self.keys.insert(key.to_owned());
            }
            let fault = ViolationDetail::new("a handshake has the key of an earlier one").actual(key);
            self.requirements.check(out, End::Client, "connection/key-fresh", index, old.then_some(fault));
        }
    }
}

impl Rule for HandshakeRequests {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let Some(stage) = self.connections.of(event) else { return };
        let requirements = self.requirements;
        let mut request = None;
        match (&event.kind, event.dir) {
            (EventKind::Handshake(head), Some(Direction::ToServer)) => {
                *stage = HandshakeStage::Requested;
                request = Some(head);
            }
            (EventKind::Handshake(head), Some(Direction::ToClient)) => {
                *stage = match head.status() {
                    Some(101) => {
                        requirements.check(out, End::Client, "connection/waits", event.i, None);
                        HandshakeStage::Over
                    }
                    _ => HandshakeStage::Refused,
                };
            }
            // After a refusal the next request may follow.
            (EventKind::Frame(_) | EventKind::Bytes { .. }, Some(Direction::ToServer)) => {
                let premature = match (&*stage, &event.kind) {
                    (HandshakeStage::Requested, _) => Some("before its handshake was answered"),
                    (HandshakeStage::Refused, EventKind::Frame(_)) => Some("though its handshake was refused"),
                    _ => None,
                };
                if let Some(when) = premature {
                    *stage = HandshakeStage::Over;
                    let fault = ViolationDetail::new(format!("the client sends something {when}"));
                    requirements.check(out, End::Client, "connection/waits", event.i, Some(fault));
                }
            }
            _ => {}
        }
        if let Some(head) = request.filter(|_| event.deliberate.is_none()) {
            self.request(event.i, head, out);
        }
        self.connections.ended(event);
    }
}

/// The path of a request target, which may be a whole URL (RFC 6455 section 3).
fn path(target: &str) -> &str {
    let target = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?']) => rest.find(['/', '?']).map_or("", |at| &rest[at..]),
        _ => target,
    };
    target.split(['?', '#']).next().unwrap_or(target)
}

/// Checks each response to a handshake against its request (RFC 6455 section 4.2), and that nobody is told anything whose
/// handshake was refused.
pub struct HandshakeResponses {
    requirements: &'static RequirementIndex,
    requests: ConnectionStates<AnsweredHandshake>,
}

/// How far the server is with a handshake.
#[derive(Default)]
enum AnsweredHandshake {
    /// There is none, or it is judged.
    #[default]
    Over,
    /// It waits for its response; whether it is wrong on purpose.
    Requested(Box<Head>, bool),
    /// It was refused for its token. This requirement is broken if messages come all the same.
    Refused(&'static str),
}

impl HandshakeResponses {
    pub fn new(requirements: &'static RequirementIndex) -> Self {
        Self { requirements, requests: ConnectionStates::new() }
    }
}

impl Rule for HandshakeResponses {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let requirements = self.requirements;
        let Some(state) = self.requests.of(event) else { return };
        match (&event.kind, event.dir) {
            (EventKind::Handshake(head), Some(Direction::ToServer)) => {
                *state = AnsweredHandshake::Requested(Box::new(head.clone()), event.deliberate.is_some());
            }
            (EventKind::Handshake(response), Some(Direction::ToClient)) => {
                if let AnsweredHandshake::Requested(request, deliberate) = std::mem::take(state) {
                    let faults = request_faults(&request);
                    let exchange = HandshakeExchange { requirements, index: event.i, request: &request, response };
                    exchange.judge(&faults, out);
                    if deliberate && faults.is_empty() && response.status() != Some(101) {
                        *state = AnsweredHandshake::Refused(token_requirement(&request));
                    }
                }
            }
            (EventKind::Bytes { bytes }, Some(Direction::ToClient)) if is_message(bytes.as_bytes()) => {
                if let AnsweredHandshake::Refused(short) = std::mem::take(state) {
                    let fault =
                        ViolationDetail::new("a client whose handshake was refused is sent a message all the same");
                    requirements.check(out, End::Server, short, event.i, Some(fault));
                }
            }
            _ => {}
        }
        self.requests.ended(event);
    }
}

/// The requirement that refuses a handshake with the token of this one, which is taken for a wrong one.
fn token_requirement(request: &Head) -> &'static str {
    match auth(request.start.split(' ').nth(1).unwrap_or_default()) {
        None => "connection/token-missing",
        Some("") => "connection/token-empty",
        Some(_) => "connection/token-wrong",
    }
}

/// Whether bytes begin with a frame of a server that holds an object of JSON (RFC 6455 section 5.2).
fn is_message(bytes: &[u8]) -> bool {
    let &[0x01 | 0x81, length, ref rest @ ..] = bytes else { return false };
    let extended = match length {
        0..126 => 0,
        126 => 2,
        127 => 8,
        _ => return false,
    };
    rest.get(extended..).is_some_and(|text| text.trim_ascii_start().starts_with(b"{"))
}

/// A handshake request and the response to it.
struct HandshakeExchange<'a> {
    requirements: &'static RequirementIndex,
    index: u64,
    request: &'a Head,
    response: &'a Head,
}

impl HandshakeExchange<'_> {
    /// Judges the response to a request with these faults.
    fn judge(&self, faults: &[(&str, String)], out: &mut Judgements) {
        let accepted = self.response.status() == Some(101);
        for (short, what) in faults {
            self.refused(out, short, what, accepted);
        }
        if accepted {
            self.acceptance(out);
        } else {
            self.refusal(out, faults);
        }
    }

    /// Judges the response to a request that breaks the RFC: it has to be an error status.
    fn refused(&self, out: &mut Judgements, short: &str, what: &str, accepted: bool) {
        let status = self.response.status();
        let error = status.is_some_and(|status| status >= 400);
        let how = if accepted { "was accepted".to_owned() } else { format!("was answered `{}`", self.response.start) };
        let fault = ViolationDetail::new(format!("a handshake with {what} {how}"));
        let fault = fault.expected("a status of 400 or above").actual(json!(status));
        self.requirements.check(out, End::Server, short, self.index, (!error).then_some(fault));
    }

    fn acceptance(&self, out: &mut Judgements) {
        let (request, response) = (self.request, self.response);
        if let Some(expected) = accept_key(request) {
            let actual = only(response, "sec-websocket-accept");
            let fault = (actual != Some(expected.as_str())).then(|| {
                let fault = ViolationDetail::new("the handshake was accepted with a wrong `Sec-WebSocket-Accept`");
                fault.expected(expected).actual(json!(actual))
            });
            self.check(out, "connection/accept-key", fault);
        }
        self.header(out, "connection/upgrade-header", "Upgrade", "websocket");
        self.header(out, "connection/connection-header", "Connection", "Upgrade");
        let stray = stray_subprotocol(request, response).map(|name| {
            ViolationDetail::new(format!("the response names the subprotocol `{name}`, which was not offered"))
        });
        self.check(out, "connection/subprotocol-not-offered", stray);
        let stray = stray_extension(request, response).map(|name| {
            ViolationDetail::new(format!("the response names the extension `{name}`, which was not offered"))
        });
        self.check(out, "connection/extension-not-offered", stray);
    }

    fn header(&self, out: &mut Judgements, short: &str, name: &str, token: &str) {
        let fault = (!has_token(self.response, name, token)).then(|| {
            let actual: Vec<_> = self.response.header(name).collect();
            ViolationDetail::new(format!("the handshake was accepted without a header `{name}: {token}`"))
                .expected(token)
                .actual(json!(actual))
        });
        self.check(out, short, fault);
    }

    fn refusal(&self, out: &mut Judgements, faults: &[(&str, String)]) {
        if self.response.status().is_some_and(|status| status >= 400) {
            self.check(out, "connection/refusal", None);
        }
        if let [("connection/version-refused", _)] = faults {
            let lists_supported = items(self.response, "sec-websocket-version").any(|version| version == "13");
            let fault =
                ViolationDetail::new("a WebSocket version was refused without telling the one that is supported")
                    .expected("Sec-WebSocket-Version: 13");
            self.check(out, "connection/version-reported", (!lists_supported).then_some(fault));
        }
    }

    fn check(&self, out: &mut Judgements, short: &str, fault: Option<ViolationDetail>) {
        self.requirements.check(out, End::Server, short, self.index, fault);
    }
}

/// The faults of a request by the RFC, each with the requirement to refuse it.
fn request_faults(request: &Head) -> Vec<(&'static str, String)> {
    let mut faults = vec![];
    let mut words = request.start.split(' ');
    let (method, _, version) = (words.next(), words.next(), words.next());
    if let Some(method) = method.filter(|method| *method != "GET") {
        faults.push(("connection/method", format!("the method {method}")));
    }
    if let Some(version @ ("HTTP/1.0" | "HTTP/0.9")) = version {
        faults.push(("connection/http-version", format!("the version {version}")));
    }
    if !has_token(request, "upgrade", "websocket") || !has_token(request, "connection", "upgrade") {
        faults.push(("connection/not-websocket", "no request to upgrade to WebSocket".to_owned()));
        return faults;
    }
    if !only(request, "sec-websocket-key").is_some_and(is_key) {
        faults.push(("connection/key-missing", "no valid `Sec-WebSocket-Key`".to_owned()));
    }
    if only(request, "sec-websocket-version") != Some("13") {
        let version = only(request, "sec-websocket-version").unwrap_or("none");
        faults.push(("connection/version-refused", format!("the WebSocket version {version}")));
    }
    faults
}

/// So many connections to one address within [`WINDOW`] are a few: a client that looks whether a handshake is accepted
/// before it connects makes two for each try.
const MAX_ATTEMPTS: usize = 10;

/// Microseconds.
const WINDOW: u64 = 1_000_000;

/// So many clients and addresses are looked at.
const MAX_CLIENTS: usize = 256;

/// So many connections may wait for their first event, which may name their process.
const MAX_STARTED: usize = 256;

/// Counts how often a client connects (docs/amp.md, Connecting again). Only where the process in the trace is the
/// client: several clients may be at the other end of a server. That process may have started several in its turn:
/// where the trace shows which process a connection is of, each is counted for itself, and what is of no known one is
/// not counted. A connection counts once something is sent on it: one that only looks whether a port accepts does not.
pub struct ConnectionAttempts {
    requirements: &'static RequirementIndex,
    single: bool,
    /// Whether the trace names the processes of connections.
    names_processes: bool,
    /// Connections on which the client has sent nothing so far.
    started: HashMap<String, ConnectionAttempt>,
    /// When the latest connections to an address came, by the process that they are of, where it is known.
    recent: HashMap<(String, Option<String>), VecDeque<u64>>,
}

/// A connection.
struct ConnectionAttempt {
    address: String,
    t: u64,
    index: u64,
    process: Option<String>,
}

impl ConnectionAttempts {
    pub fn new(requirements: &'static RequirementIndex) -> Self {
        Self { requirements, single: false, names_processes: false, started: HashMap::new(), recent: HashMap::new() }
    }

    fn count(&mut self, attempt: ConnectionAttempt, out: &mut Judgements) {
        self.names_processes |= attempt.process.is_some();
        if self.names_processes && attempt.process.is_none() {
            return;
        }
        let key = (attempt.address, attempt.process);
        if self.recent.len() == MAX_CLIENTS && !self.recent.contains_key(&key) {
            return;
        }
        let recent = self.recent.entry(key).or_default();
        recent.retain(|t| attempt.t.saturating_sub(*t) < WINDOW);
        recent.push_back(attempt.t);
        if recent.len() > MAX_ATTEMPTS {
            let fault = ViolationDetail::new(format!("the client connected {} times within a second", recent.len()));
            // Where this machine was held up, what it saw at once may have come one after the other.
            let early = WINDOW.saturating_sub(attempt.t.saturating_sub(recent.front().copied().unwrap_or_default()));
            let fault = fault.late(early);
            self.requirements.check(out, End::Client, "lifecycle/retries-calmly", attempt.index, Some(fault));
            // Each burst is reported once.
            recent.clear();
        }
    }
}

impl Rule for ConnectionAttempts {
    fn processes(&mut self, end: End) {
        self.single = end == End::Client;
    }

    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let Some(conn) = event.conn.as_ref().filter(|_| self.single) else { return };
        match &event.kind {
            EventKind::Connected { address } if self.started.len() < MAX_STARTED => {
                let attempt = ConnectionAttempt { address: address.clone(), t: event.t, index: event.i, process: None };
                self.started.insert(conn.clone(), attempt);
            }
            EventKind::Mark(mark) if mark.mark == Mark::PROCESS => {
                if let Some(attempt) = self.started.get_mut(conn) {
                    attempt.process = Some(mark.text.clone());
                }
            }
            EventKind::Handshake(_) | EventKind::HttpRequest(_) | EventKind::Bytes { .. } => {
                if let Some(attempt) = self.started.remove(conn) {
                    self.count(attempt, out);
                }
            }
            EventKind::Closed(_) => drop(self.started.remove(conn)),
            _ => {}
        }
    }
}
