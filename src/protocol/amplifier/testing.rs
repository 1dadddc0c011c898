//! Traces for tests.

use serde_json::{Value, json};

use crate::protocol::{Judgements, Rule};
use crate::trace::{
    Body, Closed, Direction, End, Event, Frame, Head, HttpRequest, HttpResponse, Message, Payload, StreamEvent, What,
};

use super::rules;

/// A trace in the making, one exchange after the other.
pub struct Play {
    conn: String,
    session: String,
    exchanges: u64,
    t: u64,
    pub events: Vec<Event>,
}

impl Play {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { conn: "x0".to_owned(), session: String::new(), exchanges: 0, t: 0, events: vec![] }
    }

    /// Goes on in this exchange.
    pub fn on(mut self, conn: &str) -> Self {
        self.conn = conn.to_owned();
        self
    }

    /// Lets time pass.
    pub fn wait(mut self, seconds: u64) -> Self {
        self.t += seconds * 1_000_000;
        self
    }

    pub fn add(mut self, dir: Option<Direction>, what: What) -> Self {
        let (i, conn) = (self.events.len() as u64, dir.map(|_| self.conn.clone()));
        self.t += 100;
        self.events.push(Event { i, t: self.t, conn, dir, deliberate: None, what });
        self
    }

    pub fn client(self, what: What) -> Self {
        self.add(Some(Direction::ToServer), what)
    }

    pub fn server(self, what: What) -> Self {
        self.add(Some(Direction::ToClient), what)
    }

    /// The last event is wrong on purpose.
    pub fn deliberate(mut self) -> Self {
        if let Some(event) = self.events.last_mut() {
            event.deliberate = Some("a test".to_owned());
        }
        self
    }

    fn fresh(mut self) -> Self {
        self.exchanges += 1;
        self.conn = format!("x{}", self.exchanges);
        self
    }

    /// A new exchange with this head.
    pub fn request_head(self, start: &str, headers: &[(&str, &str)]) -> Self {
        let play = self.fresh();
        let head = HttpRequest { start: start.to_owned(), headers: lines(headers), raw: None, tcp: play.exchanges };
        play.client(What::HttpRequest(head))
    }

    pub fn response_head(self, status: u16, headers: &[(&str, &str)]) -> Self {
        let start = format!("HTTP/1.1 {status} Any");
        self.server(What::HttpResponse(HttpResponse { start, headers: lines(headers), raw: None }))
    }

    pub fn client_body(self, text: &str, last: bool) -> Self {
        self.client(What::Body(Body { bytes: Payload::Text(text.to_owned()), last, trailers: vec![] }))
    }

    pub fn server_body(self, bytes: &[u8], last: bool) -> Self {
        self.server(What::Body(Body { bytes: Payload::from(bytes), last, trailers: vec![] }))
    }

    /// A whole request without a body.
    pub fn gets(self, target: &str) -> Self {
        self.asks("GET", target)
    }

    pub fn asks(self, method: &str, target: &str) -> Self {
        self.request_head(&format!("{method} {target} HTTP/1.1"), &[("Host", "127.0.0.1:1")]).client_body("", true)
    }

    /// A whole POST request with this body.
    pub fn posts(self, target: &str, body: &Value) -> Self {
        self.posts_bytes(target, body.to_string().as_bytes())
    }

    pub fn posts_bytes(self, target: &str, body: &[u8]) -> Self {
        let headers = [("Host", "127.0.0.1:1"), ("Content-Type", "application/json")];
        self.request_head(&format!("POST {target} HTTP/1.1"), &headers).body(Direction::ToServer, body)
    }

    /// A whole answer.
    pub fn responds(self, status: u16, headers: &[(&str, &str)], body: &[u8]) -> Self {
        self.response_head(status, headers).body(Direction::ToClient, body)
    }

    pub fn gives(self, status: u16, body: &Value) -> Self {
        self.responds(status, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    pub fn fails(self, status: u16, code: &str) -> Self {
        self.gives(status, &json!({"error": {"code": code, "message": "m", "details": {}}}))
    }

    fn body(self, dir: Direction, body: &[u8]) -> Self {
        let last = What::Body(Body { bytes: Payload::from(body), last: true, trailers: vec![] });
        let play = self.add(Some(dir), last);
        if body.is_empty() {
            return play;
        }
        play.add(Some(dir), What::Message(Message::joined(true, body, 1)))
    }

    /// A session with this id.
    pub fn session(self, id: &str) -> Self {
        self.posts("/sessions", &json!({"profile": "dev", "credentials": {"anthropic_api_key": "sk-ant-0123456789"}}))
            .gives(
                201,
                &json!({"session_id": id, "status": "created", "profile": "dev", "created_at": "2025-12-09T10:30:00Z"}),
            )
    }

    /// A prompt that is accepted.
    pub fn prompt(self, session: &str, request: &str, prompt: &str) -> Self {
        let answer = json!({"request_id": request, "status": "processing", "message": "m"});
        self.posts(&format!("/sessions/{session}/prompt"), &json!({ "prompt": prompt })).gives(202, &answer)
    }

    /// An event stream that is accepted.
    pub fn subscribes(mut self, session: &str) -> Self {
        self.session = session.to_owned();
        let start = format!("GET /sessions/{session}/events HTTP/1.1");
        let headers = [("Host", "a:1"), ("Accept", "text/event-stream"), ("Cache-Control", "no-cache")];
        self.request_head(&start, &headers)
            .client_body("", true)
            .response_head(200, &[("Content-Type", "text/event-stream; charset=utf-8")])
    }

    pub fn streams(self, event: &StreamEvent) -> Self {
        self.server(What::StreamEvent(event.clone()))
    }

    /// An event of the session that was last subscribed to, in the present stream.
    pub fn sends(self, name: &str, data: Value) -> Self {
        let message = json!({"event": name, "data": with_session(data, &self.session)});
        self.streams(&StreamEvent::data(message.to_string()))
    }

    pub fn stream_ends(self) -> Self {
        self.server_body(b"", true)
    }

    /// A WebSocket that is accepted.
    pub fn upgrades(mut self, session: &str) -> Self {
        self.session = session.to_owned();
        let start = format!("GET /sessions/{session}/ws HTTP/1.1");
        let key = [
            ("Host", "a:1"),
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let accept = [
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        ];
        let head = |start: &str, headers: &[(&str, &str)]| {
            What::Handshake(Head { start: start.to_owned(), headers: lines(headers), raw: None, body: None })
        };
        self.fresh().client(head(&start, &key)).server(head("HTTP/1.1 101 Switching Protocols", &accept))
    }

    pub fn frame(self, dir: Direction, opcode: u8, payload: &[u8]) -> Self {
        let masked = dir == Direction::ToServer;
        let length = payload.len() as u64;
        let payload = Payload::from(payload);
        self.add(
            Some(dir),
            What::Frame(Frame { fin: true, rsv: 0, opcode, masked, length, length_bits: None, payload }),
        )
    }

    pub fn socket_tells(self, message: &Value) -> Self {
        self.socket_text(Direction::ToClient, &message.to_string())
    }

    pub fn socket_asks(self, message: &Value) -> Self {
        self.socket_text(Direction::ToServer, &message.to_string())
    }

    pub fn socket_text(self, dir: Direction, text: &str) -> Self {
        let message = What::Message(Message::joined(true, text.as_bytes(), 1));
        self.frame(dir, 1, text.as_bytes()).add(Some(dir), message)
    }

    pub fn server_closes(self) -> Self {
        self.server(What::Closed(Closed::Eof))
    }

    pub fn client_closes(self) -> Self {
        self.client(What::Closed(Closed::Eof))
    }

    /// What all rules have to say.
    pub fn judge(&self) -> Judgements {
        let mut out = Judgements::default();
        let mut all: Vec<Box<dyn Rule>> = rules::of();
        for event in &self.events {
            all.iter_mut().for_each(|rule| rule.event(event, &mut out));
        }
        all.iter_mut().for_each(|rule| rule.end(&mut out));
        out
    }

    /// The areas and slugs that were broken, each once, in order. That sessions have short names here does not count.
    pub fn broken(&self) -> Vec<String> {
        let mut broken: Vec<String> = vec![];
        for violation in self.judge().violations {
            let short = violation.requirement.splitn(3, '/').nth(2).unwrap_or_default().to_owned();
            assert_eq!(violation.blame == End::Client, short.contains("/client-"), "{short}");
            if !broken.contains(&short) && short != "create/session-id-uuid" {
                broken.push(short);
            }
        }
        broken
    }

    /// Whether a requirement had its occasion.
    pub fn assessed(&self, short: &str) -> bool {
        self.judge().assessed.iter().any(|id| *id == format!("amplifier/2025-12-09/{short}"))
    }

    /// The notes.
    pub fn notes(&self) -> Vec<String> {
        self.judge().notes.into_iter().map(|(_, text)| text).collect()
    }
}

/// The data of an event with its session.
pub fn with_session(mut data: Value, session: &str) -> Value {
    if let Some(members) = data.as_object_mut() {
        members.entry("session_id").or_insert_with(|| session.into());
    }
    data
}

fn lines(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
