//! A trace as a scenario for agents: steps of the editor, and observations of the agent.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use crate::protocol::amp::editions::{AmpEdition, Method};
use crate::protocol::amp::{envelope, is_probe, roles};
use crate::protocol::rfc6455;
use crate::protocol::scenario_element::{ScenarioElement, TraceToScenario, args, word};
use crate::trace::{Closed, Direction, End, Event, EventKind, Frame, Head, Payload, opcode};

use super::frames;
use super::server::on;

/// Makes a scenario of the trace between an editor of ours and its client.
pub struct ClientToScenario {
    edition: &'static AmpEdition,
    /// Names of the connections after the first, in order.
    names: Vec<String>,
    conns: HashMap<String, ClientConnection>,
    known: std::collections::HashSet<String>,
    /// Methods that are answered by steps.
    withheld: Vec<String>,
    upgrade: Option<Map<String, Value>>,
}

#[derive(Default)]
struct ClientConnection {
    /// The handshake that was not answered yet.
    request: Option<Head>,
    /// Whether the handshake was answered with anything but what lets a client in.
    refused: bool,
    frames: Vec<Frame>,
    /// Whether the frames of a message were sent before it was whole.
    sent_early: bool,
    requests: HashMap<String, (String, Value, String)>,
    /// The methods of those requests that were not answered yet, by their ids.
    open: BTreeMap<String, String>,
    count: u64,
    closing: bool,
}

impl ClientToScenario {
    /// For an edition.
    pub fn new(edition: &'static AmpEdition) -> Self {
        let (names, conns, withheld) = (vec![], HashMap::new(), vec![]);
        Self { edition, names, conns, known: Default::default(), withheld, upgrade: None }
    }

    fn client_event(&mut self, event: &Event, name: &str) -> Vec<ScenarioElement> {
        if let EventKind::Handshake(_) = &event.kind
            && !self.names.iter().any(|known| known == name)
        {
            self.names.push(name.to_owned());
        }
        let edition = self.edition;
        let conn = self.conns.entry(name.to_owned()).or_default();
        let observation = |kind, selectors: Map<String, Value>, value: Map<String, Value>, owed| {
            ScenarioElement::seen(event.i, kind, on(selectors, name), value, owed)
        };
        match &event.kind {
            EventKind::Handshake(head) => {
                conn.request = Some(head.clone());
                let target = head.start.split(' ').nth(1).unwrap_or_default();
                let path = target.split('?').next().unwrap_or(target);
                vec![observation("handshake", Map::new(), args([("path", Some(path.into()))]), true)]
            }
            EventKind::Frame(frame) => {
                let unusual = frames::unusual(frame, End::Client);
                let mut elements = vec![];
                if !unusual.is_empty() {
                    elements.push(observation("frame", Map::new(), unusual, false));
                }
                if frame.opcode == opcode::CLOSE {
                    elements.push(observation("close", Map::new(), Map::new(), conn.closing));
                    conn.closing = true;
                }
                elements
            }
            EventKind::Message(message) => {
                let Some(json) = &message.json else {
                    let text = message.payload.as_ref().and_then(Payload::as_text).map(Value::from);
                    return vec![observation("message", Map::new(), args([("text", text)]), false)];
                };
                if is_probe(json) {
                    return vec![];
                }
                let Some(request) = envelope::request(edition, json) else {
                    return vec![observation("message", Map::new(), args([("json", Some(json.clone()))]), false)];
                };
                let (Some(method), Some(id)) = (request.method, request.id) else {
                    return vec![observation("message", Map::new(), args([("json", Some(json.clone()))]), false)];
                };
                let params = request.params.cloned().unwrap_or_default();
                let mut elements = vec![];
                if roles::AMP_CLIENT.calls.iter().any(|(call, _)| *call == method) && method != "authenticate" {
                    elements.push(ScenarioElement::Call {
                        index: event.i,
                        method: method.to_owned(),
                        params: params.clone(),
                    });
                }
                let value = args([("id", Some(id.clone())), ("params", Some(params.clone()))]);
                conn.count += 1;
                let label = format!("{}-{}", word(name), conn.count);
                conn.open.insert(id.to_string(), method.to_owned());
                conn.requests.insert(id.to_string(), (method.to_owned(), params, label.clone()));
                let chosen = args([("method", Some(method.into()))]);
                elements.push(observation("request", chosen, value, true).with_find("id", &label));
                elements
            }
            EventKind::Closed(_) => {
                // Who was not let in leaves, or is left.
                let elements = vec![observation("closed", Map::new(), Map::new(), conn.closing && !conn.refused)];
                conn.closing = true;
                elements
            }
            _ => vec![],
        }
    }

