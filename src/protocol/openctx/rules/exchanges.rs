//! Exchanges: what has become whole, and what is missing.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::book::{Bench, Fault};
use super::requests::Asked;
use super::scopes::Scopes;
use super::{answers, http, requests};
use crate::protocol::openctx::content::{Content, Wholes};
use crate::protocol::{Judgements, Rule};
use crate::trace::{Direction, Event, HttpRequest, HttpResponse, What};

/// Microseconds within which an answer is expected of a provider (docs/openctx.md, Time).
const TIMELY: u64 = 10_000_000;

/// Microseconds after which the reference client gives up on the head of an answer (docs/openctx.md, Time).
const OVERDUE: u64 = 300_000_000;

/// So many exchanges that are over are remembered, for bytes that come after them.
const REMEMBERED: usize = 1024;

/// Judges exchange by exchange.
///
/// Of an exchange in which one end does something wrong on purpose, nothing of that end's is judged; the answer to a request
/// that is wrong on purpose may be any, only that an error of the protocol's is one as the protocol has it.
pub struct Exchanges {
    wholes: Wholes,
    open: HashMap<String, Exchange>,
    over: HashSet<String>,
    over_order: VecDeque<String>,
    /// How many requests went over each TCP connection.
    carried: HashMap<u64, u64>,
    scopes: Scopes,
    /// Whether there was a redirect after which a client may go on with a GET.
    diverted: bool,
    now: u64,
}

/// An exchange that is under way.
#[derive(Default)]
pub struct Exchange {
    pub request: Option<HttpRequest>,
    /// The number of the request's last event, and when it was whole.
    pub index: u64,
    pub sent: Option<u64>,
    /// What the request asks for.
    pub asked: Option<Asked>,
    pub response: Option<HttpResponse>,
    /// Whether the client, or the provider, did something wrong on purpose here, or what no rule understands.
    pub client_is_odd: bool,
    pub provider_is_odd: bool,
    /// Whether the client ended the TCP connection.
    pub left: bool,
    /// Whether it is the first of its TCP connection.
    pub first: bool,
}

impl Exchange {
    /// Whether the provider can be held to its answer.
    pub fn counts(&self) -> bool {
        !self.client_is_odd && !self.provider_is_odd
    }
}

impl Exchanges {
    pub fn new() -> Self {
        Self {
            wholes: Wholes::default(),
            open: HashMap::new(),
            over: HashSet::new(),
            over_order: VecDeque::new(),
            carried: HashMap::new(),
            scopes: Scopes::default(),
            diverted: false,
            now: 0,
        }
    }

    /// A request's body is whole.
    fn sent(&mut self, conn: &str, event: &Event, content: &Content<'_>, bench: &mut Bench<'_>) {
        let Some(exchange) = self.open.get_mut(conn) else { return };
        (exchange.index, exchange.sent) = (event.i, Some(event.t));
        let Some(request) = &exchange.request else { return };
        if request.method() != "POST" {
            return;
        }
        let asked = requests::read(content);
        if !exchange.client_is_odd {
            bench.hold("http/client-length", None);
            requests::judge(&asked, content, bench);
            self.scopes.asked(&asked, bench);
        }
        exchange.asked = Some(asked);
    }

    /// An answer's body is whole, and with it the exchange.
    fn answered(&mut self, conn: &str, event: &Event, content: &Content<'_>, bench: &mut Bench<'_>) {
        let Some(exchange) = self.open.remove(conn) else { return };
        self.remember(conn);
        if exchange.client_is_odd && !exchange.provider_is_odd {
            answers::judge_error(&exchange, content, bench);
        }
        if !exchange.counts() || exchange.request.is_none() {
            return;
        }
        bench.hold("envelope/answered", None);
        if !exchange.first {
            bench.hold("http/keep-alive", None);
        }
        bench.hold("http/length", None);
        if let Some(sent) = exchange.sent {
            timely(event.t.saturating_sub(sent), bench);
        }
        let Some(asked) = &exchange.asked else {
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

    /// The provider ended the TCP connection before its answer was whole.
    fn cut(&mut self, conn: &str, event: &Event, bench: &mut Bench<'_>) {
        let Some(exchange) = self.open.remove(conn) else { return };
        self.remember(conn);
        if !exchange.counts() || exchange.left {
            return;
        }
        let waited = exchange.sent.map(|sent| event.t.saturating_sub(sent));
        match (&exchange.response, waited) {
            (Some(_), Some(_)) => {
                let fault = Fault::new("the connection ended before the answer was as long as its head says");
                bench.hold("http/length", Some(fault));
            }
            // An idle connection may be closed at any time, also when a request is under way to it.
            (None, Some(_)) if exchange.first => {
                bench.hold("envelope/answered", Some(Fault::new("the connection was closed without an answer")));
            }
            _ => {}
        }
    }

    /// Bytes that are part of nothing.
    fn stray(&mut self, conn: &str, event: &Event, bytes: &[u8], bench: &mut Bench<'_>) {
        let head = bytes.starts_with(b"HTTP/1.");
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
                    let fault = Fault::new("the body of an answer is not as its head says");
                    bench.hold("http/length", Some(fault));
                } else if exchange.counts() && exchange.sent.is_some() {
                    bench.hold("http/valid-head", Some(Fault::new("this is no answer of HTTP")));
                }
                exchange.provider_is_odd = true;
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

    fn head(&mut self, conn: &str, event: &Event, head: &HttpRequest, bench: &mut Bench<'_>) {
        let carried = self.carried.entry(head.tcp).or_default();
        *carried += 1;
        let odd = event.deliberate.is_some();
        if !odd {
            http::request(head, self.diverted, bench);
        }
        let first = *carried == 1;
        let fresh =
            Exchange { index: event.i, client_is_odd: odd, first, request: Some(head.clone()), ..Default::default() };
        self.over.remove(conn);
        self.open.insert(conn.to_owned(), fresh);
    }

    fn response(&mut self, conn: &str, event: &Event, head: &HttpResponse, bench: &mut Bench<'_>) {
        self.diverted |= matches!(head.status(), Some(301..=303));
        let Some(exchange) = self.open.get_mut(conn) else { return };
        if matches!(head.status(), Some(100..=199)) {
            return;
        }
        exchange.provider_is_odd |= event.deliberate.is_some();
        if exchange.counts() {
            http::response(exchange.request.as_ref(), head, bench);
        }
        exchange.response = Some(head.clone());
    }
}

impl Rule for Exchanges {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        self.now = event.t;
        let whole = self.wholes.of(event);
        let (Some(conn), Some(dir)) = (event.conn.as_deref(), event.dir) else { return };
        let bench = &mut Bench { out, index: event.i };
        if event.deliberate.is_some()
            && let Some(exchange) = self.open.get_mut(conn)
        {
            match dir {
                Direction::ToServer => exchange.client_is_odd = true,
                Direction::ToClient => exchange.provider_is_odd = true,
            }
        }
        match &event.what {
            What::HttpRequest(head) => self.head(conn, event, head, bench),
            What::HttpResponse(head) => self.response(conn, event, head, bench),
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
        for exchange in left.iter().filter(|exchange| exchange.counts() && !exchange.left) {
            let Some(sent) = exchange.sent else { continue };
            let waited = self.now.saturating_sub(sent);
            let bench = &mut Bench { out, index: exchange.index };
            if waited > TIMELY {
                timely(waited, bench);
            }
            if waited > OVERDUE && exchange.response.is_none() {
                let fault = Fault::new(format!("a request was not answered for {} s", waited / 1_000_000));
                bench.hold("envelope/answered", Some(fault));
            }
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
