//! Values of a file, checked against the shapes of a descriptor; and patterns, compiled when the file is read. Their faults
//! have a place in the file.

use serde_json::{Map, Value};

use crate::diagnostic::Span;
use crate::diagnostic::yaml::{Entry, Kind, Node};
use crate::format::{self, Field, Group, Shape, parse_duration, parse_hex};
use crate::matcher::template::{Piece, pieces, variables};
use crate::matcher::{Pattern, PatternError};
use crate::scenario::language::{CONNECTION, MAIN};

use super::scope::VariableType;
use super::{Check, fault, spot, unknown, unknown_word};

/// The longest time that a scenario may name, in seconds.
const MAX_SECONDS: u64 = 3600;

impl Check<'_> {
    /// Reports everything in which a value is not of its shape. `key` is where the value's key stands.
    pub(super) fn shape(&mut self, shape: &Shape, node: &Node, key: Span) {
        if let Kind::String(text) = &node.kind
            && text.contains("${")
            && is_scalar(shape)
        {
            return self.text(text, node.span, false);
        }
        match shape {
            Shape::Any => self.any(node, key),
            Shape::Pattern => {
                let captures = self.pattern(node, key).captures;
                for name in captures {
                    self.define(&name, spot(node, key), super::scope::VariableType::Value);
                }
            }
            Shape::Either(shapes) => self.either(shapes, node, key),
            Shape::Nullable(_) if matches!(node.kind, Kind::Null) => {}
            Shape::Nullable(shape) => self.shape(shape, node, key),
            Shape::Object(fields, group) => self.object(fields, group.as_ref(), node, key),
            Shape::OneOf(fields) => self.one_of(fields, node, key),
            Shape::Map(shape) => match &node.kind {
                Kind::Map(entries) => entries.iter().for_each(|e| self.shape(shape, &e.value, e.key_span)),
                _ => self.wrong_type(node, key, "a map"),
            },
            Shape::List(shape) => match &node.kind {
                Kind::List(items) => items.iter().for_each(|item| self.shape(shape, item, start_of(item))),
                _ => self.wrong_type(node, key, "a list"),
            },
            scalar => self.scalar(scalar, node, key),
        }
    }

    fn scalar(&mut self, shape: &Shape, node: &Node, key: Span) {
        let span = spot(node, key);
        match (shape, &node.kind) {
            (Shape::String, Kind::String(_)) | (Shape::Bool, Kind::Bool(_)) => {}
            (Shape::String, Kind::Number(_) | Kind::Bool(_)) => {
                let fault = super::wrong_type(self.source, node, key, "a string");
                let written = self.source.text().get(node.span.start..node.span.end).unwrap_or("…");
                self.report(fault.help(format!("write '{written}' in quotes")));
            }
            (Shape::Integer { min, max }, Kind::Number(n)) => match n.as_i64() {
                Some(i) if (*min..=*max).contains(&i) => {}
                _ => {
                    let message = format!("expected a whole number from {min} to {max}, got {n}");
                    self.fault("scenario/out-of-range", message, span, "");
                }
            },
            (Shape::Duration, Kind::String(text)) => {
                let _ = self.duration(text, span);
            }
            (Shape::Path, Kind::String(text)) => self.path(text, span),
            (Shape::Hex, Kind::String(text)) => {
                if let Err(reason) = parse_hex(text) {
                    self.fault("scenario/bad-hex", reason, span, "");
                }
            }
            (Shape::Binds(namespace), Kind::String(name)) => self.bind(namespace, name, span),
            (Shape::Bound(namespace), Kind::String(name)) => self.bound(namespace, name, span),
            (Shape::Choice(words) | Shape::Name(_, words) | Shape::Described(_, words), Kind::String(word)) => {
                if !words.contains(&word.as_str()) {
                    let fault = unknown_word(self.source, "scenario/unknown-value", "value", (word, span), words, "");
                    self.report(fault);
                }
            }
            (shape, _) => self.wrong_type(node, key, shape.describe()),
        }
    }

    /// A time, if it is one.
    pub(super) fn duration(&mut self, text: &str, span: Span) -> Option<std::time::Duration> {
        match parse_duration(text) {
            Ok(time) if time.as_secs() <= MAX_SECONDS => return Some(time),
            Ok(_) => self.fault("scenario/bad-duration", "an hour is the longest time there is", span, ""),
            Err(reason) => self.fault("scenario/bad-duration", reason, span, ""),
        }
        None
    }

    /// A path that stays in the scenario's own folder of the workspace.
    pub(super) fn path(&mut self, text: &str, span: Span) {
        let reason = if text.is_empty() {
            "a path cannot be empty"
        } else if text.starts_with(['/', '\\']) || is_drive(text) {
            "a path must be relative, with `/` between its parts"
        } else if text.contains('\0') {
            "a path cannot have a NUL in it"
        } else if text.split(['/', '\\']).any(|part| part == "..") {
            "a path cannot leave the workspace: `..` is not allowed"
        } else if text.split('/').any(|part| part.is_empty() || part == ".") {
            "a path cannot have empty parts or `.` in it"
        } else {
            return;
        };
        let fault = super::fault(self.source, "scenario/bad-path", reason, span, "");
        self.report(fault.help("paths are relative to the scenario's own corner of the workspace: `dir/a.txt`"));
    }

    fn any(&mut self, node: &Node, key: Span) {
        match &node.kind {
            Kind::String(text) => self.text(text, spot(node, key), false),
            Kind::List(items) => items.iter().for_each(|item| self.any(item, start_of(item))),
            Kind::Map(entries) => {
                for entry in entries {
                    self.plain_key(entry);
                    self.any(&entry.value, entry.key_span);
                }
            }
            _ => {}
        }
    }

    /// Keys are taken as they are: one that looks like it has a variable in it is a mistake.
    pub(super) fn plain_key(&mut self, entry: &Entry) {
        if entry.key.contains("${") {
            self.fault("scenario/bad-variable", "variables are not replaced in keys", entry.key_span, "");
        }
    }

    fn object(&mut self, fields: &[Field], group: Option<&Group>, node: &Node, key: Span) {
        let Kind::Map(entries) = &node.kind else {
            return self.wrong_type(node, key, "a map (`{}` where there is nothing to say)");
        };
        let known: Vec<&str> = fields.iter().map(|f| f.name).collect();
        self.known_keys(entries, &known, "");
        for field in fields {
            match entries.iter().find(|e| e.key == field.name) {
                Some(entry) => self.shape(&field.shape, &entry.value, entry.key_span),
                None if super::is_misspelt(entries, field.name, &known) => {}
                None => self.left_out(field, key),
            }
        }
        let Some(Group { keys, required }) = group else { return };
        let present: Vec<&Entry> = entries.iter().filter(|e| keys.contains(&e.key.as_str())).collect();
        match present.as_slice() {
            [_] => {}
            [] if !required => {}
            [] => {
                let message = format!("one of {} is needed", keys.join(", "));
                self.fault("scenario/missing-key", message, key, "");
            }
            [first, second, ..] => {
                let message = format!("only one of {} can be given", keys.join(", "));
                let fault =
                    super::fault(self.source, "scenario/conflicting-keys", message, second.key_span, "and here");
                let first = self.source.place(first.key_span);
                self.report(fault.see(first, "given here"));
            }
        }
    }

    /// What follows from a key that is not given: a fault, or the connection that goes without saying.
    pub(super) fn left_out(&mut self, field: &Field, key: Span) {
        match field.shape {
            _ if field.required => {
                let message = format!("the key `{}` is missing", field.name);
                let fault = super::fault(self.source, "scenario/missing-key", message, key, "");
                self.report(fault.help(format!("`{}`: {}", field.name, field.doc)));
            }
            Shape::Binds(CONNECTION) => self.bind(CONNECTION, MAIN, key),
            Shape::Bound(CONNECTION) => self.bound(CONNECTION, MAIN, key),
            _ => {}
        }
    }

    fn one_of(&mut self, fields: &[Field], node: &Node, key: Span) {
        let known: Vec<&str> = fields.iter().map(|f| f.name).collect();
        match &node.kind {
            Kind::Map(entries) if entries.len() == 1 => {
                let entry = &entries[0];
                match fields.iter().find(|f| f.name == entry.key) {
                    Some(field) => self.shape(&field.shape, &entry.value, entry.key_span),
                    None => {
                        let fault = unknown(self.source, "scenario/unknown-key", "key", entry, &known, "");
                        self.report(fault);
                    }
                }
            }
            Kind::Map(_) => {
                let message = format!("expected exactly one of the keys {}", known.join(", "));
                self.fault("scenario/wrong-type", message, key, "");
            }
            _ => self.wrong_type(node, key, &format!("a map with one of the keys {}", known.join(", "))),
        }
    }

    fn either(&mut self, shapes: &[Shape], node: &Node, key: Span) {
        match shapes.iter().find(|shape| shape.takes(format::Kind::of_node(node))) {
            Some(shape) => self.shape(shape, node, key),
            None => {
                let words: Vec<&str> = shapes.iter().map(Shape::describe).collect();
                self.wrong_type(node, key, &words.join(" or "));
            }
        }
    }
}

