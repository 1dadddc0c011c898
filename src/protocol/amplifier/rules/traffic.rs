//! Traffic: exchanges, streams and WebSockets, and what has become whole of them.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::book::{Bench, Fault};
use super::exchange::Exchange;
use super::lives::Life;
use super::sessions::Sessions;
use super::streams::Bytes;
use super::{answers, events, http, requests, sockets};
use crate::protocol::amplifier::content::{Content, Wholes};
use crate::protocol::amplifier::routes::{Endpoint, Route};
use crate::protocol::{Judgements, Rule};
use crate::trace::{Direction, End, Event, Head, HttpRequest, HttpResponse, Message, StreamEvent, What};

/// Microseconds within which an answer is expected of a server (docs/amplifier.md, Time).
const TIMELY: u64 = 10_000_000;

/// So many exchanges that are over are remembered, for bytes that come after them.
const REMEMBERED: usize = 1024;

/// Judges everything that crosses the wire.
///
/// Of an exchange in which one end does something wrong on purpose, nothing of that end's is judged; the answer to a request
/// that is wrong on purpose may be any. It holds what is open, and of sessions what [`Sessions`] remembers.
#[derive(Default)]
pub struct Traffic {
    wholes: Wholes,
    open: HashMap<String, Exchange>,
    over: HashSet<String>,
    over_order: VecDeque<String>,
    /// How many requests went over each TCP connection.
    carried: HashMap<u64, u64>,
    streams: HashMap<String, Stream>,
    sessions: Sessions,
    /// Request ids of events that nobody has given yet: session, id, and the event.
    early: Vec<(String, String, u64)>,
    now: u64,
    /// Which end the processes are, where that is known.
    process: Option<End>,
}

/// A stream or WebSocket that stands.
struct Stream {
    session: String,
    /// The handshake of a WebSocket.
    socket: Option<Head>,
    bytes: Bytes,
    coded: bool,
    odd: bool,
    life: Life,
}

impl Traffic {
    fn head(&mut self, conn: &str, event: &Event, head: &HttpRequest, bench: &mut Bench<'_>) {
        let carried = self.carried.entry(head.tcp).or_default();
        *carried += 1;
        let first = *carried == 1;
        let odd = event.deliberate.is_some();
        let route = Route::of(head.method(), head.target());
        if !odd {
            http::request(head, route.as_ref(), bench);
        }
        self.secret(head, bench);
        let request = Some(head.clone());
        let fresh = Exchange { index: event.i, client_is_odd: odd, first, request, route, ..Exchange::default() };
        self.over.remove(conn);
        self.streams.remove(conn);
        self.open.insert(conn.to_owned(), fresh);
    }

    /// A key belongs into a body, and into no head.
    fn secret(&self, head: &HttpRequest, bench: &mut Bench<'_>) {
        if self.sessions.keys.is_empty() {
            return;
        }
        let leaked =
            self.sessions.leaked(&head.start) || head.headers.iter().any(|(_, value)| self.sessions.leaked(value));
        bench.hold_if("safety/client-no-key-elsewhere", leaked, || "the head of a request has an API key".to_owned());
    }

    /// A request's body is whole.
    fn sent(&mut self, conn: &str, event: &Event, content: &Content<'_>, bench: &mut Bench<'_>) {
        let Some(exchange) = self.open.get_mut(conn) else { return };
        (exchange.index, exchange.sent) = (event.i, Some(event.t));
        let Some(route) = exchange.route.clone() else { return };
        (exchange.body, exchange.refused) = if exchange.client_is_odd {
            requests::read(route.endpoint, content)
        } else {
            requests::judge(route.endpoint, content, bench)
        };
        if matches!(route.endpoint, Endpoint::SubmitPrompt | Endpoint::SubmitApproval)
            && let Some(body) = &exchange.body
            && !self.sessions.keys.is_empty()
        {
            let leaked = self.sessions.leaked(&body.to_string());
            let fault = Fault::new("a body that is not that of a new session has an API key");
            bench.hold("safety/client-no-key-elsewhere", leaked.then_some(fault));
        }
        self.sessions.asked(&route, exchange, bench);
    }

