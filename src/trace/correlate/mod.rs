//! Which values of a trace came from earlier ones, and which differ in every run: [`Correlator`] and [`Translation`].
//!
//! Whoever plays one side of a trace again has to know three things of each value that this side sent: whether it
//! came from the other side (an answer's id, a session's id, a token: then what the live other side sent has to take
//! its place), whether it is made anew each time (a UUID of its own, a moment, a port), or whether it is a constant.
//! Nothing here knows a protocol: it goes by what values look like, by the keys that they stand under, and by
//! whether they were seen before.
//!
//! All of it works on *documents*: an event as one JSON value ([`document()`]), or whatever else is made of events. A
//! [`ValueLocation`] in a document is a JSON pointer, and which of the volatile pieces of the text there is meant.

mod document;
mod find;
mod translate;

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::{End, NormalisationFacts};

pub use document::document;
pub use find::{Find, Finder, Kind, ValueLocation};
pub use translate::Translation;

/// So many values are remembered; after that the oldest are forgotten.
const REMEMBERED: usize = 100_000;

/// Finds out where values came from, document by document. It holds a bounded number of values, however long the trace
/// is.
///
/// ```
/// use serde_json::json;
/// use wirecert::trace::{Correlator, End, NormalisationFacts};
///
/// let mut correlator = Correlator::new(&NormalisationFacts::default());
/// let session = "5f8d0e5a-3b1c-4c7e-9a55-0b7a3f6f9a01";
/// correlator.see(Some(End::Server), 3, &json!({"session_id": session}));
/// let links = correlator.see(Some(End::Client), 4, &json!({"target": format!("/sessions/{session}")}));
/// assert_eq!((links[0].at.pointer.as_str(), links[0].from.index), ("/target", 3));
/// assert_eq!(links[0].from.place.pointer, "/session_id");
/// ```
#[derive(Debug)]
pub struct Correlator {
    finder: Finder,
    /// Where each value was seen first, and last under a key of identity.
    seen: HashMap<String, SeenValue>,
    order: VecDeque<String>,
}

#[derive(Clone, Debug)]
struct SeenValue {
    first: Origin,
    /// The last one of each sender, where it stood under a key of identity: client, server, neither.
    named: [Option<Origin>; 3],
}

/// Where a value was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Who sent it; none for what no end of the wire sent, such as a file or a driver's call.
    pub sender: Option<End>,
    /// The number that its document was given.
    pub index: u64,
    /// Where in the document.
    pub place: ValueLocation,
}

/// A value that came from an earlier document of somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it stands.
    pub at: ValueLocation,
    /// What it is.
    pub kind: Kind,
    /// The value: of a piece of a text, that piece.
    pub value: Value,
    /// Where it came from.
    pub from: Origin,
}

impl Correlator {
    /// Nothing seen yet. `known` are folders and ports that differ from run to run.
    pub fn new(known: &NormalisationFacts) -> Self {
        Self { finder: Finder::new(known), seen: HashMap::new(), order: VecDeque::new() }
    }

    /// What it finds in documents.
    pub fn finder(&self) -> &Finder {
        &self.finder
    }

    /// Takes in a document: who sent it, under which number, and what it says. Gives what in it came from
    /// documents before it that somebody else sent.
    ///
    /// A UUID, a moment, a secret, a port or another value that is hardly twice the same by chance came from where it
    /// was seen first: no link where that was its own sender. A short id (of a request, say) came from the
    /// last one of the same value that somebody else sent under a key of identity. Folders are never linked.
    pub fn see(&mut self, sender: Option<End>, index: u64, document: &Value) -> Vec<Link> {
        let finds = self.finder.find(document);
        let links = finds.iter().filter_map(|find| self.link(sender, find)).collect();
        for find in finds {
            self.remember(Origin { sender, index, place: find.place.clone() }, &find);
        }
        links
    }

    fn link(&self, sender: Option<End>, find: &Find) -> Option<Link> {
        let seen = self.seen.get(&key(find)?)?;
        let from = if find.kind == Kind::Id {
            let others = seen.named.iter().flatten().filter(|origin| origin.sender != sender || sender.is_none());
            others.max_by_key(|origin| origin.index)?
        } else {
            Some(&seen.first).filter(|origin| origin.sender != sender || sender.is_none())?
        };
        let Find { place, kind, value, .. } = find.clone();
        Some(Link { at: place, kind, value, from: from.clone() })
    }

    fn remember(&mut self, origin: Origin, find: &Find) {
        let Some(key) = key(find) else { return };
        if !self.seen.contains_key(&key) {
            if self.order.len() == REMEMBERED
                && let Some(oldest) = self.order.pop_front()
            {
                self.seen.remove(&oldest);
            }
            self.order.push_back(key.clone());
        }
        let seen =
            self.seen.entry(key).or_insert_with(|| SeenValue { first: origin.clone(), named: Default::default() });
        if find.kind == Kind::Id {
            let slot = match origin.sender {
                Some(End::Client) => 0,
                Some(End::Server) => 1,
                None => 2,
            };
            seen.named[slot] = Some(origin);
        }
    }
}

/// Under what a value is remembered: type and text, so that `1` is not `"1"`. Folders and durations are not.
fn key(find: &Find) -> Option<String> {
    match (&find.kind, &find.value) {
        (Kind::Folder(_) | Kind::Duration, _) => None,
        // A text in whatever case is the same UUID.
        (Kind::Uuid, Value::String(text)) => Some(text.to_ascii_lowercase()),
        // A port is a number in one place and part of a text in the next.
        (Kind::Port, value) => {
            Some(format!("port {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        }
        (_, Value::String(text)) => Some(format!("\"{text}")),
        (_, value) => Some(value.to_string()),
    }
}

#[cfg(test)]
mod tests;
