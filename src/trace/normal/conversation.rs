//! [`Conversation`]: the lines of a trace in canonical order: connections by name, responses beside their requests,
//! unsolicited messages sorted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::trace::{Closed, Direction, Event, EventKind, Exited, Frame, Head, Message, Payload, StreamEvent};

use super::Strength;
use super::connection::{self, ExchangeKey, NormalisedConnection, without_product_versions};
use super::volatile::{Volatile, mark};

/// Collects the lines of one trace. All texts are marked.
pub struct Conversation<'a> {
    volatile: &'a Volatile,
    strength: Strength,
    /// The events that a step awaited, where that is known.
    awaited: Option<&'a BTreeSet<u64>>,
    connections: BTreeMap<String, NormalisedConnection>,
    /// Stimuli, calls, files and processes, in order.
    surroundings: Vec<SurroundingEvent>,
    /// The events that reached the client's user, in order, by the JSON of their subscription. Their order relative to
    /// other subscriptions and to the results of calls depends on timing.
    client_events: BTreeMap<String, Vec<String>>,
    last_file: BTreeMap<String, String>,
}

/// An event beside the connections.
struct SurroundingEvent {
    text: String,
    /// The number of a call.
    call: Option<u64>,
    /// The results of the call, whatever the order of results.
    returned: Vec<String>,
}

impl From<String> for SurroundingEvent {
    fn from(text: String) -> Self {
        Self { text, call: None, returned: vec![] }
    }
}

/// How many bytes of binary data are shown.
const MAX_BINARY_BYTES: usize = 64;

impl<'a> Conversation<'a> {
    pub fn new(volatile: &'a Volatile, strength: Strength, awaited: Option<&'a BTreeSet<u64>>) -> Self {
        let (connections, last_file) = (BTreeMap::new(), BTreeMap::new());
        Self {
            volatile,
            strength,
            awaited,
            connections,
            surroundings: vec![],
            client_events: BTreeMap::new(),
            last_file,
        }
    }

    pub fn event(&mut self, event: &Event) {
        let purpose = match &event.deliberate {
            Some(why) if self.exact() => format!("  (on purpose: {})", self.volatile.mark_line(why)),
            _ => String::new(),
        };
        let to_server = event.dir == Some(Direction::ToServer);
        let (key, text) = match &event.kind {
            EventKind::Handshake(head) => (ExchangeKey::Handshake, self.head(head, to_server)),
            EventKind::HttpRequest(head) => (ExchangeKey::Http, self.http_head(&head.start, &head.headers)),
            EventKind::HttpResponse(head) => (ExchangeKey::Http, self.http_head(&head.start, &head.headers)),
            EventKind::StreamEvent(event) => match self.stream_event(event) {
                Some(text) => (ExchangeKey::Http, text),
                None => return,
            },
            EventKind::Message(message) => self.message(message, to_server),
            EventKind::Frame(frame) => match self.frame(frame, to_server) {
                Some(line) => line,
                None => return,
            },
            // A part of a frame is masked by a key that differs in every run.
            EventKind::Bytes { bytes } if to_server && self.connection(event).is_upgraded() => {
                (ExchangeKey::None, format!("{} masked bytes", bytes.as_bytes().len()))
            }
            EventKind::Bytes { bytes } => (ExchangeKey::None, format!("bytes {}", self.payload(bytes))),
            EventKind::Closed(how) => {
                // Which end closed first, and whether by FIN or RST, depends on timing.
                let connection = self.connection(event);
                connection.closed = true;
                connection.cut |=
                    to_server && !connection.is_closing() && (*how == Closed::Reset || connection.is_upgraded());
                return;
            }
            EventKind::Stimulus(stimulus) => {
                let params = self.json(&Value::Object(stimulus.params.clone()), 2);
                let outcome = if self.exact() {
                    format!(": {}", self.volatile.mark_line(&stimulus.outcome))
                } else {
                    String::new()
                };
                // A stimulus is recorded when its command has ended; its effects may have come before.
                let effects = self.surroundings.iter().rev().take_while(|line| is_departure(&line.text)).count();
                let at = self.surroundings.len() - effects;
                self.surroundings.insert(at, format!("stimulus {} {params}{outcome}", stimulus.name).into());
                return;
            }
            EventKind::Call(call) => {
                let params = self.json(&call.params, 2);
                let text = format!("call {} {params}", call.call);
                self.surroundings.push(SurroundingEvent { call: Some(call.id), ..text.into() });
                return;
            }
            EventKind::Returned(returned) => {
                let outcome = match (&returned.result, &returned.error) {
                    (_, Some(error)) => format!("error {}", self.json(error, 4)),
                    (Some(result), None) => self.json(result, 4),
                    (None, None) => "unsupported".to_owned(),
                };
                let line = format!("returned {outcome}");
                match self.surroundings.iter_mut().find(|event| event.call == Some(returned.id)) {
                    Some(call) => call.returned.push(line),
                    None => self.surroundings.push(line.into()),
                }
                return;
            }
            EventKind::Reported(client_event) => {
                let data = self.json(&client_event.data, 2);
                let subscription = client_event.subscription.as_ref().map(Value::to_string).unwrap_or_default();
                self.client_events.entry(subscription).or_default().push(format!("{} {data}", client_event.event));
                return;
            }
            EventKind::File(change) if change.is_by_play() => return,
            EventKind::File(change) => return self.file(&change.path, &change.change, change.content.as_ref()),
            EventKind::Launched(_) => return self.surroundings.push("launched".to_owned().into()),
            EventKind::Exited(exited) => return self.surroundings.push(process_end(exited).into()),
            // What is no part of a conversation, or depends on how it was played.
            _ => return,
        };
        let text = text + &purpose;
        let is_awaited = self.awaited.is_none_or(|awaited| awaited.contains(&event.i));
        let connection = self.connection(event);
        if key == ExchangeKey::Http || !connection.http.is_empty() {
            match to_server {
                true => connection.http.add_request(event.i, text),
                false => connection.http.add_response(event.i, text),
            }
        } else if to_server {
            connection.add_request(key, text)
        } else {
            connection.add_response(key, text, is_awaited)
        }
    }

