//! Traces for tests.

use serde_json::{Value, json};

use super::PROTOCOL;
use crate::protocol::http::testing::{self, lines};
use crate::trace::{Direction, EventKind, Frame, Head, Message, Payload, StreamEvent};

/// A trace in the making, one exchange after the other.
pub type Play = testing::Play<SubscribedSession>;

/// The session that was last subscribed to.
#[derive(Default)]
pub struct SubscribedSession {
    session: String,
}

impl Default for Play {
    fn default() -> Self {
        Self::of(&PROTOCOL)
    }
}

impl Play {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The areas and slugs that were broken, each once, in order. That sessions have short names here does not count.
    pub fn broken(&self) -> Vec<String> {
        let mut broken = self.all_broken();
        broken.retain(|short| short != "create/session-id-uuid");
        broken
    }

    /// A complete request without a body.
    pub fn gets(self, target: &str) -> Self {
        self.requests("GET", target)
    }

    pub fn requests(self, method: &str, target: &str) -> Self {
        self.request_head(&format!("{method} {target} HTTP/1.1"), &[("Host", "127.0.0.1:1")]).client_body("", true)
    }

    /// A complete POST request with this body.
    pub fn posts(self, target: &str, body: &Value) -> Self {
        self.posts_bytes(target, body.to_string().as_bytes())
    }

    pub fn posts_bytes(self, target: &str, body: &[u8]) -> Self {
        let headers = [("Host", "127.0.0.1:1"), ("Content-Type", "application/json")];
        self.request(&format!("POST {target} HTTP/1.1"), &headers, body)
    }

    pub fn returns(self, status: u16, body: &Value) -> Self {
        self.responds(status, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    pub fn returns_error(self, status: u16, code: &str) -> Self {
        self.returns(status, &json!({"error": {"code": code, "message": "m", "details": {}}}))
    }

    /// A session with this id.
    pub fn session(self, id: &str) -> Self {
        self.posts("/sessions", &json!({"profile": "dev", "credentials": {"anthropic_api_key": "sk-ant-0123456789"}}))
            .returns(
                201,
                &json!({"session_id": id, "status": "created", "profile": "dev", "created_at": "2025-12-09T10:30:00Z"}),
            )
    }

    /// A prompt that is accepted.
    pub fn prompt(self, session: &str, request: &str, prompt: &str) -> Self {
        let response = json!({"request_id": request, "status": "processing", "message": "m"});
        self.posts(&format!("/sessions/{session}/prompt"), &json!({ "prompt": prompt })).returns(202, &response)
    }

    /// An event stream that is accepted.
    pub fn subscribes(mut self, session: &str) -> Self {
        self.own.session = session.to_owned();
        let start = format!("GET /sessions/{session}/events HTTP/1.1");
        let headers = [("Host", "a:1"), ("Accept", "text/event-stream"), ("Cache-Control", "no-cache")];
        self.request_head(&start, &headers)
            .client_body("", true)
            .response_head(200, &[("Content-Type", "text/event-stream; charset=utf-8")])
    }

    pub fn streams(self, event: &StreamEvent) -> Self {
        self.server(EventKind::StreamEvent(event.clone()))
    }

    /// An event of the session that was last subscribed to, in the present stream.
    pub fn sends_event(self, name: &str, data: Value) -> Self {
        let message = json!({"event": name, "data": with_session(data, &self.own.session)});
        self.streams(&StreamEvent::data(message.to_string()))
    }

    pub fn stream_ends(self) -> Self {
        self.server_body(b"", true)
    }

    /// A WebSocket that is accepted.
    pub fn upgrades(mut self, session: &str) -> Self {
        self.own.session = session.to_owned();
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
            EventKind::Handshake(Head { start: start.to_owned(), headers: lines(headers), raw: None, body: None })
        };
        self.fresh().client(head(&start, &key)).server(head("HTTP/1.1 101 Switching Protocols", &accept))
    }

    pub fn frame(self, dir: Direction, opcode: u8, payload: &[u8]) -> Self {
        let masked = dir == Direction::ToServer;
        let length = payload.len() as u64;
        let payload = Payload::from(payload);
        self.add(
            Some(dir),
            EventKind::Frame(Frame {
                fin: true,
                rsv: 0,
                opcode,
                masked,
                mask_reused: false,
                length,
                length_bits: None,
                payload,
            }),
        )
    }

    pub fn server_message(self, message: &Value) -> Self {
        self.socket_text(Direction::ToClient, &message.to_string())
    }

    pub fn client_message(self, message: &Value) -> Self {
        self.socket_text(Direction::ToServer, &message.to_string())
    }

    pub fn socket_text(self, dir: Direction, text: &str) -> Self {
        let message = EventKind::Message(Message::joined(true, text.as_bytes(), 1));
        self.frame(dir, 1, text.as_bytes()).add(Some(dir), message)
    }
}

/// The data of an event with its session.
pub fn with_session(mut data: Value, session: &str) -> Value {
    if let Some(members) = data.as_object_mut() {
        members.entry("session_id").or_insert_with(|| session.into());
    }
    data
}
