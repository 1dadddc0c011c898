//! From the values of a recorded run to those of a live one.

use std::collections::HashMap;

use serde_json::Value;

use crate::trace::NormalisationFacts;
use crate::uri;

use super::find::{Finder, Kind, ValueLocation};

/// So many values are known at most; what comes after that is not learnt.
const MOST: usize = 100_000;

/// Says what values of a recorded run are called in a live one.
///
/// It learns from pairs of documents, what was recorded and what came live in its stead: where both have
/// something of the same kind at the same place, the one stands for the other from then on. What it is then
/// asked to translate has every recorded value replaced by the live one, in whole values and within texts.
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
    /// Of values that are hardly twice the same by chance: recorded text → live text.
    strong: HashMap<String, Value>,
    /// Of ids, which are short: recorded → live, by value with its type.
    ids: HashMap<String, Value>,
    folders: Vec<(String, String)>,
}

impl Translation {
    /// Nothing learnt yet. `known` are folders and ports of the recorded run.
    pub fn new(known: &NormalisationFacts) -> Self {
        Self { finder: Finder::new(known), strong: HashMap::new(), ids: HashMap::new(), folders: vec![] }
    }

    /// Says what a folder of the recorded run, by its name in `known`, is called live.
    pub fn folder(mut self, name: &str, path: &str) -> Self {
        self.folders.push((name.to_owned(), path.trim_end_matches('/').to_owned()));
        self
    }

    /// Learns from what was recorded and what came live in its stead. Values of which the live one is missing or of
    /// another type stay as they are.
    pub fn learn(&mut self, recorded: &Value, live: &Value) {
        for find in self.finder.find(recorded) {
            if matches!(find.kind, Kind::Folder(_) | Kind::Duration | Kind::Version) {
                continue;
            }
            let Some(value) = self.at(&find.place, recorded, live) else { continue };
            if value != find.value {
                self.teach(&find.kind, &find.value, value);
            } else if find.kind == Kind::Id {
                // The newest meaning of an id counts.
                self.ids.remove(&find.value.to_string());
            }
        }
    }

    /// Says itself what a recorded value is called live.
    pub fn teach(&mut self, kind: &Kind, recorded: &Value, live: Value) {
        let (table, key) = match (kind, recorded) {
            (Kind::Id, value) => (&mut self.ids, value.to_string()),
            (_, Value::String(text)) => (&mut self.strong, text.clone()),
            (_, value) => (&mut self.strong, value.to_string()),
        };
        if table.len() < MOST || table.contains_key(&key) {
            table.insert(key, live);
        }
    }

    /// A recorded JSON value as it has to be sent live.
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

    /// A recorded text as it has to be sent live: what is volatile in it is replaced.
    pub fn text(&self, recorded: &str) -> String {
        let (mut live, mut from) = (String::with_capacity(recorded.len()), 0);
        for (kind, range) in self.finder.pieces(recorded) {
            let piece = &recorded[range.clone()];
            let translated = match &kind {
                Kind::Folder(name) => self.folder_as(name, piece),
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

    /// What one value is called live; none where nothing was learnt of it.
    pub fn one(&self, kind: &Kind, recorded: &Value) -> Option<Value> {
        match (kind, recorded) {
            (Kind::Id, value) => self.ids.get(&value.to_string()).cloned(),
            (_, Value::String(text)) => self.strong.get(text).cloned(),
            (_, value) => self.strong.get(&value.to_string()).cloned(),
        }
    }

    fn folder_as(&self, name: &str, spelling: &str) -> Option<String> {
        let (_, path) = self.folders.iter().find(|(known, _)| known == name)?;
        // A folder in a URI is encoded; one that needs no encoding looks the same both ways.
        Some(if spelling.contains('%') { uri::encode(path, uri::PATH) } else { path.clone() })
    }

    /// The live value at a place of the recorded document.
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
