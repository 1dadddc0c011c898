//! The lines of one connection in canonical order: each request with its responses.

use super::Strength;
use super::volatile::{Volatile, mark, unnumbered};

/// The lines of one connection, in the making. All texts are marked.
#[derive(Default)]
pub struct NormalisedConnection {
    /// The lines of an HTTP exchange, if the connection is one.
    pub http: HttpExchange,
    exchanges: Vec<MessageExchange>,
    /// Unsolicited messages of the server: name and line.
    unsolicited: Vec<(String, String)>,
    server_closed: Option<String>,
    pub closed: bool,
    /// Whether the client cut the connection: what still came from the server then depends on timing.
    pub cut: bool,
}

/// A message of the client with its responses.
struct MessageExchange {
    key: ExchangeKey,
    request: String,
    responses: Vec<String>,
}

/// What relates a response to its request.
#[derive(PartialEq)]
pub enum ExchangeKey {
    Handshake,
    /// The JSON of an `id`.
    Id(String),
    /// HTTP, where each exchange is a connection.
    Http,
    /// The payload of a ping.
    Ping(Vec<u8>),
    Close,
    None,
}

impl NormalisedConnection {
    /// Whether a handshake got a response.
    pub fn is_upgraded(&self) -> bool {
        self.exchanges.iter().any(|exchange| exchange.key == ExchangeKey::Handshake && !exchange.responses.is_empty())
    }

    /// Whether an end has sent a close frame.
    pub fn is_closing(&self) -> bool {
        self.server_closed.is_some() || self.exchanges.iter().any(|exchange| exchange.key == ExchangeKey::Close)
    }

    pub fn add_request(&mut self, key: ExchangeKey, request: String) {
        if key == ExchangeKey::Close && self.server_closed.is_some() {
            return; // the reply to the server's close
        }
        self.exchanges.push(MessageExchange { key, request, responses: vec![] });
    }

    /// Adds a message of the server. An unsolicited message counts only if a step awaited it.
    pub fn add_response(&mut self, key: ExchangeKey, text: String, is_awaited: bool) {
        // A close with another payload is no reply: it was on its way when ours was sent.
        let crossed = |exchange: &MessageExchange| exchange.key == ExchangeKey::Close && exchange.request != text;
        if let Some(at) = self.exchanges.iter().position(crossed).filter(|_| key == ExchangeKey::Close) {
            self.exchanges.remove(at);
        }
        let fits = |exchange: &&mut MessageExchange| key != ExchangeKey::None && exchange.key == key;
        let unanswered = self.exchanges.iter_mut().filter(fits).position(|exchange| exchange.responses.is_empty());
        let exchange = match unanswered {
            Some(n) => self.exchanges.iter_mut().filter(fits).nth(n),
            None => self.exchanges.iter_mut().filter(fits).last(),
        };
        match (exchange, key) {
            (Some(exchange), _) => exchange.responses.push(text),
            (None, ExchangeKey::Close) => self.server_closed = Some(text),
            (None, _) if is_awaited => self.unsolicited.push((heading(&text), text)),
            (None, _) => {}
        }
    }

    pub fn write(mut self, exact: bool, text: &mut String) {
        if self.cut {
            let late = self.exchanges.iter_mut().filter(|exchange| exchange.key != ExchangeKey::Handshake);
            late.for_each(|exchange| exchange.responses.clear());
            self.unsolicited.clear();
            self.server_closed = None;
        }
        for exchange in self.exchanges {
            *text += &format!("  → {}\n", exchange.request);
            for response in exchange.responses {
                *text += &format!("    ← {response}\n");
            }
        }
        if !self.unsolicited.is_empty() {
            *text += "  unasked\n";
        }
        // Messages of one name keep their order, unless only shapes count.
        self.unsolicited.sort_by(|a, b| a.0.cmp(&b.0));
        if !exact {
            self.unsolicited.sort();
            self.unsolicited.dedup();
        }
        for (_, line) in self.unsolicited {
            *text += &format!("    ← {line}\n");
        }
        if let Some(close) = self.server_closed {
            *text += &format!("  ← {close}\n");
        }
        if self.closed {
            *text += "  closed\n";
        }
    }
}

