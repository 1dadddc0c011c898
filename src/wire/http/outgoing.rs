//! What is to be sent: requests and responses, right or wrong in every byte.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

use crate::trace::Head;
use crate::wire::http_head;
use crate::wire::websocket::SendOptions;

/// A request to be sent, right or wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The request target, as it stands in the first line: `/sessions?limit=1`.
    pub target: String,
    /// The version in the first line; `HTTP/1.1`.
    pub version: String,
    /// Headers to add; those that a request has anyway (`Host`, `User-Agent`, `Accept`, `Content-Length`,
    /// `Transfer-Encoding`) are overridden, or left out where the value is none. The same name may come several times.
    pub headers: Vec<(String, Option<String>)>,
    /// The whole head with its empty line, instead of all the above.
    pub raw: Option<Vec<u8>>,
    /// What comes after the head.
    pub content: Content,
    /// How it is sent, and why it is wrong on purpose, if it is. Cut and pieces are those of head and content together.
    pub manner: SendOptions,
    /// What becomes of our side of the connection once it is sent.
    pub ending: Ending,
    /// Whether it must have a TCP connection of its own. Otherwise one that was kept alive is taken, if there is one.
    pub fresh: bool,
}

/// A response to be sent, right or wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status and reason, as in the first line: `200 OK`.
    pub status: String,
    /// The version in the first line; `HTTP/1.1`.
    pub version: String,
    /// Headers to add; those that a response has anyway (`Date`, `Content-Length`, `Transfer-Encoding`, `Connection`)
    /// are overridden, or left out where the value is none. The same name may come several times.
    pub headers: Vec<(String, Option<String>)>,
    /// The whole head with its empty line, instead of all the above.
    pub raw: Option<Vec<u8>>,
    /// What comes after the head. That of a response to `HEAD` is left out, but for what is raw.
    pub content: Content,
    /// How it is sent, and why it is wrong on purpose, if it is. Cut and pieces are those of head and content together.
    pub manner: SendOptions,
    /// What becomes of the connection once it is sent.
    pub ending: Ending,
}

/// What comes after a head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    #[default]
    None,
    /// These bytes; their length goes into the header `Content-Length`, unless that or `Transfer-Encoding` is given.
    Whole(Vec<u8>),
    /// Each piece as a chunk, with the header `Transfer-Encoding: chunked`, and then the trailers.
    Chunked { pieces: Vec<Piece>, trailers: Vec<(String, String)> },
    /// Exactly these bytes; no header is added for them.
    Raw(Vec<Piece>),
}

impl Content {
    /// The pause before its first piece, where it has pieces.
    pub fn first_pause(&mut self) -> Option<&mut Duration> {
        match self {
            Self::Chunked { pieces, .. } | Self::Raw(pieces) => pieces.first_mut().map(|piece| &mut piece.after),
            Self::None | Self::Whole(_) => None,
        }
    }
}

/// Bytes, and how long to wait before they are sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// The pause before.
    pub after: Duration,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Piece {
    /// Bytes that are sent at once.
    pub fn now(bytes: impl Into<Vec<u8>>) -> Self {
        Self { after: Duration::ZERO, bytes: bytes.into() }
    }

    /// Bytes that are sent after a pause.
    pub fn after(after: Duration, bytes: impl Into<Vec<u8>>) -> Self {
        Self { after, bytes: bytes.into() }
    }
}

/// What becomes of a connection once a request or response is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// What RFC 9112 section 9 says: it is kept alive, or closed, by version and headers.
    #[default]
    Usual,
    /// Our side is closed (FIN).
    Close,
    /// It is cut (RST).
    Reset,
    /// It is held open, and nothing more is sent on it.
    Hold,
}

impl Request {
    /// A right request without content.
    pub fn new(method: impl Into<String>, target: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            target: target.into(),
            version: "HTTP/1.1".into(),
            headers: vec![],
            raw: None,
            content: Content::None,
            manner: SendOptions::default(),
            ending: Ending::Usual,
            fresh: false,
        }
    }

    /// With one more header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), Some(value.into())));
        self
    }

    /// With this content.
    pub fn content(mut self, content: Content) -> Self {
        self.content = content;
        self
    }

    /// With JSON as its content.
    pub fn json(self, value: &serde_json::Value) -> Self {
        self.header("Content-Type", "application/json").content(Content::Whole(value.to_string().into_bytes()))
    }

    /// The head as it will be sent to this host (with its port, as in a `Host` header).
    pub fn head(&self, host: &str) -> Head {
        if let Some(raw) = &self.raw {
            return http_head::parse(raw);
        }
        let usual = [
            ("Host", host.to_owned()),
            ("User-Agent", concat!("wirecert/", env!("CARGO_PKG_VERSION")).to_owned()),
            ("Accept", "*/*".to_owned()),
        ];
        let usual = usual.into_iter().chain(self.content.header(&self.headers));
        Head {
            start: format!("{} {} {}", self.method, self.target, self.version),
            headers: merged(usual.collect(), &self.headers),
            raw: None,
            body: None,
        }
    }
}

