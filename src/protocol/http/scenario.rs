//! HTTP in scenarios: the parameters that steps of protocols over HTTP share, and exchanges of a trace as such steps.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::protocol::scenario_element::{args, hex};
use crate::protocol::{Field, Shape};
use crate::trace::{Direction, Event, EventKind, HttpRequest, HttpResponse, Payload};

use super::content::{BodyAssembler, Content};

/// Header lines beside those that belong to a message.
pub const HEADERS: Field = Field::optional(
    "headers",
    Shape::Map(&Shape::Any),
    "Header lines to add or to replace, name and value (a list for several lines); null leaves one out.",
);

/// How fast what is cut into segments is sent.
pub const PACE: Field =
    Field::optional("pace", Shape::Duration, "The time between two pieces of `split`; none where not said.");

/// A message that is not sent to its end.
pub const CUT: Field = Field::optional(
    "cut",
    Shape::Integer { min: 0, max: 1 << 30 },
    "Sends only the first so many bytes, head and body together, and nothing after them.",
);

/// What the head says of the length of the body.
pub const LENGTH: Field = Field::optional(
    "length",
    Shape::Either(&[Shape::Choice(&["none"]), Shape::Integer { min: 0, max: i64::MAX }]),
    "The length that the head says, or `none` for no such line; the true one where not said.",
);

/// A body in chunks.
pub const CHUNKED: Field = Field::optional(
    "chunked",
    Shape::Integer { min: 1, max: 1 << 30 },
    "Sends the body in chunks of so many bytes, instead of with a length.",
);

/// A text repeated, for what is large.
pub const FILL: Shape = Shape::Object(&[
    Field::optional("before", Shape::String, "What comes before it."),
    Field::required("text", Shape::String, "The text."),
    Field::required("times", Shape::Integer { min: 1, max: 1 << 30 }, "How many times; 64 MiB in all at most."),
    Field::optional("after", Shape::String, "What comes after it."),
]);

/// A request's label.
pub const AS: Field = Field::optional(
    "as",
    Shape::Binds("request"),
    "A label by which expectations name the request, and the name of its exchange in the trace.",
);

/// Over which TCP connection a request goes.
pub const OVER: Field = Field::optional(
    "over",
    Shape::Bound("request"),
    "An earlier request, over whose TCP connection it goes; over one of its own where not said.",
);

/// Whether our client reads.
pub const READ: Field = Field::optional("read", Shape::Bool, "Whether the answer is read; it is where not said.");

/// The request that an answer belongs to.
pub const RESPONSE_TO: Field = Field::optional("to", Shape::Bound("request"), "The label of the request.");

/// The request that our server answers.
pub const ANSWER_TO: Field = Field::optional(
    "to",
    Shape::String,
    "The exchange, as `$capture` took it from a `request`; the oldest one that waits for its answer where not said.",
);

/// What becomes of a request that is sent again.
pub const REPEATS: Field = Field::optional(
    "repeats",
    Shape::Bool,
    "Whether repeats of the request, which a client may send by itself where it failed (RFC 9110 section 9.2.2), are \
     treated alike, and are no `request` of their own; where not said, each is a request like any other.",
);

/// The content coding of an answer.
pub const ENCODING: Field = Field::optional(
    "encoding",
    Shape::Choice(&["gzip", "deflate", "offered"]),
    "The content coding of the body: `offered` for one that the request allows, if we know any; none where not said.",
);

/// What becomes of a TCP connection after an answer.
pub const THEN: Field = Field::optional(
    "then",
    Shape::Choice(&["keep", "announce", "close", "reset"]),
    "What becomes of the TCP connection: it stays (where not said), it is closed and the head says so, it is closed \
     without a word, or it is cut.",
);

/// Trailers of an answer.
pub const TRAILERS: Field =
    Field::optional("trailers", Shape::Map(&Shape::String), "Trailers behind the last chunk, name and value.");

/// Answers before the answer.
pub const INTERIM: Field = Field::optional(
    "interim",
    Shape::List(&Shape::Integer { min: 100, max: 199 }),
    "Interim answers to send before it, by their status.",
);

/// A body as JSON.
pub const JSON: Field = Field::optional("json", Shape::Any, "The body as JSON.");

/// A body as text.
pub const TEXT: Field = Field::optional("text", Shape::String, "The body as text.");

/// A body as bytes.
pub const HEX: Field = Field::optional("hex", Shape::Hex, "The body as hexadecimal digits.");

/// A large body.
pub const FILLED: Field = Field::optional("fill", FILL, "A large body, made of a text repeated.");

/// A body without an end.
pub const ENDLESS: Field =
    Field::optional("endless", Shape::Bool, "Sends the body over and over again, as long as anybody reads it.");

/// An answer that is written out.
pub const RAW_ANSWER: Field =
    Field::optional("raw", Shape::String, "The whole answer as it is to be sent, instead of status, headers and body.");

/// Whether our client leaves the end of the connection to the server.
pub const HOLD: Field = Field::optional(
    "hold",
    Shape::Bool,
    "Keeps our side of the connection open after the answer, so that `closed` tells when the server ends its; \
     not where not said.",
);

/// Headers that requests and answers of all kinds have.
const USUAL: &[&str] = &[
    "host",
    "content-length",
    "user-agent",
    "accept",
    "accept-encoding",
    "accept-language",
    "connection",
    "keep-alive",
    "sec-fetch-mode",
    "transfer-encoding",
    "content-encoding",
    "date",
    "server",
    "cache-control",
];

