//! Files held against a [`Shape`]: a [`Checker`] notes everything that is wrong, each fault with its place, and gives the
//! value that is read.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::diagnostic::yaml::{self, Entry, Node};
use crate::diagnostic::{Diagnostic, Source, Span, nearest};

use super::shape::VERSION;
use super::{Field, Group, Kind, Shape, parse_duration, parse_hex, shape_of};

/// A file being checked, and what is wrong with it.
#[derive(Debug)]
pub struct Checker<'a> {
    /// The text of the file.
    pub source: &'a Source,
    /// What the codes of its errors begin with, such as `subject`.
    prefix: &'static str,
    /// The faults found so far.
    pub faults: Vec<Diagnostic>,
}

/// Faults in one line, for whoever has no other place for them.
pub fn in_a_line(faults: &[Diagnostic]) -> String {
    let faults = faults.iter().map(|fault| match fault.labels.first() {
        Some(label) => format!("{} ({})", fault.message, label.text),
        None => fault.message.clone(),
    });
    faults.collect::<Vec<_>>().join("; ")
}

impl<'a> Checker<'a> {
    /// A checker for this file, whose errors have codes such as `<prefix>/type`.
    pub fn new(source: &'a Source, prefix: &'static str) -> Self {
        Self { source, prefix, faults: vec![] }
    }

    /// Notes a fault at a place. `code` is the part after the prefix.
    pub fn fault(
        &mut self,
        code: &str,
        span: Span,
        message: impl Into<String>,
        there: impl Into<String>,
    ) -> &mut Diagnostic {
        let place = self.source.place(span);
        let fault = self.fault_without_place(code, message);
        *fault = fault.clone().at(place, there);
        fault
    }

    /// Notes a fault that is not in the file, or must not be shown where it stands.
    pub fn fault_without_place(&mut self, code: &str, message: impl Into<String>) -> &mut Diagnostic {
        self.faults.push(Diagnostic::error(full_code(self.prefix, code), message));
        let last = self.faults.len() - 1;
        &mut self.faults[last]
    }

