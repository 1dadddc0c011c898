//! Normalisation: a trace as text without what differs from run to run, by [`normalise`] or a [`Normaliser`].
//!
//! The text can be compared line by line. It has no times. Values that differ in every run but have an identity (UUIDs,
//! tokens, ports, process ids, folders) become placeholders that keep the identity: the first UUID is `<uuid:1>`
//! wherever it occurs. Events whose order the protocols leave open come in one canonical order: each connection by
//! itself, each response beside its request, unsolicited messages sorted by name.

mod connection;
mod conversation;
#[cfg(test)]
mod tests;
mod volatile;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Number, Value};

use super::{Event, EventKind, Sink};
use conversation::Conversation;
use volatile::unnumbered;

pub use connection::exchange_number;
pub use volatile::TraceFacts;
pub(super) use volatile::{Volatile, VolatilePiece};

/// How many events a normalised trace holds; later ones are only counted.
const MAX_EVENTS: usize = 10_000;

/// The name of the exchanges of barriers; of a later one, a number follows. Whether a barrier needs one depends on timing: it has
/// none where something else is under way.
pub const BARRIER: &str = "barrier";

/// Whether an exchange belongs to a barrier.
fn is_of_barrier(conn: &str) -> bool {
    let number = conn.strip_prefix(BARRIER).and_then(|rest| rest.strip_prefix('-'));
    conn == BARRIER || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// How much of a trace the text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strength {
    /// Every value: pins one integration.
    Exact,
    /// Keys and types only: comparable between implementations.
    Shape,
}

/// Values that are known to differ from run to run.
#[derive(Clone, Debug, Default)]
pub struct NormalisationFacts {
    /// Folders by the name of their placeholder, such as `workspace`. Found in paths and in `file` URIs.
    pub folders: Vec<(String, String)>,
    /// Ports, in addition to those that the trace has.
    pub ports: BTreeSet<u16>,
    /// The events that a step of the play awaited, where that is known. Other unsolicited messages of a server are left
    /// out then: whether they come before the play ends, and how often, depends on timing.
    pub awaited: Option<BTreeSet<u64>>,
}

impl NormalisationFacts {
    /// A text with these values replaced by their names, to compare the messages of two plays.
    pub fn replace_in(&self, text: &str) -> String {
        let named = |text: String, (name, folder): &(String, String)| text.replace(folder, &format!("<{name}>"));
        let text = self.folders.iter().filter(|(_, folder)| !folder.is_empty()).fold(text.to_owned(), named);
        self.ports.iter().fold(text, |text, port| text.replace(&format!(":{port}"), ":<port>"))
    }
}

/// The normalised text of a trace, with a final line end.
pub fn normalise<'a>(
    events: impl IntoIterator<Item = &'a Event>,
    known: &NormalisationFacts,
    strength: Strength,
) -> String {
    let normaliser = Normaliser::default();
    events.into_iter().for_each(|event| normaliser.push(event));
    normaliser.finish(known, strength)
}

/// Gathers the events of a trace while it is recorded. Clones share them: give one to a recorder, and query the other.
/// It keeps a bounded number of events.
#[derive(Clone, Debug, Default)]
pub struct Normaliser(Arc<Mutex<GatheredEvents>>);

#[derive(Debug, Default)]
struct GatheredEvents {
    events: Vec<Event>,
    dropped: u64,
}

impl Normaliser {
    /// Adds an event.
    pub fn push(&self, event: &Event) {
        // The output of a process belongs to no protocol, and marks are ours. How a body is cut into pieces depends on
        // timing. Conclusions are not what happened.
        let is_left_out = matches!(event.kind, EventKind::Output(_) | EventKind::Mark(_) | EventKind::Body(_));
        if is_left_out || event.kind.is_conclusion() || event.conn.as_deref().is_some_and(is_of_barrier) {
            return;
        }
        let mut gathered = self.0.lock();
        if gathered.events.len() < MAX_EVENTS {
            gathered.events.push(event.clone());
        } else {
            gathered.dropped += 1;
        }
    }

