//! Messages to be sent: a [`Request`] or [`Response`] determines every byte, valid or not.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

use crate::trace::Head;
use crate::wire::http_head;
use crate::wire::websocket::SendOptions;

/// A request to be sent, valid or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The request target, as in the first line: `/sessions?limit=1`.
    pub target: String,
    /// The version in the first line; `HTTP/1.1`.
    pub version: String,
    /// Headers to add; those that a request has anyway (`Host`, `User-Agent`, `Accept`, `Content-Length`,
    /// `Transfer-Encoding`) are overridden, or left out where the value is none. The same name may come several times.
    pub headers: Vec<(String, Option<String>)>,
    /// The complete head with its empty line, instead of all the fields above.
    pub raw: Option<Vec<u8>>,
    /// The content after the head.
    pub content: Content,
    /// How the message is sent, and the reason if it is wrong on purpose. Cut and split count head and content
    /// together.
    pub send_options: SendOptions,
    /// How our side of the connection ends once the request is sent.
    pub ending: Ending,
    /// Whether the request needs a new TCP connection. Otherwise one that was kept alive is used, if there is one.
    pub fresh: bool,
}

/// A response to be sent, valid or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status and reason, as in the first line: `200 OK`.
    pub status: String,
    /// The version in the first line; `HTTP/1.1`.
    pub version: String,
    /// Headers to add; those that a response has anyway (`Date`, `Content-Length`, `Transfer-Encoding`, `Connection`)
    /// are overridden, or left out where the value is none. The same name may come several times.
    pub headers: Vec<(String, Option<String>)>,
    /// The complete head with its empty line, instead of all the fields above.
    pub raw: Option<Vec<u8>>,
    /// The content after the head. In a response to `HEAD` it is left out, unless it is raw.
    pub content: Content,
    /// How the message is sent, and the reason if it is wrong on purpose. Cut and split count head and content
    /// together.
    pub send_options: SendOptions,
    /// How the connection ends once the response is sent.
    pub ending: Ending,
}

/// The content after a head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    #[default]
    None,
    /// Bytes with the header `Content-Length`, unless that or `Transfer-Encoding` is given.
    Whole(Vec<u8>),
    /// Each piece as a chunk, with the header `Transfer-Encoding: chunked`, and then the trailers.
    Chunked { pieces: Vec<Piece>, trailers: Vec<(String, String)> },
    /// Bytes without any added header.
    Raw(Vec<Piece>),
}

impl Content {
    /// The pause before the first piece, if it has pieces.
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

/// How a connection ends once a request or response is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// As in RFC 9112 section 9: it is kept alive or closed, by version and headers.
    #[default]
    Usual,
    /// Our side is closed (FIN).
    Close,
    /// It is reset (RST).
    Reset,
    /// It is held open, and nothing more is sent on it.
    Hold,
}

impl Request {
    /// A valid request without content.
    pub fn new(method: impl Into<String>, target: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            target: target.into(),
            version: "HTTP/1.1".into(),
            headers: vec![],
            raw: None,
            content: Content::None,
            send_options: SendOptions::default(),
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
    /// A valid response without content, its status given with the reason: `204 No Content`.
    pub fn new(status: impl Into<String>) -> Self {
        Self {
            status: status.into(),
            version: "HTTP/1.1".into(),
            headers: vec![],
            raw: None,
            content: Content::None,
            send_options: SendOptions::default(),
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

    /// Wrong on purpose, if there is a reason `why`.
    pub fn deliberate(mut self, why: Option<&str>) -> Self {
        self.send_options.deliberate = why.map(str::to_owned);
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
    /// The framing header of the content, unless one is given.
    fn header(&self, given: &[(String, Option<String>)]) -> Option<(&'static str, String)> {
        match self {
            _ if frames(given) => None,
            Self::None | Self::Raw(_) => None,
            Self::Whole(bytes) => Some(("Content-Length", bytes.len().to_string())),
            Self::Chunked { .. } => Some(("Transfer-Encoding", "chunked".to_owned())),
        }
    }
}

/// Whether a framing header is given.
fn frames(given: &[(String, Option<String>)]) -> bool {
    let names = ["content-length", "transfer-encoding"];
    given.iter().any(|(name, _)| names.iter().any(|framing| name.eq_ignore_ascii_case(framing)))
}

/// The usual headers in their order, replaced by given ones of the same name, and then the other given headers.
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

/// A time as in a `Date` header (RFC 9110 section 5.6.7).
fn date(now: Timestamp) -> String {
    DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap_or_default()
}