impl Response {
    /// A right response without content, its status given with the reason: `204 No Content`.
    pub fn new(status: impl Into<String>) -> Self {
        Self {
            status: status.into(),
            version: "HTTP/1.1".into(),
            headers: vec![],
            raw: None,
            content: Content::None,
            manner: SendOptions::default(),
            ending: Ending::Usual,
        }
    }

    /// With a plain text as its content.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.header("Content-Type", "text/plain; charset=utf-8").content(Content::Whole(text.into().into_bytes()))
    }

    /// With JSON as its content.
    pub fn json(self, value: &serde_json::Value) -> Self {
        self.header("Content-Type", "application/json").content(Content::Whole(value.to_string().into_bytes()))
    }

    /// The head of an event stream (HTML standard, section 9.2), chunked.
    pub fn event_stream() -> Self {
        let none = Content::Chunked { pieces: vec![], trailers: vec![] };
        Self::new("200 OK")
            .header("Content-Type", "text/event-stream")
            .header("Cache-Control", "no-cache")
            .content(none)
    }

    /// With one more header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), Some(value.into())));
        self
    }

    /// With this content.
    pub fn content(mut self, content: Content) -> Self {
        self.content = content;
        self
    }

    /// With this ending.
    pub fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    /// Wrong on purpose, if `why` says why.
    pub fn deliberate(mut self, why: Option<&str>) -> Self {
        self.manner.deliberate = why.map(str::to_owned);
        self
    }

    /// The head as it will be sent; `close` says that the connection will not be kept alive.
    pub fn head(&self, close: bool) -> Head {
        if let Some(raw) = &self.raw {
            return http_head::parse(raw);
        }
        let mut usual = vec![("Date", date(Timestamp::now()))];
        let bodiless = self.status.starts_with('1') || self.status.starts_with("204") || self.status.starts_with("304");
        match self.content.header(&self.headers) {
            Some(header) => usual.push(header),
            // Without it, an empty body would have no end (RFC 9112 section 6.3).
            None if self.content == Content::None && !bodiless && !frames(&self.headers) => {
                usual.push(("Content-Length", "0".to_owned()));
            }
            None => {}
        }
        if close {
            usual.push(("Connection", "close".to_owned()));
        }
        let start = format!("{} {}", self.version, self.status);
        Head { start, headers: merged(usual, &self.headers), raw: None, body: None }
    }
}

impl Content {
    /// The header that tells how long it is, unless one is given.
    fn header(&self, given: &[(String, Option<String>)]) -> Option<(&'static str, String)> {
        match self {
            _ if frames(given) => None,
            Self::None | Self::Raw(_) => None,
            Self::Whole(bytes) => Some(("Content-Length", bytes.len().to_string())),
            Self::Chunked { .. } => Some(("Transfer-Encoding", "chunked".to_owned())),
        }
    }
}

/// Whether headers are given that say how long a body is.
fn frames(given: &[(String, Option<String>)]) -> bool {
    let names = ["content-length", "transfer-encoding"];
    given.iter().any(|(name, _)| names.iter().any(|framing| name.eq_ignore_ascii_case(framing)))
}

/// The usual headers where they stand, those given of the same name in their place, and then the others.
fn merged(usual: Vec<(&str, String)>, given: &[(String, Option<String>)]) -> Vec<(String, String)> {
    let same = |name: &str, other: &str| name.eq_ignore_ascii_case(other);
    let mut headers = vec![];
    for (name, value) in &usual {
        let overriding: Vec<_> = given.iter().filter(|(n, _)| same(n, name)).collect();
        if overriding.is_empty() {
            headers.push(((*name).to_owned(), value.clone()));
        }
        headers.extend(overriding.into_iter().filter_map(|(n, v)| Some((n.clone(), v.clone()?))));
    }
    let others = given.iter().filter(|(n, _)| !usual.iter().any(|(name, _)| same(n, name)));
    headers.extend(others.filter_map(|(n, v)| Some((n.clone(), v.clone()?))));
    headers
}

/// A moment as in a `Date` header (RFC 9110 section 5.6.7).
fn date(now: Timestamp) -> String {
    DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap_or_default()
}
