//! Correlation: which values of a trace came from earlier ones ([`Correlator`]), and what they are in a live run
//! ([`Translation`]).
//!
//! To play one side of a trace again, each value that this side sent has to be classified: it came from the other side
//! (the id of a response, a session id, a token: then the value of the live other side takes its place), it is made
//! anew in each run (a UUID, a time, a port), or it is a constant. Nothing here knows a protocol: values are classified
//! by their form, by their keys, and by earlier occurrences.
//!
//! All of it works on *documents*: an event as one JSON value ([`document()`]), or another JSON value made of events. A
//! [`ValueLocation`] in a document is a JSON pointer and, where a volatile piece of a text is meant, the number of the
//! piece.

mod find;

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use crate::uri;

use super::{End, NormalisationFacts};

pub use find::{Find, Finder, ValueKind, ValueLocation, document};

/// How many values are remembered; beyond that the oldest are dropped.
const MAX_VALUES: usize = 100_000;

/// Finds where values came from, document by document. It keeps a bounded number of values.
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
    /// For each value, its first occurrence, and the last ones as an identifier.
    seen: HashMap<String, SeenValue>,
    order: VecDeque<String>,
}

#[derive(Clone, Debug)]
struct SeenValue {
    first: ValueOrigin,
    /// The last occurrence as an identifier, by sender: client, server, neither.
    named: [Option<ValueOrigin>; 3],
}

/// An occurrence of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueOrigin {
    /// The sender; none for what no end of the wire sent, such as a file or a driver's call.
    pub sender: Option<End>,
    /// The number of the document.
    pub index: u64,
    /// The location in the document.
    pub place: ValueLocation,
}

/// A value that came from an earlier document of another sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueLink {
    /// The location of the value.
    pub at: ValueLocation,
    /// The kind of value.
    pub kind: ValueKind,
    /// The value, or the piece of the text.
    pub value: Value,
    /// The earlier occurrence.
    pub from: ValueOrigin,
}

impl Correlator {
    /// A correlator without values. `known` has folders and ports that differ from run to run.
    pub fn new(known: &NormalisationFacts) -> Self {
        Self { finder: Finder::new(known), seen: HashMap::new(), order: VecDeque::new() }
    }

    /// The finder of values in documents.
    pub fn finder(&self) -> &Finder {
        &self.finder
    }

    /// Adds a document with its sender and number. Returns the values that came from earlier documents of another
    /// sender.
    ///
    /// A UUID, a time, a secret, a port or another value that hardly repeats by chance came from its first occurrence:
    /// there is no link where that has the same sender. An identifier, such as the id of a request, came from the last
    /// occurrence of the same value as an identifier of another sender. Folders are never linked.
    pub fn see(&mut self, sender: Option<End>, index: u64, document: &Value) -> Vec<ValueLink> {
        let finds = self.finder.find(document);
        let links = finds.iter().filter_map(|find| self.link(sender, find)).collect();
        for find in finds {
            self.remember(ValueOrigin { sender, index, place: find.place.clone() }, &find);
        }
        links
    }

    fn link(&self, sender: Option<End>, find: &Find) -> Option<ValueLink> {
        let seen = self.seen.get(&key(find)?)?;
        let from = if find.kind == ValueKind::Id {
            let others = seen.named.iter().flatten().filter(|origin| origin.sender != sender || sender.is_none());
            others.max_by_key(|origin| origin.index)?
        } else {
            Some(&seen.first).filter(|origin| origin.sender != sender || sender.is_none())?
        };
        let Find { place, kind, value, .. } = find.clone();
        Some(ValueLink { at: place, kind, value, from: from.clone() })
    }

    fn remember(&mut self, origin: ValueOrigin, find: &Find) {
        let Some(key) = key(find) else { return };
        if !self.seen.contains_key(&key) {
            if self.order.len() == MAX_VALUES
                && let Some(oldest) = self.order.pop_front()
            {
                self.seen.remove(&oldest);
            }
            self.order.push_back(key.clone());
        }
        let seen =
            self.seen.entry(key).or_insert_with(|| SeenValue { first: origin.clone(), named: Default::default() });
        if find.kind == ValueKind::Id {
            let slot = match origin.sender {
                Some(End::Client) => 0,
                Some(End::Server) => 1,
                None => 2,
            };
            seen.named[slot] = Some(origin);
        }
    }
}

