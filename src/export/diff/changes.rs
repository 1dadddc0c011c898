//! What is different in two events that are counterparts: [`changes`].

use serde_json::Value;

use crate::protocol::Protocol;
use crate::trace::{Event, HandshakeNormaliser};

use super::item::{kind, view};

/// How many changes of one event are told.
const MOST: usize = 50;

/// One value that is different.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Where, as a JSON pointer.
    pub path: String,
    /// What the first trace has there.
    pub was: Option<Value>,
    /// What the second has.
    pub is: Option<Value>,
}

/// A trace's side of a comparison: what it needs to see an event as it is compared.
pub type Eyes<'a> = (Option<&'static Protocol>, &'a str, &'a HandshakeNormaliser);

/// What is different in two events.
pub fn changes(a: (&Event, Eyes<'_>), b: (&Event, Eyes<'_>)) -> Vec<Change> {
    let (was, is) = (view(a.0, a.1.2), view(b.0, b.1.2));
    let id = |(event, (protocol, edition, _)): (&Event, Eyes<'_>)| {
        let summary = protocol.and_then(|protocol| (protocol.summarize)(edition, event));
        summary.and_then(|summary| summary.id).map(|id| std::ptr::from_ref(id).addr())
    };
    let mut walk = Walk { neutrals: (a.1.2, b.1.2), ids: (id(a), id(b)), found: vec![] };
    walk.values(&was, &is, "", "");
    walk.found
}

struct Walk<'a> {
    neutrals: (&'a HandshakeNormaliser, &'a HandshakeNormaliser),
    /// Where the values stand that only tell to which request something belongs.
    ids: (Option<usize>, Option<usize>),
    found: Vec<Change>,
}

impl Walk<'_> {
    fn values(&mut self, was: &Value, is: &Value, key: &str, path: &str) {
        if self.found.len() >= MOST {
            return;
        }
        let at = |value: &Value| Some(std::ptr::from_ref(value).addr());
        if at(was) == self.ids.0 && at(is) == self.ids.1 && kind(was) == kind(is) {
            return;
        }
        let step = |key: &str| format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        match (was, is) {
            (Value::Object(a), Value::Object(b)) => {
                for (key, was) in a {
                    match b.get(key) {
                        Some(is) => self.values(was, is, key, &step(key)),
                        None => self.found.push(Change { path: step(key), was: Some(was.clone()), is: None }),
                    }
                }
                for (key, is) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                    self.found.push(Change { path: step(key), was: None, is: Some(is.clone()) });
                }
            }
            (Value::Array(a), Value::Array(b)) => {
                for n in 0..a.len().max(b.len()) {
                    match (a.get(n), b.get(n)) {
                        (Some(was), Some(is)) => self.values(was, is, key, &step(&n.to_string())),
                        (was, is) => {
                            let path = step(&n.to_string());
                            self.found.push(Change { path, was: was.cloned(), is: is.cloned() });
                        }
                    }
                }
            }
            _ if self.leaf(was, key, self.neutrals.0) != self.leaf(is, key, self.neutrals.1) => {
                self.found.push(Change { path: path.to_owned(), was: Some(was.clone()), is: Some(is.clone()) });
            }
            _ => {}
        }
    }

    fn leaf(&self, value: &Value, key: &str, neutral: &HandshakeNormaliser) -> (&'static str, String) {
        let text = match value {
            Value::String(text) => neutral.text(key, text),
            Value::Number(number) => neutral.number(key, number),
            other => other.to_string(),
        };
        (kind(value), text)
    }
}
