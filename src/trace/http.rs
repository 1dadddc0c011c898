//! What an exchange of HTTP/1.1 leaves in a trace: heads, the pieces of bodies, the events of streams.
//!
//! Each exchange is a connection of the trace. A message is whole with its last [`Body`], which every whole message
//! but an interim response (1xx) has, even where it is empty. Where it has content that is no event stream, a
//! [`Message`](super::Message) with all of it follows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Head, Payload};

/// The head of a request, as sent: order, case and repetition kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpRequest {
    /// The first line, without its line end.
    pub start: String,
    /// Name and value of each header line.
    pub headers: Vec<(String, String)>,
    /// The whole head as it came, where the fields above lose something of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Payload>,
    /// The number of the TCP connection that it went over, from 1: the same number is the same connection, kept alive.
    pub tcp: u64,
}

impl HttpRequest {
    /// From a head and the number of its TCP connection.
    pub fn new(head: Head, tcp: u64) -> Self {
        Self { start: head.start, headers: head.headers, raw: head.raw, tcp }
    }

    /// The method; empty where the first line has none.
    pub fn method(&self) -> &str {
        self.start.split(' ').next().unwrap_or_default()
    }

    /// The request target, such as `/sessions?limit=1`; empty where the first line has none.
    pub fn target(&self) -> &str {
        self.start.split(' ').nth(1).unwrap_or_default()
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target().split('?').next().unwrap_or_default()
    }

    /// The values of every header of this name, whatever its case.
    pub fn header<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        values(&self.headers, name)
    }
}

/// The head of a response, as sent: order, case and repetition kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpResponse {
    /// The status line, without its line end.
    pub start: String,
    /// Name and value of each header line.
    pub headers: Vec<(String, String)>,
    /// The whole head as it came, where the fields above lose something of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Payload>,
}

impl HttpResponse {
    /// The status; none where the first line is no status line.
    pub fn status(&self) -> Option<u16> {
        status(&self.start)
    }

    /// The values of every header of this name, whatever its case.
    pub fn header<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        values(&self.headers, name)
    }
}

impl From<Head> for HttpResponse {
    fn from(head: Head) -> Self {
        Self { start: head.start, headers: head.headers, raw: head.raw }
    }
}

/// A piece of a body as it came, its transfer coding undone (RFC 9112 section 7), its content coding not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The bytes; none in the last piece where its end came by itself.
    pub bytes: Payload,
    /// Whether the message is whole with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
    /// The trailer fields after a chunked body (RFC 9112 section 7.1.2).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trailers: Vec<(String, String)>,
}

/// Something in an event stream (HTML standard, section 9.2.6): an event; fields without data, which no client is told
/// of; or a comment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamEvent {
    /// The value of its last field `event`. Without one, or where it is empty, its type is `message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Its data, lines joined by a line feed. Without data nothing is dispatched to a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The value of its last valid field `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The value of its last valid field `retry`, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<u64>,
    /// The text of a comment, after its colon. A comment is recorded by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl StreamEvent {
    /// An event with this data.
    pub fn data(data: impl Into<String>) -> Self {
        Self { data: Some(data.into()), ..Self::default() }
    }

    /// The type under which a client is told of it.
    pub fn event_type(&self) -> &str {
        self.event.as_deref().filter(|event| !event.is_empty()).unwrap_or("message")
    }
}

/// The status in a status line.
pub(super) fn status(start: &str) -> Option<u16> {
    let mut words = start.split(' ');
    words.next().filter(|version| version.starts_with("HTTP/"))?;
    words.next()?.parse().ok()
}

/// The values of every header of this name.
pub(super) fn values<'a>(headers: &'a [(String, String)], name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
    headers.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
}
