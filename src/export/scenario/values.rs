//! Recorded values in the words of scenarios: variables for what has moved, matchers for what differs, captures for what
//! came from the subject.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::protocol::scenario_element::{ScenarioElement, word};
use crate::trace::{Correlator, End, Finder, Kind, NormalisationFacts, ValueLocation};
use crate::uri;

use super::gather::Item;

/// Texts longer than this are not expected word by word.
const LONG: usize = 400;

/// How much of an observation is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// All of it: it answers what our side did.
    Answer,
    /// All that has to do with this play: it tells the state of the subject, which may have other things to do.
    State,
    /// Nothing but what has to be captured.
    Nothing,
}

/// What a value stands in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Like {
    /// What tells of a failure, whose words are free.
    failed: bool,
    /// What tells the state of the subject.
    state: bool,
}

/// Says values of a trace for a scenario.
pub struct Values {
    finder: Finder,
    /// Whether the subject has a secret of its own, the first that a trace hides.
    token: bool,
    /// The path of the corner below the workspace, where the trace is one of a play of ours.
    corner: Option<String>,
}

impl Values {
    /// `known` are the folders, by the variables that stand for them, and the ports; `token`: whether the subject has a
    /// secret of its own.
    pub fn new(known: &NormalisationFacts, token: bool) -> Self {
        let path = |wanted: &str| known.folders.iter().find(|(name, _)| name == wanted).map(|(_, path)| path);
        let below = |(corner, root): (&String, &String)| {
            Some(corner.strip_prefix(root.as_str())?.strip_prefix('/')?.to_owned())
        };
        let corner = path("workspace").zip(path("root")).and_then(below);
        Self { finder: Finder::new(known), token, corner }
    }

