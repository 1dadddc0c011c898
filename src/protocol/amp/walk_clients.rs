//! What walks of editors of both editions have in common: the clients that are connected ([`Clients`]), and the files.

use serde_json::{Value, json};

use crate::protocol::model::{Draw, pick};

/// The most clients at a time.
const MAX_CLIENTS: usize = 3;

/// The files of a walk. Names that URIs encode are tried by themselves.
pub(super) const FILES: [&str; 3] = ["a.txt", "b.txt", "inner/a.txt"];

/// Words that texts are made of, all of the same length in every unit of text.
const WORDS: [&str; 8] = ["amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heath"];

/// The clients that are connected, and what tells acts and requests of a walk apart.
#[derive(Default)]
pub(super) struct Clients {
    names: Vec<String>,
    /// The number of the last act or request.
    number: usize,
}

impl Clients {
    /// Begins the next act. Gives whether there is any client.
    pub(super) fn begin_act(&mut self) -> bool {
        self.number += 1;
        !self.names.is_empty()
    }

    /// The number of the act.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    /// One more client, where there may be one. Gives its name and the steps: an editor may accept a client a moment before it
    /// lists it for notifications.
    pub(super) fn connect(&mut self) -> Option<(String, Vec<Value>)> {
        (self.names.len() < MAX_CLIENTS).then(|| {
            let name = format!("c{}", self.number);
            self.names.push(name.clone());
            let steps = vec![json!({"connect": {"as": name}}), json!({"barrier": {"on": name}})];
            (name, steps)
        })
    }

    /// One of several leaves: it closes the connection, or is gone.
    pub(super) fn disconnect(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        if self.names.len() < 2 {
            return None;
        }
        let name = self.names.remove(draw.below(self.names.len()));
        Some(match draw.below(3) {
            0 => vec![json!({"drop": {"on": name}})],
            _ => vec![
                json!({"close": {"on": name}}),
                json!({"expect": {"close": {"on": name}, "proves": "framing/close-answered"}}),
            ],
        })
    }

    /// A request of one of the clients, under an id that no other request of the walk has; and the selectors of its response.
    pub(super) fn request(&mut self, draw: &mut dyn Draw, method: &str, params: &Value) -> (Value, Value) {
        self.number += 1;
        let on = pick(draw, &self.names).cloned().unwrap_or_default();
        let id = format!("r{}", self.number);
        let request = json!({"on": on, "as": id, "id": format!("walk-{id}"), "method": method, "params": params});
        (json!({ "request": request }), json!({"on": on, "to": id}))
    }

    /// One asks for a file that is not there: it is answered, in whatever way.
    pub(super) fn read_missing(&mut self, draw: &mut dyn Draw) -> Vec<Value> {
        let (request, to) = self.request(draw, "readFile", &json!({"path": "${workspace}/none.txt"}));
        vec![request, json!({"expect": {"response": to}})]
    }

    /// One asks for a method that does not exist.
    pub(super) fn unknown_method(&mut self, draw: &mut dyn Draw) -> Vec<Value> {
        let (mut request, to) = self.request(draw, "wirecertNoSuchMethod", &json!({}));
        request["request"]["deliberate"] = "there is no such method".into();
        vec![request, json!({"barrier": {"on": to["on"]}})]
    }

    /// That every client is sent a notification.
    pub(super) fn told(&self, name: &str, data: &Value, proves: &str) -> Value {
        let of = |client: &String| json!({"notification": {"on": client, "name": name, "data": data}});
        let all: Vec<Value> = self.names.iter().map(of).collect();
        json!({"expect": {"all_of": all, "proves": proves}})
    }

    /// Some words, and the number of the act.
    pub(super) fn words(&self, draw: &mut dyn Draw) -> String {
        let word = |draw: &mut dyn Draw| pick(draw, &WORDS).copied().unwrap_or_default();
        format!("{} {} {}", word(draw), word(draw), self.number)
    }
}

/// What stands in a file at the beginning.
pub(super) fn first_text(name: &str) -> String {
    format!("{name}: amber\nbirch cedar\ndelta\n")
}

pub(super) fn path(name: &str) -> String {
    format!("${{workspace}}/{name}")
}

pub(super) fn uri(name: &str) -> Value {
    json!({"$uri": {"path": path(name)}})
}

pub(super) fn with(mut map: Value, key: &str, value: Value) -> Value {
    map[key] = value;
    map
}
