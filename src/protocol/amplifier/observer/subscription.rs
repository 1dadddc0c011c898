//! What was told in a subscription of the prompt under way.

use serde_json::{Map, Value};

/// So much text of a prompt is joined, in bytes.
const JOINED: usize = 1 << 20;

/// So many names of events are kept for a prompt.
const NAMES: usize = 1000;

/// A subscription that is under way.
#[derive(Default)]
pub struct Subscription {
    pub session: Option<String>,
    pub socket: bool,
    /// Whether the server has accepted it.
    pub open: bool,
    names: Vec<Value>,
    joined: String,
    thinking: String,
    deltas: u64,
}

impl Subscription {
    /// Asked for, and not yet accepted.
    pub fn new(session: Option<String>, socket: bool) -> Self {
        Self { session, socket, ..Self::default() }
    }

    /// Takes note of an event. Gives what is known of a prompt that it completes.
    pub fn told(&mut self, name: &str, data: &Value) -> Option<Map<String, Value>> {
        if name == "prompt:submit" {
            (self.names, self.joined, self.thinking, self.deltas) = (vec![], String::new(), String::new(), 0);
        }
        if self.names.last().is_none_or(|last| last != name) && self.names.len() < NAMES {
            self.names.push(name.into());
        }
        let delta = data.get("delta").and_then(Value::as_str).unwrap_or_default();
        match name {
            "content_block:delta" => {
                self.deltas += 1;
                add(&mut self.joined, delta);
            }
            "thinking:delta" => add(&mut self.thinking, delta),
            "prompt:complete" => {
                let mut all = Map::new();
                for key in ["request_id", "response"] {
                    data.get(key).map(|value| all.insert(key.to_owned(), value.clone()));
                }
                all.insert("joined".to_owned(), std::mem::take(&mut self.joined).into());
                all.insert("thinking".to_owned(), std::mem::take(&mut self.thinking).into());
                all.insert("deltas".to_owned(), std::mem::take(&mut self.deltas).into());
                all.insert("events".to_owned(), std::mem::take(&mut self.names).into());
                return Some(all);
            }
            _ => {}
        }
        None
    }
}

fn add(text: &mut String, delta: &str) {
    if text.len() + delta.len() <= JOINED {
        text.push_str(delta);
    }
}