    fn exact(&self) -> bool {
        self.strength == Strength::Exact
    }

    fn connection(&mut self, event: &Event) -> &mut NormalisedConnection {
        self.connections.entry(event.conn.clone().unwrap_or_default()).or_default()
    }

    fn json(&self, value: &Value, indent: usize) -> String {
        super::render(value, self.volatile, self.strength, indent)
    }

    fn payload(&self, payload: &Payload) -> String {
        if !self.exact() {
            return String::new();
        }
        match payload {
            Payload::Text(text) => super::quoted(&self.volatile.mark(&super::abbreviated(text))),
            Payload::Binary(bytes) => {
                let hex =
                    bytes.iter().take(MAX_BINARY_BYTES).fold("0x".to_owned(), |hex, byte| format!("{hex}{byte:02x}"));
                if bytes.len() > MAX_BINARY_BYTES { format!("{hex}… ({} bytes)", bytes.len()) } else { hex }
            }
        }
    }

    fn head(&self, head: &Head, to_server: bool) -> String {
        if !self.exact() {
            return match head.status() {
                Some(status) if !to_server => format!("handshake {status}"),
                _ => "handshake".to_owned(),
            };
        }
        let mut text = format!("handshake {}", self.volatile.mark_line(&head.start));
        for (name, value) in &head.headers {
            let value = match name.to_ascii_lowercase().as_str() {
                "sec-websocket-key" => mark("key", value),
                "sec-websocket-accept" => mark("accept", value),
                "date" => mark("date", ""),
                "server" | "user-agent" => without_product_versions(value),
                _ => self.volatile.mark_line(value),
            };
            text += &format!("\n      {}: {value}", self.volatile.mark_line(name));
        }
        if let Some(body) = &head.body {
            text += &format!("\n      body {}", self.payload(body));
        }
        text
    }

    fn http_head(&self, start: &str, headers: &[(String, String)]) -> String {
        connection::head(start, headers, self.volatile, self.strength)
    }

    /// The line of an event; none for a comment: keep-alives come at any time.
    fn stream_event(&self, event: &StreamEvent) -> Option<String> {
        if event.comment.is_some() && event.data.is_none() {
            return None;
        }
        let mut text = "event".to_owned();
        text += &event.event.as_ref().map(|name| format!(" {}", self.volatile.mark_line(name))).unwrap_or_default();
        if self.exact() {
            text += &event.id.as_ref().map(|id| format!(", id {}", self.volatile.mark_line(id))).unwrap_or_default();
            text += &event.retry.map(|retry| format!(", retry {retry}")).unwrap_or_default();
        }
        let data = match &event.data {
            None => " without data".to_owned(),
            Some(data) => match serde_json::from_str::<Value>(data) {
                Ok(json) => format!(" {}", self.json(&json, 6)),
                Err(_) => format!(" no JSON: {}", self.payload(&Payload::Text(data.clone()))),
            },
        };
        Some(text + &data)
    }

    fn message(&self, message: &Message, to_server: bool) -> (ExchangeKey, String) {
        let indent = 4 + if to_server { 0 } else { 2 };
        let fragments = if message.frames > 1 && self.exact() {
            format!("  (in {} frames)", message.frames)
        } else {
            String::new()
        };
        let binary = if message.text { "" } else { "binary " };
        match (&message.json, &message.payload) {
            (Some(value), _) => {
                let key = id(value).map_or(ExchangeKey::None, |id| ExchangeKey::Id(id.to_string()));
                (key, format!("{binary}{}{fragments}", self.json(value, indent)))
            }
            (None, Some(payload)) => {
                let what = if payload.as_text().is_some() { "no JSON" } else { "not UTF-8" };
                (ExchangeKey::None, format!("{binary}{what}: {}{fragments}", self.payload(payload)))
            }
            (None, None) => (ExchangeKey::None, format!("{binary}no JSON{fragments}")),
        }
    }

