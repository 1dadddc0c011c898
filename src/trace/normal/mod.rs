//! A trace without what differs from one run to the next: [`normalise`].
//!
//! The result is a text for people, line by line comparable. Times are gone. What is different in every run but means
//! something (UUIDs, tokens, ports, process ids, folders) becomes a placeholder that keeps its identity: the first
//! UUID is `<uuid:1>` wherever it comes again. What the protocols leave open in order comes in one canonical order:
//! each connection by itself, each answer beside its request, what nobody asked for sorted by its name.

mod conversation;
mod exchange;
mod json;
mod neutral;
mod volatile;

pub use self::exchange::number as exchange_number;
pub use self::neutral::{HandshakeNormaliser, Learnt};

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Event, EventKind, Sink};

use self::conversation::Conversation;
pub(super) use self::volatile::{Piece, Volatile};

/// How many events a normalised trace holds; later ones are only counted.
const MOST_EVENTS: usize = 10_000;

/// How much of a trace is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strength {
    /// Every value: pins one integration.
    Exact,
    /// Keys and types only: comparable between implementations.
    Shape,
}

/// What is known to differ from one run to the next.
#[derive(Clone, Debug, Default)]
pub struct NormalisationFacts {
    /// Folders by the name of their placeholder, such as `workspace`. Found in paths and in `file` URIs.
    pub folders: Vec<(String, String)>,
    /// Ports, beside those that the trace itself tells of.
    pub ports: BTreeSet<u16>,
    /// The events that a step of the play awaited, where that is known. What else a server says unasked is left out then:
    /// whether it comes before the play ends, and how often, is a matter of time.
    pub awaited: Option<BTreeSet<u64>>,
}

impl NormalisationFacts {
    /// A text with what is known to differ replaced by its names, to see whether two plays say the same.
    pub fn replaced_in(&self, text: &str) -> String {
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

/// Gathers what a normalised trace needs while the trace comes about. Clones share it: give one to a recorder, ask
/// the other. It holds a bounded number of events.
#[derive(Clone, Debug, Default)]
pub struct Normaliser(Arc<Mutex<Gathered>>);

#[derive(Debug, Default)]
struct Gathered {
    events: Vec<Event>,
    dropped: u64,
}

impl Normaliser {
    /// Takes in an event.
    pub fn push(&self, event: &Event) {
        // What a process prints belongs to no protocol, and marks are ours. Into how many pieces a body was cut is a
        // matter of time. What was concluded is none of what happened.
        if matches!(event.kind, EventKind::Output(_) | EventKind::Mark(_) | EventKind::Body(_))
            || event.kind.is_conclusion()
        {
            return;
        }
        let mut gathered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if gathered.events.len() < MOST_EVENTS {
            gathered.events.push(event.clone());
        } else {
            gathered.dropped += 1;
        }
    }

    /// The normalised text of what came so far.
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

#[cfg(test)]
mod tests;
