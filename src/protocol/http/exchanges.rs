//! Exchanges that are under way: a request, and what there is of its response.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use serde_json::Value;

use super::heads;
use super::rule_context::RuleContext;
use crate::protocol::ViolationDetail;
use crate::trace::{Closed, Direction, Event, EventKind, HttpRequest, HttpResponse};

/// Microseconds within which a response is expected of a server. The protocols' own pages say so, under Time.
pub const TIMELY: u64 = 10_000_000;

/// A client that has begun a request does not pause for so long, in microseconds, while it sends what it has at hand.
const STALLED: u64 = 2_000_000;

/// How long a server is waited for where nobody says otherwise: until it is known to be late, and a little longer, so
/// that a response in good time is not lost on its way.
pub const PATIENCE: Duration = Duration::from_micros(TIMELY + 2_000_000);

/// A head of so many bytes that does not end is none.
const MAX_HEAD: usize = 8 << 10;

/// So many exchanges that are over are remembered, for bytes that come after them.
const REMEMBERED: usize = 1024;

/// A request, and what there is of its response.
#[derive(Default)]
pub struct Exchange<T> {
    pub request: Option<HttpRequest>,
    /// The number of the request's last event, and when it was whole.
    pub index: u64,
    pub sent: Option<u64>,
    /// When something of the request came last.
    pub touched: u64,
    /// When its response was whole.
    pub answered: u64,
    pub response: Option<HttpResponse>,
    /// Whether the client, or the server, did something wrong on purpose here, or what no rule understands.
    pub client_is_odd: bool,
    pub server_is_odd: bool,
    /// Whether the request was whole and framed as HTTP wants it, be its content odd or not.
    pub framed: bool,
    /// Whether the connection's last bytes are the beginning of the head of a response.
    pub half_head: bool,
    /// When the client ended the TCP connection, if it did.
    pub left: Option<u64>,
    /// Whether it is the first of its TCP connection.
    pub first: bool,
    /// The protocol's own data about the exchange.
    pub own: T,
}

impl<T> Exchange<T> {
    /// Whether the server can be held to its response.
    pub fn counts(&self) -> bool {
        !self.client_is_odd && !self.server_is_odd
    }

    /// Whether the server can be held to how its response is framed and coded, whatever it answers.
    pub fn counts_for_http(&self) -> bool {
        self.counts() || self.framed && !self.server_is_odd
    }

    /// The status of the response.
    pub fn status(&self) -> Option<u16> {
        self.response.as_ref().and_then(HttpResponse::status)
    }
}

/// The exchanges that are under way, by their names, and what HTTP asks of all of them.
///
/// Of an exchange in which one end does something wrong on purpose, nothing of that end's is judged; the response to a
/// request that is wrong on purpose may be any, but where the request is framed as HTTP wants it the response has to be
/// so, too.
pub struct Exchanges<T> {
    /// The requirement that a request has a response.
    answered: &'static str,
    open: HashMap<String, Exchange<T>>,
    /// The TCP connections over which nothing has come yet, by the names of their first exchanges.
    fresh: HashSet<String>,
    /// The connections that have had a response, and what bytes that follow it break.
    finished: HashMap<String, Option<&'static str>>,
    finished_order: VecDeque<String>,
    /// How many requests went over each TCP connection.
    carried: HashMap<u64, u64>,
    now: u64,
}

impl<T: Default> Exchanges<T> {
    /// No exchanges yet. A request without a response breaks this requirement.
    pub fn new(answered: &'static str) -> Self {
        Self {
            answered,
            open: HashMap::new(),
            fresh: HashSet::new(),
            finished: HashMap::new(),
            finished_order: VecDeque::new(),
            carried: HashMap::new(),
            now: 0,
        }
    }

    /// Takes note of an event, before anything is made of it: of the time, of what is wrong on purpose, and of a client
    /// that leaves.
    pub fn note(&mut self, event: &Event) {
        self.now = event.t;
        match (&event.kind, &event.conn) {
            (EventKind::Connected { .. }, Some(conn)) => drop(self.fresh.insert(conn.clone())),
            (EventKind::Closed(_), Some(conn)) => drop(self.fresh.remove(conn)),
            _ => {}
        }
        let Some(exchange) = event.conn.as_deref().and_then(|conn| self.open.get_mut(conn)) else { return };
        let odd = event.deliberate.is_some();
        match event.dir {
            Some(Direction::ToServer) => {
                exchange.client_is_odd |= odd;
                match event.kind {
                    EventKind::Closed(_) => exchange.left = Some(event.t),
                    _ => exchange.touched = event.t,
                }
            }
            Some(Direction::ToClient) => exchange.server_is_odd |= odd,
            None => {}
        }
    }

    /// The exchange of this name, where it is under way.
    pub fn get(&self, conn: &str) -> Option<&Exchange<T>> {
        self.open.get(conn)
    }