/// The key under which a value is remembered: type and text, so that `1` is not `"1"`; none for folders and durations.
fn key(find: &Find) -> Option<String> {
    match (&find.kind, &find.value) {
        (ValueKind::Folder(_) | ValueKind::Duration, _) => None,
        // UUIDs are equal whatever their case.
        (ValueKind::Uuid, Value::String(text)) => Some(text.to_ascii_lowercase()),
        // A port is a number in one place and part of a text in the next.
        (ValueKind::Port, value) => {
            Some(format!("port {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        }
        (_, Value::String(text)) => Some(format!("\"{text}")),
        (_, value) => Some(value.to_string()),
    }
}

/// How many values are learnt at most.
const MAX_TRANSLATIONS: usize = 100_000;

/// Translates values of a recorded run to those of a live run.
///
/// It learns from pairs of documents, a recorded one and the live one in its place: where both have a value of the same
/// kind at the same location, the recorded value is translated to the live one from then on, as a complete value and
/// within texts.
///
/// ```
/// use serde_json::json;
/// use wirecert::trace::{NormalisationFacts, Translation};
///
/// let mut translation = Translation::new(&NormalisationFacts::default());
/// translation.learn(&json!({"json": {"id": "1"}}), &json!({"json": {"id": "a7"}}));
/// assert_eq!(translation.json(&json!({"id": "1", "n": "1"})), json!({"id": "a7", "n": "1"}));
/// ```
#[derive(Debug)]
pub struct Translation {
    finder: Finder,
    /// Values that hardly repeat by chance: recorded text → live text.
    unique: HashMap<String, Value>,
    /// Identifiers, which may be short: recorded → live, by value with its type.
    ids: HashMap<String, Value>,
    folders: Vec<(String, String)>,
}

impl Translation {
    /// A translation without values. `known` has folders and ports of the recorded run.
    pub fn new(known: &NormalisationFacts) -> Self {
        Self { finder: Finder::new(known), unique: HashMap::new(), ids: HashMap::new(), folders: vec![] }
    }

    /// Sets the live path of a folder of the recorded run, by its name in `known`.
    pub fn folder(mut self, name: &str, path: &str) -> Self {
        self.folders.push((name.to_owned(), path.trim_end_matches('/').to_owned()));
        self
    }

    /// Learns from a recorded document and the live one in its place. A value whose live counterpart is missing or of
    /// another type is not learnt.
    pub fn learn(&mut self, recorded: &Value, live: &Value) {
        for find in self.finder.find(recorded) {
            if matches!(find.kind, ValueKind::Folder(_) | ValueKind::Duration | ValueKind::Version) {
                continue;
            }
            let Some(value) = self.at(&find.place, recorded, live) else { continue };
            if value != find.value {
                self.teach(&find.kind, &find.value, value);
            } else if find.kind == ValueKind::Id {
                // The newest meaning of an id counts.
                self.ids.remove(&find.value.to_string());
            }
        }
    }

    /// Sets the live value of a recorded one.
    pub fn teach(&mut self, kind: &ValueKind, recorded: &Value, live: Value) {
        let (table, key) = match (kind, recorded) {
            (ValueKind::Id, value) => (&mut self.ids, value.to_string()),
            (_, Value::String(text)) => (&mut self.unique, text.clone()),
            (_, value) => (&mut self.unique, value.to_string()),
        };
        if table.len() < MAX_TRANSLATIONS || table.contains_key(&key) {
            table.insert(key, live);
        }
    }

    /// Translates a JSON value.
    pub fn json(&self, recorded: &Value) -> Value {
        let mut live = recorded.clone();
        let mut texts: Vec<String> = vec![];
        for find in self.finder.find(recorded) {
            match (find.place.piece, live.pointer_mut(&find.place.pointer)) {
                (None, Some(value)) => {
                    if let Some(translated) = self.one(&find.kind, &find.value) {
                        *value = translated;
                    }
                }
                (Some(_), _) if texts.last() != Some(&find.place.pointer) => texts.push(find.place.pointer),
                _ => {}
            }
        }
        for pointer in texts {
            if let Some(value) = live.pointer_mut(&pointer)
                && let Some(text) = value.as_str()
            {
                *value = self.text(text).into();
            }
        }
        live
    }

    /// Translates the volatile pieces of a text.
    pub fn text(&self, recorded: &str) -> String {
        let (mut live, mut from) = (String::with_capacity(recorded.len()), 0);
        for (kind, range) in self.finder.pieces(recorded) {
            let piece = &recorded[range.clone()];
            let translated = match &kind {
                ValueKind::Folder(name) => self.live_folder(name, piece),
                kind => self.one(kind, &piece.into()).map(|value| match value {
                    Value::String(text) => text,
                    value => value.to_string(),
                }),
            };
            if let Some(translated) = translated {
                live.push_str(&recorded[from..range.start]);
                live.push_str(&translated);
                from = range.end;
            }
        }
        live + &recorded[from..]
    }

    /// The live value of a recorded one; none where it was not learnt.
    pub fn one(&self, kind: &ValueKind, recorded: &Value) -> Option<Value> {
        match (kind, recorded) {
            (ValueKind::Id, value) => self.ids.get(&value.to_string()).cloned(),
            (_, Value::String(text)) => self.unique.get(text).cloned(),
            (_, value) => self.unique.get(&value.to_string()).cloned(),
        }
    }

    fn live_folder(&self, name: &str, spelling: &str) -> Option<String> {
        let (_, path) = self.folders.iter().find(|(known, _)| known == name)?;
        // A folder in a URI is encoded; one that needs no encoding looks the same both ways.
        Some(if spelling.contains('%') { uri::encode(path, uri::PATH) } else { path.clone() })
    }

    /// The live value at a location of the recorded document.
    fn at(&self, place: &ValueLocation, recorded: &Value, live: &Value) -> Option<Value> {
        let (was, is) = (recorded.pointer(&place.pointer)?, live.pointer(&place.pointer)?);
        let Some(n) = place.piece else {
            let same = matches!((was, is), (Value::String(_), Value::String(_)) | (Value::Number(_), Value::Number(_)));
            // The id of a request may be of another type than the recorded one.
            return (same || was.is_string() && is.is_number() || was.is_number() && is.is_string())
                .then(|| is.clone());
        };
        let (was, is) = (was.as_str()?, is.as_str()?);
        let (kind, _) = self.finder.pieces(was).into_iter().nth(n)?;
        let before = self.finder.pieces(was)[..n].iter().filter(|(k, _)| *k == kind).count();
        let (_, range) = self.finder.pieces(is).into_iter().filter(|(k, _)| *k == kind).nth(before)?;
        Some(is[range].into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    const ONE: &str = "5f8d0e5a-3b1c-4c7e-9a55-0b7a3f6f9a01";
    const TWO: &str = "0c2c8c1e-9d55-4d5b-8f0e-1f2a3b4c5d6e";

    fn known() -> NormalisationFacts {
        NormalisationFacts {
            folders: vec![("workspace".into(), "/tmp/w s".into())],
            ports: BTreeSet::from([8123]),
            ..NormalisationFacts::default()
        }
    }

    fn places(links: &[ValueLink]) -> Vec<(&str, Option<usize>, u64, &str)> {
        links.iter().map(|l| (l.at.pointer.as_str(), l.at.piece, l.from.index, l.from.place.pointer.as_str())).collect()
    }

    #[test]
    fn the_id_of_a_response_comes_from_the_newest_request_that_had_it() {
        let mut correlator = Correlator::new(&NormalisationFacts::default());
        correlator.see(Some(End::Client), 0, &json!({"json": {"ask": {"id": "1", "path": "/a"}}}));
        correlator.see(Some(End::Client), 1, &json!({"json": {"ask": {"id": "1", "path": "/b"}}}));
        let links = correlator.see(Some(End::Server), 2, &json!({"json": {"answer": {"id": "1", "n": "1"}}}));
        assert_eq!(places(&links), [("/json/answer/id", None, 1, "/json/ask/id")]);
        assert_eq!(links[0].kind, ValueKind::Id);
        let links = correlator.see(Some(End::Server), 3, &json!({"json": {"answer": {"id": 1}}}));
        assert!(links.is_empty(), "a number is no text: {links:?}");
    }

    #[test]
    fn what_a_side_made_up_itself_came_from_nobody() {
        let mut correlator = Correlator::new(&NormalisationFacts::default());
        correlator.see(Some(End::Client), 0, &json!({"request": ONE}));
        correlator.see(Some(End::Server), 1, &json!({"request": ONE}));
        assert!(correlator.see(Some(End::Client), 2, &json!({"request": ONE})).is_empty());
        let links = correlator.see(Some(End::Server), 3, &json!({"text": format!("{TWO} and {ONE}")}));
        assert_eq!(places(&links), [("/text", Some(1), 0, "/request")]);
    }

    #[test]
    fn values_are_found_within_paths_headers_and_texts() {
        let mut correlator = Correlator::new(&known());
        correlator.see(None, 0, &json!({"json": {"port": 8123, "authToken": "<secret:1****>"}}));
        let head = json!({"target": {"path": ["s", ONE], "query": {"auth": "<secret:1****>"}},
                      "headers": {"host": "localhost:8123"}});
        correlator.see(Some(End::Server), 1, &json!({"json": {"session": ONE}}));
        let links = correlator.see(Some(End::Client), 2, &head);
        let mut found = places(&links);
        found.sort_unstable();
        assert_eq!(
            found,
            [
                ("/headers/host", Some(0), 0, "/json/port"),
                ("/target/path/1", None, 1, "/json/session"),
                ("/target/query/auth", None, 0, "/json/authToken"),
            ]
        );
    }

    #[test]
    fn constants_are_not_found_and_kinds_are_told_apart() {
        let finder = Finder::new(&known());
        let document = json!({"content": "hello", "n": 3, "uri": "file:///tmp/w%20s/a b", "at": "2026-01-02T03:04:05Z",
                          "pid": 7, "duration_ms": 5, "version": "1.2.3", "see": "https://tickets.example/T-1"});
        let kinds: Vec<_> = finder.find(&document).into_iter().map(|f| (f.place.pointer, f.kind)).collect();
        let expected = [
            ("/at", ValueKind::Time),
            ("/duration_ms", ValueKind::Duration),
            ("/pid", ValueKind::Pid),
            ("/see", ValueKind::Uri),
            ("/uri", ValueKind::Folder("workspace".into())),
            ("/version", ValueKind::Version),
        ];
        let sorted: BTreeSet<_> = kinds.into_iter().collect();
        assert_eq!(sorted, expected.map(|(pointer, kind)| (pointer.to_owned(), kind)).into());
    }

    #[test]
    fn what_was_recorded_is_said_with_live_values() {
        let mut translation = Translation::new(&known()).folder("workspace", "/live/ä");
        let recorded = json!({"json": {"session_id": ONE, "at": "2026-01-02T03:04:05Z", "text": format!("see {ONE}")}});
        let live = json!({"json": {"session_id": TWO, "at": "2027-01-02T03:04:05Z", "text": "other"}});
        translation.learn(&recorded, &live);
        let said =
            translation.json(&json!({"session": ONE, "uri": "file:///tmp/w%20s/a", "path": "/tmp/w s/b", "c": "x"}));
        assert_eq!(said, json!({"session": TWO, "uri": "file:///live/%C3%A4/a", "path": "/live/ä/b", "c": "x"}));
        assert_eq!(translation.text(&format!("GET /sessions/{ONE}?x")), format!("GET /sessions/{TWO}?x"));
        assert_eq!(translation.text("2026-01-02T03:04:05Z"), "2027-01-02T03:04:05Z");
    }

    #[test]
    fn ids_are_translated_where_they_are_ids_and_the_newest_meaning_counts() {
        let mut translation = Translation::new(&NormalisationFacts::default());
        translation.learn(&json!({"id": "1"}), &json!({"id": 7}));
        assert_eq!(translation.json(&json!({"id": "1", "line": "1"})), json!({"id": 7, "line": "1"}));
        translation.learn(&json!({"id": "1"}), &json!({"id": "1"}));
        assert_eq!(translation.json(&json!({"id": "1"})), json!({"id": "1"}));
    }

    #[test]
    fn the_oldest_values_are_forgotten() {
        let mut correlator = Correlator::new(&NormalisationFacts::default());
        for n in 0..=MAX_VALUES as u64 {
            correlator.see(Some(End::Client), n, &json!({"id": n}));
        }
        assert!(correlator.see(Some(End::Server), 1, &json!({"id": 0})).is_empty());
        assert_eq!(correlator.see(Some(End::Server), 2, &json!({"id": 7})).len(), 1);
        assert!(correlator.seen.len() <= MAX_VALUES);
    }

    #[test]
    fn an_event_is_one_document() {
        let head = crate::trace::Head {
            start: "GET /s/1?auth=x HTTP/1.1".into(),
            headers: vec![("Host".into(), "a".into())],
            raw: None,
            body: None,
        };
        let what = crate::trace::EventKind::Handshake(head);
        let event = crate::trace::Event { i: 0, t: 0, conn: None, dir: None, deliberate: None, kind: what };
        let expected = json!({"headers": {"host": "a"}, "target": {"path": ["s", "1"], "query": {"auth": "x"}}});
        assert_eq!(document(&event), Some(expected));
    }
}
