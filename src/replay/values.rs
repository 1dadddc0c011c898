//! Translation of recorded values to live ones, and the comparison of live messages with recorded ones.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Value, json};

use crate::trace::{End, Find, Finder, NormalisationFacts, Translation, ValueKind};
use crate::uri;

use super::message::patched;
use super::recorded;
use super::script::{ScriptError, Steps};

/// Secrets of the live run by the numbers that stand for them in the record.
pub type Secrets = BTreeMap<u64, String>;

/// The most names given by the other side that are distinguished from ours.
const MOST_NAMES: usize = 100_000;

/// The placeholder of a secret in a trace.
static PLACEHOLDER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"<secret:([0-9]+)\**>").ok());

/// Translates what was recorded into what it is called live, and learns that from what the live side says.
#[derive(Debug)]
pub struct ReplayValues {
    translation: Translation,
    finder: Finder,
    secrets: Secrets,
    /// Secrets that had to be sent and are not known.
    unknown: BTreeSet<u64>,
}

impl ReplayValues {
    /// `known` are folders and ports of the recorded run; `folders` says what those folders are called live, and
    /// `secrets` what is known of the secrets.
    pub fn new(known: &NormalisationFacts, folders: &[(String, String)], secrets: Secrets) -> Self {
        let start = Translation::new(known);
        let translation = folders.iter().fold(start, |translation, (name, path)| translation.folder(name, path));
        Self { translation, finder: Finder::new(known), secrets, unknown: BTreeSet::new() }
    }

    /// Says that a port of the record is this one live.
    pub fn port(&mut self, recorded: u16, live: u16) {
        self.translation.teach(&ValueKind::Port, &json!(recorded.to_string()), json!(live.to_string()));
    }

    /// Says which secret a number stands for, unless that is known.
    pub fn secret(&mut self, number: u64, value: &str) {
        self.secrets.entry(number).or_insert_with(|| value.to_owned());
    }

