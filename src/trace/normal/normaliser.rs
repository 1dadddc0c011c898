//! [`Normaliser`]: gathers a trace and gives its normalised text. [`ValueNormaliser`]: the same for single values.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Number;

use crate::trace::{Event, EventKind, Sink};

use super::connection;
use super::conversation::Conversation;
use super::volatile::{self, TraceFacts, Volatile, unnumbered};

/// How many events a normalised trace holds; later ones are only counted.
const MAX_EVENTS: usize = 10_000;

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
        if matches!(event.kind, EventKind::Output(_) | EventKind::Mark(_) | EventKind::Body(_))
            || event.kind.is_conclusion()
        {
            return;
        }
        let mut gathered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if gathered.events.len() < MAX_EVENTS {
            gathered.events.push(event.clone());
        } else {
            gathered.dropped += 1;
        }
    }

    /// The normalised text of the events so far.
    pub fn finish(&self, known: &NormalisationFacts, strength: Strength) -> String {
        let gathered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
    fn event(&mut self, event: &Event) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_becomes_equal_and_nothing_else_does() {
        let normaliser = ValueNormaliser::new(&NormalisationFacts::default(), TraceFacts::default());
        let of = |text| normaliser.text("k", text);
        assert_eq!(of("id 503d5041-b0ee-418a-a9dc-8311037acfa3"), of("id be4a8884-1c67-45ec-a051-8419b2f0c9aa"));
        assert_eq!(of("file:///tmp/wirecert-28KaeP/a.txt"), of("file:///tmp/wirecert-XXk3f9/a.txt"));
        assert_ne!(of("/tmp/wirecert-abc/a"), of("/tmp/wirecert-abd/a"));
        assert_ne!(of("a"), of("b"));
        assert_eq!(normaliser.header("Date", "x"), normaliser.header("date", "y"));
        assert_eq!(normaliser.header("Host", "localhost:1"), normaliser.header("host", "localhost:22"));
        assert_ne!(normaliser.header("Host", "localhost:1"), normaliser.header("host", "elsewhere:1"));
        assert_ne!(normaliser.header("Accept", "x"), normaliser.header("Accept", "y"));
    }
}