    /// The line of a control frame or an unusual data frame. Other data frames show as messages, and keep-alives come
    /// at any time.
    fn frame(&self, frame: &Frame, to_server: bool) -> Option<(ExchangeKey, String)> {
        let payload = frame.payload.as_bytes();
        let odd = frame.rsv != 0 || frame.length_bits.is_some() || frame.masked != to_server;
        let oddity = if odd { self.oddity(frame) } else { String::new() };
        match frame.opcode {
            0..=2 if odd => Some((ExchangeKey::None, format!("frame opcode {}{oddity}", frame.opcode))),
            0..=2 => None,
            8 => Some((ExchangeKey::Close, format!("{}{oddity}", self.close(payload)))),
            9 if to_server => {
                Some((ExchangeKey::Ping(payload.to_vec()), format!("ping {}{oddity}", self.payload(&frame.payload))))
            }
            10 if !to_server => {
                Some((ExchangeKey::Ping(payload.to_vec()), format!("pong {}{oddity}", self.payload(&frame.payload))))
            }
            9 | 10 => None,
            other => Some((ExchangeKey::None, format!("frame opcode {other}{oddity}"))),
        }
    }

    fn oddity(&self, frame: &Frame) -> String {
        let bits = frame.length_bits.map(|bits| format!(", length in {bits} bits")).unwrap_or_default();
        format!(" (rsv {}, {}{bits})", frame.rsv, if frame.masked { "masked" } else { "not masked" })
    }

    fn close(&self, payload: &[u8]) -> String {
        match payload {
            [high, low, reason @ ..] => {
                let code = u16::from_be_bytes([*high, *low]);
                let reason = if self.exact() {
                    self.volatile.mark_line(&String::from_utf8_lossy(reason))
                } else {
                    String::new()
                };
                format!("close {code} {reason}").trim_end().to_owned()
            }
            _ => "close".to_owned(),
        }
    }

    /// Adds a file that has changed. Files are read repeatedly.
    fn file(&mut self, path: &str, change: &str, content: Option<&Payload>) {
        let path = self.volatile.mark_line(path);
        let content = match content {
            None => String::new(),
            Some(content) => match serde_json::from_slice::<Value>(content.as_bytes()) {
                Ok(json) if json.is_object() || json.is_array() => format!(" {}", self.json(&json, 2)),
                _ => format!(" {}", self.payload(content)).trim_end().to_owned(),
            },
        };
        let line = format!("file {path} {change}{content}");
        if self.last_file.insert(path, line.clone()).as_ref() != Some(&line) {
            self.surroundings.push(line.into());
        }
    }

    /// The complete text, marked.
    pub fn into_text(self) -> String {
        let mut text = String::new();
        if !self.surroundings.is_empty() {
            text += "around\n";
            for event in &self.surroundings {
                text += &format!("  {}\n", event.text);
                event.returned.iter().for_each(|line| text += &format!("    {line}\n"));
            }
        }
        if !self.client_events.is_empty() {
            if !text.is_empty() {
                text.push('\n');
            }
            text += "reported\n";
            self.client_events.values().flatten().for_each(|line| text += &format!("  {line}\n"));
        }
        let exact = self.strength == Strength::Exact;
        let mut unnamed = vec![];
        let mut written = vec![];
        for (name, mut connection) in self.connections {
            let http = std::mem::take(&mut connection.http);
            let mut lines = String::new();
            http.write(&mut lines);
            connection.write(exact, &mut lines);
            match connection::exchange_number(&name).filter(|_| !http.is_empty()) {
                Some(number) => unnamed.push((number, http, lines)),
                None => written.push((name, lines)),
            }
        }
        let unnamed =
            connection::in_canonical_order(unnamed).into_iter().map(|(number, lines)| (format!("x{number}"), lines));
        for (name, lines) in written.into_iter().chain(unnamed) {
            if !text.is_empty() {
                text.push('\n');
            }
            text += &format!("connection {name}\n{lines}");
        }
        text
    }
}

/// Whether a line is the end of a process or the removal of a file.
fn is_departure(line: &str) -> bool {
    line.starts_with("ended") || line.starts_with("file ") && line.ends_with(" removed")
}

/// The `id` that relates a message to a request: at the top level, or one level down.
fn id(value: &Value) -> Option<&Value> {
    let map = value.as_object()?;
    map.get("id")
        .or_else(|| map.values().find_map(|inner| inner.as_object()?.get("id")))
        .filter(|id| id.is_string() || id.is_number())
}

fn process_end(exited: &Exited) -> String {
    let how = match (exited.code, exited.signal) {
        (Some(code), _) => format!(" with code {code}"),
        (None, Some(signal)) => format!(" by signal {signal}"),
        (None, None) => String::new(),
    };
    format!("ended{how}{}", if exited.asked { "" } else { ", unasked" })
}