    fn editor_event(&mut self, event: &Event, name: &str) -> Vec<ScenarioElement> {
        let edition = self.edition;
        let conn = self.conns.entry(name.to_owned()).or_default();
        let step = |verb, args: Map<String, Value>| ScenarioElement::step(event.i, verb, on(args, name));
        match &event.kind {
            EventKind::Handshake(head) => {
                let unusual = conn.request.take().and_then(|request| unusual_upgrade(&request, head));
                conn.refused = unusual.is_some();
                // How the first was answered is how all are: refusing a wrong token is what our editor does by itself.
                let by_scenario = event.deliberate.is_some() || head.status() != Some(401);
                if let (1, Some(upgrade)) = (self.names.len(), unusual.filter(|_| by_scenario)) {
                    self.upgrade.get_or_insert(upgrade);
                }
                vec![]
            }
            _ if conn.refused => vec![],
            EventKind::Frame(frame) => match frame.opcode {
                opcode::PONG => vec![],
                opcode::PING if frames::is_ping(frame, End::Server) => {
                    let text = frame.payload.as_text().unwrap_or_default();
                    let payload = (!text.is_empty()).then(|| text.into());
                    vec![step("ping", args([("payload", payload)]))]
                }
                opcode::CLOSE if frames::close(frame, End::Server).is_some() => {
                    if std::mem::replace(&mut conn.closing, true) {
                        return vec![];
                    }
                    vec![step("close", frames::close(frame, End::Server).unwrap_or_default())]
                }
                8.. => {
                    let frames = vec![frames::described(frame, End::Server)];
                    vec![step("send", args([("frames", Some(frames.into()))]))]
                }
                _ => {
                    conn.frames.push(frame.clone());
                    vec![]
                }
            },
            EventKind::Message(_) if std::mem::take(&mut conn.sent_early) => vec![],
            EventKind::Message(message) => {
                let sent = std::mem::take(&mut conn.frames);
                let raw = frames::sent(&sent, Some(message), End::Server);
                let Some(json) = message.json.as_ref().filter(|_| raw.contains_key("json")) else {
                    return vec![step("send", raw)];
                };
                if is_probe(json) {
                    return vec![];
                }
                if let Some(response) = envelope::response(edition, json) {
                    let nothing_else = json.as_object().is_some_and(|map| map.len() == 1);
                    let id = response.id.cloned().unwrap_or_default();
                    conn.open.remove(&id.to_string());
                    let requests = conn.requests.get(&id.to_string());
                    if let (true, Some((method, params, label))) = (nothing_else, requests) {
                        let mut elements = vec![];
                        let content = response.result.and_then(|result| result.get("content")).and_then(Value::as_str);
                        let reads = edition.method(method) == Some(Method::ReadFile);
                        let path = params.get("path").and_then(Value::as_str).filter(|_| reads);
                        if let (Some(text), Some(path)) = (content, path)
                            && self.known.insert(path.to_owned())
                        {
                            elements.push(ScenarioElement::File {
                                index: event.i,
                                path: path.to_owned(),
                                bytes: text.into(),
                            });
                        }
                        if !self.withheld.contains(method) {
                            self.withheld.push(method.clone());
                        }
                        let by_method = edition.envelope.result_key.is_none();
                        let key = by_method.then(|| response.method.unwrap_or(method).into());
                        let result = response.result.filter(|_| response.error.is_none()).cloned();
                        let error = response.error.cloned().or_else(|| result.is_none().then(|| json!({})));
                        let args = args([("method", key), ("result", result), ("error", error)]);
                        elements.push(step("answer", args).with_found("id", label));
                        return elements;
                    }
                }
                let named = envelope::notifications(edition, json).unwrap_or_default();
                match named[..] {
                    [(name, data)] => {
                        let data = (*data != json!({})).then(|| data.clone());
                        vec![step("notify", args([("name", Some(name.into())), ("data", data)]))]
                    }
                    _ => vec![step("send", raw)],
                }
            }
            EventKind::Bytes { bytes } => {
                let bytes = Map::from_iter([frames::payload(bytes)]);
                vec![step("send", args([("bytes", Some(bytes.into()))]))]
            }
            EventKind::Closed(how) => {
                if std::mem::replace(&mut conn.closing, true) {
                    return vec![];
                }
                let how = (*how == Closed::Reset).then(|| "reset".into());
                vec![step("drop", args([("how", how)]))]
            }
            _ => vec![],
        }
    }
}

