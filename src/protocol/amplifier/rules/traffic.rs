//! Traffic: exchanges, streams and WebSockets, and what has become whole of them.

use std::collections::HashMap;

use super::exchange::Asked;
use super::sessions::Sessions;
use super::subscriptions::Subscriptions;
use super::{BOOK, answers, http, requests, sockets};
use crate::protocol::amplifier::routes::{Endpoint, Route};
use crate::protocol::http::book::Bench;
use crate::protocol::http::content::{Content, Wholes};
use crate::protocol::http::exchanges::{Exchanges, TIMELY, timely};
use crate::protocol::http::redirects;
use crate::protocol::{Fault, Judgements, Rule};
use crate::trace::{Closed, Direction, End, Event, HttpRequest, HttpResponse, Payload, What};

/// Microseconds after which a prompt is not answered at once that is worked on meanwhile.
const AT_ONCE: u64 = 4_000_000;

/// Judges everything that crosses the wire.
///
/// It holds what is open, and of sessions what [`Sessions`] remembers.
pub struct Traffic {
    wholes: Wholes,
    open: Exchanges<Asked>,
    subscriptions: Subscriptions,
    sessions: Sessions,
    /// What was asked for by exchanges that are redirected, by the one that the client began with.
    moved: HashMap<String, Option<Route>>,
    /// Which end the processes are, where that is known.
    process: Option<End>,
}

impl Traffic {
    pub fn new() -> Self {
        Self {
            wholes: Wholes::default(),
            open: Exchanges::new("http/answered"),
            subscriptions: Subscriptions::default(),
            sessions: Sessions::default(),
            moved: HashMap::new(),
            process: None,
        }
    }

    fn head(&mut self, conn: &str, event: &Event, head: &HttpRequest, bench: &mut Bench<'_>) {
        let moved = self.moved.get(redirects::asked(conn)).filter(|_| redirects::asked(conn) != conn);
        let route = moved.cloned().unwrap_or_else(|| Route::of(head.method(), head.target()));
        if event.deliberate.is_none() {
            http::request(head, route.as_ref(), bench);
        }
        self.secret(head, bench);
        self.subscriptions.forget(conn);
        self.open.begun(conn, event, head, Asked { route, ..Asked::default() });
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
        let Some(exchange) = self.open.sent(conn, event) else { return };
        let Some(route) = exchange.own.route.clone() else { return };
        (exchange.own.body, exchange.own.refused) = if exchange.client_is_odd {
            requests::read(route.endpoint, content)
        } else {
            if route.endpoint.has_body() {
                bench.hold("http/client-length", None);
            }
            requests::judge(route.endpoint, content, bench)
        };
        if matches!(route.endpoint, Endpoint::SubmitPrompt | Endpoint::SubmitApproval)
            && let Some(body) = &exchange.own.body
            && !self.sessions.keys.is_empty()
        {
            let leaked = self.sessions.leaked(&body.to_string());
            let fault = Fault::new("a body that is not that of a new session has an API key");
            bench.hold("safety/client-no-key-elsewhere", leaked.then_some(fault));
        }
        self.sessions.asked(&route, exchange, bench);
    }

    fn response(&mut self, conn: &str, event: &Event, head: &HttpResponse, bench: &mut Bench<'_>) {
        let Some(exchange) = self.open.responded(conn, head) else { return };
        let route = exchange.own.route.as_ref();
        if redirects::leads_to(head).is_some() {
            self.moved.insert(redirects::asked(conn).to_owned(), route.cloned());
        }
        if exchange.counts_for_http() {
            http::response(exchange.request.as_ref(), route.is_some(), head, bench);
        }
        let taken = matches!(head.status(), Some(200..=299));
        if taken && route.is_some_and(|route| route.endpoint == Endpoint::Events) {
            self.subscriptions.answered(conn, event, head, exchange, bench);
        }
    }

    /// An answer's body is whole, and with it the exchange.
    fn answered(&mut self, conn: &str, event: &Event, content: &Content<'_>, bench: &mut Bench<'_>) {
        let Some(exchange) = self.open.answered(conn, event) else { return };
        if self.subscriptions.ended(conn, exchange.counts(), &mut self.sessions, bench) {
            return;
        }
        if let Some(json) = content.json()
            && event.deliberate.is_none()
            && !self.sessions.keys.is_empty()
        {
            let failed = exchange.status().is_some_and(|status| status >= 400);
            let short = if failed { "safety/no-key-in-errors" } else { "safety/no-key-in-answers" };
            let leaked = self.sessions.leaked(&json.to_string());
            bench.hold_if(short, leaked, || "an answer has an API key".to_owned());
        }
        if exchange.client_is_odd && exchange.counts_for_http() {
            answers::judge_odd(&exchange, content, &mut self.sessions, bench);
        }
        if !exchange.counts() || exchange.request.is_none() {
            return;
        }
        self.open.judge(&exchange, bench);
        answers::judge(&exchange, content, &mut self.sessions, bench);
    }

