//! Traces for tests.

use serde_json::{Value, json};

use crate::protocol::{Judgements, Rule};
use crate::trace::{Body, Closed, Direction, End, Event, HttpRequest, HttpResponse, Message, Payload, What};

use super::rules;

/// A trace in the making, one exchange after the other.
pub struct Play {
    conn: String,
    exchanges: u64,
    tcp: Option<u64>,
    t: u64,
    pub events: Vec<Event>,
}

impl Play {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { conn: "x0".to_owned(), exchanges: 0, tcp: None, t: 0, events: vec![] }
    }

    /// Goes on in this exchange.
    pub fn on(mut self, conn: &str) -> Self {
        self.conn = conn.to_owned();
        self
    }

    /// The next exchanges go over this TCP connection.
    pub fn over(mut self, tcp: u64) -> Self {
        self.tcp = Some(tcp);
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

    /// A new exchange with this head.
    pub fn request_head(mut self, start: &str, headers: &[(&str, &str)]) -> Self {
        self.exchanges += 1;
        self.conn = format!("x{}", self.exchanges);
        let tcp = self.tcp.unwrap_or(self.exchanges);
        let head = HttpRequest { start: start.to_owned(), headers: lines(headers), raw: None, tcp };
        self.client(What::HttpRequest(head))
    }

    pub fn response_head(self, status: u16, headers: &[(&str, &str)]) -> Self {
        let start = format!("HTTP/1.1 {status} Any");
        self.server(What::HttpResponse(HttpResponse { start, headers: lines(headers), raw: None }))
    }

    pub fn client_body(self, text: &str, last: bool) -> Self {
        let body = Body { bytes: Payload::Text(text.to_owned()), last, trailers: vec![] };
        self.client(What::Body(body))
    }

    /// A whole POST request with this body.
    pub fn posts(self, body: &[u8]) -> Self {
        self.sends("POST / HTTP/1.1", &[("Host", "127.0.0.1:1"), ("Content-Type", "application/json")], body)
    }

    /// A whole request.
    pub fn sends(self, start: &str, headers: &[(&str, &str)], body: &[u8]) -> Self {
        self.request_head(start, headers).body(Direction::ToServer, body)
    }

    pub fn asks(self, method: &str, params: Value) -> Self {
        self.posts(json!({"method": method, "params": params, "settings": {}}).to_string().as_bytes())
    }

    /// A whole answer.
    pub fn responds(self, status: u16, headers: &[(&str, &str)], body: &[u8]) -> Self {
        self.response_head(status, headers).body(Direction::ToClient, body)
    }

    pub fn says(self, json: Value) -> Self {
        self.responds(200, &[("Content-Type", "application/json")], json.to_string().as_bytes())
    }

    pub fn gives(self, result: Value) -> Self {
        self.says(json!({ "result": result }))
    }

    /// A whole body.
    pub fn body(self, dir: Direction, body: &[u8]) -> Self {
        let last = What::Body(Body { bytes: Payload::from(body), last: true, trailers: vec![] });
        let play = self.add(Some(dir), last);
        if body.is_empty() {
            return play;
        }
        play.add(Some(dir), What::Message(Message::joined(true, body, 1)))
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

    /// The areas and slugs that were broken, each once, in order.
    pub fn broken(&self) -> Vec<String> {
        let mut broken: Vec<String> = vec![];
        for violation in self.judge().violations {
            let short = violation.requirement.splitn(3, '/').nth(2).unwrap_or_default().to_owned();
            assert_eq!(violation.blame == End::Client, short.contains("/client-"), "{short}");
            if !broken.contains(&short) {
                broken.push(short);
            }
        }
        broken
    }

    /// Whether a requirement had its occasion.
    pub fn assessed(&self, short: &str) -> bool {
        self.judge().assessed.iter().any(|id| *id == format!("openctx/0.1/{short}"))
    }

    /// The notes.
    pub fn notes(&self) -> Vec<String> {
        self.judge().notes.into_iter().map(|(_, text)| text).collect()
    }
}

fn lines(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