    /// Says that what our side of the record was the first to call something keeps its name: the live side has to use
    /// it, too. Gives whether that was looked at for the whole record, and not only for its first hundred thousand names.
    ///
    /// # Errors
    /// Where the steps cannot be read.
    pub fn keep_own_names(&mut self, mut steps: Steps, ours: End) -> Result<bool, ScriptError> {
        let mut theirs: HashSet<String> = HashSet::new();
        while let Some(step) = steps.step()? {
            let Some(json_value) = step.json() else { continue };
            for find in self.finder.find(&json_value) {
                if !matches!(find.kind, ValueKind::Uuid | ValueKind::Id) {
                    continue;
                }
                let name = find.value.to_string();
                if step.end == ours && !theirs.contains(&name) {
                    self.translation.teach(&find.kind, &find.value, find.value.clone());
                } else if step.end != ours {
                    theirs.insert(name);
                    if theirs.len() >= MOST_NAMES {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// The numbers of secrets that had to be sent and are not known: their placeholders were sent.
    pub fn unknown(&self) -> &BTreeSet<u64> {
        &self.unknown
    }

    /// A recorded text with live values.
    pub fn text(&mut self, recorded: &str) -> String {
        let text = self.translation.text(recorded);
        self.reveal(&text, str::to_owned)
    }

    /// A recorded request target with live values.
    pub fn target(&mut self, recorded: &str) -> String {
        let text = self.translation.text(recorded);
        let (path, query) = text.split_once('?').map_or((text.as_str(), None), |(path, query)| (path, Some(query)));
        let segment = |segment: &str| match self.translation.one(&ValueKind::Id, &json!(segment)) {
            Some(Value::String(live)) => live,
            _ => segment.to_owned(),
        };
        let mut target = path.split('/').map(segment).collect::<Vec<_>>().join("/");
        if let Some(query) = query {
            target += &format!("?{query}");
        }
        self.reveal(&target, |text| uri::encode(text, uri::COMPONENT))
    }

    /// Recorded JSON with live values. The id of a request stays: it is its sender's own.
    pub fn json(&mut self, recorded: &Value) -> Value {
        let mut live = self.translation.json(recorded);
        if let Some(id) = recorded::id(recorded) {
            let id = id.clone();
            restore_id(&mut live, id);
        }
        self.reveal_in(&mut live);
        live
    }

    /// A recorded payload with live values: every byte that is no part of one stays.
    pub fn payload(&mut self, recorded: &[u8]) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(recorded) else { return recorded.to_vec() };
        match serde_json::from_str::<Value>(text) {
            Ok(value) => {
                let live = self.json(&value);
                if live == value { recorded.to_vec() } else { patched(text, &value, &live).into_bytes() }
            }
            Err(_) => self.text(text).into_bytes(),
        }
    }

    /// Whether something live is what was recorded, as far as can be determined without learning from it.
    pub fn fits(&mut self, recorded: &Value, live: &Value) -> bool {
        let expected = self.json(recorded);
        let finds = by_pointer(self.finder.find(recorded));
        let differing = differing(&expected, live);
        differing.iter().all(|pointer| {
            let made = |find: &Find| {
                matches!(find.kind, ValueKind::Uuid | ValueKind::Secret | ValueKind::Id) && !self.is_learnt(find)
            };
            tolerated(pointer, &expected, live, &finds, &|find| differs_every_run(find) || made(find))
        })
    }

    /// What is expected and what came, where that is something else; learns from it what the live side calls things.
    pub fn difference(&mut self, recorded: &Value, live: &Value) -> Option<(Value, Value)> {
        let before = self.json(recorded);
        let differing_before = differing(&before, live);
        if differing_before.is_empty() {
            self.translation.learn(recorded, live);
            return None;
        }
        let all = self.finder.find(recorded);
        let conflicts: Vec<(Find, Value)> = all
            .iter()
            .filter(|find| differing_before.contains(&find.place.pointer) && self.is_conflict(find, live))
            .map(|find| (find.clone(), self.meaning(find)))
            .collect();
        self.learn_secrets(&all, live);
        self.translation.learn(recorded, live);
        for (find, meaning) in conflicts {
            self.translation.teach(&find.kind, &find.value, meaning);
        }
        let expected = self.json(recorded);
        let finds = by_pointer(all);
        let (mut wrong, mut actual) = (false, live.clone());
        for pointer in differing(&expected, live) {
            if tolerated(&pointer, &expected, live, &finds, &differs_every_run) {
                if let (Some(place), Some(value)) = (actual.pointer_mut(&pointer), expected.pointer(&pointer)) {
                    *place = value.clone();
                }
            } else {
                wrong = true;
            }
        }
        wrong.then_some((expected, actual))
    }

    /// Whether a value that was found cannot be another one live.
    fn is_conflict(&self, find: &Find, live: &Value) -> bool {
        let there = live.pointer(&find.place.pointer);
        if there.is_some_and(|there| there.is_string() != find.value.is_string() && find.place.piece.is_none()) {
            return true;
        }
        match find.kind {
            ValueKind::Uri => true,
            ValueKind::Id => {
                let made = |value: &Value| value.is_number() || value.as_str().is_some_and(has_digit);
                let alike = live.pointer(&find.place.pointer).is_some_and(made) && made(&find.value);
                !alike || self.is_learnt(find)
            }
            ValueKind::Uuid if find.place.piece.is_some() => {
                let meaning = self.meaning(find);
                let live_text = live.pointer(&find.place.pointer).and_then(Value::as_str).zip(meaning.as_str());
                self.is_learnt(find) && !live_text.is_some_and(|(text, meaning)| text.contains(meaning))
            }
            ValueKind::Uuid => self.is_learnt(find),
            _ => false,
        }
    }

    /// The live value of a recorded one, as far as it is known.
    fn meaning(&self, find: &Find) -> Value {
        self.translation.one(&find.kind, &find.value).unwrap_or_else(|| find.value.clone())
    }

    fn is_learnt(&self, find: &Find) -> bool {
        match find.kind {
            ValueKind::Secret => number(find).is_some_and(|number| self.secrets.contains_key(&number)),
            _ => self.translation.one(&find.kind, &find.value).is_some(),
        }
    }

    fn learn_secrets(&mut self, finds: &[Find], live: &Value) {
        for find in finds.iter().filter(|find| find.kind == ValueKind::Secret && find.place.piece.is_none()) {
            if let (Some(number), Some(Value::String(value))) = (number(find), live.pointer(&find.place.pointer)) {
                self.secret(number, value);
            }
        }
    }

    /// Puts secrets in the place of their placeholders.
    fn reveal(&mut self, text: &str, form: fn(&str) -> String) -> String {
        let Some(placeholder) = PLACEHOLDER.as_ref().filter(|_| text.contains("<secret:")) else {
            return text.to_owned();
        };
        let (secrets, unknown) = (&self.secrets, &mut self.unknown);
        let revealed = placeholder.replace_all(text, |found: &Captures<'_>| {
            let number = found.get(1).and_then(|number| number.as_str().parse().ok()).unwrap_or_default();
            match secrets.get(&number) {
                Some(secret) => form(secret),
                None => {
                    unknown.insert(number);
                    found.get(0).map(|matched| matched.as_str().to_owned()).unwrap_or_default()
                }
            }
        });
        revealed.into_owned()
    }

    fn reveal_in(&mut self, value: &mut Value) {
        match value {
            Value::String(text) if text.contains("<secret:") => *text = self.reveal(text, str::to_owned),
            Value::Array(items) => items.iter_mut().for_each(|item| self.reveal_in(item)),
            Value::Object(map) => map.values_mut().for_each(|value| self.reveal_in(value)),
            _ => {}
        }
    }
}

/// The note on a secret that had to be sent and is not known.
pub fn unknown_note(number: u64) -> String {
    format!(
        "secret {number} of the record is not known, and its placeholder was sent; `--secret {number}=VARIABLE` says it"
    )
}

/// The numbers of the secrets whose placeholders are in a text.
pub fn secrets_in(text: &str) -> Vec<u64> {
    let Some(placeholder) = PLACEHOLDER.as_ref() else { return vec![] };
    placeholder.captures_iter(text).filter_map(|found| found.get(1)?.as_str().parse().ok()).collect()
}

fn number(find: &Find) -> Option<u64> {
    secrets_in(find.value.as_str()?).first().copied()
}

fn has_digit(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}

fn restore_id(live: &mut Value, id: Value) {
    let Some(map) = live.as_object_mut() else { return };
    if let Some(place) = map.get_mut("id") {
        *place = id;
    } else if let Some(place) = map.values_mut().find_map(|inner| inner.as_object_mut()?.get_mut("id")) {
        *place = id;
    }
}

/// Whether a value says nothing of what an implementation does: another run has another one.
fn differs_every_run(find: &Find) -> bool {
    matches!(find.kind, ValueKind::Time | ValueKind::Duration | ValueKind::Version | ValueKind::Pid | ValueKind::Port)
}

/// What was found, by where it is.
fn by_pointer(finds: Vec<Find>) -> HashMap<String, Vec<Find>> {
    let mut found: HashMap<String, Vec<Find>> = HashMap::new();
    for find in finds {
        found.entry(find.place.pointer.clone()).or_default().push(find);
    }
    found
}

/// Whether a difference at this place is none that counts: both are of the same type, and all of it is something that
/// may differ.
pub fn tolerated(
    pointer: &str,
    expected: &Value,
    live: &Value,
    finds: &HashMap<String, Vec<Find>>,
    may: &dyn Fn(&Find) -> bool,
) -> bool {
    let alike = matches!(
        (expected.pointer(pointer), live.pointer(pointer)),
        (Some(Value::String(_)), Some(Value::String(_))) | (Some(Value::Number(_)), Some(Value::Number(_)))
    );
    alike && finds.get(pointer).is_some_and(|finds| finds.iter().any(|find| find.place.piece.is_none() && may(find)))
}

/// The pointers of the places where two values differ: scalars, members that one lacks, lists of another length.
pub fn differing(one: &Value, other: &Value) -> Vec<String> {
    let mut found = vec![];
    collect_differences(one, other, &mut String::new(), &mut found);
    found
}

fn collect_differences(one: &Value, other: &Value, pointer: &mut String, found: &mut Vec<String>) {
    let length = pointer.len();
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                match (one.get(key), other.get(key)) {
                    (Some(one), Some(other)) => collect_differences(one, other, pointer, found),
                    _ => found.push(pointer.clone()),
                }
                pointer.truncate(length);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (n, (one, other)) in one.iter().zip(other).enumerate() {
                pointer.push_str(&format!("/{n}"));
                collect_differences(one, other, pointer, found);
                pointer.truncate(length);
            }
        }
        _ if one == other => {}
        _ => found.push(pointer.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "5f8d0e5a-3b1c-4c7e-9a55-0b7a3f6f9a01";
    const TWO: &str = "0c2c8c1e-9d55-4d5b-8f0e-1f2a3b4c5d6e";

    fn values() -> ReplayValues {
        let known = NormalisationFacts {
            folders: vec![("workspace".into(), "/tmp/was".into())],
            ports: BTreeSet::from([8123]),
            ..NormalisationFacts::default()
        };
        ReplayValues::new(&known, &[("workspace".into(), "/live".into())], Secrets::from([(1, "a b".into())]))
    }

    #[test]
    fn what_the_live_side_gave_is_sent_from_then_on() {
        let mut values = values();
        values.port(8123, 4711);
        assert!(
            values
                .difference(
                    &json!({"session_id": ONE, "approval_id": "appr-2"}),
                    &json!({"session_id": TWO, "approval_id": "appr-9"})
                )
                .is_none()
        );
        assert_eq!(
            values.target(&format!("/sessions/{ONE}/approval/appr-2?x")),
            format!("/sessions/{TWO}/approval/appr-9?x")
        );
        assert_eq!(values.target("/?auth=<secret:1*****>"), "/?auth=a%20b");
        assert_eq!(values.text("localhost:8123"), "localhost:4711");
        let text = "{ \"id\":\"appr-2\", \"path\" : \"/tmp/was/a\", \"key\":\"<secret:1**>\", \"n\": 1.50 }";
        let live = "{ \"id\":\"appr-2\", \"path\" : \"/live/a\", \"key\":\"a b\", \"n\": 1.50 }";
        assert_eq!(String::from_utf8(values.payload(text.as_bytes())), Ok(live.to_owned()));
    }

    #[test]
    fn an_unknown_value_is_sent_as_its_placeholder_and_reported() {
        let mut values = values();
        assert_eq!(values.text("<secret:2**>"), "<secret:2**>");
        assert_eq!(values.unknown(), &BTreeSet::from([2]));
    }

    #[test]
    fn times_and_durations_are_no_difference_but_texts_and_types_are() {
        let mut values = values();
        let recorded = json!({"at": "2026-01-02T03:04:05Z", "uptime_seconds": 5, "status": "idle"});
        let live = json!({"at": "2026-02-02T03:04:05Z", "uptime_seconds": 7, "status": "idle"});
        assert_eq!(values.difference(&recorded, &live), None);
        let live = json!({"at": "2026-03-02T03:04:05Z", "uptime_seconds": 8, "status": "busy"});
        let (expected, actual) = values.difference(&recorded, &live).expect("the status differs");
        assert_eq!((&expected["status"], &actual["status"]), (&json!("idle"), &json!("busy")));
        assert_eq!(expected["at"], actual["at"], "what may differ is not shown as a difference");
        let live = json!({"at": 5, "uptime_seconds": 8, "status": "idle"});
        assert!(values.difference(&recorded, &live).is_some());
    }

    #[test]
    fn an_id_keeps_the_meaning_that_it_got_first() {
        let mut values = values();
        let recorded = json!({"session_id": ONE, "request_id": "req-1"});
        assert_eq!(values.difference(&recorded, &json!({"session_id": TWO, "request_id": "req-7"})), None);
        assert_eq!(values.difference(&recorded, &json!({"session_id": TWO, "request_id": "req-7"})), None);
        assert!(values.difference(&recorded, &json!({"session_id": ONE, "request_id": "req-7"})).is_some());
        assert!(values.difference(&recorded, &json!({"session_id": TWO, "request_id": "req-8"})).is_some());
        assert_eq!(values.difference(&recorded, &json!({"session_id": TWO, "request_id": "req-7"})), None);
    }

    #[test]
    fn what_our_side_named_the_live_side_has_to_name_so_too() {
        let mut values = values();
        values.translation.teach(&ValueKind::Uuid, &json!(ONE), json!(ONE));
        let target = |id: &str| json!({"target": format!("/sessions/{id}/events")});
        assert_eq!(values.difference(&target(ONE), &target(ONE)), None);
        assert!(values.difference(&target(ONE), &target(TWO)).is_some());
        assert_eq!(values.target(&format!("/sessions/{ONE}")), format!("/sessions/{ONE}"));
    }

    #[test]
    fn a_constant_under_a_key_of_identity_and_a_uri_must_be_the_same() {
        let mut values = values();
        assert!(values.difference(&json!({"id": "dev"}), &json!({"id": "prod"})).is_some());
        assert!(
            values.difference(&json!({"u": "https://one.example/a"}), &json!({"u": "https://two.example/a"})).is_some()
        );
    }
}