/// The name of an unsolicited message: its keys down to the first object with several, or its beginning.
fn heading(text: &str) -> String {
    let plain = unnumbered(text);
    let end = plain.match_indices(": ").map(|(at, _)| at).find(|at| !plain[at + 2..].trim_start().starts_with('{'));
    let name = &plain[..end.unwrap_or(plain.len())];
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Headers whose values differ in every run and have no identity. The length of a body depends on paths and ports in
/// it.
pub const VOLATILE: &[(&str, &[&str])] = &[
    ("date", &["date", "last-modified", "expires"]),
    ("length", &["content-length"]),
    ("value", &["age", "etag", "server-timing", "x-response-time", "x-runtime"]),
];

/// The lines of one HTTP exchange, in the making. All texts are marked.
#[derive(Default)]
pub struct HttpExchange {
    request: Vec<String>,
    response_lines: Vec<String>,
    /// The number of the first event of the request.
    first_request: Option<u64>,
    first_response: Option<u64>,
}

impl HttpExchange {
    /// Adds a line of the client; `i` is the number of its event.
    pub fn add_request(&mut self, i: u64, line: String) {
        self.first_request.get_or_insert(i);
        self.request.push(line);
    }

    /// Adds a line of the server.
    pub fn add_response(&mut self, i: u64, line: String) {
        self.first_response.get_or_insert(i);
        self.response_lines.push(line);
    }

    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.request.is_empty() && self.response_lines.is_empty()
    }

    /// Appends the lines.
    pub fn write(&self, text: &mut String) {
        for line in &self.request {
            *text += &format!("  → {line}\n");
        }
        for line in &self.response_lines {
            *text += &format!("    ← {line}\n");
        }
    }

    /// Whether this exchange had no response yet when the other one began.
    fn overlaps(&self, next: &Self) -> bool {
        match (self.first_response, next.first_request) {
            (Some(response), Some(request)) => response > request,
            _ => true,
        }
    }
}

/// The number of an exchange without a name of its own: that of `x3` is 3.
pub fn exchange_number(name: &str) -> Option<u64> {
    name.strip_prefix('x')
        .filter(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))?
        .parse()
        .ok()
}

/// Sorts exchanges without names of their own by their numbers, and concurrent ones, which come in any order, by their
/// texts. Returns numbers and texts.
pub fn in_canonical_order(mut exchanges: Vec<(u64, HttpExchange, String)>) -> Vec<(u64, String)> {
    exchanges.sort_by_key(|(number, _, _)| *number);
    let mut ordered: Vec<(u64, String)> = vec![];
    let mut begin = 0;
    while begin < exchanges.len() {
        let mut end = begin + 1;
        while end < exchanges.len() && exchanges[begin..end].iter().any(|(_, e, _)| e.overlaps(&exchanges[end].1)) {
            end += 1;
        }
        let mut texts: Vec<String> = exchanges[begin..end].iter_mut().map(|(_, _, t)| std::mem::take(t)).collect();
        texts.sort_by_cached_key(|text| unnumbered(text));
        ordered.extend(exchanges[begin..end].iter().map(|(number, _, _)| *number).zip(texts));
        begin = end;
    }
    ordered
}

/// The lines of a head: its first line and, for [`Strength::Exact`], its headers.
pub fn head(start: &str, headers: &[(String, String)], volatile: &Volatile, strength: Strength) -> String {
    if strength == Strength::Shape {
        let mut words = start.split(' ');
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = second.split('?').next().unwrap_or_default();
        return if first.starts_with("HTTP/") {
            format!("response {}", volatile.mark_line(path))
        } else {
            format!("request {} {}", volatile.mark_line(first), volatile.mark_line(path))
        };
    }
    let mut text = volatile.mark_line(start);
    for (name, value) in headers {
        let plain = name.to_ascii_lowercase();
        let kind = VOLATILE.iter().find(|(_, names)| names.contains(&plain.as_str()));
        let value = match (kind, plain.as_str()) {
            (Some((kind, _)), _) => mark(kind, ""),
            (None, "server" | "user-agent") => without_product_versions(value),
            (None, _) => volatile.mark_line(value),
        };
        text += &format!("\n      {}: {value}", volatile.mark_line(name));
    }
    text
}

/// A product token (RFC 9110 section 10.1.5) without the version after its slash.
pub fn without_product_versions(value: &str) -> String {
    let product = |word: &str| match word.split_once('/') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => {
            format!("{name}/{}", mark("version", ""))
        }
        _ => word.to_owned(),
    };
    value.split(' ').map(product).collect::<Vec<_>>().join(" ")
}
