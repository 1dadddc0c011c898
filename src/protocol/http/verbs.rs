//! The verbs that protocols over HTTP have in common, and the parameters of which others consist.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::format::types::{Binds, Bound, Hex, Request, Time};
use crate::protocol::words::{Deliberate, Split, StopMode, StreamEnd};

/// Sends an HTTP request of any kind, and goes on at once: at most one of `json`, `text`, `hex` and `fill` is its body.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Http {
    #[serde(rename = "as")]
    pub label: Option<Binds<Request>>,
    /// An earlier request, over whose TCP connection it goes. Default: over one of its own.
    pub over: Option<Bound<Request>>,
    /// The HTTP method. Default: the usual one of the protocol.
    pub method: Option<String>,
    /// The request target, below the server's URL where that serves several. Default: that of the URL.
    pub target: Option<String>,
    /// The HTTP version. Default: HTTP/1.1.
    pub version: Option<String>,
    pub headers: Headers,
    /// The case in which the names of all header lines are written. Default: that in which they are given.
    pub header_names: Option<LetterCase>,
    #[serde(flatten)]
    pub body: Option<Body>,
    /// The whole request as it is to be sent, instead of all the above.
    pub raw: Option<String>,
    /// The content coding with which the body is sent. Default: none.
    pub encoding: Option<Coding>,
    pub chunked: Option<ChunkSize>,
    pub length: Option<Length>,
    #[serde(flatten)]
    pub pieces: Pieces,
    /// Keeps our side of the connection open after the response, so that `closed` tells when the server ends its; not
    /// by default.
    pub hold: bool,
    /// Sends `Expect: 100-continue`, and the body once the server says to go on, or after five seconds; not where not
    /// said.
    #[serde(rename = "continue")]
    pub expect: bool,
    pub read: Option<Read>,
    pub deliberate: Option<Deliberate>,
}

/// Answers a request by HTTP of any kind: at most one of `json`, `text`, `hex` and `fill` is the body.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Respond {
    #[serde(flatten)]
    pub to: Answered,
    #[serde(flatten)]
    pub delivery: Delivery,
    #[serde(flatten)]
    pub body: Option<Body>,
    /// Sends the body over and over again, as long as anybody reads it.
    pub endless: bool,
    /// The whole response as it is to be sent, instead of status, headers and body.
    pub raw: Option<String>,
    pub deliberate: Option<Deliberate>,
}

/// Ends the TCP connection of a request without a response.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct DropUnanswered {
    #[serde(flatten)]
    pub to: Answered,
    #[serde(default)]
    pub how: StreamEnd,
    pub deliberate: Option<Deliberate>,
}

/// Ends the TCP connection of a request, after what can be sent of it at once.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct DropRequest {
    pub of: Bound<Request>,
    #[serde(default)]
    pub how: StreamEnd,
    pub deliberate: Option<Deliberate>,
}

/// Ends the server: nobody listens any more.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct StopServer {
    /// `quit` (the default): responses that are due are sent, and streams are ended, first. `kill`: connections are
    /// cut.
    #[serde(default)]
    pub how: StopMode,
}

/// The request that our server answers.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct Answered {
    /// The exchange, as `$capture` took it from a `request`. Default: the oldest one that waits for its response.
    #[serde(rename = "to")]
    pub exchange: Option<String>,
    /// Whether repeats of the request, which a client may send by itself where it failed (RFC 9110 section 9.2.2), are
    /// treated alike, and are no `request` of their own. Default: each is a request like any other.
    #[serde(default)]
    pub repeats: bool,
}

/// How a response is carried, where it is another way than a plain body with its length.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Delivery {
    pub status: Option<Status>,
    pub headers: Headers,
    /// The content coding of the body: `offered` for one that the request allows, if we know any; `offered_deflate` for `deflate` where it allows both. Default: none.
    pub encoding: Option<OfferedCoding>,
    pub chunked: Option<ChunkSize>,
    /// Trailers behind the last chunk, name and value.
    #[schemars(with = "BTreeMap<String, String>")]
    pub trailers: Map<String, Value>,
    pub length: Option<Length>,
    /// Interim responses to send before it, by their status.
    #[schemars(inner(range(min = 100, max = 199)))]
    pub interim: Vec<u16>,
    #[serde(flatten)]
    pub pieces: Pieces,
    pub after: After,
    /// What becomes of the TCP connection: it stays (the default), it is closed and the head says so, it is closed
    /// without a word, or it is cut.
    pub then: ConnectionEnd,
}

/// The status, or the status line's code and reason. Default: the usual one.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Status {
    Code(#[schemars(range(min = 100, max = 999))] u16),
    Line(String),
}

/// The time that passes before it. Default: none.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct After(pub Time);

/// Header lines to add or to replace, name and value (a list for several lines); null leaves one out.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct Headers(pub Map<String, Value>);

/// Whether the response is read. Default: it is.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct Read(pub bool);

/// Sends the body in chunks of so many bytes, instead of with a length.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct ChunkSize(#[schemars(range(min = 1, max = 1 << 30))] pub usize);

/// The length that the head says, or `none` for no such line. Default: the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    None,
    #[serde(untagged)]
    Bytes(u64),
}

/// How what is sent is cut.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct Pieces {
    pub split: Option<Split>,
    /// The time between two pieces of `split`. Default: none.
    #[serde(default)]
    pub pace: Time,
    /// Sends only the first so many bytes, head and body together, and nothing after them.
    #[schemars(range(max = 1 << 30))]
    pub cut: Option<usize>,
}

/// A body.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// The body as JSON.
    Json(Value),
    /// The body as text.
    Text(String),
    /// The body as hexadecimal digits.
    Hex(Hex),
    /// A large body, made of a text repeated.
    Fill(Fill),
}

/// A text repeated, for what is large.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct Fill {
    /// What comes before it.
    #[serde(default)]
    pub before: String,
    /// The text.
    pub text: String,
    /// How many times; 64 MiB in all at most.
    #[schemars(range(min = 1, max = 1 << 30))]
    pub times: usize,
    /// What comes after it.
    #[serde(default)]
    pub after: String,
}

/// The case of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LetterCase {
    Lower,
    Upper,
}

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Coding {
    Gzip,
    Deflate,
}

impl Coding {
    /// Its name (RFC 9110 section 8.4.1).
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
        }
    }
}

/// A content coding, or whichever a request allows: `gzip` or `deflate` first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OfferedCoding {
    Gzip,
    Deflate,
    Offered,
    OfferedDeflate,
}

/// What becomes of a TCP connection after a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionEnd {
    #[default]
    Keep,
    Announce,
    Close,
    Reset,
}