    /// The normalised text of the events so far.
    pub fn finish(&self, known: &NormalisationFacts, strength: Strength) -> String {
        let gathered = self.0.lock();
        let volatile = Volatile::new(known, &gathered.events);
        let mut conversation = Conversation::new(&volatile, strength, known.awaited.as_ref());
        gathered.events.iter().for_each(|event| conversation.event(event));
        let mut text = volatile::number(&conversation.into_text());
        if gathered.dropped > 0 {
            text += &format!("and {} more events\n", gathered.dropped);
        }
        text
    }
}

impl Sink for Normaliser {
    fn event(&mut self, event: &Arc<Event>) {
        self.push(event);
    }
}

/// Header fields that are made anew for each handshake (RFC 6455 section 4).
const HANDSHAKE_KEYS: [&str; 2] = ["sec-websocket-key", "sec-websocket-accept"];

/// Gives values a form in which those that mean the same in two traces are equal: each UUID, time, port, process,
/// secret and run directory becomes a placeholder without a number.
pub struct ValueNormaliser(Volatile);

impl ValueNormaliser {
    /// A normaliser for a trace with these facts.
    pub fn new(known: &NormalisationFacts, learnt: TraceFacts) -> Self {
        Self(Volatile::with(known, learnt))
    }

    /// Normalises a text under a key.
    pub fn text(&self, key: &str, text: &str) -> String {
        let marked = self.0.mark_keyed(key, text).unwrap_or_else(|| self.0.mark(text));
        without_run_dir(&unnumbered(&marked))
    }

    /// Normalises a number under a key.
    pub fn number(&self, key: &str, number: &Number) -> String {
        self.0.mark_number(key, number).map_or_else(|| number.to_string(), |marked| unnumbered(&marked))
    }

    /// Normalises the value of a header field.
    pub fn header(&self, name: &str, value: &str) -> String {
        let name = name.to_ascii_lowercase();
        if HANDSHAKE_KEYS.contains(&name.as_str()) {
            return "<key>".to_owned();
        }
        if name == "host" {
            // The port of a server or of a proxy, which need not occur elsewhere in the trace.
            let (host, port) = value.rsplit_once(':').unwrap_or((value, ""));
            let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            return if is_port { format!("{}:<port:1>", self.text(&name, host)) } else { self.text(&name, value) };
        }
        match connection::VOLATILE.iter().find(|(_, names)| names.contains(&name.as_str())) {
            Some((kind, _)) => format!("<{kind}>"),
            None => self.text(&name, value),
        }
    }
}

/// The beginning of the name of a run directory, and the number of characters after it.
const RUN_DIR: (&str, usize) = ("/wirecert-", 6);

/// A text with the names of run directories as placeholders.
fn without_run_dir(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(RUN_DIR.0) {
        out += before;
        let name = after.bytes().take_while(u8::is_ascii_alphanumeric).count();
        out += if name == RUN_DIR.1 { "/<run>" } else { RUN_DIR.0 };
        rest = if name == RUN_DIR.1 { &after[name..] } else { after };
    }
    out + rest
}

/// The widest line, in characters.
const WIDTH: usize = 110;

/// JSON as marked text; lines after the first are indented by `indent` spaces.
pub fn render(value: &Value, volatile: &Volatile, strength: Strength, indent: usize) -> String {
    let tree = match strength {
        Strength::Exact => exact(value, "", volatile),
        Strength::Shape => shape(value),
    };
    tree.lay_out(indent)
}

/// A rendered text, or a list or map of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LayoutTree {
    Leaf(String),
    List(Vec<LayoutTree>),
    Map(Vec<(String, LayoutTree)>),
}

