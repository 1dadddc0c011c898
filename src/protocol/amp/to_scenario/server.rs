//! A trace as a scenario for editors: steps of the client, and observations of the editor.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::protocol::amp::editions::{AmpEdition, Method};
use crate::protocol::amp::{PROBE, envelope, is_probe};
use crate::protocol::http::scenario::has_secret;
use crate::protocol::rfc6455;
use crate::protocol::scenario_element::{Labels, ScenarioElement, TraceToScenario, args, word};
use crate::trace::{Closed, Direction, End, Event, EventKind, Frame, Head, Message, Payload, opcode};
use crate::uri;

use super::frames;

/// The headers of a handshake that clients of all kinds send.
const USUAL: &[&str] = &[
    "host",
    "upgrade",
    "connection",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-extensions",
    "sec-websocket-protocol",
    "user-agent",
    "origin",
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "pragma",
];

/// Makes a scenario of the trace between a client of ours and an editor.
pub struct ServerToScenario {
    edition: &'static AmpEdition,
    labels: Labels,
    conns: HashMap<String, EditorConnection>,
    /// The paths of which it is known what was in them, or that something changed them.
    known: HashSet<String>,
}

/// The method of a request, and its parameters.
type RequestedMethod = (String, Value);

#[derive(Default)]
struct EditorConnection {
    request: Option<(u64, Head)>,
    /// Whether there was a step that opens it.
    open: bool,
    accepted: bool,
    /// Frames of the client's message under way.
    frames: Vec<Frame>,
    /// Labels of requests by their ids as JSON, newest last.
    requested: HashMap<String, (String, Option<RequestedMethod>)>,
    requests: u64,
    closing: bool,
    pinged: Vec<String>,
}

impl ServerToScenario {
    /// For an edition.
    pub fn new(edition: &'static AmpEdition) -> Self {
        Self { edition, labels: Labels::default(), conns: HashMap::new(), known: HashSet::new() }
    }

    fn client_event(&mut self, event: &Event, name: &str) -> Vec<ScenarioElement> {
        let edition = self.edition;
        let conn = self.conns.entry(name.to_owned()).or_default();
        let step = |verb, args: Map<String, Value>| ScenarioElement::step(event.i, verb, on(args, name));
        match &event.kind {
            EventKind::Handshake(head) => {
                conn.request = Some((event.i, head.clone()));
                vec![]
            }
            EventKind::Frame(frame) => {
                let mut elements = conn.opened(name, event.i);
                match frame.opcode {
                    opcode::PONG => {}
                    opcode::PING if frames::is_ping(frame, End::Client) => {
                        let text = frame.payload.as_text().unwrap_or_default();
                        if !text.starts_with(PROBE) {
                            conn.pinged.push(text.to_owned());
                            let payload = (!text.is_empty()).then(|| text.into());
                            elements.push(step("ping", args([("payload", payload)])));
                        }
                    }
                    opcode::CLOSE if frames::close(frame, End::Client).is_some() => {
                        if !std::mem::replace(&mut conn.closing, true) {
                            elements.push(step("close", frames::close(frame, End::Client).unwrap_or_default()));
                        }
                    }
                    8.. => {
                        let frames = vec![frames::described(frame, End::Client)];
                        elements.push(step("send", args([("frames", Some(frames.into()))])));
                    }
                    _ => conn.frames.push(frame.clone()),
                }
                elements
            }
            EventKind::Message(message) => {
                let sent = std::mem::take(&mut conn.frames);
                if message.json.as_ref().is_some_and(is_probe) {
                    return vec![];
                }
                let mut elements = conn.opened(name, event.i);
                elements.push(conn.message(edition, &sent, message, &mut self.labels, event.i, name));
                elements
            }
            EventKind::Bytes { bytes } => {
                let mut elements = conn.rest(name, event.i);
                let bytes = Map::from_iter([frames::payload(bytes)]);
                elements.push(step("send", args([("bytes", Some(bytes.into()))])));
                elements
            }
            EventKind::Closed(how) => {
                let mut elements = conn.rest(name, event.i);
                if !std::mem::replace(&mut conn.closing, true) {
                    let how = (*how == Closed::Reset).then(|| "reset".into());
                    elements.push(step("drop", args([("how", how)])));
                }
                elements
            }
            _ => vec![],
        }
    }

