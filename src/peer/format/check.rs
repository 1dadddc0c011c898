//! A file checked against its table, as a whole.

use std::time::Duration;

use regex::Regex;

use crate::diagnostic::yaml::{Kind, Node};
use crate::diagnostic::{Diagnostic, Source, Span, nearest};
use crate::protocol::parse_duration;

use super::{Key, MAX_FILL, Shape, VERSION};

/// The longest that something may take.
const LONGEST: Duration = Duration::from_secs(3600);

/// A file being checked, and what is wrong with it.
pub struct Checker<'a> {
    source: &'a Source,
    /// All that is wrong so far.
    pub faults: Vec<Diagnostic>,
}

impl<'a> Checker<'a> {
    /// For this file.
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
                self.one(what, node, choice);
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
    fn one(&mut self, what: &str, node: &Node, choice: &[&str]) {
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
