//! An answer as the client sees it.

use serde_json::Value;

use crate::trace::HttpResponse;

/// A whole answer.
#[derive(Debug)]
pub struct Seen {
    /// The method that was asked for.
    pub method: &'static str,
    pub status: u16,
    pub head: HttpResponse,
    /// Whether interim answers came before it.
    pub interim: bool,
    /// Whether one of them was `100 Continue`.
    pub told_to_go_on: bool,
    /// Whether its connection had carried an exchange before.
    pub reused: bool,
    /// Whether its connection took the place of one that the provider had closed without a word.
    pub replaced: bool,
    /// The body, its content coding undone.
    pub body: Vec<u8>,
    /// Its JSON, where it is that.
    pub json: Option<Value>,
}

impl Seen {
    /// A header, whatever the case of its name.
    pub fn header<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.head.header(name).next()
    }

    /// A member of the answer.
    pub fn member(&self, key: &str) -> Option<&Value> {
        self.json.as_ref()?.get(key)
    }

    /// The result of an answer to this method.
    pub fn result_of(&self, method: &str) -> Option<&Value> {
        self.member("result").filter(|_| self.method == method)
    }

    /// What is in the list that an answer to this method gives; nothing for another.
    pub fn entries(&self, method: &str) -> &[Value] {
        self.result_of(method).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Whether the list that an answer to this method gives is empty.
    pub fn is_empty(&self, method: &str) -> bool {
        self.result_of(method).and_then(Value::as_array).is_some_and(Vec::is_empty)
    }
}

/// Whether an object has members beside these.
pub fn has_others(value: &Value, known: &[&str]) -> bool {
    value.as_object().is_some_and(|members| members.keys().any(|key| !known.contains(&key.as_str())))
}
