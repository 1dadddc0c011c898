//! Exchanges of a trace as steps of a scenario.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::format::{Field, Shape};
use crate::protocol::scenario_element::{args, hex};
use crate::trace::{Direction, Event, EventKind, HttpRequest, HttpResponse, Payload};

use super::content::{BodyAssembler, Content};

/// The request that a response belongs to.
pub const RESPONSE_TO: Field = Field::optional("to", Shape::Bound("request"), "The label of the request.");

/// Headers that requests and responses of all kinds have.
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

    /// Whether an exchange has its response.
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

/// A response as the verb `respond` has it.
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
