//! Rules: what any trace of Amplifier is judged by, however it came about.
//!
//! [`Traffic`] keeps what is in progress, and hands what has become complete to the files that judge it. They
//! keep nothing longer than its exchange or stream, but for [`sessions`], which remembers what is known of each session
//! over all of them.

mod approvals;
mod framing;
mod lifecycle;
mod messages;
mod requests;
mod responses;
mod sessions;
mod subscriptions;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::protocol::http::content::{BodyAssembler, Content};
use crate::protocol::http::exchanges::{self, Exchanges, TIMELY, timely};
use crate::protocol::http::redirects;
use crate::protocol::http::rule_context::{RequirementIndex, RuleContext};
use crate::protocol::rule::CrashRule;
use crate::protocol::{Judgements, Rule, ViolationDetail};
use crate::trace::{Closed, Direction, End, Event, EventKind, HttpRequest, HttpResponse, Message, Payload};

use super::endpoints::{Endpoint, Route};
use super::requirements;

use sessions::Sessions;
use subscriptions::Subscriptions;

/// The requirements, as the rules cite them.
static INDEX: LazyLock<RequirementIndex> = LazyLock::new(|| RequirementIndex::of(requirements::all()));

/// Fresh rules. There is one edition.
pub fn of() -> Vec<Box<dyn Rule>> {
    vec![Box::new(Traffic::new()), Box::new(exits())]
}

fn exits() -> CrashRule {
    CrashRule::new("server", |out, end, index, fault| {
        let short = if end == End::Server { "robustness/alive" } else { "robustness/client-alive" };
        INDEX.ctx(out, index).check(short, Some(fault));
    })
}

/// Microseconds after which a prompt that is worked on should have got its response.
const AT_ONCE: u64 = 4_000_000;

/// Judges everything that crosses the wire.
///
/// The rule keeps open exchanges and subscriptions, and [`Sessions`] across connections.
pub struct Traffic {
    bodies: BodyAssembler,
    exchanges: Exchanges<RequestState>,
    subscriptions: Subscriptions,
    sessions: Sessions,
    /// The routes of exchanges that are redirected, by the exchange that the client began with.
    redirected: HashMap<String, Option<Route>>,
    /// Which end the processes are, where that is known.
    process: Option<End>,
}

impl Traffic {
    pub fn new() -> Self {
        Self {
            bodies: BodyAssembler::default(),
            exchanges: Exchanges::new("http/answered"),
            subscriptions: Subscriptions::default(),
            sessions: Sessions::default(),
            redirected: HashMap::new(),
            process: None,
        }
    }

    fn request_head(&mut self, conn: &str, event: &Event, head: &HttpRequest, ctx: &mut RuleContext<'_>) {
        let redirected = self.redirected.get(redirects::asked(conn)).filter(|_| redirects::asked(conn) != conn);
        let route = redirected.cloned().unwrap_or_else(|| Route::of(head.method(), head.target()));
        if event.deliberate.is_none() {
            requests::request_head(head, route.as_ref(), ctx);
        }
        self.judge_secrets(&head.start, &head.headers, ctx);
        if let Some(Route { endpoint: Endpoint::Events, name: Some(session), .. }) = &route
            && event.deliberate.is_none()
        {
            self.subscriptions.last_event_id(session, head, ctx);
        }
        self.subscriptions.forget(conn);
        self.exchanges.begun(conn, event, head, RequestState { route, ..RequestState::default() });
    }

    /// A key belongs into a body, and into no head.
    fn judge_secrets(&self, start: &str, headers: &[(String, String)], ctx: &mut RuleContext<'_>) {
        if self.sessions.keys.is_empty() {
            return;
        }
        let leaked = self.sessions.leaked(start) || headers.iter().any(|(_, value)| self.sessions.leaked(value));
        ctx.check_if("safety/client-no-key-elsewhere", leaked, || "the head of a request has an API key".to_owned());
    }

    /// A client sent a message over a WebSocket.
    fn judge_sent_message(&self, message: &Message, ctx: &mut RuleContext<'_>) {
        if let (Some(json), false) = (&message.json, self.sessions.keys.is_empty()) {
            let leaked = self.sessions.leaked(&json.to_string());
            ctx.check_if("safety/client-no-key-elsewhere", leaked, || "a control message has an API key".to_owned());
        }
    }

