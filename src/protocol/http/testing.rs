//! Traces of exchanges, for tests.

use crate::protocol::{Judgements, Protocol};
use crate::trace::{Body, Closed, Direction, End, Event, EventKind, HttpRequest, HttpResponse, Message, Payload};

/// A trace of a protocol in the making, one exchange after the other. `own` is what the protocol remembers with it.
pub struct Play<T> {
    protocol: &'static Protocol,
    pub own: T,
    conn: String,
    exchanges: u64,
    tcp: Option<u64>,
    t: u64,
    process: Option<End>,
    pub events: Vec<Event>,
}

impl<T: Default> Play<T> {
    /// An empty trace.
    pub fn of(protocol: &'static Protocol) -> Self {
        let conn = "x0".to_owned();
        Self { protocol, own: T::default(), conn, exchanges: 0, tcp: None, t: 0, process: None, events: vec![] }
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

    /// The processes in the trace are this end.
    pub fn processes(mut self, end: End) -> Self {
        self.process = Some(end);
        self
    }

    /// Leaves out everything of an exchange.
    pub fn without(mut self, conn: &str) -> Self {
        self.events.retain(|event| event.conn.as_deref() != Some(conn));
        (0..).zip(&mut self.events).for_each(|(i, event)| event.i = i);
        self
    }

    /// Lets time pass.
    pub fn wait(mut self, seconds: u64) -> Self {
        self.t += seconds * 1_000_000;
        self
    }

    pub fn add(mut self, dir: Option<Direction>, what: EventKind) -> Self {
        let (i, conn) = (self.events.len() as u64, dir.map(|_| self.conn.clone()));
        self.t += 100;
        self.events.push(Event { i, t: self.t, conn, dir, deliberate: None, kind: what });
        self
    }

    pub fn client(self, what: EventKind) -> Self {
        self.add(Some(Direction::ToServer), what)
    }

    pub fn server(self, what: EventKind) -> Self {
        self.add(Some(Direction::ToClient), what)
    }

    /// The last event is wrong on purpose.
    pub fn deliberate(mut self) -> Self {
        if let Some(event) = self.events.last_mut() {
            event.deliberate = Some("a test".to_owned());
        }
        self
    }

    /// Goes on in a new exchange.
    pub fn fresh(mut self) -> Self {
        self.exchanges += 1;
        self.conn = format!("x{}", self.exchanges);
        self
    }

    /// A new exchange with this head.
    pub fn request_head(self, start: &str, headers: &[(&str, &str)]) -> Self {
        let play = self.fresh();
        let tcp = play.tcp.unwrap_or(play.exchanges);
        let head = HttpRequest { start: start.to_owned(), headers: lines(headers), raw: None, tcp };
        play.client(EventKind::HttpRequest(head))
    }

    /// A whole request.
    pub fn request(self, start: &str, headers: &[(&str, &str)], body: &[u8]) -> Self {
        self.request_head(start, headers).body(Direction::ToServer, body)
    }

    pub fn response_head(self, status: u16, headers: &[(&str, &str)]) -> Self {
        let start = format!("HTTP/1.1 {status} Any");
        self.server(EventKind::HttpResponse(HttpResponse { start, headers: lines(headers), raw: None }))
    }

    pub fn client_body(self, text: &str, last: bool) -> Self {
        self.client(EventKind::Body(Body { bytes: Payload::Text(text.to_owned()), last, trailers: vec![] }))
    }

    pub fn server_body(self, bytes: &[u8], last: bool) -> Self {
        self.server(EventKind::Body(Body { bytes: Payload::from(bytes), last, trailers: vec![] }))
    }

    /// A whole response.
    pub fn responds(self, status: u16, headers: &[(&str, &str)], body: &[u8]) -> Self {
        self.response_head(status, headers).body(Direction::ToClient, body)
    }

    pub fn body(self, dir: Direction, body: &[u8]) -> Self {
        let last = EventKind::Body(Body { bytes: Payload::from(body), last: true, trailers: vec![] });
        let play = self.add(Some(dir), last);
        if body.is_empty() {
            return play;
        }
        play.add(Some(dir), EventKind::Message(Message::joined(true, body, 1)))
    }

    pub fn server_closes(self) -> Self {
        self.server(EventKind::Closed(Closed::Eof))
    }

    pub fn client_closes(self) -> Self {
        self.client(EventKind::Closed(Closed::Eof))
    }

    /// The judgements of all rules.
    pub fn judge(&self) -> Judgements {
        let mut out = Judgements::default();
        let mut all = self.protocol.editions[0].rules();
        if let Some(end) = self.process {
            all.iter_mut().for_each(|rule| rule.processes(end));
        }
        for event in &self.events {
            all.iter_mut().for_each(|rule| rule.event(event, &mut out));
        }
        all.iter_mut().for_each(|rule| rule.end(&mut out));
        out
    }

    /// The areas and slugs that were broken, each once, in order.
    pub fn all_broken(&self) -> Vec<String> {
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
        self.judge().assessed.iter().any(|id| id.splitn(3, '/').nth(2) == Some(short))
    }

    /// The notes.
    pub fn notes(&self) -> Vec<String> {
        self.judge().notes.into_iter().map(|(_, text)| text).collect()
    }
}

/// Header lines.
pub fn lines(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
