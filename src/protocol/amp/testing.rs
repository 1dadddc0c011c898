//! Traces for tests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use crate::protocol::rfc6455::{self};
use crate::protocol::{Edition as _, Judgements};
use crate::trace::opcode;
use crate::trace::{Closed, Direction, End, Event, EventKind, FileChange, Frame, Head, Message, Payload};

use super::editions::{ALL, AmpEdition, DOCUMENTS};
use super::envelope::response_message;

/// The key of RFC 6455 section 1.3, and what it has to be answered with.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// A trace in the making, on one connection at a time.
pub struct TraceBuilder {
    conn: String,
    t: u64,
    pub events: Vec<Event>,
}

/// A request head, with further header lines.
pub fn request_head(more: &[(&str, &str)]) -> Head {
    head(
        "GET /?auth=secret-token HTTP/1.1",
        &[
            ("Host", "127.0.0.1:1"),
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Key", KEY),
            ("Sec-WebSocket-Version", "13"),
        ],
        more,
    )
}

/// An accepting head, with further header lines.
pub fn response_head(more: &[(&str, &str)]) -> Head {
    head(
        "HTTP/1.1 101 Switching Protocols",
        &[("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", ACCEPT)],
        more,
    )
}

/// Header lines given twice replace the first; an empty value leaves the line out.
pub fn head(start: &str, headers: &[(&str, &str)], more: &[(&str, &str)]) -> Head {
    let kept = headers.iter().filter(|(name, _)| !more.iter().any(|(other, _)| other == name));
    let lines = kept.chain(more).filter(|(_, value)| !value.is_empty());
    let headers = lines.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Head { start: start.to_owned(), headers, raw: None, body: None }
}

pub fn close_payload(code: u16, reason: &str) -> Vec<u8> {
    [&code.to_be_bytes(), reason.as_bytes()].concat()
}

impl TraceBuilder {
    /// A trace without events.
    pub fn new() -> Self {
        Self { conn: "main".to_owned(), t: 0, events: vec![] }
    }

    /// A trace with an accepted connection.
    pub fn open() -> Self {
        Self::new().connect("main")
    }

    /// Connects to a port.
    pub fn connect_to(self, conn: &str, port: u16) -> Self {
        let address = format!("127.0.0.1:{port}");
        self.on(conn).add(Some(Direction::ToServer), EventKind::Connected { address })
    }

    pub fn connect(self, conn: &str) -> Self {
        // Each handshake has a key of its own; the first one that of the RFC.
        let again = self.events.iter().filter(|event| matches!(event.kind, EventKind::Connected { .. })).count();
        let key = if again == 0 { KEY.to_owned() } else { BASE64.encode(format!("{again:016}")) };
        let request = request_head(&[("Sec-WebSocket-Key", &key)]);
        let accept = rfc6455::accept_key(&request).unwrap_or_default();
        let response = response_head(&[("Sec-WebSocket-Accept", &accept)]);
        self.connect_to(conn, 1).client(EventKind::Handshake(request)).server(EventKind::Handshake(response))
    }

    /// From now on, on this connection.
    pub fn on(mut self, conn: &str) -> Self {
        self.conn = conn.to_owned();
        self
    }

    /// Lets time pass.
    pub fn wait(mut self, seconds: u64) -> Self {
        self.t += seconds * 1_000_000;
        self
    }

    pub fn client(self, what: EventKind) -> Self {
        self.add(Some(Direction::ToServer), what)
    }

    pub fn server(self, what: EventKind) -> Self {
        self.add(Some(Direction::ToClient), what)
    }

    pub fn add(mut self, dir: Option<Direction>, what: EventKind) -> Self {
        let (i, conn) = (self.events.len() as u64, dir.map(|_| self.conn.clone()));
        self.t += 100;
        self.events.push(Event { i, t: self.t, conn, dir, deliberate: None, kind: what });
        self
    }

