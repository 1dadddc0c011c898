//! What expectations can speak about, made from events: [`AmpObserver`] turns what a server or a client does into
//! observations.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use base64::Engine as _;
use serde_json::{Map, Value};

use crate::protocol::{Observation, Observer};
use crate::trace::{Closed, Direction, End, Event, EventKind, Frame, Head, Message, Payload};

use super::editions::AmpEdition;
use super::envelope::{self, PROBE, is_probe};
use crate::protocol::rfc6455::{self, has_token, only};
use crate::trace::opcode;

/// Payloads beyond this size are not shown as hexadecimal digits.
const HEX_LIMIT: usize = 4096;

/// Makes observations of what one end does, in one edition.
///
/// Frames and messages that only answer a probe (an id or pong that begins with `wirecert-`) give none.
pub struct AmpObserver {
    edition: &'static AmpEdition,
    subject: End,
    /// Handshake requests that have not been answered yet.
    requests: HashMap<String, Head>,
}

impl AmpObserver {
    /// For an edition, looking at what this end does.
    pub fn new(edition: &'static AmpEdition, subject: End) -> Self {
        Self { edition, subject, requests: HashMap::new() }
    }
}

impl Observer for AmpObserver {
    fn observe(&mut self, event: &Event) -> Vec<Observation> {
        let Some(conn) = event.conn.as_deref() else { return vec![] };
        if self.subject == End::Client {
            return observe_client(self.edition, event).into_iter().map(|observed| observed.on(event, conn)).collect();
        }
        if event.dir == Some(Direction::ToServer) {
            match &event.kind {
                EventKind::Handshake(head) => drop(self.requests.insert(conn.to_owned(), head.clone())),
                EventKind::Closed(_) => drop(self.requests.remove(conn)),
                _ => {}
            }
            return vec![];
        }
        if event.dir != Some(Direction::ToClient) {
            return vec![];
        }
        let observed = match &event.kind {
            EventKind::Handshake(head) => vec![observe_server_handshake(self.requests.remove(conn).as_ref(), head)],
            EventKind::Frame(frame) => observe_frame(frame),
            EventKind::Message(message) => self.observe_server_message(message),
            EventKind::Closed(how) => vec![observe_end(*how)],
            _ => vec![],
        };
        observed.into_iter().map(|observed| observed.on(event, conn)).collect()
    }
}

/// An observation without its place.
struct ObservationDraft {
    kind: &'static str,
    selectors: Map<String, Value>,
    value: Map<String, Value>,
}

impl ObservationDraft {
    fn new(kind: &'static str) -> Self {
        Self { kind, selectors: Map::new(), value: Map::new() }
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.value.insert(key.to_owned(), value.into());
        self
    }

    fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    fn selected(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.selectors.insert(key.to_owned(), value.into());
        self
    }

    fn on(self, event: &Event, conn: &str) -> Observation {
        let Self { kind, selectors, value } = self;
        Observation { kind, conn: Some(conn.to_owned()), selectors, value: value.into(), index: event.i }
    }
}

/// A frame as it is, and what it means if it is a control frame.
fn observe_frame(frame: &Frame) -> Vec<ObservationDraft> {
    if answers_probe(frame) {
        return vec![];
    }
    let mut observed = vec![describe_frame(frame)];
    match frame.opcode {
        opcode::PING => observed.push(ObservationDraft::new("ping").with_some("payload", frame.payload.as_text())),
        opcode::PONG => observed.push(ObservationDraft::new("pong").with_some("payload", frame.payload.as_text())),
        opcode::CLOSE => observed.push(observe_close_frame(&frame.payload)),
        _ => {}
    }
    observed
}

impl AmpObserver {
    fn observe_server_message(&self, message: &Message) -> Vec<ObservationDraft> {
        let Some(json) = &message.value().map(Cow::into_owned) else {
            let text = message.payload.as_ref().and_then(Payload::as_text);
            return vec![ObservationDraft::new("message").with_some("text", text)];
        };
        if is_probe(json) {
            return vec![];
        }
        let mut observed = vec![ObservationDraft::new("message").with("json", json.clone())];
        if let Some(response) = envelope::response(self.edition, json) {
            let mut response_draft = ObservationDraft::new("response")
                .with_some("result", response.result.cloned())
                .with_some("error", response.error.cloned())
                .with_some("method", response.method)
                .with("json", json.clone());
            if let Some(id) = response.id {
                response_draft = response_draft.selected("to", id.clone()).selected("id", id.clone());
            }
            observed.push(response_draft);
        }
        for (name, data) in envelope::notifications(self.edition, json).unwrap_or_default() {
            let notification = ObservationDraft::new("notification").selected("name", name);
            observed.push(notification.with("data", data.clone()).with("json", json.clone()));
        }
        observed
    }
}

/// Whether a frame only answers a probe.
fn answers_probe(frame: &Frame) -> bool {
    match frame.payload.as_text() {
        Some(text) if frame.opcode == opcode::PONG => text.starts_with(PROBE),
        Some(text) if frame.opcode == opcode::TEXT && text.contains(PROBE) => {
            serde_json::from_str(text).is_ok_and(|json| is_probe(&json))
        }
        _ => false,
    }
}