    /// A request's body is complete.
    fn request_complete(&mut self, conn: &str, event: &Event, content: &Content<'_>, ctx: &mut RuleContext<'_>) {
        let Some(exchange) = self.exchanges.sent(conn, event) else { return };
        let Some(route) = exchange.own.route.clone() else { return };
        (exchange.own.body, exchange.own.must_refuse) = if exchange.client_is_odd {
            requests::read_unjudged(route.endpoint, content)
        } else {
            requests::judge(route.endpoint, content, ctx)
        };
        if matches!(route.endpoint, Endpoint::SubmitPrompt | Endpoint::SubmitApproval)
            && let Some(body) = &exchange.own.body
            && !self.sessions.keys.is_empty()
        {
            let leaked = self.sessions.leaked(&body.to_string());
            let fault = ViolationDetail::new("a body that is not that of a new session has an API key");
            ctx.check("safety/client-no-key-elsewhere", leaked.then_some(fault));
        }
        self.sessions.note_request(&route, exchange, ctx);
    }

    fn response(&mut self, conn: &str, event: &Event, head: &HttpResponse, ctx: &mut RuleContext<'_>) {
        let Some(exchange) = self.exchanges.responded(conn, head) else { return };
        let route = exchange.own.route.as_ref();
        if redirects::leads_to(head).is_some() {
            self.redirected.insert(redirects::asked(conn).to_owned(), route.cloned());
        }
        if exchange.counts_for_http() {
            requests::response_head(exchange.request.as_ref(), route.is_some(), head, ctx);
        }
        let taken = matches!(head.status(), Some(200..=299));
        if taken && route.is_some_and(|route| route.endpoint == Endpoint::Events) {
            self.subscriptions.response(conn, event, head, exchange, ctx);
        }
    }

    /// A response's body is complete, and with it the exchange.
    fn response_complete(&mut self, conn: &str, event: &Event, content: &Content<'_>, ctx: &mut RuleContext<'_>) {
        let Some(exchange) = self.exchanges.answered(conn, event) else { return };
        if self.subscriptions.ended(conn, exchange.counts(), &mut self.sessions, ctx) {
            return;
        }
        if let Some(json) = content.json()
            && event.deliberate.is_none()
            && !self.sessions.keys.is_empty()
        {
            let failed = exchange.status().is_some_and(|status| status >= 400);
            let short = if failed { "safety/no-key-in-errors" } else { "safety/no-key-in-responses" };
            let leaked = self.sessions.leaked(&json.to_string());
            ctx.check_if(short, leaked, || "a response has an API key".to_owned());
        }
        if exchange.client_is_odd && exchange.counts_for_http() {
            responses::judge_deliberate(&exchange, content, &mut self.sessions, ctx);
        }
        if !exchange.counts() || exchange.request.is_none() {
            return;
        }
        self.exchanges.judge(&exchange, ctx);
        responses::judge(&exchange, content, &mut self.sessions, ctx);
    }

    /// The server ended the TCP connection before its response was complete.
    fn cut(&mut self, conn: &str, how: Closed, event: &Event, ctx: &mut RuleContext<'_>) {
        let stayed = self.exchanges.get(conn).is_none_or(|exchange| exchange.left.is_none());
        self.subscriptions.ended(conn, stayed && event.deliberate.is_none(), &mut self.sessions, ctx);
        // A stream may end with its connection.
        self.exchanges.cut(conn, how, ctx, |exchange| {
            exchange.own.route.as_ref().is_some_and(|route| route.endpoint == Endpoint::Events)
        });
    }

    /// Something was printed.
    fn output(&mut self, bytes: &Payload, ctx: &mut RuleContext<'_>) {
        if self.sessions.keys.is_empty() {
            return;
        }
        let leaked = bytes.as_text().is_some_and(|text| self.sessions.leaked(text));
        let short = match self.process.unwrap_or(End::Server) {
            End::Server => "safety/no-key-in-output",
            End::Client => "safety/client-no-key-in-output",
        };
        ctx.check_if(short, leaked, || "an API key is printed".to_owned());
    }
}

impl Rule for Traffic {
    fn processes(&mut self, end: End) {
        self.process = Some(end);
        self.sessions.exclusive = end == End::Server;
    }