    /// A request begins.
    pub fn begun(&mut self, conn: &str, event: &Event, head: &HttpRequest, own: T) {
        let carried = self.carried.entry(head.tcp).or_default();
        *carried += 1;
        let fresh = Exchange {
            index: event.i,
            client_is_odd: event.deliberate.is_some(),
            touched: event.t,
            first: *carried == 1,
            request: Some(head.clone()),
            own,
            ..Exchange::default()
        };
        self.finished.remove(conn);
        self.fresh.remove(conn);
        self.open.insert(conn.to_owned(), fresh);
    }

    /// A request is whole.
    pub fn sent(&mut self, conn: &str, event: &Event) -> Option<&mut Exchange<T>> {
        let exchange = self.open.get_mut(conn)?;
        (exchange.index, exchange.sent) = (event.i, Some(event.t));
        exchange.framed = exchange.request.as_ref().is_some_and(heads::is_plain);
        Some(exchange)
    }

    /// The head of a response has come; none where it is interim.
    pub fn responded(&mut self, conn: &str, head: &HttpResponse) -> Option<&mut Exchange<T>> {
        if matches!(head.status(), Some(100..=199)) {
            return None;
        }
        let exchange = self.open.get_mut(conn)?;
        exchange.response = Some(head.clone());
        Some(exchange)
    }

    /// A response is whole, and with it the exchange.
    pub fn answered(&mut self, conn: &str, event: &Event) -> Option<Exchange<T>> {
        let mut exchange = self.open.remove(conn)?;
        self.remember(conn, &exchange);
        exchange.answered = event.t;
        Some(exchange)
    }

    /// Judges an exchange by its being whole.
    pub fn judge(&self, exchange: &Exchange<T>, ctx: &mut RuleContext<'_>) {
        ctx.check(self.answered, None);
        ctx.check("http/length", None);
        if !exchange.first {
            ctx.check("http/keep-alive", None);
        }
        if let Some(sent) = exchange.sent {
            timely(exchange.answered.saturating_sub(sent), ctx);
        }
    }

    /// The server ended the TCP connection before its response was whole. `may` says whether that is how responses of
    /// this kind may end.
    pub fn cut(&mut self, conn: &str, how: Closed, ctx: &mut RuleContext<'_>, may: impl Fn(&Exchange<T>) -> bool) {
        let Some(exchange) = self.open.remove(conn) else { return };
        self.remember(conn, &exchange);
        if !exchange.counts_for_http() || exchange.left.is_some() || exchange.sent.is_none() {
            return;
        }
        // Whoever refuses a request while it comes may reset the connection, which costs a part of the response.
        if !exchange.counts() && how == Closed::Reset {
            return;
        }
        match &exchange.response {
            Some(_) if may(&exchange) => {}
            Some(_) => {
                let fault =
                    ViolationDetail::new("the connection ended before the response was as long as its head says");
                ctx.check("http/length", Some(fault));
            }
            None if exchange.half_head => {
                ctx.check(
                    "http/valid-head",
                    Some(ViolationDetail::new("the connection ended in the head of a response")),
                );
            }
            // An idle connection may be closed at any time, also when a request is under way to it.
            None if exchange.first && exchange.counts() => {
                ctx.check(self.answered, Some(ViolationDetail::new("the connection was closed without a response")));
            }
            None => {}
        }
    }

    /// Bytes that are part of nothing.
    pub fn stray(&mut self, conn: &str, event: &Event, bytes: &[u8], ctx: &mut RuleContext<'_>) {
        match (event.dir, self.open.get_mut(conn)) {
            (Some(Direction::ToServer), Some(exchange)) => {
                if !exchange.client_is_odd {
                    let fault = ViolationDetail::new("the body of a request is not as its head says");
                    ctx.check("http/client-length", Some(fault));
                }
                (exchange.client_is_odd, exchange.framed) = (true, false);
            }
            (Some(Direction::ToServer), None) => {
                // Of a connection whose beginning is not in the trace, it may be the rest of anything.
                let begins = self.fresh.remove(conn) || is_head(bytes);
                if begins && !self.finished.contains_key(conn) && event.deliberate.is_none() {
                    ctx.check("http/client-valid-head", Some(ViolationDetail::new("this is no request of HTTP")));
                }
                self.open.entry(conn.to_owned()).or_default().client_is_odd = true;
            }
            (Some(Direction::ToClient), Some(exchange)) if exchange.response.is_none() && is_incomplete_head(bytes) => {
                exchange.half_head = true;
            }
            (Some(Direction::ToClient), Some(exchange))
                if exchange
                    .response
                    .as_ref()
                    .is_some_and(|response| is_chunked(response.header("transfer-encoding")))
                    && is_incomplete_chunk(bytes) => {}
            (Some(Direction::ToClient), Some(exchange)) => {
                // Of a head without a status nobody knows how long its body is.
                if exchange.counts_for_http() && exchange.status().is_some() {
                    ctx.check(
                        "http/length",
                        Some(ViolationDetail::new("the body of a response is not as its head says")),
                    );
                } else if exchange.counts_for_http() && exchange.sent.is_some() && exchange.response.is_none() {
                    ctx.check("http/valid-head", Some(ViolationDetail::new("this is no response of HTTP")));
                }
                exchange.server_is_odd = true;
            }
            (Some(Direction::ToClient), None) if !is_last_word(bytes) && event.deliberate.is_none() => {
                if let Some(breaks) = self.finished.get(conn).copied().flatten() {
                    ctx.check(breaks, Some(ViolationDetail::new("bytes follow a response that was whole")));
                }
            }
            _ => {}
        }
    }