/// Where an item of a list begins.
pub(super) fn start_of(node: &Node) -> Span {
    Span { start: node.span.start, end: node.span.end.max(node.span.start + 1) }
}

/// Whether this is a shape for which a string with a variable may stand.
fn is_scalar(shape: &Shape) -> bool {
    !matches!(
        shape,
        Shape::Any
            | Shape::Pattern
            | Shape::Binds(_)
            | Shape::Bound(_)
            | Shape::Object(..)
            | Shape::OneOf(_)
            | Shape::Map(_)
            | Shape::List(_)
            | Shape::Either(_)
    )
}

/// Whether a path begins with the letter of a drive, as on Windows.
fn is_drive(text: &str) -> bool {
    let below = |rest: &[u8]| cfg!(windows) || matches!(rest, [b'/' | b'\\', ..]);
    matches!(text.as_bytes(), [letter, b':', rest @ ..] if letter.is_ascii_alphabetic() && below(rest))
}

/// A pattern that was read.
#[derive(Default)]
pub(super) struct CheckedPattern {
    /// The pattern as JSON, with variables that stand for patterns replaced.
    pub(super) json: Value,
    /// The variables that it sets.
    pub(super) captures: Vec<String>,
}

/// The matchers whose argument is a value, in which a variable cannot stand for a pattern.
const VALUES: [&str; 2] = ["$equals", "$literal"];

