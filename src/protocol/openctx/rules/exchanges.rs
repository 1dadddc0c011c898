//! Exchanges: what has become whole, and what is missing.

use super::requests::ParsedRequest;
use super::scopes::Scopes;
use super::{INDEX, answers, http, requests};
use crate::protocol::http::content::{BodyAssembler, Content};
use crate::protocol::http::exchanges::{Exchanges as Open, TIMELY, timely};
use crate::protocol::http::requirement_index::RuleContext;
use crate::protocol::{Judgements, Rule, ViolationDetail};
use crate::trace::{Direction, Event, EventKind, HttpRequest, HttpResponse};

/// Microseconds after which the reference client gives up on the head of an answer (docs/openctx.md, Time).
const OVERDUE: u64 = 300_000_000;

/// Judges exchange by exchange.
///
/// Of an exchange in which one end does something wrong on purpose, nothing of that end's is judged; the answer to a request
/// that is wrong on purpose may be any, only that an error of the protocol's is one as the protocol has it.
pub struct Exchanges {
    wholes: BodyAssembler,
    /// What is under way, and what the requests ask for.
    open: Open<Option<ParsedRequest>>,
    scopes: Scopes,
    /// Whether there was a redirect after which a client may go on with a GET.
    diverted: bool,
}

impl Exchanges {
    pub fn new() -> Self {
        let open = Open::new("envelope/answered");
        Self { wholes: BodyAssembler::default(), open, scopes: Scopes::default(), diverted: false }
    }

    /// A request's body is whole.
    fn sent(&mut self, conn: &str, event: &Event, content: &Content<'_>, ctx: &mut RuleContext<'_>) {
        let Some(exchange) = self.open.sent(conn, event) else { return };
        if exchange.request.as_ref().is_none_or(|request| request.method() != "POST") {
            return;
        }
        let asked = requests::read(content);
        if !exchange.client_is_odd {
            ctx.check("http/client-length", None);
            requests::judge(&asked, content, ctx);
            self.scopes.asked(&asked, ctx);
        }
        exchange.own = Some(asked);
    }

    /// An answer's body is whole, and with it the exchange.
    fn answered(&mut self, conn: &str, event: &Event, content: &Content<'_>, ctx: &mut RuleContext<'_>) {
        let Some(exchange) = self.open.answered(conn, event) else { return };
        if exchange.client_is_odd && !exchange.server_is_odd {
            answers::judge_odd(&exchange, content, ctx);
        }
        if !exchange.counts() || exchange.request.is_none() {
            return;
        }
        self.open.judge(&exchange, ctx);
        let Some(asked) = &exchange.own else {
            if let (Some(request), Some(response)) = (&exchange.request, &exchange.response) {
                http::other_method(request, response, ctx);
            }
            return;
        };
        let result = answers::judge(&exchange, asked, content, ctx);
        if let (Some("meta"), Some(result)) = (asked.method(), result) {
            self.scopes.told(asked, result);
        }
    }

    fn head(&mut self, conn: &str, event: &Event, head: &HttpRequest, ctx: &mut RuleContext<'_>) {
        if event.deliberate.is_none() {
            http::request(head, self.diverted, ctx);
        }
        self.open.begun(conn, event, head, None);
    }

    fn response(&mut self, conn: &str, head: &HttpResponse, ctx: &mut RuleContext<'_>) {
        self.diverted |= matches!(head.status(), Some(301..=303));
        let Some(exchange) = self.open.responded(conn, head) else { return };
        if exchange.counts_for_http() {
            http::response(exchange.request.as_ref(), head, ctx);
        }
    }
}

impl Rule for Exchanges {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        self.open.note(event);
        let whole = self.wholes.of(event);
        let (Some(conn), Some(dir)) = (event.conn.as_deref(), event.dir) else { return };
        let ctx = &mut INDEX.ctx(out, event.i);
        match &event.kind {
            EventKind::HttpRequest(head) => self.head(conn, event, head, ctx),
            EventKind::HttpResponse(head) => self.response(conn, head, ctx),
            EventKind::Bytes { bytes } => self.open.stray(conn, event, bytes.as_bytes(), ctx),
            EventKind::Closed(how) if dir == Direction::ToClient => self.open.cut(conn, *how, ctx, |_| false),
            _ => {}
        }
        match whole {
            Some((Direction::ToServer, content)) => self.sent(conn, event, &content, ctx),
            Some((Direction::ToClient, content)) => self.answered(conn, event, &content, ctx),
            None => {}
        }
    }

    fn end(&mut self, out: &mut Judgements) {
        for (exchange, waited) in self.open.left() {
            let ctx = &mut INDEX.ctx(out, exchange.index);
            self.open.judge_unsent(&exchange, ctx);
            let Some(waited) = waited else { continue };
            if waited > TIMELY {
                timely(waited, ctx);
            }
            if waited > OVERDUE && exchange.response.is_none() {
                let fault = ViolationDetail::new(format!("a request was not answered for {} s", waited / 1_000_000));
                ctx.check("envelope/answered", Some(fault.late(waited - OVERDUE)));
            }
        }
    }
}
