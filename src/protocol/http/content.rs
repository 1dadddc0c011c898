//! Bodies that have become whole, and the observations that observers make of them: [`Content`], [`ObservationDraft`].

use std::borrow::Cow;
use std::collections::HashMap;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::protocol::Observation;
use crate::trace::{Closed, Direction, Event, EventKind, HttpRequest, Message, Payload, read_json};

/// The note about JSON that a value does not hold all of.
pub const LOSSY: &str = "a body or message is JSON that not every reader can hold: half a surrogate pair, hundreds of levels, or a huge number";

/// The content of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Content<'a> {
    /// There is none.
    Empty,
    /// JSON, and whether a byte order mark stands before it; where the value does not hold all of it, its text.
    Json { json: Cow<'a, Value>, marked: bool, whole: Option<&'a str> },
    /// Text, and no JSON.
    Text(&'a str),
    /// No UTF-8.
    Binary(&'a [u8]),
    /// In a content coding that was not undone.
    Coded,
    /// JSON with more values than are decoded.
    TooManyValues,
}

impl<'a> Content<'a> {
    /// The content of a body; `None` stands for an empty one.
    pub fn of(message: Option<&'a Message>) -> Self {
        let Some(message) = message else { return Self::Empty };
        if let Some(json) = &message.json {
            return Self::Json { json: Cow::Borrowed(json), marked: false, whole: None };
        }
        match &message.payload {
            None => Self::Coded,
            Some(_) if message.has_too_many_values() => Self::TooManyValues,
            Some(Payload::Binary(bytes)) => Self::Binary(bytes),
            Some(Payload::Text(text)) => Self::of_text(text),
        }
    }

    fn of_text(text: &'a str) -> Self {
        let unmarked = text.strip_prefix('\u{feff}');
        match read_json(unmarked.unwrap_or(text)) {
            Some(read) => Self::Json {
                json: Cow::Owned(read.value),
                marked: unmarked.is_some(),
                whole: read.lossy.then_some(text),
            },
            None => Self::Text(text),
        }
    }

    /// The JSON, where it is that.
    pub fn json(&self) -> Option<&Value> {
        match self {
            Self::Json { json, .. } => Some(json),
            _ => None,
        }
    }

    /// Whether it is JSON that ends too early and has characters of several bytes: so it is where its length was counted in
    /// characters, and not in bytes (RFC 9110 section 8.6).
    pub fn is_counted_in_characters(&self) -> bool {
        let text = match self {
            Self::Text(text) if !text.is_ascii() => text,
            // The end is within a character.
            Self::Binary(bytes) => match std::str::from_utf8(bytes) {
                Err(e) if e.error_len().is_none() => {
                    bytes.get(..e.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok()).unwrap_or_default()
                }
                _ => return false,
            },
            _ => return false,
        };
        serde_json::from_str::<IgnoredAny>(text).is_err_and(|e| e.is_eof())
    }

    /// Whether it is JSON that a value does not hold all of.
    pub fn is_lossy(&self) -> bool {
        matches!(self, Self::Json { whole: Some(_), .. })
    }
}

/// Tells which event makes a request or response whole.
///
/// It keeps the requests and responses that are under way.
#[derive(Default)]
pub struct BodyAssembler {
    /// The open messages by exchange and direction: whether there was content, and whether it is an event stream.
    open: HashMap<(String, bool), (bool, bool)>,
}

impl BodyAssembler {
    /// Whether this event makes a request or response whole: with the body that it then has.
    pub fn of<'e>(&mut self, event: &'e Event) -> Option<(Direction, Content<'e>)> {
        let (conn, dir) = (event.conn.as_deref()?, event.dir?);
        let key = (conn.to_owned(), dir == Direction::ToServer);
        match &event.kind {
            EventKind::HttpRequest(_) => drop(self.open.insert(key, (false, false))),
            EventKind::HttpResponse(head) => {
                let stream = head.is_event_stream();
                self.open.insert(key, (false, stream));
            }
            EventKind::Body(body) => {
                let (content, stream) = self.open.get_mut(&key)?;
                *content |= !body.bytes.as_bytes().is_empty();
                if body.last && (!*content || *stream) {
                    let content = if *content { Content::Text("") } else { Content::Empty };
                    self.open.remove(&key);
                    return Some((dir, content));
                }
            }
            EventKind::Message(message) => {
                self.open.remove(&key)?;
                return Some((dir, Content::of(Some(message))));
            }
            EventKind::Closed(_) => drop(self.open.remove(&key)),
            _ => {}
        }
        None
    }
}

/// An observation whose event is not set yet.
pub struct ObservationDraft {
    pub kind: &'static str,
    pub selectors: Map<String, Value>,
    pub value: Map<String, Value>,
}

impl ObservationDraft {
    /// An empty draft.
    pub fn new(kind: &'static str) -> Self {
        Self { kind, selectors: Map::new(), value: Map::new() }
    }