/// Header lines by their names in lower case; the values of repeated ones joined by a comma.
fn headers(head: &Head) -> Map<String, Value> {
    let mut headers = Map::new();
    for (name, value) in &head.headers {
        let name = name.to_ascii_lowercase();
        let value = match headers.get(&name).and_then(Value::as_str) {
            Some(before) => format!("{before}, {value}"),
            None => value.clone(),
        };
        headers.insert(name, value.into());
    }
    headers
}

fn observe_server_handshake(request: Option<&Head>, response: &Head) -> ObservationDraft {
    ObservationDraft::new("handshake")
        .with_some("status", response.status())
        .with("accepted", request.is_some_and(|request| rfc6455::accepts(request, response)))
        .with("headers", headers(response))
        .with_some("body", response.body.as_ref().and_then(Payload::as_text))
}

fn describe_frame(frame: &Frame) -> ObservationDraft {
    let opcode = opcode::name(frame.opcode).map_or_else(|| frame.opcode.into(), Value::from);
    let bytes = frame.payload.as_bytes();
    let hex = (bytes.len() <= HEX_LIMIT).then(|| {
        bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    });
    ObservationDraft::new("frame")
        .with("opcode", opcode)
        .with("fin", frame.fin)
        .with("rsv", frame.rsv)
        .with("masked", frame.masked)
        .with("length", frame.length)
        .with_some("text", frame.payload.as_text())
        .with_some("hex", hex)
}

fn observe_close_frame(payload: &Payload) -> ObservationDraft {
    let observed = ObservationDraft::new("close");
    match payload.as_bytes() {
        [high, low, reason @ ..] => observed
            .with("code", u16::from_be_bytes([*high, *low]))
            .with("reason", String::from_utf8_lossy(reason).into_owned()),
        _ => observed,
    }
}

fn observe_end(how: Closed) -> ObservationDraft {
    let how = match how {
        Closed::Eof => "eof",
        Closed::Reset => "reset",
    };
    ObservationDraft::new("closed").with("how", how)
}

/// The observations of a client that an event gives.
fn observe_client(edition: &AmpEdition, event: &Event) -> Vec<ObservationDraft> {
    match (&event.kind, event.dir) {
        (EventKind::Handshake(head), Some(Direction::ToServer)) => vec![observe_client_handshake(head)],
        // What our editor made of the client's handshake says whether it was right.
        (EventKind::Handshake(head), Some(Direction::ToClient)) => {
            vec![ObservationDraft::new("admitted").with_some("status", head.status())]
        }
        (EventKind::Frame(frame), Some(Direction::ToServer)) => observe_frame(frame),
        (EventKind::Message(message), Some(Direction::ToServer)) => observe_client_message(edition, message),
        (EventKind::Closed(how), Some(Direction::ToServer)) => vec![observe_end(*how)],
        _ => vec![],
    }
}

fn observe_client_handshake(head: &Head) -> ObservationDraft {
    let mut words = head.start.split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    ObservationDraft::new("handshake")
        .with_some("method", method)
        .with_some("target", target)
        .with_some("path", target.map(path))
        .with_some("version", version)
        .with("headers", headers(head))
        .with("valid", is_valid_handshake(head))
}

/// The path of a request target, which may be an absolute URI (RFC 6455 section 4.1, request, item 3); one without a path has
/// `/`.
fn path(target: &str) -> &str {
    let (scheme, rest) = target.split_at_checked("http://".len()).unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("http://") {
        return target.split('?').next().unwrap_or(target);
    }
    let path = rest.find(['/', '?']).map_or("", |at| &rest[at..]).split('?').next().unwrap_or_default();
    if path.is_empty() { "/" } else { path }
}

/// Whether a server has to take it for a WebSocket handshake (RFC 6455 section 4.2.1).
fn is_valid_handshake(head: &Head) -> bool {
    let mut words = head.start.split(' ');
    let line = words.next() == Some("GET")
        && words.next().is_some_and(|target| path(target).starts_with('/'))
        && words.next() == Some("HTTP/1.1");
    let key = |key: &str| base64::engine::general_purpose::STANDARD.decode(key).is_ok_and(|key| key.len() == 16);
    line && only(head, "host").is_some()
        && has_token(head, "upgrade", "websocket")
        && has_token(head, "connection", "upgrade")
        && only(head, "sec-websocket-version") == Some("13")
        && only(head, "sec-websocket-key").is_some_and(key)
}

fn observe_client_message(edition: &AmpEdition, message: &Message) -> Vec<ObservationDraft> {
    let Some(json) = &message.value().map(Cow::into_owned) else {
        let text = message.payload.as_ref().and_then(Payload::as_text);
        return vec![ObservationDraft::new("message").with_some("text", text)];
    };
    let mut observed = vec![ObservationDraft::new("message").with("json", json.clone())];
    if let Some(request) = envelope::request(edition, json) {
        let request_draft = ObservationDraft::new("request")
            .with_some("id", request.id.cloned())
            .with_some("id_json", request.id.map(Value::to_string))
            .with_some("params", request.params.cloned())
            .with("json", json.clone());
        observed.push(match request.method {
            Some(method) => request_draft.selected("method", Value::from(method)),
            None => request_draft,
        });
    }
    observed
}

#[cfg(test)]
mod tests;
