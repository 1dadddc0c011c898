//! Recorded values in the words of scenarios: variables for what has moved, matchers for what differs, captures for what
//! came from the subject.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::protocol::scenario_element::{ScenarioElement, word};
use crate::scenario::language::VARIABLES;
use crate::trace::{Correlator, End, Finder, NormalisationFacts, ValueKind, ValueLocation};
use crate::uri;

use super::play::ScenarioItem;

/// Texts longer than this are not expected word by word.
const LONG: usize = 400;

/// How much of an observation is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedDetail {
    /// All fields: the observation is a response to what our side did.
    Answer,
    /// All that has to do with this play: it tells the state of the subject, which may have other things to do.
    State,
    /// Only what has to be captured.
    Nothing,
}

/// The context of a value.
#[derive(Clone, Copy, Debug, Default)]
pub struct ValueContext {
    /// The value describes a failure, whose wording is free.
    failed: bool,
    /// The value describes the state of the subject.
    state: bool,
}

/// Translates values of a trace into those of a scenario.
pub struct ScenarioValues {
    finder: Finder,
    /// Whether the subject has a secret of its own, the first that a trace hides.
    token: bool,
    /// The path of the scenario's folder below the workspace, where the trace is one of a play of ours.
    scenario_dir: Option<String>,
}

impl ScenarioValues {
    /// `known` are the folders, by the variables that stand for them, and the ports; `token`: whether the subject has a
    /// secret of its own.
    pub fn new(known: &NormalisationFacts, token: bool) -> Self {
        let path = |wanted: &str| known.folders.iter().find(|(name, _)| name == wanted).map(|(_, path)| path);
        let below = |(scenario_dir, root): (&String, &String)| {
            Some(scenario_dir.strip_prefix(root.as_str())?.strip_prefix('/')?.to_owned())
        };
        let scenario_dir = path("workspace").zip(path("root")).and_then(below);
        Self { finder: Finder::new(known), token, scenario_dir }
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
                let rendered = |(key, value): (&String, &Value)| (key.clone(), self.below(key, value, at, uses));
                entries.map(rendered).collect::<Map<String, Value>>().into()
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
        let rendered = self.sent(value, at, uses);
        at.truncate(length);
        rendered
    }

    /// A text with variables for folders, and what `other` says of the other volatile pieces, by their numbers.
    pub fn text(&self, text: &str, other: &dyn Fn(usize) -> Option<String>) -> String {
        if let Some(rest) = self
            .scenario_dir
            .as_ref()
            .and_then(|scenario_dir| text.strip_prefix(scenario_dir.as_str())?.strip_prefix('/'))
        {
            return format!("${{corner}}/{}", escaped(rest));
        }
        let (mut rendered, mut from) = (String::new(), 0);
        for (n, (kind, range)) in self.finder.pieces(text).into_iter().enumerate() {
            let before = &text[from..range.start];
            match kind {
                ValueKind::Folder(name) if name == "workspace" && before.ends_with("file://") => {
                    rendered += &escaped(before.strip_suffix("file://").unwrap_or_default());
                    rendered += "${workspace_uri}";
                }
                ValueKind::Folder(name) => {
                    rendered += &escaped(before);
                    rendered += &format!("${{{name}}}");
                }
                ValueKind::Secret if self.token && text[range.clone()].trim_end_matches(['*', '>']) == "<secret:1" => {
                    rendered += &escaped(before);
                    rendered += if before.ends_with('=') { "${token_encoded}" } else { "${token}" };
                }
                _ => match other(n) {
                    Some(variable) => {
                        rendered += &escaped(before);
                        rendered += &variable;
                    }
                    None => rendered += &escaped(&text[from..range.end]),
                },
            }
            from = range.end;
        }
        rendered + &escaped(&text[from..])
    }