    /// Notes a word that is none of those that there are, and which of them was probably meant.
    pub fn unknown<'w>(
        &mut self,
        noun: &str,
        word: &str,
        span: Span,
        words: impl IntoIterator<Item = &'w str> + Clone,
    ) -> &mut Diagnostic {
        self.no_such_word(format!("there is no {noun} `{word}`"), word, span, words)
    }

    fn no_such_word<'w>(
        &mut self,
        message: String,
        word: &str,
        span: Span,
        words: impl IntoIterator<Item = &'w str> + Clone,
    ) -> &mut Diagnostic {
        let all = words.clone().into_iter().collect::<Vec<_>>().join(", ");
        let there = if all.is_empty() { "there is none".to_owned() } else { format!("expected one of {all}") };
        let meant = nearest(word, words).map(|word| format!("did you mean `{word}`?"));
        let fault = self.fault("unknown", span, message, there);
        fault.help.extend(meant);
        fault
    }

    fn wrong(&mut self, what: &str, node: &Node, expected: &str) -> Option<Value> {
        let scalar = matches!(node.kind, yaml::Kind::Number(_) | yaml::Kind::Bool(_));
        let quotes = if scalar && expected.starts_with("a string") { "; put it in quotes" } else { "" };
        self.fault(
            "type",
            node.span,
            format!("{what} is {}", node.kind_name()),
            format!("expected {expected}{quotes}"),
        );
        None
    }

    /// What is read as `T`, if nothing is wrong with it. `what` names it in a sentence.
    pub fn read<T: DeserializeOwned + JsonSchema + 'static>(&mut self, what: &str, node: &Node) -> Option<T> {
        let before = self.faults.len();
        let value = self.check(what, node, shape_of::<T>())?;
        if self.faults.len() > before { None } else { self.value(what, node, value) }
    }

    /// A value that was checked, as `T`.
    pub fn value<T: DeserializeOwned>(&mut self, what: &str, node: &Node, value: Value) -> Option<T> {
        match serde_json::from_value(value) {
            Ok(value) => Some(value),
            // Its shape lets no such value through.
            Err(error) => {
                self.fault("type", node.span, format!("{what} cannot be read: {error}"), "");
                None
            }
        }
    }

    /// Notes everything in which a value is not of its shape, and gives it without what is wrong in it. `what` names it
    /// in a sentence.
    pub fn check(&mut self, what: &str, node: &Node, shape: &Shape) -> Option<Value> {
        let before = self.faults.len();
        match (shape, &node.kind) {
            (Shape::Recursive(shape), _) => return self.check(what, node, &shape.get()),
            (Shape::Nullable(_), yaml::Kind::Null) => return Some(Value::Null),
            (Shape::Nullable(shape), _) if !shape.takes(Kind::of_node(node)) => {
                return self.wrong(what, node, &format!("{} or null", shape.describe()));
            }
            (Shape::Nullable(shape), _) => return self.check(what, node, shape),
            (Shape::Object(fields, group), _) => return self.object(what, node, fields, group.as_ref()),
            (Shape::OneOf(fields), _) => return self.one_of(what, node, fields),
            (Shape::Map(shape), yaml::Kind::Map(entries)) => {
                let checked = entries.iter().filter_map(|entry| {
                    Some((entry.key.clone(), self.check(&format!("`{}`", entry.key), &entry.value, shape)?))
                });
                return Some(Value::Object(checked.collect()));
            }
            (Shape::List(shape), yaml::Kind::List(items)) => return Some(self.items(what, items, shape)),
            (Shape::Command, yaml::Kind::List(items)) => return self.command(what, node, items),
            (Shape::Either(shapes), _) => return self.either(what, node, shapes),
            (Shape::Special(special), _) => {
                if let Err(why) = (special.check)(&node.to_json()) {
                    if special.noun.is_empty() {
                        return self.wrong(what, node, special.expected);
                    }
                    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                    let message = format!("{what} is no {}{why}", special.noun);
                    self.fault(special.code, node.span, message, format!("expected {}", special.expected));
                }
            }
            (Shape::Version, yaml::Kind::Number(number)) if number.as_u64() == Some(VERSION) => {}
            (Shape::Version, _) => {
                let message = "this version of the format is not known";
                self.fault("version", node.span, message, format!("expected {VERSION}"));
            }
            (Shape::Integer { min, max }, _) => self.integer(what, node, *min, *max),
            (Shape::Duration, _) if node.as_str().is_none_or(|text| parse_duration(text).is_err()) => {
                self.fault("type", node.span, format!("{what} is no time"), "expected a time such as 200ms");
            }
            (shape, yaml::Kind::String(text)) if shape.takes(Kind::String) => self.text(what, node, text, shape),
            (shape, _) if shape.takes(Kind::of_node(node)) => {}
            (Shape::Choice(words) | Shape::Name(_, words), _) => {
                self.wrong(what, node, &format!("one of {}", words.join(", ")));
            }
            (Shape::Command, _) => {
                self.wrong(what, node, "a list of the command's words, such as [a, b]");
            }
            (Shape::List(Shape::String | Shape::Text | Shape::Name(..) | Shape::Choice(_)), _) => {
                self.wrong(what, node, "a list of strings, such as [a, b]");
            }
            (shape, _) => {
                self.wrong(what, node, shape.describe());
            }
        }
        (self.faults.len() == before).then(|| node.to_json())
    }

    /// Notes what is wrong with a string, where its shape takes strings.
    fn text(&mut self, what: &str, node: &Node, text: &str, shape: &Shape) {
        match shape {
            Shape::Text if text.is_empty() => {
                self.fault("type", node.span, format!("{what} is empty"), "expected a text");
            }
            Shape::Choice(words) | Shape::Described(_, words) if !words.contains(&text) => {
                let message = format!("`{text}` is no value of {what}");
                self.no_such_word(message, text, node.span, words.iter().copied());
            }
            Shape::Name(noun, words) if !words.contains(&text) => {
                self.unknown(noun, text, node.span, words.iter().copied());
            }
            Shape::Path if leaves(text) => {
                let there = "expected a relative path with `/` between its parts, and no `..`";
                self.fault("type", node.span, format!("{what} is no path below a folder"), there);
            }
            Shape::Hex if parse_hex(text).is_err() => {
                let there = "expected pairs of 0-9 and a-f; blanks may stand between them";
                self.fault("type", node.span, "these are no hexadecimal digits", there);
            }
            Shape::Variable if text.is_empty() || !text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => {
                // It may be a key that was written down here: it is not repeated.
                let place = self.source.place(node.span);
                let message = format!("what stands at {place} is no name of an environment variable");
                let help =
                    "write the name of the variable that has the key, such as ANTHROPIC_API_KEY, and never the key";
                self.fault_without_place("type", message).help.push(help.to_owned());
            }
            _ => {}
        }
    }

    fn integer(&mut self, what: &str, node: &Node, min: i64, max: i64) {
        let number = if let yaml::Kind::Number(number) = &node.kind { number.as_i64() } else { None };
        if number.is_none_or(|number| !(min..=max).contains(&number)) {
            let range = if min == i64::MIN { String::new() } else { format!(" from {min} to {max}") };
            let there = format!("expected a whole number{range}");
            self.fault("type", node.span, format!("{what} is no such number"), there);
        }
    }

    fn items(&mut self, what: &str, items: &[Node], shape: &Shape) -> Value {
        let what = format!("an item of {what}");
        items.iter().filter_map(|item| self.check(&what, item, shape)).collect()
    }

    fn command(&mut self, what: &str, node: &Node, items: &[Node]) -> Option<Value> {
        let words = self.items(what, items, &Shape::String);
        if items.is_empty() || words[0] == "" {
            let there = "expected the program and its arguments, such as [my-editor, --headless]";
            self.fault("command", node.span, format!("{what} names no program"), there);
            return None;
        }
        Some(words)
    }

    /// Checks a map that may have these keys, of which some exclude each other. Nothing where one is not there that has to be.
    pub fn object(&mut self, what: &str, node: &Node, fields: &[Field], group: Option<&Group>) -> Option<Value> {
        let names = || fields.iter().map(|field| field.name);
        let Some(entries) = node.as_map() else {
            let names = names().collect::<Vec<_>>().join(", ");
            return self.wrong(what, node, &format!("a map with keys of {names}"));
        };
        let mut checked = Map::new();
        for entry in entries {
            match fields.iter().find(|field| field.name == entry.key) {
                Some(field) => {
                    let value = self.check(&format!("`{}`", entry.key), &entry.value, &field.shape);
                    checked.extend(value.map(|value| (entry.key.clone(), value)));
                }
                None => _ = self.unknown("key", &entry.key, entry.key_span, names()),
            }
        }
        for field in fields.iter().filter(|field| field.required && node.get(field.name).is_none()) {
            match field.shape {
                Shape::Version => {
                    let there = format!("expected the key `{}: {VERSION}`", field.name);
                    self.fault("version", node.span, format!("{what} does not say its version"), there)
                }
                _ => self.fault("missing", node.span, format!("{what} has no `{}`", field.name), field.doc),
            };
        }
        if let Some(group) = group {
            self.group(what, node, entries, group.keys, if group.required { "does nothing" } else { "" });
        }
        let is_whole = fields.iter().all(|field| !field.required || checked.contains_key(field.name));
        is_whole.then_some(Value::Object(checked))
    }

    fn one_of(&mut self, what: &str, node: &Node, fields: &[Field]) -> Option<Value> {
        let keys: Vec<&str> = fields.iter().map(|field| field.name).collect();
        if node.as_map().is_none() {
            return self.wrong(what, node, &format!("a map with one of the keys {}", keys.join(", ")));
        }
        let before = self.faults.len();
        let checked = self.object(what, node, fields, None);
        if self.faults.len() == before {
            self.group(what, node, node.as_map()?, &keys, "says nothing");
        }
        checked.filter(|_| self.faults.len() == before)
    }

    /// Notes where a map has several of these keys; and where it has none, if that `leaves` something to be said.
    fn group(&mut self, what: &str, node: &Node, entries: &[Entry], keys: &[&str], leaves: &str) {
        let mut there = entries.iter().filter(|entry| keys.contains(&entry.key.as_str()));
        match (there.next(), there.next()) {
            (None, _) if !leaves.is_empty() => {
                let there = format!("expected one of {}", keys.join(", "));
                self.fault("missing", node.span, format!("{what} {leaves}"), there);
            }
            (Some(first), Some(second)) => {
                let message = format!("{what} cannot have both `{}` and `{}`", first.key, second.key);
                self.fault("both", second.key_span, message, "make two of it");
            }
            _ => {}
        }
    }

    fn either(&mut self, what: &str, node: &Node, shapes: &[Shape]) -> Option<Value> {
        let Some(taken) = shapes.iter().position(|shape| shape.takes(Kind::of_node(node))) else {
            let words: Vec<String> = shapes.iter().map(alternative).collect();
            return self.wrong(what, node, &words.join(", or "));
        };
        let before = self.faults.len();
        let checked = self.check(what, node, &shapes[taken]);
        if let (Shape::Choice(_) | Shape::OneOf(_), [fault]) = (&shapes[taken], &mut self.faults[before..])
            && let [label] = fault.labels.as_mut_slice()
            && label.place.span == node.span
        {
            // It may be meant for another alternative.
            let others = shapes.iter().enumerate().filter(|(at, _)| *at != taken);
            label.text.extend(others.map(|(_, shape)| format!(", or {}", alternative(shape))));
        }
        checked
    }
}