    fn editor_event(&mut self, event: &Event, name: &str) -> Vec<ScenarioElement> {
        let edition = self.edition;
        let conn = self.conns.entry(name.to_owned()).or_default();
        let observation = |kind, selectors: Map<String, Value>, value: Map<String, Value>, owed| {
            ScenarioElement::seen(event.i, kind, on(selectors, name), value, owed)
        };
        match &event.kind {
            EventKind::Handshake(head) => {
                let accepted = conn.request.as_ref().is_some_and(|(_, request)| rfc6455::accepts(request, head));
                conn.accepted = accepted;
                let mut elements = conn.connect(name, accepted, event.i);
                let value = args([("accepted", Some(accepted.into())), ("status", head.status().map(Value::from))]);
                if !accepted {
                    elements.push(observation("handshake", Map::new(), value, true));
                }
                elements
            }
            EventKind::Frame(frame) => {
                let unusual = frames::unusual(frame, End::Server);
                let text = frame.payload.as_text();
                let mut elements = vec![];
                if !unusual.is_empty() {
                    elements.push(observation("frame", Map::new(), unusual, false));
                }
                match (frame.opcode, text) {
                    (opcode::PONG, Some(text)) if conn.pinged.iter().any(|pinged| pinged == text) => {
                        elements.push(observation("pong", Map::new(), args([("payload", Some(text.into()))]), true));
                    }
                    (opcode::CLOSE, _) => {
                        let code = match frame.payload.as_bytes() {
                            [high, low, ..] => Some(u16::from_be_bytes([*high, *low]).into()),
                            _ => None,
                        };
                        elements.push(observation("close", Map::new(), args([("code", code)]), conn.closing));
                        conn.closing = true;
                    }
                    _ => {}
                }
                elements
            }
            EventKind::Message(message) => {
                let Some(json) = &message.json else {
                    let file = message.payload.as_ref().and_then(|payload| {
                        let json: Value = serde_json::from_str(&frames::legible(payload.as_bytes())).ok()?;
                        let response = envelope::response(edition, &json)?;
                        let (_, requested) = conn.requested.get(&response.id?.to_string())?;
                        read(edition, requested.as_ref(), response.result, event.i, &mut self.known)
                    });
                    let text = message.payload.as_ref().and_then(Payload::as_text).map(Value::from);
                    let message = observation("message", Map::new(), args([("text", text)]), false);
                    return file.into_iter().chain([message]).collect();
                };
                if is_probe(json) {
                    return vec![];
                }
                let mut elements = vec![];
                if let Some(response) = envelope::response(edition, json)
                    && let Some((label, requested)) = response.id.and_then(|id| conn.requested.get(&id.to_string()))
                {
                    let value = args([("result", response.result.cloned()), ("error", response.error.cloned())]);
                    let selectors = args([("to", Some(label.as_str().into()))]);
                    elements.extend(read(edition, requested.as_ref(), response.result, event.i, &mut self.known));
                    elements.push(observation("response", selectors, value, true));
                    return elements;
                }
                for (name, data) in envelope::notifications(edition, json).unwrap_or_default() {
                    let selectors = args([("name", Some(name.into()))]);
                    elements.push(observation("notification", selectors, args([("data", Some(data.clone()))]), false));
                }
                if elements.is_empty() {
                    elements.push(observation("message", Map::new(), args([("json", Some(json.clone()))]), false));
                }
                elements
            }
            EventKind::Closed(_) => {
                let mut elements = conn.connect(name, false, event.i);
                // Who ends the TCP connection first is a matter of time.
                elements.push(observation("closed", Map::new(), Map::new(), false));
                conn.closing = true;
                elements
            }
            _ => vec![],
        }
    }
}

impl TraceToScenario for ServerToScenario {
    fn event(&mut self, event: &Event) -> Vec<ScenarioElement> {
        if let EventKind::File(file) = &event.kind {
            return super::folder(file, self.edition).into_iter().collect();
        }
        match (event.conn.as_deref(), event.dir) {
            (Some(name), Some(Direction::ToServer)) => self.client_event(event, name),
            (Some(name), Some(Direction::ToClient)) => self.editor_event(event, name),
            _ => vec![],
        }
    }