/// A text as a JSON string on one line, with every control character escaped: JSON permits some of them.
pub fn quoted(text: &str) -> String {
    let json = Value::from(text).to_string();
    if !json.contains(char::is_control) {
        return json;
    }
    let escape = |c: char| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    json.chars().map(escape).collect()
}

/// The longest text that a snapshot holds in full, in characters.
const MAX_TEXT: usize = 400;

/// A long text as its beginning and its length.
pub fn abbreviated(text: &str) -> Cow<'_, str> {
    let count = if text.len() > MAX_TEXT { text.chars().count() } else { 0 };
    if count <= MAX_TEXT {
        return text.into();
    }
    let beginning: String = text.chars().take(MAX_TEXT / 4).collect();
    format!("{beginning}… ({count} characters)").into()
}

fn exact(value: &Value, key: &str, volatile: &Volatile) -> LayoutTree {
    match value {
        Value::String(text) => LayoutTree::Leaf(quoted(
            &volatile.mark_keyed(key, text).unwrap_or_else(|| volatile.mark(&abbreviated(text))),
        )),
        Value::Number(number) => {
            LayoutTree::Leaf(volatile.mark_number(key, number).unwrap_or_else(|| number.to_string()))
        }
        Value::Array(items) => {
            let mut list: Vec<LayoutTree> = items.iter().map(|item| exact(item, key, volatile)).collect();
            // The files of a list of diagnostics come in any order.
            if items.iter().all(|item| item.get("uri").is_some() && item.get("diagnostics").is_some()) {
                list.sort();
            }
            LayoutTree::List(list)
        }
        Value::Object(map) => {
            let mut entries: Vec<(String, LayoutTree)> =
                map.iter().map(|(key, value)| (quoted(&volatile.mark(key)), exact(value, key, volatile))).collect();
            entries.sort();
            LayoutTree::Map(entries)
        }
        Value::Bool(_) | Value::Null => LayoutTree::Leaf(value.to_string()),
    }
}

/// Keys and types; a list has each shape that occurs in it once.
fn shape(value: &Value) -> LayoutTree {
    match value {
        Value::Null => LayoutTree::Leaf("null".to_owned()),
        Value::Bool(_) => LayoutTree::Leaf("boolean".to_owned()),
        Value::Number(_) => LayoutTree::Leaf("number".to_owned()),
        Value::String(_) => LayoutTree::Leaf("string".to_owned()),
        Value::Array(items) => {
            let mut shapes: Vec<LayoutTree> = items.iter().map(shape).collect();
            shapes.sort();
            shapes.dedup();
            LayoutTree::List(shapes)
        }
        Value::Object(map) => {
            let mut entries: Vec<(String, LayoutTree)> =
                map.iter().map(|(key, value)| (quoted(key), shape(value))).collect();
            entries.sort();
            LayoutTree::Map(entries)
        }
    }
}

impl LayoutTree {
    fn lay_out(&self, indent: usize) -> String {
        let line = self.one_line();
        if indent + unnumbered(&line).chars().count() <= WIDTH {
            return line;
        }
        let pad = " ".repeat(indent + 2);
        let end = " ".repeat(indent);
        match self {
            Self::Leaf(text) => text.clone(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|i| format!("{pad}{}", i.lay_out(indent + 2))).collect();
                format!("[\n{}\n{end}]", items.join(",\n"))
            }
            Self::Map(entries) => {
                let entries: Vec<String> =
                    entries.iter().map(|(k, v)| format!("{pad}{k}: {}", v.lay_out(indent + 2))).collect();
                format!("{{\n{}\n{end}}}", entries.join(",\n"))
            }
        }
    }

    fn one_line(&self) -> String {
        match self {
            Self::Leaf(text) => text.clone(),
            Self::List(items) => format!("[{}]", items.iter().map(Self::one_line).collect::<Vec<_>>().join(", ")),
            Self::Map(entries) => {
                let entries: Vec<String> = entries.iter().map(|(k, v)| format!("{k}: {}", v.one_line())).collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }
}