/// A shape as an alternative, in a few words.
fn alternative(shape: &Shape) -> String {
    match shape {
        Shape::Choice(words) => format!("one of {}", words.join(", ")),
        Shape::OneOf(fields) => {
            format!(
                "a map with one of the keys {}",
                fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ")
            )
        }
        Shape::Integer { min, max } if *min != i64::MIN => format!("a whole number from {min} to {max}"),
        shape => shape.describe().to_owned(),
    }
}

/// Whether a path does not stay below a folder, or is not written as it should be.
fn leaves(path: &str) -> bool {
    path.starts_with('/') || path.contains(['\\', '\0']) || path.split('/').any(|part| matches!(part, "" | "." | ".."))
}

/// The code of an error, kept for as long as the program runs: there are few.
fn full_code(prefix: &str, code: &str) -> &'static str {
    static CODES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let full = format!("{prefix}/{code}");
    let mut codes = CODES.lock();
    if let Some(known) = codes.get(full.as_str()) {
        return known;
    }
    let kept: &str = full.leak();
    codes.insert(kept);
    kept
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::diagnostic::{Style, render_all};
    use crate::format::schema;
    use crate::format::types::{MockCommand, OneOrMany, Version, Wait};

    /// A file of steps.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct File {
        wirecert: Version,
        steps: Vec<Step>,
        env: Option<std::collections::BTreeMap<String, Option<String>>>,
    }

    /// A step.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Step {
        when: Option<When>,
        #[serde(flatten)]
        action: Action,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum When {
        Start,
        After(Wait),
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[allow(dead_code)]
    enum Action {
        /// Does it.
        Do(OneOrMany<MockCommand>),
        /// Takes these steps.
        Steps(Vec<Step>),
    }

    fn read(text: &str) -> Result<File, String> {
        let source = Source::new("t.yaml", text);
        let root = yaml::parse(&source).unwrap();
        let mut checker = Checker::new(&source, "test");
        checker.read("the file", &root).ok_or_else(|| render_all(&checker.faults, Style::Plain))
    }

    #[test]
    fn a_type_that_contains_itself_is_checked_and_read_at_any_depth() {
        let file =
            read("wirecert: 1\nsteps: [{steps: [{when: {after: 1s}, do: {a: {}}}]}]\nenv: {A: null, B: x}").unwrap();
        let Action::Steps(inner) = &file.steps[0].action else { panic!("{file:?}") };
        assert!(matches!(inner[0].when, Some(When::After(Wait(time))) if time.as_secs() == 1));
        assert_eq!(file.env.unwrap()["A"], None);
        let schema = schema::<File>("t", "t");
        let validator = jsonschema::draft7::new(&schema).unwrap();
        assert!(validator.is_valid(&json!({"wirecert": 1, "steps": [{"steps": [{"do": [{"a": {}}]}]}]})));
        assert!(!validator.is_valid(&json!({"wirecert": 1, "steps": [{"steps": [{"do": 5}]}]})));
        assert!(!validator.is_valid(&json!({"wirecert": 1, "steps": [{}]})));
    }

    #[test]
    fn every_fault_has_its_place_what_was_expected_and_a_suggestion() {
        let drawn = read("steps:\n  - {when: strat, do: 5}\n  - {steps: [{when: {after: 5}, do: {a: {}}, steps: []}]}\n  - {wen: start}\nenv: {A: 1}")
            .unwrap_err();
        for expected in [
            "error[test/version]: the file does not say its version",
            "t.yaml:2:12",
            "expected one of start, or a map with one of the keys after",
            "did you mean `start`?",
            "`do` is a number",
            "expected an object of one key, such as {open: {path: a.txt}}, or a list",
            "`after` is no time",
            "error[test/both]: an item of `steps` cannot have both `do` and `steps`",
            "did you mean `when`?",
            "an item of `steps` does nothing",
            "expected a string or null; put it in quotes",
        ] {
            assert!(drawn.contains(expected), "{expected} in\n{drawn}");
        }
    }
}