    /// A value that our side sends: with variables for folders and for what was captured.
    pub fn sent(&self, value: &Value, at: &mut String, uses: Option<&BTreeMap<ValueLocation, String>>) -> Value {
        let variable = |piece| {
            let place = ValueLocation { pointer: at.clone(), piece };
            uses.and_then(|uses| uses.get(&place))
        };
        if let Some(name) = variable(None) {
            return format!("${{{name}}}").into();
        }
        match value {
            Value::String(text) => self.text(text, &|n| variable(Some(n)).map(|name| format!("${{{name}}}"))).into(),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(n, item)| self.below(&n.to_string(), item, at, uses)).collect::<Vec<_>>().into()
            }
            Value::Object(map) => {
                let entries = map.iter();
                let said = |(key, value): (&String, &Value)| (key.clone(), self.below(key, value, at, uses));
                entries.map(said).collect::<Map<String, Value>>().into()
            }
            value => value.clone(),
        }
    }

    fn below(
        &self,
        key: &str,
        value: &Value,
        at: &mut String,
        uses: Option<&BTreeMap<ValueLocation, String>>,
    ) -> Value {
        let length = at.len();
        at.push('/');
        at.push_str(&key.replace('~', "~0").replace('/', "~1"));
        let said = self.sent(value, at, uses);
        at.truncate(length);
        said
    }

    /// A text with variables for folders, and what `other` says of the other volatile pieces, by their numbers.
    pub fn text(&self, text: &str, other: &dyn Fn(usize) -> Option<String>) -> String {
        if let Some(rest) =
            self.corner.as_ref().and_then(|corner| text.strip_prefix(corner.as_str())?.strip_prefix('/'))
        {
            return format!("${{corner}}/{}", escaped(rest));
        }
        let (mut said, mut from) = (String::new(), 0);
        for (n, (kind, range)) in self.finder.pieces(text).into_iter().enumerate() {
            let before = &text[from..range.start];
            match kind {
                Kind::Folder(name) if name == "workspace" && before.ends_with("file://") => {
                    said += &escaped(before.strip_suffix("file://").unwrap_or_default());
                    said += "${workspace_uri}";
                }
                Kind::Folder(name) => {
                    said += &escaped(before);
                    said += &format!("${{{name}}}");
                }
                Kind::Secret if self.token && text[range.clone()].trim_end_matches(['*', '>']) == "<secret:1" => {
                    said += &escaped(before);
                    said += if before.ends_with('=') { "${token_encoded}" } else { "${token}" };
                }
                _ => match other(n) {
                    Some(variable) => {
                        said += &escaped(before);
                        said += &variable;
                    }
                    None => said += &escaped(&text[from..range.end]),
                },
            }
            from = range.end;
        }
        said + &escaped(&text[from..])
    }

    /// What the subject sent, as the pattern that another run of it matches.
    pub fn expected(&self, key: &str, value: &Value, like: Like) -> Value {
        match value {
            Value::String(text) if like.failed && text.contains(' ') => json!({ "$type": "string" }),
            Value::String(text) => self.expected_text(key, text),
            Value::Array(items) if like.state && items.iter().all(is_path) => self.expected_paths(key, items),
            Value::Array(items) => items.iter().map(|item| self.expected(key, item, like)).collect::<Vec<_>>().into(),
            Value::Object(map) => {
                let entries = map.iter();
                // What is said of a failure is the subject's choice.
                let failed = like.failed || map.get("success") == Some(&false.into());
                let like = |key: &str| Like { failed: failed || key == "error", ..like };
                let said: Map<String, Value> =
                    entries.map(|(key, value)| (key.clone(), self.expected(key, value, like(key)))).collect();
                match said.keys().next() {
                    Some(only) if said.len() == 1 && only.starts_with('$') => json!({ "$literal": map }),
                    _ => said.into(),
                }
            }
            Value::Number(_) => {
                let found = self.finder.find(&Value::Object(Map::from_iter([(key.to_owned(), value.clone())])));
                match found.first() {
                    Some(find) if find.kind.is_volatile() || find.kind == Kind::Id => json!({ "$type": "number" }),
                    _ => value.clone(),
                }
            }
            value => value.clone(),
        }
    }

    /// A list of paths that tells what the subject has: others may be in it, too.
    fn expected_paths(&self, key: &str, items: &[Value]) -> Value {
        let ours = |item: &&Value| item.as_str().is_some_and(|text| self.is_below(text));
        let told: Vec<Value> =
            items.iter().filter(ours).map(|item| self.expected(key, item, Like::default())).collect();
        if told.is_empty() { json!({ "$type": "array" }) } else { json!({ "$contains": told }) }
    }

    /// Whether a path or URI leads below the folder that the traffic is about, if there is one.
    fn is_below(&self, text: &str) -> bool {
        let said = self.text(text, &|_| None);
        said.starts_with("${workspace}") || said.starts_with("${workspace_uri}")
    }

    /// Whether a value is about what others do in the same workspace; lists may be that in part.
    pub fn is_of_others(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => {
                let said = self.text(text, &|_| None);
                said.strip_prefix("file://").unwrap_or(&said).starts_with("${root}/")
            }
            Value::Object(map) => map.values().any(|value| self.is_of_others(value)),
            _ => false,
        }
    }

    fn expected_text(&self, key: &str, text: &str) -> Value {
        let found = self.finder.find(&Value::Object(Map::from_iter([(key.to_owned(), text.into())])));
        if let Some(find) = found.iter().find(|find| find.place.piece.is_none() && find.kind.is_volatile()) {
            return match find.kind {
                Kind::Uuid => json!({ "$uuid": true }),
                Kind::Time if text.contains('T') && !text.contains("GMT") => json!({ "$timestamp": true }),
                _ => json!({ "$type": "string" }),
            };
        }
        // An id that the subject gave is another one in another run.
        if found.iter().any(|find| find.place.piece.is_none() && find.kind == Kind::Id) {
            return json!({ "$type": "string" });
        }
        let differs = found.iter().any(|find| find.kind.is_volatile() && !matches!(find.kind, Kind::Folder(_)));
        if differs || text.len() > LONG {
            return json!({ "$type": "string" });
        }
        let said = self.text(text, &|_| None);
        match said.strip_prefix("${workspace_uri}") {
            // How a URI is encoded is the subject's choice.
            Some(rest) => json!({ "$uri": { "path": format!("${{workspace}}{}", uri::decode(rest)) } }),
            None => said.into(),
        }
    }
}

