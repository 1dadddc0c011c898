//! Events as they are compared: [`DiffItem`], and what is different in two events that are counterparts: [`changes`].

use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use serde_json::{Map, Value, json};

use crate::export::TraceSurvey;
use crate::export::label::Labels;
use crate::protocol::Edition;
use crate::trace::{Direction, Event, EventKind, ValueNormaliser, exchange_number, write_event};

/// An event, as far as it matters for finding its counterpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffItem {
    /// The event's number.
    pub i: u64,
    /// Equal where everything that counts is equal.
    pub text: u64,
    /// Equal where they are the same sort of thing.
    pub key: u64,
}

/// What is compared by itself: a direction of a connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiffColumn {
    conn: String,
    direction: u8,
}

impl DiffColumn {
    fn of(event: &Event) -> Self {
        let conn = event.conn.as_deref().unwrap_or_default();
        // Exchanges that nobody named are numbered: one more, and all later ones have other names.
        let conn = if exchange_number(conn).is_some() { "x" } else { conn };
        let direction = match event.dir {
            None => 0,
            Some(Direction::ToServer) => 1,
            Some(Direction::ToClient) => 2,
        };
        Self { conn: conn.to_owned(), direction }
    }

    /// Whether the order of events matters: it does for a client's; a server's responses may come in any order.
    pub fn is_ordered(&self) -> bool {
        self.direction == 1
    }
}

/// Makes items of events.
pub struct Itemizer<'a> {
    edition: Option<&'static dyn Edition>,
    labels: Labels,
    normaliser: &'a ValueNormaliser,
}

impl<'a> Itemizer<'a> {
    /// For a trace.
    pub fn new(edition: Option<&'static dyn Edition>, normaliser: &'a ValueNormaliser) -> Self {
        Self { edition, labels: Labels::new(edition), normaliser }
    }

    /// The item of an event; none where it does not count.
    pub fn item(&mut self, event: &Event, survey: &TraceSurvey) -> Option<(DiffColumn, DiffItem)> {
        let label = self.labels.label(event, None);
        if !counts(event, survey) {
            return None;
        }
        let kind = event.kind.kind();
        let word = label.what.split(' ').next().unwrap_or_default();
        let word = if word.bytes().all(|byte| byte.is_ascii_digit()) { "" } else { word };
        let mut key = DefaultHasher::new();
        (kind, self.normaliser.text("", word)).hash(&mut key);
        let mut text = DefaultHasher::new();
        kind.hash(&mut text);
        let view = comparable(event, self.normaliser);
        let summary = self.edition.and_then(|edition| edition.summarize(event));
        hash(&view, "", summary.and_then(|summary| summary.id), self.normaliser, &mut text);
        Some((DiffColumn::of(event), DiffItem { i: event.i, text: text.finish(), key: key.finish() }))
    }
}

/// Whether an event counts: what others tell does not, nor what comes when it will or belongs to no protocol. Heads of
/// HTTP do, for their bodies do not tell their headers.
fn counts(event: &Event, survey: &TraceSurvey) -> bool {
    match &event.kind {
        EventKind::Output(_)
        | EventKind::Mark(_)
        | EventKind::Body(_)
        | EventKind::Closed(_)
        | EventKind::State { .. } => false,
        EventKind::Finding(_) | EventKind::Judged(_) => false,
        EventKind::Frame(frame) if matches!(frame.opcode, 9 | 10) => false,
        EventKind::Frame(_) => !survey.is_repeated(event.i),
        EventKind::StreamEvent(stream) => stream.comment.is_none() || stream.data.is_some(),
        _ => true,
    }
}

