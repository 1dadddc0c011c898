//! Patterns in files: compiled when the file is read, their faults told with their place.

use serde_json::{Map, Value};

use crate::diagnostic::Span;
use crate::diagnostic::yaml::{Kind, Node};
use crate::matcher::template::{Piece, pieces, variables};
use crate::matcher::{Pattern, PatternError};

use super::scope::VariableType;
use super::shapes::begin;
use super::{Check, fault, spot};

/// A pattern that was read.
#[derive(Default)]
pub(super) struct Read {
    /// Its JSON, variables that stand for patterns put in.
    pub(super) json: Value,
    /// The variables that it sets.
    pub(super) captures: Vec<String>,
}

/// The matchers whose argument is a value, in which a variable cannot stand for a pattern.
const VALUES: [&str; 2] = ["$equals", "$literal"];

impl Check<'_> {
    /// Reads a pattern, and reports everything that is wrong with it.
    pub(super) fn pattern(&mut self, node: &Node, key: Span) -> Read {
        self.pattern_variables(node, key, true);
        let json = self.put_in(&node.to_json());
        match Pattern::compile(&json, &self.protocol.schemas(self.edition)) {
            Ok(pattern) => Read { json, captures: pattern.captures().to_vec() },
            Err(errors) => {
                for error in errors {
                    self.pattern_error(node, key, &error);
                }
                Read { json, captures: vec![] }
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
            Kind::List(items) => items.iter().for_each(|i| self.pattern_variables(i, begin(i), as_pattern)),
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
        if let Some(VariableType::Pattern(pattern)) = whole_variable(text).and_then(|name| self.scope.vars.get(&name)) {
            for name in variables(pattern) {
                self.variable(&name, span, false);
            }
        }
    }

    /// The pattern with the variables that stand for patterns put in.
    pub(super) fn put_in(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match whole_variable(text).and_then(|name| self.scope.vars.get(&name)) {
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
fn whole_variable(text: &str) -> Option<String> {
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
            Kind::List(items) => part.parse().ok().and_then(|i: usize| items.get(i)).map(|n| (n, begin(n))),
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