    fn event(&mut self, event: &Event, out: &mut Judgements) {
        self.exchanges.note(event);
        let body = self.bodies.of(event);
        let ctx = &mut INDEX.ctx(out, event.i);
        match &event.kind {
            EventKind::Launched(_) => self.sessions.restarted(),
            EventKind::Call(call) if call.call == "createSession" => self.sessions.note_credentials(Some(&call.params)),
            EventKind::Output(output) => self.output(&output.bytes, ctx),
            _ => {}
        }
        let (Some(conn), Some(dir)) = (event.conn.as_deref(), event.dir) else { return };
        match &event.kind {
            EventKind::Handshake(head) if dir == Direction::ToServer => {
                self.judge_secrets(&head.start, &head.headers, ctx);
            }
            EventKind::Message(message) if dir == Direction::ToServer && self.subscriptions.is_socket(conn) => {
                self.judge_sent_message(message, ctx);
            }
            _ => {}
        }
        let (subscriptions, sessions) = (&mut self.subscriptions, &mut self.sessions);
        match &event.kind {
            EventKind::HttpRequest(head) => self.request_head(conn, event, head, ctx),
            EventKind::HttpResponse(head) => self.response(conn, event, head, ctx),
            EventKind::Handshake(head) => subscriptions.handshake(conn, event, head, ctx),
            EventKind::Frame(frame) => {
                let before = subscriptions.note_frame(conn, frame);
                if event.deliberate.is_none() {
                    framing::frame(dir.sender(), frame, before, ctx);
                }
            }
            EventKind::Message(message) => subscriptions.message(conn, event, message, sessions, ctx),
            EventKind::StreamEvent(sent) => subscriptions.stream_event(conn, event, sent, sessions, ctx),
            EventKind::Body(body) if dir == Direction::ToClient => {
                subscriptions.bytes(conn, event, body.bytes.as_bytes(), ctx);
            }
            EventKind::Bytes { bytes } if !subscriptions.is_socket(conn) => {
                self.exchanges.stray(conn, event, bytes.as_bytes(), ctx);
            }
            EventKind::Closed(how) if dir == Direction::ToClient => self.cut(conn, *how, event, ctx),
            EventKind::Closed(_) => subscriptions.left(conn, event.t, ctx),
            _ => {}
        }
        match body {
            Some((Direction::ToServer, content)) => self.request_complete(conn, event, &content, ctx),
            Some((Direction::ToClient, content)) => self.response_complete(conn, event, &content, ctx),
            None => {}
        }
    }

    fn end(&mut self, out: &mut Judgements) {
        let submits =
            |request: &RequestState| request.route.as_ref().is_some_and(|r| r.endpoint == Endpoint::SubmitPrompt);
        let left = self.exchanges.left();
        for (exchange, waited) in left.iter().filter(|(exchange, _)| exchange.response.is_none()) {
            self.exchanges.judge_unsent(exchange, &mut INDEX.ctx(out, exchange.index));
            let ctx = &mut INDEX.ctx(out, exchange.index);
            let route = exchange.own.route.as_ref().filter(|_| submits(&exchange.own) && !exchange.server_is_odd);
            let session = route.and_then(|route| self.sessions.session(route.name.as_deref()?));
            if session.is_some_and(|session| session.worked_unanswered) {
                // The client may have given up.
                let until = exchange.left.unwrap_or(self.exchanges.now());
                let late = exchange.sent.map_or(0, |sent| until.saturating_sub(sent)).saturating_sub(AT_ONCE);
                let fault = ViolationDetail::new("a prompt is worked on, and its request is not answered");
                if late > 0 {
                    ctx.check("prompt/at-once", Some(fault.late(late)));
                }
            } else if let Some(waited) = waited.filter(|waited| *waited > TIMELY) {
                timely(waited, ctx);
            }
        }
        let waiting = left.iter().any(|(exchange, _)| submits(&exchange.own));
        self.subscriptions.end(waiting, &mut self.sessions, out);
    }
}

/// A request, and what there is of its response.
pub type Exchange = exchanges::Exchange<RequestState>;

/// What the rules know of a request.
#[derive(Default)]
pub struct RequestState {
    pub route: Option<Route>,
    /// The JSON object that was posted.
    pub body: Option<Value>,
    /// The requirement by which a server has to refuse the request.
    pub must_refuse: Option<&'static str>,
}

impl RequestState {
    /// A text that was posted.
    pub fn posted(&self, key: &str) -> Option<&str> {
        self.body.as_ref()?.get(key)?.as_str()
    }
}