    /// The server ended the TCP connection before its answer was whole.
    fn cut(&mut self, conn: &str, how: Closed, event: &Event, bench: &mut Bench<'_>) {
        let stayed = self.open.get(conn).is_none_or(|exchange| exchange.left.is_none());
        self.subscriptions.ended(conn, stayed && event.deliberate.is_none(), &mut self.sessions, bench);
        // A stream may end with its connection.
        self.open.cut(conn, how, bench, |exchange| {
            exchange.own.route.as_ref().is_some_and(|route| route.endpoint == Endpoint::Events)
        });
    }

    /// Something was printed.
    fn printed(&mut self, bytes: &Payload, bench: &mut Bench<'_>) {
        if self.sessions.keys.is_empty() {
            return;
        }
        let leaked = bytes.as_text().is_some_and(|text| self.sessions.leaked(text));
        let short = match self.process.unwrap_or(End::Server) {
            End::Server => "safety/no-key-in-output",
            End::Client => "safety/client-no-key-in-output",
        };
        bench.hold_if(short, leaked, || "an API key is printed".to_owned());
    }
}

impl Rule for Traffic {
    fn processes(&mut self, end: End) {
        self.process = Some(end);
        self.sessions.alone = end == End::Server;
    }

    fn event(&mut self, event: &Event, out: &mut Judgements) {
        self.open.note(event);
        let whole = self.wholes.of(event);
        let bench = &mut BOOK.bench(out, event.i);
        match &event.what {
            What::Launched(_) => self.sessions.restarted(),
            What::Call(call) if call.call == "createSession" => self.sessions.give(Some(&call.params)),
            What::Output(output) => self.printed(&output.bytes, bench),
            _ => {}
        }
        let (Some(conn), Some(dir)) = (event.conn.as_deref(), event.dir) else { return };
        let (subscriptions, sessions) = (&mut self.subscriptions, &mut self.sessions);
        match &event.what {
            What::HttpRequest(head) => self.head(conn, event, head, bench),
            What::HttpResponse(head) => self.response(conn, event, head, bench),
            What::Handshake(head) => subscriptions.handshake(conn, event, head, bench),
            What::Frame(frame) if event.deliberate.is_none() => sockets::frame(dir.sender(), frame, bench),
            What::Message(message) => subscriptions.message(conn, event, message, sessions, bench),
            What::StreamEvent(sent) => subscriptions.streamed(conn, event, sent, sessions, bench),
            What::Body(body) if dir == Direction::ToClient => {
                subscriptions.bytes(conn, event, body.bytes.as_bytes(), bench);
            }
            What::Bytes { bytes } if !subscriptions.is_socket(conn) => {
                self.open.stray(conn, event, bytes.as_bytes(), bench);
            }
            What::Closed(how) if dir == Direction::ToClient => self.cut(conn, *how, event, bench),
            What::Closed(_) => subscriptions.left(conn, event.t, bench),
            _ => {}
        }
        match whole {
            Some((Direction::ToServer, content)) => self.sent(conn, event, &content, bench),
            Some((Direction::ToClient, content)) => self.answered(conn, event, &content, bench),
            None => {}
        }
    }

    fn end(&mut self, out: &mut Judgements) {
        let submits = |asked: &Asked| asked.route.as_ref().is_some_and(|r| r.endpoint == Endpoint::SubmitPrompt);
        let left = self.open.left();
        for (exchange, waited) in left.iter().filter(|(exchange, _)| exchange.response.is_none()) {
            self.open.judge_unsent(exchange, &mut BOOK.bench(out, exchange.index));
            let bench = &mut BOOK.bench(out, exchange.index);
            let route = exchange.own.route.as_ref().filter(|_| submits(&exchange.own) && !exchange.server_is_odd);
            let session = route.and_then(|route| self.sessions.of(route.name.as_deref()?));
            if session.is_some_and(|session| session.worked_unanswered) {
                // The client may have given up.
                let until = exchange.left.unwrap_or(self.open.now());
                let late = exchange.sent.map_or(0, |sent| until.saturating_sub(sent)).saturating_sub(AT_ONCE);
                let fault = Fault::new("a prompt is worked on, and its request is not answered");
                if late > 0 {
                    bench.hold("prompt/at-once", Some(fault.late(late)));
                }
            } else if let Some(waited) = waited.filter(|waited| *waited > TIMELY) {
                timely(waited, bench);
            }
        }
        let waiting = left.iter().any(|(exchange, _)| submits(&exchange.own));
        self.subscriptions.end(waiting, &mut self.sessions, out);
    }
}
