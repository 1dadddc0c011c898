//! The values of an event: the event as one JSON value ([`document()`]), and what in that differs from run to run or
//! may have come from elsewhere ([`Finder`]).

use serde_json::{Map, Value, json};

use crate::trace::normal::{Volatile, VolatilePiece};
use crate::trace::{Event, EventKind, NormalisationFacts, Payload};

/// The content of an event as one JSON value; none where it has nothing to correlate.
///
/// A message gives `json` or `text`; a head `target` (`path`: its segments, decoded not at all, `query`: name → value)
/// and `headers` (names in lower case); an event of a stream `json` or `text`, `id` and `event`; a control frame
/// `payload`; a file `path` and `json` or `text`; the lines of a driven client their fields. Frames and pieces of
/// bodies give nothing: messages have their content.
pub fn document(event: &Event) -> Option<Value> {
    Some(match &event.kind {
        EventKind::Message(message) => match (&message.json, &message.payload) {
            (Some(json), _) => json!({ "json": json }),
            (None, Some(Payload::Text(text))) => json!({ "text": text }),
            (None, _) => return None,
        },
        EventKind::Handshake(head) => head_of(&head.start, &head.headers),
        EventKind::HttpRequest(head) => head_of(&head.start, &head.headers),
        EventKind::HttpResponse(head) => head_of(&head.start, &head.headers),
        EventKind::StreamEvent(event) => {
            let mut map = Map::new();
            if let Some(data) = &event.data {
                map.extend([text_or_json(data)]);
            }
            map.extend(event.id.iter().map(|id| ("id".to_owned(), id.as_str().into())));
            map.extend(event.event.iter().map(|name| ("event".to_owned(), name.as_str().into())));
            Value::Object(map)
        }
        EventKind::Frame(frame) if frame.opcode >= 8 => json!({ "payload": frame.payload.as_text()? }),
        EventKind::File(file) => {
            let mut map = Map::from_iter([("path".to_owned(), file.path.as_str().into())]);
            map.extend(file.content.as_ref().and_then(Payload::as_text).map(text_or_json));
            Value::Object(map)
        }
        EventKind::Call(call) => {
            json!({ "call": call.call, "params": call.params, "settings": call.settings })
        }
        EventKind::Returned(returned) => json!({ "result": returned.result, "error": returned.error }),
        EventKind::Reported(client_event) => {
            json!({ "event": client_event.event, "data": client_event.data, "subscription": client_event.subscription })
        }
        EventKind::Stimulus(stimulus) => json!({ "params": stimulus.params }),
        EventKind::Connected { address } => json!({ "port": address.rsplit_once(':')?.1.parse::<u16>().ok()? }),
        EventKind::Launched(launched) => json!({ "pid": launched.pid }),
        _ => return None,
    })
}

fn text_or_json(text: &str) -> (String, Value) {
    match serde_json::from_str(text) {
        Ok(json) => ("json".to_owned(), json),
        Err(_) => ("text".to_owned(), text.into()),
    }
}

/// The head of a request or response.
fn head_of(start: &str, headers: &[(String, String)]) -> Value {
    let mut map = Map::new();
    for (name, value) in headers {
        map.insert(name.to_ascii_lowercase(), value.as_str().into());
    }
    let mut document = Map::from_iter([("headers".to_owned(), Value::Object(map))]);
    if !start.starts_with("HTTP/") {
        let target = start.split(' ').nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query: Map<String, Value> = pairs.map(|(name, value)| (name.to_owned(), value.into())).collect();
        document.insert("target".to_owned(), json!({ "path": segments, "query": query }));
    }
    Value::Object(document)
}

/// A URI is a candidate only if it is longer than this, in bytes.
const MIN_URI_LENGTH: usize = 12;

/// A place in a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueLocation {
    /// A JSON pointer (RFC 6901).
    pub pointer: String,
    /// The number of the volatile piece in the text, from 0; none for the complete value.
    pub piece: Option<usize>,
}

/// The kind of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueKind {
    /// A UUID.
    Uuid,
    /// A time: RFC 3339, the date of an HTTP header, or milliseconds since 1970.
    Time,
    /// A secret, by its placeholder.
    Secret,
    /// A port that something listens on.
    Port,
    /// The id of a process.
    Pid,
    /// A version of a program.
    Version,
    /// A known folder, by its name, at the beginning of a path or URI.
    Folder(String),
    /// A duration.
    Duration,
    /// An identifier, under a key such as `id` or `session_id`. It may be a constant.
    Id,
    /// Whether a text is an absolute URI other than a `file` URI. It may be a constant.
    Uri,
}