    fn end(&mut self) -> Vec<ScenarioElement> {
        let mut names: Vec<String> = self.conns.keys().cloned().collect();
        names.sort();
        let conns = &mut self.conns;
        names
            .iter()
            .flat_map(|name| conns.get_mut(name).map(|conn| conn.rest(name, u64::MAX)).unwrap_or_default())
            .collect()
    }

    fn liveness_probe(&mut self) -> Vec<ScenarioElement> {
        let mut open: Vec<&String> =
            self.conns.iter().filter(|(_, c)| c.accepted && !c.closing).map(|(n, _)| n).collect();
        open.sort();
        let label = self.labels.name("alive");
        let (name, mut elements) = match open.first() {
            Some(name) => ((*name).clone(), vec![]),
            None => {
                let name = "another".to_owned();
                (name.clone(), vec![ScenarioElement::step(u64::MAX, "connect", as_name(Map::new(), &name))])
            }
        };
        // Without `ping`, a method that any editor answers somehow.
        let methods = &self.edition.methods;
        let (method, params) = match methods.ping {
            Some(ping) => (ping, Some(json!({ "message": "still there?" }))),
            None => (methods.get_diagnostics.unwrap_or_default(), None),
        };
        let label_of = Some(label.as_str().into());
        let request = args([("as", label_of), ("method", Some(method.into())), ("params", params)]);
        elements.push(ScenarioElement::step(u64::MAX, "request", on(request, &name)));
        let selectors = on(args([("to", Some(label.into()))]), &name);
        elements.push(ScenarioElement::seen(u64::MAX, "response", selectors, Map::new(), true));
        elements
    }
}

impl EditorConnection {
    /// The step that opens it, if there was none: with a handshake that was never answered, or none at all.
    fn opened(&mut self, name: &str, index: u64) -> Vec<ScenarioElement> {
        if self.open {
            return vec![];
        }
        match self.request {
            Some(_) => self.connect(name, false, index),
            None => {
                self.open = true;
                vec![ScenarioElement::step(index, "open", as_name(Map::new(), name))]
            }
        }
    }

    /// What is left of it: a handshake without a response, frames that never became a message.
    fn rest(&mut self, name: &str, index: u64) -> Vec<ScenarioElement> {
        let mut elements = self.opened(name, index);
        if !self.frames.is_empty() {
            let args = on(frames::sent(&std::mem::take(&mut self.frames), None, End::Client), name);
            elements.push(ScenarioElement::step(index, "send", args));
        }
        elements
    }

    fn connect(&mut self, name: &str, accepted: bool, index: u64) -> Vec<ScenarioElement> {
        let Some((at, head)) = self.request.take() else { return vec![] };
        self.open = true;
        let mut args = shown(&head);
        if accepted {
            // Who was let in had the right one, which may be another editor's.
            if args.get("token").and_then(|token| token.get("value")).is_some_and(has_secret) {
                args.remove("token");
            }
        } else {
            args.insert("handshake".to_owned(), "any".into());
        }
        vec![ScenarioElement::step(at.min(index), "connect", as_name(args, name))]
    }

    fn message(
        &mut self,
        edition: &AmpEdition,
        sent: &[Frame],
        message: &Message,
        labels: &mut Labels,
        index: u64,
        name: &str,
    ) -> ScenarioElement {
        let raw = frames::sent(sent, Some(message), End::Client);
        let request =
            message.json.as_ref().and_then(|json| envelope::request(edition, json).map(|request| (json, request)));
        let Some((json, request)) = request else { return ScenarioElement::step(index, "send", on(raw, name)) };
        let request = envelope::Request { id: request.id.filter(|id| !id.is_null()), ..request };
        let label = request.id.map(|_| labels.name(request.method.unwrap_or("request")));
        if let (Some(id), Some(label)) = (request.id, &label) {
            let requested =
                request.method.zip(request.params).map(|(method, params)| (method.to_owned(), params.clone()));
            self.requested.insert(id.to_string(), (label.clone(), requested));
        }
        let enveloped = raw.contains_key("json") && json.as_object().is_some_and(|map| map.len() == 1);
        let enveloped = enveloped && request.params.is_none_or(Value::is_object);
        match (request.id, request.method, enveloped) {
            (Some(id), Some(method), true) => {
                self.requests += 1;
                let usual = id.as_str() == Some(self.requests.to_string().as_str());
                let params = request.params.filter(|params| **params != json!({}));
                let args = args([
                    ("as", label.map(Value::from)),
                    ("method", Some(method.into())),
                    ("params", params.cloned()),
                    ("id", (!usual).then(|| id.clone())),
                ]);
                ScenarioElement::step(index, "request", on(args, name))
            }
            (id, _, _) => {
                let mut args = args([("as", label.map(Value::from)), ("id", id.cloned())]);
                args.extend(raw);
                ScenarioElement::step(index, "send", on(args, name))
            }
        }
    }
}