    fn response(&mut self, conn: &str, event: &Event, head: &HttpResponse, bench: &mut Bench<'_>) {
        let Some(exchange) = self.open.get_mut(conn) else { return };
        if matches!(head.status(), Some(100..=199)) {
            return;
        }
        exchange.server_is_odd |= event.deliberate.is_some();
        let route = exchange.route.as_ref();
        if exchange.counts() {
            http::response(exchange.request.as_ref(), route.is_some(), head, bench);
        }
        let taken = matches!(head.status(), Some(200..=299));
        if let Some(route) = route.filter(|route| route.endpoint == Endpoint::Events && taken) {
            if exchange.counts() {
                let fault = Fault::new("an event stream has another status than 200").actual(head.status());
                bench.hold("stream/status", (head.status() != Some(200)).then_some(fault));
                let fault = Fault::new("an event stream has another content type").expected("text/event-stream");
                let actual = head.header("content-type").next().unwrap_or_default();
                bench.hold("stream/content-type", (!http::is_stream(head)).then(|| fault.actual(actual)));
            }
            if http::is_stream(head) {
                let session = route.name.clone().unwrap_or_default();
                let odd = !exchange.counts();
                let life = Life::new(event.i);
                let coded = http::is_coded(head);
                let stream = Stream { session, socket: None, bytes: Bytes::default(), coded, odd, life };
                self.streams.insert(conn.to_owned(), stream);
            }
        }
        exchange.response = Some(head.clone());
    }

    /// An answer's body is whole, and with it the exchange.
    fn answered(&mut self, conn: &str, event: &Event, content: &Content<'_>, bench: &mut Bench<'_>) {
        let Some(mut exchange) = self.open.remove(conn) else { return };
        exchange.answered = event.t;
        self.remember(conn);
        if let Some(stream) = self.streams.remove(conn) {
            if !stream.odd && !stream.coded && exchange.counts() {
                stream.bytes.end(bench);
            }
            return;
        }
        if let Some(json) = content.json()
            && event.deliberate.is_none()
            && !self.sessions.keys.is_empty()
        {
            let failed = exchange.response.as_ref().and_then(HttpResponse::status).is_some_and(|status| status >= 400);
            let short = if failed { "safety/no-key-in-errors" } else { "safety/no-key-in-answers" };
            let leaked = self.sessions.leaked(&json.to_string());
            bench.hold_if(short, leaked, || "an answer has an API key".to_owned());
        }
        if !exchange.counts() || exchange.request.is_none() {
            return;
        }
        bench.hold("http/answered", None);
        bench.hold("http/length", None);
        if !exchange.first {
            bench.hold("http/keep-alive", None);
        }
        if let Some(sent) = exchange.sent {
            timely(event.t.saturating_sub(sent), bench);
        }
        answers::judge(&exchange, content, &mut self.sessions, bench);
    }

    /// The server ended the TCP connection before its answer was whole.
    fn cut(&mut self, conn: &str, event: &Event, bench: &mut Bench<'_>) {
        if let Some(stream) = self.streams.remove(conn)
            && stream.socket.is_none()
            && !stream.odd
            && !stream.coded
            && event.deliberate.is_none()
            && self.open.get(conn).is_none_or(|exchange| !exchange.left)
        {
            stream.bytes.end(bench);
        }
        let Some(exchange) = self.open.remove(conn) else { return };
        self.remember(conn);
        if !exchange.counts() || exchange.left || exchange.sent.is_none() {
            return;
        }
        let streamed = exchange.route.as_ref().is_some_and(|route| route.endpoint == Endpoint::Events);
        match &exchange.response {
            // A stream may end with its connection.
            Some(_) if streamed => {}
            Some(_) => {
                let fault = Fault::new("the connection ended before the answer was as long as its head says");
                bench.hold("http/length", Some(fault));
            }
            // An idle connection may be closed at any time, also when a request is under way to it.
            None if exchange.first => {
                bench.hold("http/answered", Some(Fault::new("the connection was closed without an answer")));
            }
            None => {}
        }
    }

    /// Bytes that are part of nothing.
    fn stray(&mut self, conn: &str, event: &Event, bytes: &[u8], bench: &mut Bench<'_>) {
        let head = bytes.starts_with(b"HTTP/1.");
        let socket = self.streams.get(conn).is_some_and(|stream| stream.socket.is_some());
        if socket {
            return;
        }
        match (event.dir, self.open.get_mut(conn)) {
            (Some(Direction::ToServer), Some(exchange)) => {
                if !exchange.client_is_odd {
                    let fault = Fault::new("the body of a request is not as its head says");
                    bench.hold("http/client-length", Some(fault));
                }
                exchange.client_is_odd = true;
            }
            (Some(Direction::ToServer), None) => {
                if !self.over.contains(conn) && event.deliberate.is_none() {
                    bench.hold("http/client-valid-head", Some(Fault::new("this is no request of HTTP")));
                }
                self.open.entry(conn.to_owned()).or_default().client_is_odd = true;
            }
            (Some(Direction::ToClient), Some(exchange)) => {
                if exchange.counts() && exchange.response.is_some() {
                    bench.hold("http/length", Some(Fault::new("the body of an answer is not as its head says")));
                } else if exchange.counts() && exchange.sent.is_some() {
                    bench.hold("http/valid-head", Some(Fault::new("this is no answer of HTTP")));
                }
                exchange.server_is_odd = true;
            }
            // A server may say that it has waited too long, and close.
            (Some(Direction::ToClient), None) if self.over.contains(conn) && !head && event.deliberate.is_none() => {
                bench.hold("http/length", Some(Fault::new("bytes follow an answer that was whole")));
            }
            _ => {}
        }
    }

