//! Exchanges: what has become whole, and what is missing.

use super::requests::Asked;
use super::scopes::Scopes;
use super::{BOOK, answers, http, requests};
use crate::protocol::http::book::Bench;
use crate::protocol::http::content::{Content, Wholes};
use crate::protocol::http::exchanges::{Exchanges as Open, TIMELY, timely};
use crate::protocol::{Fault, Judgements, Rule};
use crate::trace::{Direction, Event, HttpRequest, HttpResponse, What};

/// Microseconds after which the reference client gives up on the head of an answer (docs/openctx.md, Time).
const OVERDUE: u64 = 300_000_000;

/// Judges exchange by exchange.
///
/// Of an exchange in which one end does something wrong on purpose, nothing of that end's is judged; the answer to a request
/// that is wrong on purpose may be any, only that an error of the protocol's is one as the protocol has it.
pub struct Exchanges {
    wholes: Wholes,
    /// What is under way, and what the requests ask for.
    open: Open<Option<Asked>>,
    scopes: Scopes,
    /// Whether there was a redirect after which a client may go on with a GET.
    diverted: bool,
}

impl Exchanges {
    pub fn new() -> Self {
        let open = Open::new("envelope/answered");
        Self { wholes: Wholes::default(), open, scopes: Scopes::default(), diverted: false }
    }

    /// A request's body is whole.
    fn sent(&mut self, conn: &str, event: &Event, content: &Content<'_>, bench: &mut Bench<'_>) {
        let Some(exchange) = self.open.sent(conn, event) else { return };
        if exchange.request.as_ref().is_none_or(|request| request.method() != "POST") {
            return;
        }
        let asked = requests::read(content);
        if !exchange.client_is_odd {
            bench.hold("http/client-length", None);
            requests::judge(&asked, content, bench);
            self.scopes.asked(&asked, bench);
        }
        exchange.own = Some(asked);
    }

    /// An answer's body is whole, and with it the exchange.
    fn answered(&mut self, conn: &str, event: &Event, content: &Content<'_>, bench: &mut Bench<'_>) {
        let Some(exchange) = self.open.answered(conn, event) else { return };
        if exchange.client_is_odd && !exchange.server_is_odd {
            answers::judge_odd(&exchange, content, bench);
        }
        if !exchange.counts() || exchange.request.is_none() {
            return;
        }
        self.open.judge(&exchange, bench);
        let Some(asked) = &exchange.own else {
            if let (Some(request), Some(response)) = (&exchange.request, &exchange.response) {
                http::other_method(request, response, bench);
            }
            return;
        };
        let result = answers::judge(&exchange, asked, content, bench);
        if let (Some("meta"), Some(result)) = (asked.method(), result) {
            self.scopes.told(asked, result);
        }
    }

    fn head(&mut self, conn: &str, event: &Event, head: &HttpRequest, bench: &mut Bench<'_>) {
        if event.deliberate.is_none() {
            http::request(head, self.diverted, bench);
        }
        self.open.begun(conn, event, head, None);
    }

    fn response(&mut self, conn: &str, head: &HttpResponse, bench: &mut Bench<'_>) {
        self.diverted |= matches!(head.status(), Some(301..=303));
        let Some(exchange) = self.open.responded(conn, head) else { return };
        if exchange.counts_for_http() {
            http::response(exchange.request.as_ref(), head, bench);
        }
    }
}

impl Rule for Exchanges {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        self.open.note(event);
        let whole = self.wholes.of(event);
        let (Some(conn), Some(dir)) = (event.conn.as_deref(), event.dir) else { return };
        let bench = &mut BOOK.bench(out, event.i);
        match &event.what {
            What::HttpRequest(head) => self.head(conn, event, head, bench),
            What::HttpResponse(head) => self.response(conn, head, bench),
            What::Bytes { bytes } => self.open.stray(conn, event, bytes.as_bytes(), bench),
            What::Closed(how) if dir == Direction::ToClient => self.open.cut(conn, *how, bench, |_| false),
            _ => {}
        }
        match whole {
            Some((Direction::ToServer, content)) => self.sent(conn, event, &content, bench),
            Some((Direction::ToClient, content)) => self.answered(conn, event, &content, bench),
            None => {}
        }
    }

    fn end(&mut self, out: &mut Judgements) {
        for (exchange, waited) in self.open.left() {
            let bench = &mut BOOK.bench(out, exchange.index);
            self.open.judge_unsent(&exchange, bench);
            let Some(waited) = waited else { continue };
            if waited > TIMELY {
                timely(waited, bench);
            }
            if waited > OVERDUE && exchange.response.is_none() {
                let fault = Fault::new(format!("a request was not answered for {} s", waited / 1_000_000));
                bench.hold("envelope/answered", Some(fault.late(waited - OVERDUE)));
            }
        }
    }
}