/// The text of a file that was read, where nothing had touched it before.
fn read(
    edition: &AmpEdition,
    requested: Option<&RequestedMethod>,
    result: Option<&Value>,
    index: u64,
    known: &mut HashSet<String>,
) -> Option<ScenarioElement> {
    let (name, params) = requested?;
    let method = edition.method(name);
    if let Some(uri) = params.get("uri").and_then(Value::as_str).filter(|_| method == Some(Method::OpenUri)) {
        // What could be opened was there, whatever was in it.
        let opened = result?.get("success") == Some(&true.into());
        let path = uri::decode(uri.strip_prefix("file://")?);
        return (opened && known.insert(path.clone())).then(|| ScenarioElement::File { index, path, bytes: vec![] });
    }
    let path = params.get("path")?.as_str()?;
    if !known.insert(path.to_owned()) || method != Some(Method::ReadFile) {
        return None;
    }
    let text = result?.get("content")?.as_str()?;
    Some(ScenarioElement::File { index, path: path.to_owned(), bytes: frames::bytes(text) })
}

/// The unusual parts of a handshake request, as parameters of `connect`.
fn shown(head: &Head) -> Map<String, Value> {
    let mut words = head.start.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let mut args = Map::new();
    if method != "GET" {
        args.insert("method".to_owned(), method.into());
    }
    if let Some(version) = words.next().filter(|version| *version != "HTTP/1.1") {
        args.insert("version".to_owned(), version.into());
    }
    match query.split('&').find_map(|pair| pair.strip_prefix("auth=")) {
        // The first secret that a trace hides is the one of the lockfile.
        Some(token) if token.starts_with("<secret:1*") || token.starts_with("<secret:1>") => {}
        Some("") => drop(args.insert("token".to_owned(), "empty".into())),
        Some(token) => drop(args.insert("token".to_owned(), json!({ "value": token }))),
        None => drop(args.insert("token".to_owned(), "absent".into())),
    }
    let offered: Vec<&str> = head.header("sec-websocket-protocol").flat_map(|v| v.split(',')).map(str::trim).collect();
    if !offered.is_empty() {
        args.insert("subprotocols".to_owned(), offered.into());
    }
    let mut headers: Map<String, Value> = Map::new();
    for (name, value) in &head.headers {
        if !USUAL.contains(&name.to_ascii_lowercase().as_str()) {
            headers.insert(name.clone(), value.as_str().into());
        }
    }
    for (name, usual) in [("Upgrade", "websocket"), ("Connection", "upgrade"), ("Sec-WebSocket-Version", "13")] {
        match head.header(name).collect::<Vec<_>>().as_slice() {
            [] => drop(headers.insert(name.to_owned(), Value::Null)),
            [value] if value.to_ascii_lowercase().contains(usual) => {}
            [value, ..] => drop(headers.insert(name.to_owned(), (*value).into())),
        }
    }
    // The key is made anew each time, but one that was missing or odd is so again.
    match head.header("sec-websocket-key").collect::<Vec<_>>().as_slice() {
        [] => drop(headers.insert("Sec-WebSocket-Key".to_owned(), Value::Null)),
        [key] if rfc6455::is_key(key) => {}
        [key, ..] => drop(headers.insert("Sec-WebSocket-Key".to_owned(), (*key).into())),
    }
    if !headers.is_empty() {
        args.insert("headers".to_owned(), headers.into());
    }
    args
}

/// Parameters with the connection that they are about, unless that is the usual one.
pub(super) fn on(mut args: Map<String, Value>, name: &str) -> Map<String, Value> {
    if name != "main" {
        args.insert("on".to_owned(), word(name).into());
    }
    args
}

/// Parameters with the name of the connection that they open.
fn as_name(mut args: Map<String, Value>, name: &str) -> Map<String, Value> {
    if name != "main" {
        args.insert("as".to_owned(), word(name).into());
    }
    args
}
