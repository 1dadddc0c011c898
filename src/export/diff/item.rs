//! Events as they are compared: [`DiffItem`], their counterparts in the other trace: [`align`], and what is different
//! in two that are counterparts: [`changes`].

use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash as _, Hasher as _};

use serde_json::{Map, Value, json};

use crate::protocol::Edition;
use crate::trace::{Direction, Event, EventKind, ValueNormaliser, exchange_number, write_event};

use super::super::TraceSurvey;
use super::super::html::DiffStatus;
use super::super::label::Labels;
use super::DiffStep;

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

    /// The same direction of whatever connection.
    pub fn of_any(self) -> Self {
        Self { conn: String::new(), ..self }
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

/// How far ahead the next common item is searched.
const AHEAD: usize = 100;

/// What becomes of two sequences: common items, and between them what is missing, extra, changed or moved. Takes time
/// for the length of the sequences and for their differences, never for both multiplied.
pub fn align(a: &[DiffItem], b: &[DiffItem]) -> Vec<DiffStep> {
    let mut steps = vec![];
    let (mut x, mut y) = (0, 0);
    while x < a.len() || y < b.len() {
        if x < a.len() && y < b.len() && a[x].text == b[y].text {
            steps.push(DiffStep { a: Some(a[x].i), b: Some(b[y].i), status: DiffStatus::Same });
            (x, y) = (x + 1, y + 1);
            continue;
        }
        let (skip_a, skip_b) = next_common(&a[x..], &b[y..]);
        align_gap(&a[x..x + skip_a], &b[y..y + skip_b], &mut steps);
        (x, y) = (x + skip_a, y + skip_b);
    }
    moved(a, b, &mut steps);
    steps
}

/// How many items of either sequence come before the next common one.
fn next_common(a: &[DiffItem], b: &[DiffItem]) -> (usize, usize) {
    let (near_a, near_b) = (a.len().min(AHEAD), b.len().min(AHEAD));
    for sum in 1..near_a + near_b {
        for skip_a in (sum + 1).saturating_sub(near_b)..near_a.min(sum + 1) {
            let skip_b = sum - skip_a;
            if a[skip_a].text == b[skip_b].text && is_continued(&a[skip_a..], &b[skip_b..]) {
                return (skip_a, skip_b);
            }
        }
    }
    // Nowhere near: what is near is all different.
    (near_a, near_b)
}

/// Whether more than one item is common, as far as there is more than one: one alone is often common by chance.
fn is_continued(a: &[DiffItem], b: &[DiffItem]) -> bool {
    match (a.get(1), b.get(1)) {
        (Some(x), Some(y)) => x.text == y.text || x.key == y.key,
        _ => true,
    }
}

/// What lies between two common items: those of the same sort have changed, others are missing or extra.
fn align_gap(a: &[DiffItem], b: &[DiffItem], steps: &mut Vec<DiffStep>) {
    let mut taken = vec![false; b.len()];
    let mut next = 0;
    for item in a {
        let found = (next..b.len()).find(|at| !taken[*at] && b[*at].key == item.key);
        if let Some(at) = found {
            for (extra, taken) in b[next..at].iter().zip(&mut taken[next..at]) {
                *taken = true;
                steps.push(DiffStep { a: None, b: Some(extra.i), status: DiffStatus::Extra });
            }
            taken[at] = true;
            next = at + 1;
            let same = b[at].text == item.text;
            let standing = if same { DiffStatus::Same } else { DiffStatus::Changed };
            steps.push(DiffStep { a: Some(item.i), b: Some(b[at].i), status: standing });
        } else {
            steps.push(DiffStep { a: Some(item.i), b: None, status: DiffStatus::Missing });
        }
    }
    for (extra, _) in b.iter().zip(taken).filter(|(_, taken)| !taken) {
        steps.push(DiffStep { a: None, b: Some(extra.i), status: DiffStatus::Extra });
    }
}

/// What is missing here and extra there is at another place.
fn moved(a: &[DiffItem], b: &[DiffItem], steps: &mut Vec<DiffStep>) {
    let texts = |items: &[DiffItem], of: &dyn Fn(&DiffStep) -> Option<u64>, steps: &[DiffStep]| -> HashMap<u64, u64> {
        let wanted: std::collections::HashSet<u64> = steps.iter().filter_map(of).collect();
        items.iter().filter(|item| wanted.contains(&item.i)).map(|item| (item.i, item.text)).collect()
    };
    let lost = texts(a, &|step| step.a.filter(|_| step.status == DiffStatus::Missing), steps);
    let new = texts(b, &|step| step.b.filter(|_| step.status == DiffStatus::Extra), steps);
    if lost.is_empty() || new.is_empty() {
        return;
    }
    let mut places: HashMap<u64, VecDeque<u64>> = HashMap::new();
    let mut numbers: Vec<(&u64, &u64)> = new.iter().collect();
    numbers.sort();
    numbers.into_iter().for_each(|(i, text)| places.entry(*text).or_default().push_back(*i));
    let mut gone = std::collections::HashSet::new();
    for step in steps.iter_mut().filter(|step| step.status == DiffStatus::Missing) {
        let text = step.a.and_then(|i| lost.get(&i));
        if let Some(i) = text.and_then(|text| places.get_mut(text)).and_then(VecDeque::pop_front) {
            (step.b, step.status) = (Some(i), DiffStatus::Moved);
            gone.insert(i);
        }
    }
    steps.retain(|step| step.status != DiffStatus::Extra || step.b.is_none_or(|i| !gone.contains(&i)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items from letters; capitals are of the same sort as their small letter.
    fn items(text: &str) -> Vec<DiffItem> {
        let item = |(i, c): (usize, char)| {
            let key = u64::from(u32::from(c.to_ascii_lowercase()));
            DiffItem { i: i as u64, text: u64::from(u32::from(c)), key }
        };
        text.chars().enumerate().map(item).collect()
    }

    fn summary(a: &str, b: &str) -> String {
        let (a_items, b_items) = (items(a), items(b));
        let letter = |text: &str, i: Option<u64>| i.map_or('.', |i| text.chars().nth(i as usize).unwrap_or('?'));
        let steps = align(&a_items, &b_items);
        let lines = steps
            .iter()
            .filter(|step| step.status != DiffStatus::Same)
            .map(|step| format!("{:?} {}{}", step.status, letter(a, step.a), letter(b, step.b)));
        lines.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn what_is_missing_extra_changed_and_moved_is_told() {
        assert_eq!(summary("abcdef", "abcdef"), "");
        assert_eq!(summary("abcdef", "abdef"), "Missing c.");
        assert_eq!(summary("abdef", "abcdef"), "Extra .c");
        assert_eq!(summary("abcdef", "abCdef"), "Changed cC");
        assert_eq!(summary("abcdef", "acdebf"), "Moved bb");
        assert_eq!(summary("", "ab"), "Extra .a, Extra .b");
        assert_eq!(summary("ab", ""), "Missing a., Missing b.");
        assert_eq!(summary("aqb", "aXyb"), "Missing q., Extra .X, Extra .y");
    }

    #[test]
    fn sequences_with_nothing_in_common_are_told_apart_in_time() {
        let many =
            |text: u64| -> Vec<DiffItem> { (0..5_000).map(|i| DiffItem { i, text: text + i, key: text }).collect() };
        let steps = align(&many(0), &many(1_000_000));
        assert_eq!(steps.iter().filter(|step| step.status == DiffStatus::Missing).count(), 5_000);
        assert_eq!(steps.iter().filter(|step| step.status == DiffStatus::Extra).count(), 5_000);
    }
}