/// A message of one direction of an exchange.
pub enum Whole<'e> {
    /// A request.
    Request(HttpRequest, Content<'e>),
    /// A response; no interim one.
    Response(HttpResponse, Content<'e>),
    /// An incomplete message of one direction: its head, if there was one, and all bytes after it.
    Torn(Direction, Vec<u8>),
}

/// The exchanges that are under way.
#[derive(Default)]
pub struct Exchanges {
    bodies: BodyAssembler,
    open: HashMap<String, OpenExchange>,
}

#[derive(Default)]
struct OpenExchange {
    request: Option<HttpRequest>,
    response: Option<HttpResponse>,
    /// The bytes of the client's and the server's current message, head included.
    sent: [Vec<u8>; 2],
    /// Whether that is not whole yet.
    torn: [bool; 2],
    answered: bool,
}

impl Exchanges {
    /// The message that this event completes, or shows to stay incomplete.
    pub fn event<'e>(&mut self, event: &'e Event) -> Option<Whole<'e>> {
        let whole = self.bodies.of(event);
        let (name, dir) = (event.conn.as_deref()?, event.dir?);
        let open = self.open.entry(name.to_owned()).or_default();
        let at = usize::from(dir == Direction::ToClient);
        match &event.kind {
            EventKind::HttpRequest(head) => {
                *open = OpenExchange { request: Some(head.clone()), ..OpenExchange::default() };
                open.begin(at, &head.start, &head.headers, head.raw.as_ref());
            }
            EventKind::HttpResponse(head) if !matches!(head.status(), Some(100..=199)) => {
                open.response = Some(head.clone());
                open.begin(at, &head.start, &head.headers, head.raw.as_ref());
            }
            EventKind::Body(body) => {
                open.sent[at].extend(body.bytes.as_bytes());
                open.torn[at] = !body.last;
            }
            EventKind::Bytes { bytes } => {
                open.sent[at].extend(bytes.as_bytes());
                open.torn[at] = true;
                if dir == Direction::ToServer {
                    return Some(Whole::Torn(dir, std::mem::take(&mut open.sent[at])));
                }
            }
            EventKind::Closed(_) if std::mem::take(&mut open.torn[at]) => {
                open.answered |= at == 1;
                return Some(Whole::Torn(dir, std::mem::take(&mut open.sent[at])));
            }
            _ => {}
        }
        let (dir, content) = whole?;
        Some(match dir {
            Direction::ToServer => Whole::Request(open.request.clone()?, content),
            Direction::ToClient => {
                open.answered = true;
                Whole::Response(open.response.take()?, content)
            }
        })
    }

    /// Whether an exchange has its answer.
    pub fn is_answered(&self, name: &str) -> bool {
        self.open.get(name).is_some_and(|open| open.answered)
    }
}

impl OpenExchange {
    fn begin(&mut self, at: usize, start: &str, headers: &[(String, String)], raw: Option<&Payload>) {
        self.torn[at] = true;
        self.sent[at] = match raw {
            Some(raw) => raw.as_bytes().to_vec(),
            None => {
                let lines = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect::<String>();
                format!("{start}\r\n{lines}\r\n").into_bytes()
            }
        };
    }
}

/// A request as the verb `http` has it, of which this is the usual method.
pub fn http(head: &HttpRequest, content: &Content<'_>, usual: &str) -> Map<String, Value> {
    let method = (head.method() != usual).then(|| head.method().into());
    let version = head.start.split(' ').nth(2).filter(|version| *version != "HTTP/1.1").map(Value::from);
    let mut args = args([("method", method), ("target", Some(head.target().into())), ("version", version)]);
    args.extend(body(content));
    args.extend(unusual_headers(&head.headers, matches!(content, Content::Json { .. })));
    args
}

/// An answer as the verb `respond` has it.
pub fn respond(head: &HttpResponse, content: &Content<'_>) -> Map<String, Value> {
    let mut args = args([("status", head.status().filter(|status| (100..=999).contains(status)).map(Value::from))]);
    args.extend(body(content));
    args.extend(unusual_headers(&head.headers, matches!(content, Content::Json { .. })));
    args
}

/// Bytes that never became a whole message, as `raw` has them; none where they are no text.
pub fn raw(bytes: &[u8]) -> Option<Map<String, Value>> {
    let text = std::str::from_utf8(bytes).ok()?;
    Some(args([("raw", Some(text.into()))]))
}

fn body(content: &Content<'_>) -> Option<(String, Value)> {
    Some(match content {
        Content::Json { whole: Some(text), .. } => ("text".to_owned(), (*text).into()),
        Content::Json { json, marked: false, .. } => ("json".to_owned(), json.as_ref().clone()),
        Content::Json { json, marked: true, .. } => ("text".to_owned(), format!("\u{feff}{json}").into()),
        Content::Text(text) if !text.is_empty() => ("text".to_owned(), (*text).into()),
        Content::Binary(bytes) => ("hex".to_owned(), hex(bytes).into()),
        _ => return None,
    })
}

fn unusual_headers(headers: &[(String, String)], json: bool) -> Option<(String, Value)> {
    let mut map = Map::new();
    for (name, value) in headers {
        let lower = name.to_ascii_lowercase();
        let as_ever = lower == "content-type" && json && value.starts_with("application/json");
        if !USUAL.contains(&lower.as_str()) && !as_ever && !value.contains("<secret:") {
            map.insert(name.clone(), value.as_str().into());
        }
    }
    (!map.is_empty()).then(|| ("headers".to_owned(), map.into()))
}

/// Whether a JSON value has a secret in it, which the trace has hidden.
pub fn has_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("<secret:"),
        Value::Array(items) => items.iter().any(has_secret),
        Value::Object(map) => map.values().any(has_secret),
        _ => false,
    }
}