/// What is compared of an event, as JSON.
pub fn comparable<'e>(event: &'e Event, normaliser: &ValueNormaliser) -> Cow<'e, Value> {
    let head = |start: &str, headers: &[(String, String)]| {
        let mut lines = Map::new();
        for (name, value) in headers {
            let value = normaliser.header(name, value);
            let name = name.to_ascii_lowercase();
            let value = match lines.get(&name).and_then(Value::as_str) {
                Some(before) => format!("{before}, {value}"),
                None => value,
            };
            lines.insert(name, value.into());
        }
        json!({"start": start, "headers": lines})
    };
    match &event.kind {
        EventKind::Handshake(handshake) => Cow::Owned(head(&handshake.start, &handshake.headers)),
        EventKind::HttpRequest(request) => Cow::Owned(head(&request.start, &request.headers)),
        EventKind::HttpResponse(response) => Cow::Owned(head(&response.start, &response.headers)),
        EventKind::Message(message) => match &message.json {
            Some(json) => Cow::Borrowed(json),
            None => Cow::Owned(json!({"text": message.text, "payload": message.payload})),
        },
        EventKind::StreamEvent(stream) => {
            let data = stream.data.as_deref();
            let json: Option<Value> = data.and_then(|data| serde_json::from_str(data).ok());
            let data = json.unwrap_or_else(|| data.into());
            Cow::Owned(json!({"event": stream.event, "data": data}))
        }
        _ => {
            let mut line = vec![];
            let written = write_event(event, &mut line).ok();
            let mut value: Value = written.and_then(|()| serde_json::from_slice(&line).ok()).unwrap_or_default();
            if let Some(map) = value.as_object_mut() {
                ["i", "t", "conn", "dir", "kind", "deliberate", "command"]
                    .iter()
                    .for_each(|key| drop(map.remove(*key)));
                // The content of a file is compared as what it is.
                let json = map.get("content").and_then(|content| content.get("text")).and_then(Value::as_str);
                if let Some(json) = json.and_then(|text| serde_json::from_str(text).ok()) {
                    map.insert("content".to_owned(), json);
                }
            }
            Cow::Owned(value)
        }
    }
}

/// Takes in a value as it counts: keys in any order, volatile values as placeholders. `id`: the value that only tells
/// to which request something belongs.
fn hash(value: &Value, key: &str, id: Option<&Value>, normaliser: &ValueNormaliser, out: &mut DefaultHasher) {
    if id.is_some_and(|id| std::ptr::eq(id, value)) {
        json_type(value).hash(out);
        return;
    }
    match value {
        Value::String(text) => (1, normaliser.text(key, text)).hash(out),
        Value::Number(number) => (2, normaliser.number(key, number)).hash(out),
        Value::Array(items) => {
            (3, items.len()).hash(out);
            items.iter().for_each(|item| hash(item, key, id, normaliser, out));
        }
        Value::Object(map) => {
            (4, map.len()).hash(out);
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            for (key, item) in entries {
                key.hash(out);
                hash(item, key, id, normaliser, out);
            }
        }
        Value::Bool(truth) => (5, truth).hash(out),
        Value::Null => 6.hash(out),
    }
}

/// What sort of value it is.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// How many changes of an event are listed.
const MAX_CHANGES: usize = 50;

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
pub type ViewContext<'a> = (Option<&'static dyn Edition>, &'a ValueNormaliser);

/// What is different in two events.
pub fn changes(a: (&Event, ViewContext<'_>), b: (&Event, ViewContext<'_>)) -> Vec<Change> {
    let (was, is) = (comparable(a.0, a.1.1), comparable(b.0, b.1.1));
    let id = |(event, (edition, _)): (&Event, ViewContext<'_>)| {
        let summary = edition.and_then(|edition| edition.summarize(event));
        summary.and_then(|summary| summary.id).map(|id| std::ptr::from_ref(id).addr())
    };
    let mut walk = Walk { neutrals: (a.1.1, b.1.1), ids: (id(a), id(b)), found: vec![] };
    walk.values(&was, &is, "", "");
    walk.found
}

struct Walk<'a> {
    neutrals: (&'a ValueNormaliser, &'a ValueNormaliser),
    /// Where the values stand that only tell to which request something belongs.
    ids: (Option<usize>, Option<usize>),
    found: Vec<Change>,
}

impl Walk<'_> {
    fn values(&mut self, was: &Value, is: &Value, key: &str, path: &str) {
        if self.found.len() >= MAX_CHANGES {
            return;
        }
        let at = |value: &Value| Some(std::ptr::from_ref(value).addr());
        if at(was) == self.ids.0 && at(is) == self.ids.1 && json_type(was) == json_type(is) {
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

    fn leaf(&self, value: &Value, key: &str, normaliser: &ValueNormaliser) -> (&'static str, String) {
        let text = match value {
            Value::String(text) => normaliser.text(key, text),
            Value::Number(number) => normaliser.number(key, number),
            other => other.to_string(),
        };
        (json_type(value), text)
    }
}
