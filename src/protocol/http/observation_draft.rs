//! What is seen of an exchange, for observers.

use serde_json::{Map, Value};

use super::content::Content;
use crate::protocol::Observation;
use crate::trace::{Closed, Event, HttpRequest};

/// An observation without its place.
pub struct ObservationDraft {
    pub kind: &'static str,
    pub selectors: Map<String, Value>,
    pub value: Map<String, Value>,
}

impl ObservationDraft {
    /// Nothing is known of it yet.
    pub fn new(kind: &'static str) -> Self {
        Self { kind, selectors: Map::new(), value: Map::new() }
    }

    /// With something by which it can be chosen.
    pub fn choose(mut self, key: &str, value: &str) -> Self {
        self.selectors.insert(key.to_owned(), value.into());
        self
    }

    /// With a member.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.value.insert(key.to_owned(), value.into());
        self
    }

    /// With a member that may not be there.
    pub fn with_some(self, key: &str, value: Option<String>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// With a body, as `json` or as `text`.
    pub fn with_body(self, content: &Content<'_>) -> Self {
        match content {
            Content::Json { json, .. } => self.with("json", json.as_ref().clone()),
            Content::Text(text) => self.with("text", *text),
            Content::Empty => self.with("text", ""),
            Content::Binary(bytes) => self.with("text", String::from_utf8_lossy(bytes)),
            Content::Coded => self,
        }
    }

    /// In its place: at this event of an exchange.
    pub fn on(mut self, event: &Event, conn: &str) -> Observation {
        self.value.insert("exchange".to_owned(), conn.into());
        Observation {
            kind: self.kind,
            conn: Some(conn.to_owned()),
            selectors: self.selectors,
            value: self.value,
            index: event.i,
        }
    }

    /// With the status of an answer, where it has one.
    pub fn with_status(self, status: Option<u16>) -> Self {
        match status {
            Some(status) => self.with("status", status),
            None => self,
        }
    }

    /// With members of the body's JSON.
    pub fn with_members(mut self, content: &Content<'_>, keys: &[&str]) -> Self {
        let members = content.json().and_then(Value::as_object);
        for key in keys {
            if let Some(value) = members.and_then(|members| members.get(*key)) {
                self = self.with(key, value.clone());
            }
        }
        self
    }

    /// With what a request is beside its body.
    pub fn with_request(self, head: &HttpRequest) -> Self {
        self.with("verb", head.method())
            .with("target", head.target())
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