    /// The last event is wrong on purpose.
    pub fn deliberate(mut self) -> Self {
        if let Some(event) = self.events.last_mut() {
            event.deliberate = Some("a test".to_owned());
        }
        self
    }

    pub fn client_frame(self, opcode: u8, payload: &[u8]) -> Self {
        self.client(EventKind::Frame(Frame { masked: true, ..Frame::unmasked(opcode, payload) }))
    }

    pub fn server_frame(self, opcode: u8, payload: &[u8]) -> Self {
        self.server(EventKind::Frame(Frame::unmasked(opcode, payload)))
    }

    pub fn client_sends(self, json: Value) -> Self {
        self.client(message(json))
    }

    pub fn server_sends(self, json: Value) -> Self {
        self.server(message(json))
    }

    /// A text message with its frame.
    pub fn server_sends_text(self, text: &str) -> Self {
        let json = serde_json::from_str(text).ok();
        let payload = json.is_none().then(|| Payload::Text(text.to_owned()));
        let trace = self.server_frame(opcode::TEXT, text.as_bytes());
        trace.server(EventKind::Message(Message { text: true, json, payload, frames: 1 }))
    }

    pub fn client_closes(self, code: u16) -> Self {
        self.client_frame(opcode::CLOSE, &close_payload(code, ""))
    }

    pub fn server_closes(self, code: u16) -> Self {
        self.server_frame(opcode::CLOSE, &close_payload(code, ""))
    }

    pub fn file(self, path: &str, content: &str) -> Self {
        let content = Some(Payload::Text(content.to_owned()));
        self.add(None, EventKind::File(FileChange { path: path.to_owned(), change: "read".to_owned(), content }))
    }

    pub fn ends(self) -> Self {
        self.server(EventKind::Closed(Closed::Eof)).client(EventKind::Closed(Closed::Eof))
    }

    /// The judgements of all rules of an edition.
    pub fn judge(&self, edition: &str) -> Judgements {
        let mut out = Judgements::default();
        let mut all = self::edition(edition).rules();
        for event in &self.events {
            all.iter_mut().for_each(|rule| rule.event(event, &mut out));
        }
        all.iter_mut().for_each(|rule| rule.end(&mut out));
        out
    }

    /// The areas and slugs that each end broke in an edition, each once, in order.
    pub fn broken(&self, edition: &str) -> Vec<String> {
        let mut broken: Vec<String> = vec![];
        for violation in self.judge(edition).violations {
            let short = violation.requirement.splitn(3, '/').nth(2).unwrap_or_default().to_owned();
            let short = if violation.blame == End::Client && !short.contains("/client-") {
                format!("client: {short}")
            } else {
                short
            };
            if !broken.contains(&short) {
                broken.push(short);
            }
        }
        broken
    }

    /// Whether an edition's requirement had its occasion.
    pub fn assessed(&self, edition: &str, short: &str) -> bool {
        self.judge(edition).assessed.iter().any(|id| *id == format!("amp/{edition}/{short}"))
    }
}

pub fn message(json: Value) -> EventKind {
    EventKind::Message(Message { text: true, json: Some(json), payload: None, frames: 1 })
}

/// The edition of this id, those for tests included.
pub fn edition(id: &str) -> &'static AmpEdition {
    ALL.into_iter().chain([&DOCUMENTS]).find(|edition| edition.id == id).expect("an edition")
}

/// A request in the envelope of an edition.
pub fn request(edition: &str, id: impl Into<Value>, method: &str, params: Value) -> Value {
    self::edition(edition).envelope.request(&id.into(), method, &params)
}

/// A response in the envelope of an edition.
pub fn response(edition: &str, id: impl Into<Value>, method: &str, result: Value) -> Value {
    let key = self::edition(edition).envelope.result_key(method);
    response_message(&id.into(), key, &result, &Map::new())
}

/// A notification in the envelope of an edition.
pub fn notification(edition: &str, name: &str, data: Value) -> Value {
    self::edition(edition).envelope.notification(name, data)
}