    /// What the subject sent, as the pattern that another run of it matches.
    pub fn expected(&self, key: &str, value: &Value, context: ValueContext) -> Value {
        match value {
            Value::String(text) if context.failed && text.contains(' ') => json!({ "$type": "string" }),
            Value::String(text) => self.expected_text(key, text),
            Value::Array(items) if context.state && items.iter().all(is_path) => self.expected_paths(key, items),
            Value::Array(items) => {
                items.iter().map(|item| self.expected(key, item, context)).collect::<Vec<_>>().into()
            }
            Value::Object(map) => {
                let entries = map.iter();
                // What is said of a failure is the subject's choice.
                let failed = context.failed || map.get("success") == Some(&false.into());
                let context = |key: &str| ValueContext { failed: failed || key == "error", ..context };
                let rendered: Map<String, Value> =
                    entries.map(|(key, value)| (key.clone(), self.expected(key, value, context(key)))).collect();
                match map.keys().any(|key| key.starts_with('$')) {
                    true => json!({ "$literal": map }),
                    false => rendered.into(),
                }
            }
            Value::Number(_) => {
                let found = self.finder.find(&Value::Object(Map::from_iter([(key.to_owned(), value.clone())])));
                match found.first() {
                    Some(find) if find.kind.is_volatile() || find.kind == ValueKind::Id => json!({ "$type": "number" }),
                    _ => value.clone(),
                }
            }
            value => value.clone(),
        }
    }

    /// A list of paths that tells what the subject has: others may be in it, too.
    fn expected_paths(&self, key: &str, items: &[Value]) -> Value {
        let ours = |item: &&Value| item.as_str().is_some_and(|text| self.is_below(text));
        let own_paths: Vec<Value> =
            items.iter().filter(ours).map(|item| self.expected(key, item, ValueContext::default())).collect();
        if own_paths.is_empty() { json!({ "$type": "array" }) } else { json!({ "$contains": own_paths }) }
    }

    /// Whether a path or URI leads below the folder that the traffic is about, if there is one.
    fn is_below(&self, text: &str) -> bool {
        let rendered = self.text(text, &|_| None);
        rendered.starts_with("${workspace}") || rendered.starts_with("${workspace_uri}")
    }

    /// Whether a value is about what others do in the same workspace; lists may be that in part.
    pub fn is_foreign(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => {
                let rendered = self.text(text, &|_| None);
                rendered.strip_prefix("file://").unwrap_or(&rendered).starts_with("${root}/")
            }
            Value::Object(map) => map.values().any(|value| self.is_foreign(value)),
            _ => false,
        }
    }

    fn expected_text(&self, key: &str, text: &str) -> Value {
        let found = self.finder.find(&Value::Object(Map::from_iter([(key.to_owned(), text.into())])));
        if let Some(find) = found.iter().find(|find| find.place.piece.is_none() && find.kind.is_volatile()) {
            return match find.kind {
                ValueKind::Uuid => json!({ "$uuid": true }),
                ValueKind::Time if text.contains('T') && !text.contains("GMT") => json!({ "$timestamp": true }),
                _ => json!({ "$type": "string" }),
            };
        }
        // An id that the subject gave is another one in another run.
        if found.iter().any(|find| find.place.piece.is_none() && find.kind == ValueKind::Id) {
            return json!({ "$type": "string" });
        }
        let differs = found.iter().any(|find| find.kind.is_volatile() && !matches!(find.kind, ValueKind::Folder(_)));
        if differs || text.len() > LONG {
            return json!({ "$type": "string" });
        }
        let rendered = self.text(text, &|_| None);
        match rendered.strip_prefix("${workspace_uri}") {
            // How a URI is encoded is the subject's choice.
            Some(rest) => json!({ "$uri": { "path": format!("${{workspace}}{}", uri::decode(rest)) } }),
            None => rendered.into(),
        }
    }
}

/// A capture of what is there, with what it is known to be.
pub fn capture(name: &str, kind: &ValueKind) -> Value {
    match kind {
        ValueKind::Uuid => json!({ "$capture": { "as": name, "is": { "$uuid": true } } }),
        _ => json!({ "$capture": name }),
    }
}