    /// Adds a selector.
    pub fn choose(mut self, key: &str, value: &str) -> Self {
        self.selectors.insert(key.to_owned(), value.into());
        self
    }

    /// Adds a member.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.value.insert(key.to_owned(), value.into());
        self
    }

    /// Adds a member, where there is a value.
    pub fn with_some(self, key: &str, value: Option<String>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Adds a body, as `json` or as `text`.
    pub fn with_body(self, content: &Content<'_>) -> Self {
        match content {
            Content::Json { json, .. } => self.with("json", json.as_ref().clone()),
            Content::Text(text) => self.with("text", *text),
            Content::Empty => self.with("text", ""),
            Content::Binary(bytes) => self.with("text", String::from_utf8_lossy(bytes)),
            Content::Coded | Content::TooManyValues => self,
        }
    }

    /// The observation at this event of an exchange.
    pub fn on(mut self, event: &Event, conn: &str) -> Observation {
        self.value.insert("exchange".to_owned(), conn.into());
        Observation {
            kind: self.kind,
            conn: Some(conn.to_owned()),
            selectors: self.selectors,
            value: self.value.into(),
            index: event.i,
        }
    }

    /// Adds the status of a response, where it has one.
    pub fn with_status(self, status: Option<u16>) -> Self {
        match status {
            Some(status) => self.with("status", status),
            None => self,
        }
    }

    /// Adds these members of the body's JSON.
    pub fn with_members(mut self, content: &Content<'_>, keys: &[&str]) -> Self {
        let members = content.json().and_then(Value::as_object);
        for key in keys {
            if let Some(value) = members.and_then(|members| members.get(*key)) {
                self = self.with(key, value.clone());
            }
        }
        self
    }

    /// Adds the fields of a request other than its body.
    pub fn with_request(self, head: &HttpRequest) -> Self {
        self.with("verb", head.method())
            .with("target", head.target())
            .with("version", head.start.split(' ').nth(2).unwrap_or_default())
            .with("headers", lines(&head.headers))
            .with("tcp", head.tcp)
    }
}

/// How a TCP connection ended, in the word that observations have for it.
pub fn how(closed: Closed) -> &'static str {
    match closed {
        Closed::Eof => "eof",
        Closed::Reset => "reset",
    }
}

/// Header lines by their names in lower case; the values of repeated ones joined by a comma.
pub fn lines(lines: &[(String, String)]) -> Map<String, Value> {
    let mut headers = Map::new();
    for (name, value) in lines {
        let name = name.to_ascii_lowercase();
        let value = match headers.get(&name).and_then(Value::as_str) {
            Some(before) => format!("{before}, {value}"),
            None => value.clone(),
        };
        headers.insert(name, value.into());
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::super::testing::Play;

    use super::*;

    fn play() -> Play<()> {
        Play::of(crate::protocol::protocols()[0])
    }

    fn wholes(play: &Play<()>) -> Vec<u64> {
        let mut wholes = BodyAssembler::default();
        play.events.iter().filter(|event| wholes.of(event).is_some()).map(|event| event.i).collect()
    }

    #[test]
    fn a_request_is_whole_with_its_body_or_with_its_end_where_it_has_none() {
        let whole = play().request("POST / HTTP/1.1", &[], b"{}");
        assert_eq!(wholes(&whole), [whole.events.len() as u64 - 1]);
        let empty = play().request_head("POST / HTTP/1.1", &[]).client_body("", true);
        assert_eq!(wholes(&empty), [empty.events.len() as u64 - 1]);
        let half = play().request_head("POST / HTTP/1.1", &[]).client_body("{", false);
        assert!(wholes(&half).is_empty());
    }

    #[test]
    fn a_body_is_told_for_what_it_is() {
        let of = |bytes: &[u8]| {
            let message = Message::joined(true, bytes, 1);
            format!("{:?}", Content::of(Some(&message))).split([' ', '(']).next().unwrap_or_default().to_owned()
        };
        assert_eq!(of(b"{}"), "Json");
        assert_eq!(of("\u{feff}{}".as_bytes()), "Json");
        assert_eq!(of(b"<html>"), "Text");
        assert_eq!(of(b"\"\xff\""), "Binary");
        assert_eq!(of("[".repeat(5000).as_bytes()), "Text");
        assert_eq!(of(format!("[{}0]", "0,".repeat(1_000_000)).as_bytes()), "TooManyValues");
    }

    #[test]
    fn json_that_a_value_does_not_hold_is_json() {
        for text in [format!("{}{}", "[".repeat(5000), "]".repeat(5000)), r#"{"a":"\ud800"}"#.to_owned()] {
            let message = Message::joined(true, text.as_bytes(), 1);
            let content = Content::of(Some(&message));
            assert!(content.is_lossy() && content.json().is_some(), "{text}");
            assert!(matches!(content, Content::Json { whole: Some(whole), .. } if whole == text));
        }
    }
}
