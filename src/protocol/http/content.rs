//! Whole bodies, and what they are.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use crate::trace::{Direction, Event, EventKind, Message, Payload, read_json};

/// What is said of JSON that a value does not hold all of.
pub const LOSSY: &str = "a body or message is JSON that not every reader can hold: half a surrogate pair, hundreds of levels, or a huge number";

/// What a body is.
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
}

impl<'a> Content<'a> {
    /// Of a body; none where it was empty.
    pub fn of(message: Option<&'a Message>) -> Self {
        let Some(message) = message else { return Self::Empty };
        if let Some(json) = &message.json {
            return Self::Json { json: Cow::Borrowed(json), marked: false, whole: None };
        }
        match &message.payload {
            None => Self::Coded,
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

    /// Whether it is JSON that a value does not hold all of.
    pub fn is_lossy(&self) -> bool {
        matches!(self, Self::Json { whole: Some(_), .. })
    }
}

/// Tells which event makes a request or response whole.
///
/// It holds the requests and responses that are under way.
#[derive(Default)]
pub struct BodyAssembler {
    /// By exchange and direction: whether there was content, and whether it is an event stream.
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
                let stream = head.header("content-type").any(|value| value.starts_with("text/event-stream"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::http::testing::Play;

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