    fn remember(&mut self, conn: &str) {
        if self.over_order.len() == REMEMBERED
            && let Some(oldest) = self.over_order.pop_front()
        {
            self.over.remove(&oldest);
        }
        if self.over.insert(conn.to_owned()) {
            self.over_order.push_back(conn.to_owned());
        }
    }

    /// Something in an event stream.
    fn streamed(&mut self, conn: &str, event: &Event, sent: &StreamEvent, bench: &mut Bench<'_>) {
        let Some(stream) = self.streams.get(conn).filter(|stream| !stream.odd) else { return };
        if event.deliberate.is_some() {
            return;
        }
        if !self.sessions.keys.is_empty() {
            let texts = [&sent.data, &sent.comment, &sent.id, &sent.event];
            let leaked = texts.into_iter().flatten().any(|text| self.sessions.leaked(text));
            bench.hold_if("safety/no-key-in-events", leaked, || "an event has an API key".to_owned());
        }
        let Some(data) = sent.data.as_deref().filter(|data| !data.trim().is_empty()) else { return };
        let message: Option<Value> = serde_json::from_str(data).ok();
        let name = message.as_ref().and_then(|message| message.get("event")).and_then(Value::as_str);
        if sent.event_type() != "message" {
            let protocol = name.is_some_and(|name| crate::protocol::amplifier::EVENTS.contains(&name))
                || crate::protocol::amplifier::EVENTS.contains(&sent.event_type());
            let fault = Fault::new("a protocol event comes under an event type of its own").expected("message");
            bench.hold("stream/message-type", protocol.then(|| fault.actual(sent.event_type())));
            return;
        }
        bench.hold("stream/message-type", None);
        let fault = Fault::new("the data of a message is no JSON").actual(data.chars().take(200).collect::<String>());
        bench.hold("stream/data-json", message.is_none().then_some(fault));
        let session = stream.session.clone();
        if let Some(message) = &message {
            self.told(conn, &session, false, event, message, bench);
        }
    }

    /// A protocol event, however it came.
    fn told(&mut self, conn: &str, id: &str, socket: bool, event: &Event, message: &Value, bench: &mut Bench<'_>) {
        let Some((name, data)) = events::judge(message, id, socket, bench) else { return };
        let Some(stream) = self.streams.get_mut(conn) else { return };
        let session = self.sessions.of(id);
        if let (Some(request), Some(session)) = (data.text("request_id"), session.as_deref())
            && !session.gave(request)
            && self.early.len() < REMEMBERED
        {
            self.early.push((id.to_owned(), request.to_owned(), event.i));
        }
        stream.life.told(name, data, event.t, session, bench);
    }

    fn handshake(&mut self, conn: &str, event: &Event, head: &Head, bench: &mut Bench<'_>) {
        let odd = event.deliberate.is_some();
        if event.dir == Some(Direction::ToServer) {
            if !odd {
                sockets::request(head, bench);
            }
            let session =
                Route::of("GET", head.start.split(' ').nth(1).unwrap_or_default()).and_then(|route| route.name);
            let session = session.unwrap_or_default();
            let (bytes, life) = (Bytes::default(), Life::new(event.i));
            let stream = Stream { session, socket: Some(head.clone()), bytes, coded: false, odd, life };
            self.streams.insert(conn.to_owned(), stream);
            return;
        }
        if let Some(stream) = self.streams.get_mut(conn) {
            stream.odd |= odd;
            if let Some(request) = stream.socket.as_ref().filter(|_| !stream.odd) {
                sockets::response(request, head, bench);
            }
        }
    }

    /// A message over a WebSocket.
    fn message(&mut self, conn: &str, event: &Event, message: &Message, bench: &mut Bench<'_>) {
        let Some(stream) = self.streams.get(conn).filter(|stream| stream.socket.is_some()) else { return };
        let session = stream.session.clone();
        let odd = stream.odd || event.deliberate.is_some();
        match event.dir {
            Some(Direction::ToServer) => {
                if !odd {
                    requests::control(&Content::of(Some(message)), bench);
                }
                let Some(session) = self.sessions.of(&session) else { return };
                // What comes of it is told by events alone.
                session.others = true;
            }
            Some(Direction::ToClient) if !odd => {
                let json = message.json.as_ref().filter(|_| message.text);
                let fault = Fault::new("a message is no text with JSON");
                bench.hold("websocket/text", json.is_none().then_some(fault));
                let Some(json) = json else { return };
                if !self.sessions.keys.is_empty() {
                    let leaked = self.sessions.leaked(&json.to_string());
                    bench.hold_if("safety/no-key-in-events", leaked, || "an event has an API key".to_owned());
                }
                self.told(conn, &session, true, event, json, bench);
            }
            _ => {}
        }
    }
}