/// A capture of what is there, with what it is known to be.
pub fn capture(name: &str, kind: &Kind) -> Value {
    match kind {
        Kind::Uuid => json!({ "$capture": { "as": name, "is": { "$uuid": true } } }),
        _ => json!({ "$capture": name }),
    }
}

/// The fields of an observation: all of them as they were, or only what has to be captured.
pub fn fields(
    values: &Values,
    value: &Map<String, Value>,
    at: usize,
    linked: &Linked,
    whole: Whole,
) -> Map<String, Value> {
    let like = |key: &str| Like { failed: key == "error", state: whole == Whole::State };
    let mut pattern = Value::Object(match whole {
        Whole::Nothing => Map::new(),
        _ => value.iter().map(|(key, value)| (key.clone(), values.expected(key, value, like(key)))).collect(),
    });
    let recorded = Value::Object(value.clone());
    for (pointer, variable) in linked.echoes.get(&at).into_iter().flatten().filter(|_| whole != Whole::Nothing) {
        // What is compared with it has its secrets hidden.
        let shown = |value: &&Value| !value.as_str().is_some_and(|text| text.contains("<secret:"));
        if let (Some(place), Some(value)) = (pattern.pointer_mut(pointer), recorded.pointer(pointer).filter(shown)) {
            *place = match variable {
                Some(name) => format!("${{{name}}}").into(),
                None => values.sent(value, &mut String::new(), None),
            };
        }
    }
    for (pointer, (name, kind)) in linked.captures.get(&at).into_iter().flatten() {
        merge(&mut pattern, exactly(&recorded, pointer, capture(name, kind)));
    }
    match pattern {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// A text in which nothing is a variable.
fn escaped(text: &str) -> String {
    text.replace("${", "$${")
}

/// Whether a value is a path or the URI of a file.
fn is_path(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with('/') || text.starts_with("file://"))
}

/// What is captured where, and used where, by the numbers of the items.
#[derive(Default)]
pub struct Linked {
    /// Of observations: JSON pointers into their fields, and the variables.
    pub captures: BTreeMap<usize, BTreeMap<String, (String, Kind)>>,
    /// Of steps: places in their parameters, and the variables.
    pub uses: BTreeMap<usize, BTreeMap<ValueLocation, String>>,
    /// Of observations: JSON pointers into their fields where a value of ours came back, and the variable that it was
    /// sent as; none where it is the same in every run.
    pub echoes: BTreeMap<usize, BTreeMap<String, Option<String>>>,
}

/// Finds the links between items.
pub fn linked(items: &[Item], subject: End, known: &NormalisationFacts) -> Linked {
    let mut correlator = Correlator::new(known);
    let mut linked = Linked::default();
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        let index = at as u64;
        match &item.told {
            ScenarioElement::Seen { value, finds, .. } => {
                let back = correlator.see(Some(subject), index, &Value::Object(value.clone()));
                let back = back.into_iter().filter(|link| link.at.piece.is_none() && link.from.place.piece.is_none());
                for link in back {
                    let from = usize::try_from(link.from.index).ok();
                    let sent = from.and_then(|from| linked.uses.get(&from)?.get(&link.from.place)).cloned();
                    linked.echoes.entry(at).or_default().insert(link.at.pointer, sent);
                }
                for (field, name) in finds {
                    let entry = linked.captures.entry(at).or_default();
                    entry.insert(format!("/{field}"), (format!("of-{name}"), Kind::Id));
                }
            }
            ScenarioElement::Step { args, found, .. } => {
                for (arg, name) in found {
                    let place = ValueLocation { pointer: format!("/{arg}"), piece: None };
                    linked.uses.entry(at).or_default().insert(place, format!("of-{name}"));
                }
                for link in correlator.see(Some(other(subject)), index, &Value::Object(args.clone())) {
                    // Only whole values can be captured, and constants that look like an id need not be.
                    let whole = link.from.sender == Some(subject) && link.from.place.piece.is_none();
                    if !whole || link.kind == Kind::Port {
                        continue;
                    }
                    let Ok(from) = usize::try_from(link.from.index) else { continue };
                    let captures = linked.captures.entry(from).or_default();
                    let (name, _) = captures.entry(link.from.place.pointer.clone()).or_insert_with(|| {
                        let key = link.from.place.pointer.rsplit('/').find(|key| key.parse::<u64>().is_err());
                        let name = word(key.unwrap_or("value"));
                        let count = names.entry(name.clone()).or_default();
                        *count += 1;
                        (if *count == 1 { name } else { format!("{name}-{count}") }, link.kind.clone())
                    });
                    linked.uses.entry(at).or_default().insert(link.at, name.clone());
                }
            }
            _ => {}
        }
    }
    linked
}