/// The fields of an observation: all of them as they were, or only what has to be captured.
pub fn fields(
    values: &ScenarioValues,
    value: &Map<String, Value>,
    at: usize,
    links: &Links,
    detail: ExpectedDetail,
) -> Map<String, Value> {
    let context = |key: &str| ValueContext { failed: key == "error", state: detail == ExpectedDetail::State };
    let mut pattern = Value::Object(match detail {
        ExpectedDetail::Nothing => Map::new(),
        _ => value.iter().map(|(key, value)| (key.clone(), values.expected(key, value, context(key)))).collect(),
    });
    let recorded = Value::Object(value.clone());
    for (pointer, variable) in links.echoes.get(&at).into_iter().flatten().filter(|_| detail != ExpectedDetail::Nothing)
    {
        // What is compared with it has its secrets hidden.
        let shown = |value: &&Value| !value.as_str().is_some_and(|text| text.contains("<secret:"));
        if let (Some(place), Some(value)) = (pattern.pointer_mut(pointer), recorded.pointer(pointer).filter(shown)) {
            *place = match variable {
                Some(name) => format!("${{{name}}}").into(),
                None => values.sent(value, &mut String::new(), None),
            };
        }
    }
    for (pointer, (name, kind)) in links.captures.get(&at).into_iter().flatten() {
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
pub struct Links {
    /// Of observations: JSON pointers into their fields, and the variables.
    pub captures: BTreeMap<usize, BTreeMap<String, (String, ValueKind)>>,
    /// Of steps: places in their parameters, and the variables.
    pub uses: BTreeMap<usize, BTreeMap<ValueLocation, String>>,
    /// Of observations: JSON pointers into their fields where a value of ours came back, and the variable that it was
    /// sent as; none where it is the same in every run.
    pub echoes: BTreeMap<usize, BTreeMap<String, Option<String>>>,
}

/// Finds the links between items.
pub fn find_links(items: &[ScenarioItem], subject: End, known: &NormalisationFacts) -> Links {
    let mut correlator = Correlator::new(known);
    let mut links = Links::default();
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        let index = at as u64;
        match &item.element {
            ScenarioElement::Seen { value, finds, .. } => {
                let back = correlator.see(Some(subject), index, &Value::Object(value.clone()));
                let back = back.into_iter().filter(|link| link.at.piece.is_none() && link.from.place.piece.is_none());
                for link in back {
                    let from = usize::try_from(link.from.index).ok();
                    let sent = from.and_then(|from| links.uses.get(&from)?.get(&link.from.place)).cloned();
                    links.echoes.entry(at).or_default().insert(link.at.pointer, sent);
                }
                for (field, name) in finds {
                    let entry = links.captures.entry(at).or_default();
                    entry.insert(format!("/{field}"), (format!("of-{name}"), ValueKind::Id));
                }
            }
            ScenarioElement::Step { args, found, .. } => {
                for (arg, name) in found {
                    let place = ValueLocation { pointer: format!("/{arg}"), piece: None };
                    links.uses.entry(at).or_default().insert(place, format!("of-{name}"));
                }
                for link in correlator.see(Some(other(subject)), index, &Value::Object(args.clone())) {
                    // Only whole values can be captured, and constants that look like an id need not be.
                    let is_capturable = link.from.sender == Some(subject) && link.from.place.piece.is_none();
                    if !is_capturable || link.kind == ValueKind::Port {
                        continue;
                    }
                    let Ok(from) = usize::try_from(link.from.index) else { continue };
                    let captures = links.captures.entry(from).or_default();
                    let (name, _) = captures.entry(link.from.place.pointer.clone()).or_insert_with(|| {
                        let key = link.from.place.pointer.rsplit('/').find(|key| key.parse::<u64>().is_err());
                        let name = word(key.unwrap_or("value"));
                        let name = if VARIABLES.iter().any(|v| v.name == name) { format!("the-{name}") } else { name };
                        let count = names.entry(name.clone()).or_default();
                        *count += 1;
                        (if *count == 1 { name } else { format!("{name}-{count}") }, link.kind.clone())
                    });
                    links.uses.entry(at).or_default().insert(link.at, name.clone());
                }
            }
            _ => {}
        }
    }
    links
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
