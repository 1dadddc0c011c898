//! Formats of the files with what mocks give: a table says what a file may hold; files are checked against it, and the JSON
//! Schema (draft-07) for editors is made from it.

use std::time::Duration;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::diagnostic::yaml::{Kind, Node};
use crate::diagnostic::{Diagnostic, Source, Span, nearest};
use crate::format::parse_duration;

/// The version of the formats.
const VERSION: u64 = 1;

/// The largest text that is made by repetition, in bytes.
pub const MAX_FILL: usize = 64 << 20;

/// The shape of a value in a file.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// The version of the format.
    Version,
    /// Any text.
    Text,
    /// A text, or a text repeated.
    Content,
    /// A text that begins with a scheme.
    Uri,
    /// A regular expression.
    Regex,
    /// A time, or two as the bounds of one.
    Time,
    /// A time.
    Duration,
    /// A text, or a map with these keys.
    TextOr(&'static [Key]),
    /// An integer within these bounds, both inclusive.
    Number(i64, i64),
    /// An integer.
    Code,
    /// An integer from 0 on.
    Count,
    /// True or false.
    Flag,
    /// True, false or a text.
    FlagOrText,
    /// One of these words, and what they are called.
    Choice(&'static str, &'static [&'static str]),
    /// Anything.
    Any,
    /// A map whose keys are free.
    Free,
    /// A map with keys of these words, and what they are called, all of one shape.
    Each(&'static str, &'static [&'static str], &'static Shape),
    /// A list.
    List(&'static Shape),
    /// One, or a list of them.
    Several(&'static Shape),
    /// A map with these keys.
    Map(&'static [Key]),
    /// A map with these keys, and exactly one of those that are named second.
    One(&'static [Key], &'static [&'static str]),
}

/// A key of a map.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Whether it has to be there.
    pub needed: bool,
    /// The shape of the value.
    pub shape: Shape,
    /// The meaning of the key.
    pub about: &'static str,
}

/// A key that may be left out.
pub const fn key(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, needed: false, shape, about }
}

/// A key that has to be there.
pub const fn needed(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, needed: true, shape, about }
}

/// Faults in one line, for whoever has no other place for them.
pub fn in_a_line(faults: &[Diagnostic]) -> String {
    let faults = faults.iter().map(|fault| match fault.labels.first() {
        Some(label) => format!("{} ({})", fault.message, label.text),
        None => fault.message.clone(),
    });
    faults.collect::<Vec<_>>().join("; ")
}

/// The longest that something may take.
const LONGEST: Duration = Duration::from_secs(3600);

/// A file being checked, and what is wrong with it.
pub struct Checker<'a> {
    source: &'a Source,
    /// The faults found so far.
    pub faults: Vec<Diagnostic>,
}

impl<'a> Checker<'a> {
    /// A checker for this file.
    pub fn new(source: &'a Source) -> Self {
        Self { source, faults: vec![] }
    }

    /// Notes a fault at a place.
    pub fn fault(&mut self, code: &'static str, span: Span, message: String, there: &str) -> &mut Diagnostic {
        self.faults.push(Diagnostic::error(code, message).at(self.source.place(span), there));
        let last = self.faults.len() - 1;
        &mut self.faults[last]
    }

    fn wrong(&mut self, what: &str, node: &Node, expected: &str) {
        let quotes = matches!(node.kind, Kind::Number(_) | Kind::Bool(_)) && expected.starts_with("a text");
        let expected = format!("expected {expected}{}", if quotes { "; put it in quotes" } else { "" });
        self.fault("data/type", node.span, format!("{what} is {}", node.kind_name()), &expected);
    }

    fn unknown(&mut self, what: &str, word: &str, span: Span, words: &[&str]) {
        let there = format!("expected one of {}", words.join(", "));
        let meant = nearest(word, words.iter().copied()).map(|word| format!("did you mean `{word}`?"));
        self.fault("data/unknown", span, format!("there is no {what} `{word}`"), &there).help.extend(meant);
    }

    /// Notes all that is wrong with what stands somewhere. `what` names it in a sentence.
    pub fn check(&mut self, what: &str, node: &Node, shape: Shape) {
        match (shape, &node.kind) {
            (Shape::Version, Kind::Number(number)) if number.as_u64() == Some(VERSION) => {}
            (Shape::Version, _) => {
                let message = "this version of the format is not known".to_owned();
                self.fault("data/version", node.span, message, &format!("expected {VERSION}"));
            }
            (Shape::Text | Shape::Content | Shape::FlagOrText | Shape::TextOr(_), Kind::String(_))
            | (Shape::Flag | Shape::FlagOrText, Kind::Bool(_))
            | (Shape::Free, Kind::Map(_))
            | (Shape::Any, _) => {}
            (Shape::Text, _) => self.wrong(what, node, "a text"),
            (Shape::Content, Kind::Map(_)) => self.fill(what, node),
            (Shape::Content, _) => self.wrong(what, node, "a text, or a map with `text` and `times`"),
            (Shape::Uri, Kind::String(uri)) => {
                if !has_scheme(uri) {
                    let message = format!("{what} is no URI");
                    self.fault("data/uri", node.span, message, "expected a scheme at the beginning, such as `https:`");
                }
            }
            (Shape::Uri, _) => self.wrong(what, node, "a text that is a URI"),
            (Shape::Regex, Kind::String(text)) => {
                if let Err(error) = Regex::new(text) {
                    let why = error.to_string().lines().last().unwrap_or_default().replace("error: ", "");
                    let there = "expected an expression as the regex crate has it, without look-around";
                    let message = format!("{what} is no regular expression: {why}");
                    self.fault("data/regex", node.span, message, there);
                }
            }
            (Shape::Regex, _) => self.wrong(what, node, "a text that is a regular expression"),
            (Shape::Time, Kind::String(text)) if span(text).is_some() => {}
            (Shape::Time, _) => {
                let message = format!("{what} is no time");
                let there = "expected a time such as 200ms, or two as its bounds: 20ms..1s; an hour at most";
                self.fault("data/type", node.span, message, there);
            }
            (Shape::Duration, Kind::String(text)) if span(text).is_some_and(|(least, most)| least == most) => {}
            (Shape::Duration, _) => {
                let message = format!("{what} is no time");
                self.fault("data/type", node.span, message, "expected a time such as 200ms; an hour at most");
            }
            (Shape::TextOr(keys), Kind::Map(_)) => self.map(what, node, keys),
            (Shape::TextOr(_), _) => self.wrong(what, node, "a text, or a map"),
            (Shape::Number(least, most), _) => self.number(what, node, least, most),
            (Shape::Code, _) => self.number(what, node, i64::MIN, i64::MAX),
            (Shape::Count, _) => self.number(what, node, 0, i64::from(u32::MAX)),
            (Shape::Flag, _) => self.wrong(what, node, "true or false"),
            (Shape::FlagOrText, _) => self.wrong(what, node, "true, false, or a text"),
            (Shape::Choice(noun, words), Kind::String(word)) => {
                if !words.contains(&word.as_str()) {
                    self.unknown(noun, word, node.span, words);
                }
            }
            (Shape::Choice(noun, _), _) => self.wrong(what, node, &format!("the name of a {noun}")),
            (Shape::Free, _) => self.wrong(what, node, "a map"),
            (Shape::Each(noun, words, shape), _) => self.each(what, node, noun, words, *shape),
            (Shape::List(shape), Kind::List(items)) => {
                items.iter().for_each(|item| self.check(&format!("an item of {what}"), item, *shape));
            }
            (Shape::List(_), _) => self.wrong(what, node, "a list"),
            (Shape::Several(shape), Kind::List(items)) => {
                items.iter().for_each(|item| self.check(&format!("an item of {what}"), item, *shape));
            }
            (Shape::Several(shape), _) => self.check(what, node, *shape),
            (Shape::Map(keys), _) => self.map(what, node, keys),
            (Shape::One(keys, choice), _) => {
                self.map(what, node, keys);
                self.exactly_one(what, node, choice);
            }
        }
    }

    fn map(&mut self, what: &str, node: &Node, keys: &[Key]) {
        let names: Vec<_> = keys.iter().map(|key| key.name).collect();
        let Some(entries) = node.as_map() else {
            self.wrong(what, node, &format!("a map with keys of {}", names.join(", ")));
            return;
        };
        for entry in entries {
            match keys.iter().find(|key| key.name == entry.key) {
                Some(key) => self.check(&format!("`{}`", entry.key), &entry.value, key.shape),
                None => self.unknown("key", &entry.key, entry.key_span, &names),
            }
        }
        for key in keys.iter().filter(|key| key.needed && node.get(key.name).is_none()) {
            let message = format!("{what} has no `{}`", key.name);
            self.fault("data/missing", node.span, message, key.about);
        }
    }

    /// Notes where a map has not exactly one of these keys.
    fn exactly_one(&mut self, what: &str, node: &Node, choice: &[&str]) {
        let Some(entries) = node.as_map() else { return };
        let mut there = entries.iter().filter(|entry| choice.contains(&entry.key.as_str()));
        match (there.next(), there.next()) {
            (None, _) => {
                let there = format!("expected one of {}", choice.join(", "));
                self.fault("data/missing", node.span, format!("{what} does nothing"), &there);
            }
            (Some(first), Some(second)) => {
                let message = format!("{what} cannot have both `{}` and `{}`", first.key, second.key);
                self.fault("data/both", second.key_span, message, "make two of it");
            }
            _ => {}
        }
    }

    fn each(&mut self, what: &str, node: &Node, noun: &str, words: &[&str], shape: Shape) {
        let Some(entries) = node.as_map() else {
            self.wrong(what, node, &format!("a map with keys of {}", words.join(", ")));
            return;
        };
        for entry in entries {
            match words.contains(&entry.key.as_str()) {
                true => self.check(&format!("`{}`", entry.key), &entry.value, shape),
                false => self.unknown(noun, &entry.key, entry.key_span, words),
            }
        }
    }

    fn number(&mut self, what: &str, node: &Node, least: i64, most: i64) {
        let number = if let Kind::Number(number) = &node.kind { number.as_i64() } else { None };
        if number.is_none_or(|number| number < least || number > most) {
            let range = if least == i64::MIN { String::new() } else { format!(" from {least} to {most}") };
            let there = format!("expected a whole number{range}");
            self.fault("data/type", node.span, format!("{what} is no such number"), &there);
        }
    }

    fn fill(&mut self, what: &str, node: &Node) {
        const KEYS: &[Key] = &[
            Key { name: "text", needed: true, shape: Shape::Text, about: "expected the text that is repeated" },
            Key { name: "times", needed: true, shape: Shape::Count, about: "expected how often it is" },
        ];
        let before = self.faults.len();
        self.map(what, node, KEYS);
        let length = node.get("text").and_then(|entry| entry.value.as_str()).map_or(0, str::len);
        let times = node.get("times").and_then(|entry| entry.value.to_json().as_u64()).unwrap_or_default();
        if self.faults.len() == before && length as u64 * times > MAX_FILL as u64 {
            let message = format!("{what} is too large");
            self.fault("data/size", node.span, message, &format!("expected no more than {} MiB", MAX_FILL >> 20));
        }
    }
}

/// A time, or the bounds of one.
pub fn span(text: &str) -> Option<(Duration, Duration)> {
    let time = |text: &str| parse_duration(text).ok().filter(|time| *time <= LONGEST);
    match text.split_once("..") {
        None => time(text).map(|time| (time, time)),
        Some((least, most)) => Some((time(least)?, time(most)?)).filter(|(least, most)| least <= most),
    }
}

/// Whether it begins with a scheme (RFC 3986 section 3.1).
fn has_scheme(uri: &str) -> bool {
    uri.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    })
}

/// The schema of a file of this shape.
pub fn schema(file: Shape, title: &str, description: &str) -> Value {
    let mut schema = schema_of(file);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = title.into();
    schema["description"] = description.into();
    schema
}

fn schema_of(shape: Shape) -> Value {
    match shape {
        Shape::Version => json!({"const": VERSION}),
        Shape::Text | Shape::Regex => json!({"type": "string"}),
        Shape::Content => json!({"oneOf": [{"type": "string"}, {
            "type": "object",
            "required": ["text", "times"],
            "additionalProperties": false,
            "properties": {
                "text": {"type": "string", "description": "What is repeated."},
                "times": {"type": "integer", "minimum": 1, "description": "How often; 64 MiB in all at most."},
            },
        }]}),
        Shape::Uri => json!({"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9+.-]*:"}),
        Shape::Time => time(),
        Shape::Duration => json!({"type": "string", "pattern": "^[0-9.]+(us|ms|s|m|h)$"}),
        Shape::TextOr(keys) => json!({"oneOf": [{"type": "string"}, map(keys)]}),
        Shape::Number(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Shape::Code => json!({"type": "integer"}),
        Shape::Count => json!({"type": "integer", "minimum": 0}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::FlagOrText => json!({"type": ["boolean", "string"]}),
        Shape::Choice(_, words) => json!({"enum": words}),
        Shape::Any => json!({}),
        Shape::Free => json!({"type": "object"}),
        Shape::Each(_, words, shape) => {
            let each: Map<String, Value> = words.iter().map(|name| ((*name).to_owned(), schema_of(*shape))).collect();
            json!({"type": "object", "additionalProperties": false, "properties": each})
        }
        Shape::List(item) => json!({"type": "array", "items": schema_of(*item)}),
        Shape::Several(item) => json!({"oneOf": [schema_of(*item), {"type": "array", "items": schema_of(*item)}]}),
        Shape::Map(keys) => map(keys),
        Shape::One(keys, choice) => {
            let mut map = map(keys);
            map["oneOf"] = choice.iter().map(|key| json!({"required": [key]})).collect();
            map
        }
    }
}

fn time() -> Value {
    json!({"type": "string", "pattern": "^[0-9.]+(us|ms|s|m|h)(\\.\\.[0-9.]+(us|ms|s|m|h))?$"})
}

fn map(keys: &[Key]) -> Value {
    let mut properties = Map::new();
    for key in keys {
        let mut property = schema_of(key.shape);
        property["description"] = key.about.into();
        properties.insert(key.name.to_owned(), property);
    }
    let needed: Vec<&str> = keys.iter().filter(|key| key.needed).map(|key| key.name).collect();
    let mut map = json!({"type": "object", "additionalProperties": false, "properties": properties});
    if !needed.is_empty() {
        map["required"] = json!(needed);
    }
    map
}