impl Rule for Traffic {
    fn processes(&mut self, end: End) {
        self.process = Some(end);
    }

    fn event(&mut self, event: &Event, out: &mut Judgements) {
        self.now = event.t;
        let whole = self.wholes.of(event);
        let bench = &mut Bench { out, index: event.i };
        match &event.what {
            What::Launched(_) => self.sessions.restarted(),
            What::Output(output) if !self.sessions.keys.is_empty() => {
                let leaked = output.bytes.as_text().is_some_and(|text| self.sessions.leaked(text));
                let short = match self.process.unwrap_or(End::Server) {
                    End::Server => "safety/no-key-in-output",
                    End::Client => "safety/client-no-key-in-output",
                };
                bench.hold_if(short, leaked, || "an API key is printed".to_owned());
            }
            _ => {}
        }
        let (Some(conn), Some(dir)) = (event.conn.as_deref(), event.dir) else { return };
        if event.deliberate.is_some()
            && let Some(exchange) = self.open.get_mut(conn)
        {
            match dir {
                Direction::ToServer => exchange.client_is_odd = true,
                Direction::ToClient => exchange.server_is_odd = true,
            }
        }
        match &event.what {
            What::HttpRequest(head) => self.head(conn, event, head, bench),
            What::HttpResponse(head) => self.response(conn, event, head, bench),
            What::Handshake(head) => self.handshake(conn, event, head, bench),
            What::Frame(frame) if event.deliberate.is_none() => sockets::frame(dir.sender(), frame, bench),
            What::Message(message) => self.message(conn, event, message, bench),
            What::StreamEvent(sent) => self.streamed(conn, event, sent, bench),
            What::Body(body) if dir == Direction::ToClient => {
                if let Some(stream) = self.streams.get_mut(conn) {
                    stream.odd |= event.deliberate.is_some();
                    if !stream.odd && !stream.coded {
                        stream.bytes.feed(body.bytes.as_bytes(), bench);
                    }
                }
            }
            What::Bytes { bytes } => self.stray(conn, event, bytes.as_bytes(), bench),
            What::Closed(_) if dir == Direction::ToClient => self.cut(conn, event, bench),
            What::Closed(_) => {
                if let Some(exchange) = self.open.get_mut(conn) {
                    exchange.left = true;
                }
            }
            _ => {}
        }
        match whole {
            Some((Direction::ToServer, content)) => self.sent(conn, event, &content, bench),
            Some((Direction::ToClient, content)) => self.answered(conn, event, &content, bench),
            None => {}
        }
    }

    fn end(&mut self, out: &mut Judgements) {
        let mut left: Vec<_> = self.open.drain().map(|(_, exchange)| exchange).collect();
        left.sort_by_key(|exchange| exchange.index);
        for exchange in
            left.iter().filter(|exchange| exchange.counts() && !exchange.left && exchange.response.is_none())
        {
            let Some(sent) = exchange.sent else { continue };
            let waited = self.now.saturating_sub(sent);
            if waited > TIMELY {
                timely(waited, &mut Bench { out, index: exchange.index });
            }
        }
        // An answer may come after the events; one that never came may have had any id.
        let waiting = left.iter().any(|e| e.route.as_ref().is_some_and(|r| r.endpoint == Endpoint::SubmitPrompt));
        for (id, request, index) in std::mem::take(&mut self.early) {
            let Some(session) = self.sessions.of(&id).filter(|session| !session.others) else { continue };
            let fault = Fault::new("an event has a `request_id` that was not given").at("/data/request_id");
            let unknown = !waiting && !session.requests.is_empty() && !session.gave(&request);
            Bench { out, index }.hold("life/request-id", unknown.then(|| fault.actual(request)));
        }
    }
}

/// Judges how long an answer took that came, or had not come by the end.
fn timely(took: u64, bench: &mut Bench<'_>) {
    let fault = || {
        let seconds = Value::from(format!("{:.1} s", took as f64 / 1e6));
        Fault::new("no answer came within ten seconds").expected("at most 10 s").actual(seconds)
    };
    bench.hold("http/timely", (took > TIMELY).then(fault));
}
