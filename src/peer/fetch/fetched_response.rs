//! An answer as the client sees it.

use serde_json::Value;

use crate::trace::HttpResponse;

use super::json_of;

/// A whole answer.
#[derive(Debug)]
pub struct FetchedResponse {
    /// What was asked for: a method, an endpoint.
    pub of: &'static str,
    pub status: u16,
    pub head: HttpResponse,
    /// Whether interim answers came before it.
    pub interim: bool,
    /// Whether one of them was `100 Continue`.
    pub told_to_go_on: bool,
    /// Whether its connection had carried an exchange before.
    pub reused: bool,
    /// Whether its connection took the place of one that the server had closed without a word.
    pub replaced: bool,
    /// The body, its content coding undone.
    pub body: Vec<u8>,
    /// Its JSON, where it is that.
    pub json: Option<Value>,
}

impl FetchedResponse {
    /// An answer of which nothing but the head is known.
    pub fn new(of: &'static str, head: HttpResponse) -> Self {
        let (status, body, json) = (head.status().unwrap_or_default(), vec![], None);
        let (interim, told_to_go_on, reused, replaced) = (false, false, false, false);
        Self { of, status, head, interim, told_to_go_on, reused, replaced, body, json }
    }

    /// A header, whatever the case of its name.
    pub fn header<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.head.header(name).next()
    }

    /// Whether a header is there, its name written in another way than this.
    pub fn has_header_but_not_as(&self, name: &str) -> bool {
        self.header(name).is_some() && !self.head.headers.iter().any(|(given, _)| given == name)
    }

    /// A member of the answer.
    pub fn member(&self, key: &str) -> Option<&Value> {
        self.json.as_ref()?.get(key)
    }

    /// The same answer with another body.
    pub fn with_body(self, body: Vec<u8>) -> Self {
        Self { json: json_of(&body).ok(), body, ..self }
    }
}

/// Whether an object has members beside these.
pub fn has_others(value: &Value, known: &[&str]) -> bool {
    value.as_object().is_some_and(|members| members.keys().any(|key| !known.contains(&key.as_str())))
}