impl ClientToScenario {
    /// Frames of ours that something else came after before they were a whole message, on some connections.
    fn unfinished(&mut self, index: u64, on_these: impl Fn(&str) -> bool) -> Vec<ScenarioElement> {
        let mut elements = vec![];
        let mut names: Vec<&String> = self.conns.keys().filter(|name| on_these(name)).collect();
        names.sort();
        for name in names.into_iter().cloned().collect::<Vec<_>>() {
            let Some(conn) = self.conns.get_mut(&name).filter(|conn| !conn.frames.is_empty()) else { continue };
            let sent = std::mem::take(&mut conn.frames);
            // Frames of opcodes that mean nothing never become one.
            conn.sent_early = sent.last().is_some_and(|frame| frame.fin && frame.opcode <= opcode::BINARY);
            elements.push(ScenarioElement::step(index, "send", on(frames::sent(&sent, None, End::Server), &name)));
        }
        elements
    }
}

impl TraceToScenario for ClientToScenario {
    fn event(&mut self, event: &Event) -> Vec<ScenarioElement> {
        if let EventKind::File(file) = &event.kind {
            return super::folder(file, self.edition).into_iter().collect();
        }
        match (event.conn.as_deref(), event.dir) {
            (Some(name), Some(Direction::ToServer)) => {
                let mut elements = self.unfinished(event.i, |other| other == name);
                elements.extend(self.client_event(event, name));
                elements
            }
            (Some(name), Some(Direction::ToClient)) => self.editor_event(event, name),
            _ if matches!(event.kind, EventKind::Mark(_)) => self.unfinished(event.i, |_| true),
            _ => vec![],
        }
    }

    fn end(&mut self) -> Vec<ScenarioElement> {
        let mut serve = Map::new();
        let first = self.names.first().map_or("main", String::as_str);
        if self.conns.get(first).is_some_and(|conn| conn.request.is_some() && conn.closing) {
            self.upgrade.get_or_insert(args([("never", Some(true.into()))]));
        }
        if first != "main" {
            serve.insert("as".to_owned(), word(first).into());
        }
        // What never was answered is not answered again.
        let unanswered = self.conns.values().flat_map(|conn| conn.open.values().cloned());
        let unanswered: BTreeSet<String> = unanswered.filter(|method| !self.withheld.contains(method)).collect();
        self.withheld.extend(unanswered);
        if self.names.len() > 1 {
            serve.insert("then".to_owned(), self.names[1..].iter().map(|name| word(name)).collect::<Vec<_>>().into());
        }
        if !self.withheld.is_empty() {
            serve.insert("withholds".to_owned(), self.withheld.clone().into());
        }
        if let Some(upgrade) = self.upgrade.take() {
            serve.insert("upgrade".to_owned(), upgrade.into());
            serve.insert("deliberate".to_owned(), "the handshake is answered as in the trace".into());
        }
        vec![ScenarioElement::step(0, "serve", serve), ScenarioElement::step(0, "launch", Map::new())]
    }
}

/// How a handshake was answered, where that was no acceptance.
fn unusual_upgrade(request: &Head, head: &Head) -> Option<Map<String, Value>> {
    if rfc6455::accepts(request, head) && head.raw.is_none() {
        return None;
    }
    if let Some(raw) = head.raw.as_ref().and_then(Payload::as_text) {
        return Some(args([("raw", Some(raw.into()))]));
    }
    if head.status() == Some(101) {
        let right = rfc6455::accept_key(request);
        let line = |(name, value): &(String, String)| match right.as_deref() == Some(value) {
            true => format!("{name}: ${{accept}}\r\n"),
            false => format!("{name}: {value}\r\n"),
        };
        let lines: String = head.headers.iter().map(line).collect();
        return Some(args([("raw", Some(format!("{}\r\n{lines}\r\n", head.start).into()))]));
    }
    let status = head.start.split_once(' ').map_or("", |(_, status)| status);
    let body = head.body.as_ref().and_then(Payload::as_text).map(Value::from);
    Some(args([("status", Some(status.into())), ("body", body)]))
}