impl Check<'_> {
    /// Reads a pattern, and reports everything that is wrong with it.
    pub(super) fn pattern(&mut self, node: &Node, key: Span) -> CheckedPattern {
        self.pattern_variables(node, key, true);
        let json = self.put_in(&node.to_json());
        match Pattern::compile(&json, self.edition) {
            Ok(pattern) => CheckedPattern { json, captures: pattern.captures().to_vec() },
            Err(errors) => {
                for error in errors {
                    self.pattern_error(node, key, &error);
                }
                CheckedPattern { json, captures: vec![] }
            }
        }
    }

    pub(super) fn pattern_error(&mut self, node: &Node, key: Span, error: &PatternError) {
        let span = locate(node, key, &error.pointer, error.on_key);
        let fault = fault(self.source, "scenario/bad-pattern", error.message.clone(), span, "");
        self.report(match &error.suggestion {
            Some(word) if word.contains(' ') => fault.help(word.clone()),
            Some(word) => fault.help(format!("did you mean `{word}`?")),
            None => fault,
        });
    }

    fn pattern_variables(&mut self, node: &Node, key: Span, as_pattern: bool) {
        match &node.kind {
            Kind::String(text) => {
                let span = spot(node, key);
                if as_pattern {
                    self.text(text, span, true);
                    self.variables_of_pattern(text, span);
                } else if pieces(text).is_ok() {
                    self.text(text, span, false);
                }
            }
            Kind::List(items) => items.iter().for_each(|i| self.pattern_variables(i, start_of(i), as_pattern)),
            Kind::Map(entries) => {
                for entry in entries {
                    self.plain_key(entry);
                    let inside = as_pattern && !VALUES.contains(&entry.key.as_str());
                    self.pattern_variables(&entry.value, entry.key_span, inside);
                }
            }
            _ => {}
        }
    }

    /// A variable that stands for a pattern may itself use variables: they must have values where it is used.
    fn variables_of_pattern(&mut self, text: &str, span: Span) {
        if let Some(VariableType::Pattern(pattern)) = only_variable(text).and_then(|name| self.scope.vars.get(&name)) {
            for name in variables(pattern) {
                self.variable(&name, span, false);
            }
        }
    }

    /// The pattern with the variables that stand for patterns put in.
    pub(super) fn put_in(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match only_variable(text).and_then(|name| self.scope.vars.get(&name)) {
                Some(VariableType::Pattern(pattern)) => pattern.clone(),
                _ => value.clone(),
            },
            Value::Array(items) => items.iter().map(|item| self.put_in(item)).collect(),
            Value::Object(map) => Value::Object(
                map.iter()
                    .map(|(key, v)| {
                        (key.clone(), if VALUES.contains(&key.as_str()) { v.clone() } else { self.put_in(v) })
                    })
                    .collect::<Map<String, Value>>(),
            ),
            plain => plain.clone(),
        }
    }
}

/// The name, where a string is nothing but one variable without parts.
fn only_variable(text: &str) -> Option<String> {
    match pieces(text).ok()?.as_slice() {
        [Piece::Variable(path)] if path.len() == 1 => Some(path[0].clone()),
        _ => None,
    }
}

/// Where a JSON pointer leads in a tree, as far as it does.
fn locate(node: &Node, key: Span, pointer: &str, on_key: bool) -> Span {
    let (mut node, mut key) = (node, key);
    let mut reached = true;
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        let next = match &node.kind {
            Kind::Map(_) => node.get(&part).map(|entry| (&entry.value, entry.key_span)),
            Kind::List(items) => part.parse().ok().and_then(|i: usize| items.get(i)).map(|n| (n, start_of(n))),
            _ => None,
        };
        match next {
            Some((value, span)) => (node, key) = (value, span),
            None => {
                reached = false;
                break;
            }
        }
    }
    if on_key && reached { key } else { spot(node, key) }
}