fn other(end: End) -> End {
    match end {
        End::Client => End::Server,
        End::Server => End::Client,
    }
}

/// A pattern that holds a place of a value to another pattern, and says nothing of the rest. In a list, only that item
/// is held to it, in a list of the same length.
pub fn exactly(value: &Value, pointer: &str, pattern: Value) -> Value {
    let Some((key, rest)) = split(pointer) else { return pattern };
    match value {
        Value::Array(items) => {
            let at = key.parse::<usize>().ok();
            let any = || json!({ "$any": true });
            let hold = |(n, item): (usize, &Value)| {
                if Some(n) == at { exactly(item, rest, pattern.clone()) } else { any() }
            };
            items.iter().enumerate().map(hold).collect::<Vec<_>>().into()
        }
        value => {
            let inner = exactly(value.get(&key).unwrap_or(&Value::Null), rest, pattern);
            Value::Object(Map::from_iter([(key, inner)]))
        }
    }
}

/// Both patterns at once, the second one over the first.
pub fn merge(into: &mut Value, other: Value) {
    match (into, other) {
        (Value::Object(into), Value::Object(other)) if !is_matcher(into) && !is_matcher(&other) => {
            for (key, value) in other {
                match into.get_mut(&key) {
                    Some(there) => merge(there, value),
                    None => drop(into.insert(key, value)),
                }
            }
        }
        (Value::Array(into), Value::Array(other)) if into.len() == other.len() => {
            into.iter_mut().zip(other).for_each(|(into, other)| merge(into, other));
        }
        (Value::Object(into), _) if into.contains_key("$capture") => {}
        (_, Value::Object(other)) if other.contains_key("$any") => {}
        (into, other) => *into = other,
    }
}

fn is_matcher(map: &Map<String, Value>) -> bool {
    map.len() == 1 && map.keys().any(|key| key.starts_with('$'))
}

/// The first key of a JSON pointer, and the rest of it.
fn split(pointer: &str) -> Option<(String, &str)> {
    let rest = pointer.strip_prefix('/')?;
    let end = rest.find('/').unwrap_or(rest.len());
    Some((rest[..end].replace("~1", "/").replace("~0", "~"), &rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_is_held_and_all_others_are_free() {
        let value = json!({"a": [{"b/c": 1}, 2], "d": 3});
        let held = exactly(&value, "/a/0/b~1c", json!({"$capture": "x"}));
        assert_eq!(held, json!({"a": [{"b/c": {"$capture": "x"}}, {"$any": true}]}));
    }

    #[test]
    fn two_places_are_held_at_once() {
        let mut both = json!({"a": [1, {"$any": true}], "b": {"c": 1}});
        merge(&mut both, json!({"a": [{"$any": true}, 2], "b": {"d": 2}}));
        assert_eq!(both, json!({"a": [1, 2], "b": {"c": 1, "d": 2}}));
    }
}