impl ValueKind {
    /// Whether such a value always differs from run to run. An id or a URI may be a constant.
    pub fn is_volatile(&self) -> bool {
        !matches!(self, Self::Id | Self::Uri)
    }
}

/// A value that was found in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Find {
    /// The location in the document.
    pub place: ValueLocation,
    /// The key of the value: the last part of its pointer that is no index; empty at the top.
    pub key: String,
    /// The kind of value.
    pub kind: ValueKind,
    /// The value, or the piece of the text.
    pub value: Value,
}

/// Finds values that may differ from run to run, or may have come from elsewhere.
#[derive(Debug)]
pub struct Finder {
    volatile: Volatile,
}

impl Finder {
    /// A finder that knows these folders and ports. Other ports are found by their keys.
    pub fn new(known: &NormalisationFacts) -> Self {
        Self { volatile: Volatile::new(known, &[]) }
    }

    /// The values in a document, in order.
    pub fn find(&self, document: &Value) -> Vec<Find> {
        let mut found = vec![];
        self.walk(document, &mut String::new(), "", &mut found);
        found
    }

    /// The volatile pieces of a text, in order: their kinds and byte ranges.
    pub fn pieces(&self, text: &str) -> Vec<(ValueKind, std::ops::Range<usize>)> {
        let pieces = self.volatile.pieces(text);
        pieces.into_iter().map(|(piece, range)| (kind_of(piece), range)).collect()
    }

    fn walk(&self, value: &Value, pointer: &mut String, key: &str, found: &mut Vec<Find>) {
        let length = pointer.len();
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    pointer.push('/');
                    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    self.walk(value, pointer, name, found);
                    pointer.truncate(length);
                }
            }
            Value::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    pointer.push('/');
                    pointer.push_str(&n.to_string());
                    self.walk(item, pointer, key, found);
                    pointer.truncate(length);
                }
            }
            Value::String(text) => self.text(text, pointer, key, found),
            Value::Number(number) => {
                let kind = match self.volatile.number_kind(key, number) {
                    Some(piece) => kind_of(piece),
                    None if is_duration(key) => ValueKind::Duration,
                    None if is_identity(key) => ValueKind::Id,
                    None => return,
                };
                let place = ValueLocation { pointer: pointer.clone(), piece: None };
                found.push(Find { place, key: key.to_owned(), kind, value: value.clone() });
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn text(&self, text: &str, pointer: &str, key: &str, found: &mut Vec<Find>) {
        let find = |piece, kind, value: &str| Find {
            place: ValueLocation { pointer: pointer.to_owned(), piece },
            key: key.to_owned(),
            kind,
            value: value.into(),
        };
        if self.volatile.is_version(key, text) {
            found.push(find(None, ValueKind::Version, text));
            return;
        }
        let pieces = self.pieces(text);
        match &pieces[..] {
            [(kind, range)] if *range == (0..text.len()) && !matches!(kind, ValueKind::Folder(_)) => {
                found.push(find(None, kind.clone(), text));
            }
            [] if text.is_empty() => {}
            [] if is_identity(key) => found.push(find(None, ValueKind::Id, text)),
            [] if is_uri(text) => found.push(find(None, ValueKind::Uri, text)),
            pieces => {
                for (n, (kind, range)) in pieces.iter().enumerate() {
                    found.push(find(Some(n), kind.clone(), &text[range.clone()]));
                }
            }
        }
    }
}

fn kind_of(piece: VolatilePiece) -> ValueKind {
    match piece {
        VolatilePiece::Uuid => ValueKind::Uuid,
        VolatilePiece::Time | VolatilePiece::Date => ValueKind::Time,
        VolatilePiece::Secret => ValueKind::Secret,
        VolatilePiece::Port => ValueKind::Port,
        VolatilePiece::Pid => ValueKind::Pid,
        VolatilePiece::Folder(name) => ValueKind::Folder(name),
    }
}

/// Whether the value of a key is an identifier.
fn is_identity(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let words = ["id", "uuid", "guid", "session", "subscription", "cursor", "nonce", "token", "payload"];
    words.contains(&lower.as_str()) || ["Id", "ID", "_id", "-id"].iter().any(|end| key.ends_with(end))
}

/// Whether the value of a key is a duration.
fn is_duration(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    lower.contains("duration") || lower.contains("elapsed") || lower.starts_with("uptime") || lower.ends_with("_ms")
}

/// Whether a text is an absolute URI other than a `file` URI.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    named && scheme != "file" && rest.len() + scheme.len() > MIN_URI_LENGTH && !text.contains(char::is_whitespace)
}