    /// The time of the last event, in microseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// What is still under way at the end, in order, and for how long the client has waited for the response, in
    /// microseconds, where it still does and the server is to blame.
    pub fn left(&mut self) -> Vec<(Exchange<T>, Option<u64>)> {
        let mut left: Vec<_> = self.open.drain().map(|(_, exchange)| exchange).collect();
        left.sort_by_key(|exchange| exchange.index);
        let waited = |exchange: &Exchange<T>| {
            let sent = exchange.sent.filter(|_| exchange.counts() && exchange.left.is_none())?;
            Some(self.now.saturating_sub(sent))
        };
        left.into_iter().map(|exchange| (waited(&exchange), exchange)).map(|(waited, own)| (own, waited)).collect()
    }

    /// Judges a request that is still under way at the end by whether all of it came that its head announces.
    pub fn judge_unsent(&self, exchange: &Exchange<T>, ctx: &mut RuleContext<'_>) {
        let stalled = exchange.left.unwrap_or(self.now).saturating_sub(exchange.touched);
        let theirs = exchange.counts() && exchange.response.is_none();
        // Who expects a `100 Continue` may wait.
        let waits = |request: &HttpRequest| request.header("expect").next().is_some();
        let begun = exchange.request.as_ref().is_some_and(|request| !waits(request)) && exchange.sent.is_none();
        if theirs && begun && stalled > STALLED {
            let fault = ViolationDetail::new("the body of a request is shorter than its head says");
            ctx.check("http/client-length", Some(fault.late(stalled - STALLED)));
        }
    }

    /// Remembers that a connection has had a response, and what bytes that follow it would break. A server that does not know
    /// chunks takes those of a request for further requests.
    fn remember(&mut self, conn: &str, exchange: &Exchange<T>) {
        let chunked = exchange.request.as_ref().is_some_and(|request| is_chunked(request.header("transfer-encoding")));
        let breaks = if chunked { "http/chunked-request" } else { "http/length" };
        let breaks = exchange.counts_for_http().then_some(breaks);
        if self.finished_order.len() == REMEMBERED
            && let Some(oldest) = self.finished_order.pop_front()
        {
            self.finished.remove(&oldest);
        }
        if self.finished.insert(conn.to_owned(), breaks).is_none() {
            self.finished_order.push_back(conn.to_owned());
        }
    }
}

/// Judges how long a response took that came, or had not come by the end.
pub fn timely(took: u64, ctx: &mut RuleContext<'_>) {
    let fault = || {
        let seconds = Value::from(format!("{:.1} s", took as f64 / 1e6));
        let fault =
            ViolationDetail::new("no response came within ten seconds").expected("at most 10 s").actual(seconds);
        fault.late(took.saturating_sub(TIMELY))
    };
    ctx.check("http/timely", (took > TIMELY).then(fault));
}

/// Whether bytes begin with the first line of a request, whatever follows it.
fn is_head(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    line.first().is_some_and(u8::is_ascii_alphabetic) && line.windows(8).any(|window| window == b" HTTP/1.")
}

/// Whether bytes that follow a response may be what a server says before it closes: that it has waited too long for the next
/// request (408), or another error with which it closes.
fn is_last_word(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(MAX_HEAD)];
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let status = text.strip_prefix("http/1.").and_then(|rest| rest.split(' ').nth(1)?.get(..3)?.parse::<u16>().ok());
    let closes = || text.lines().any(|line| line.starts_with("connection:") && line.contains("close"));
    match status {
        Some(status) => status == 408 || status >= 400 && closes(),
        None => is_incomplete_head(bytes),
    }
}

/// Whether a body with these transfer codings comes in chunks.
fn is_chunked<'h>(mut codings: impl Iterator<Item = &'h str>) -> bool {
    codings.any(|coding| coding.eq_ignore_ascii_case("chunked"))
}

/// Whether bytes are the beginning of the line before a chunk, or of the line end after one, which was left while it came, as
/// with [`is_incomplete_head`].
fn is_incomplete_chunk(bytes: &[u8]) -> bool {
    if bytes == b"\r" {
        return true;
    }
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let after = matches!(bytes.get(digits), None | Some(b'\r' | b';' | b' ' | b'\t'));
    (1..=16).contains(&digits) && after && !bytes.contains(&b'\n') && bytes.len() < MAX_HEAD
}

/// Whether bytes are the beginning of a head that was left while it came: where that was the client, nobody is to blame,
/// and where it was the server, the end of the connection shows.
fn is_incomplete_head(bytes: &[u8]) -> bool {
    let begin = b"HTTP/1.".iter().zip(bytes).all(|(expected, found)| expected == found);
    let ended = bytes.windows(2).any(|w| w == b"\n\n") || bytes.windows(4).any(|w| w == b"\r\n\r\n");
    begin && !ended && bytes.len() < MAX_HEAD
}
