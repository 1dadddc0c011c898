//! Variables that a file or a step sets.

use serde_json::{Map, Value};

use crate::diagnostic::Span;
use crate::diagnostic::yaml::{Entry, Kind, Node};
use crate::matcher::Pattern;
use crate::matcher::template::is_name;

use super::scope::VariableType;
use super::{Check, fault};

impl Check<'_> {
    /// Sets the variables of a map one after the other; each may use those before it. Values that have matchers in them
    /// become patterns; the others are added to `vars`.
    pub(super) fn variables(&mut self, map: &[Entry], vars: &mut Map<String, Value>) {
        for entry in map {
            if !self.variable_name(&entry.key, entry.key_span) {
                continue;
            }
            if has_matcher(&entry.value) {
                self.pattern_variable(entry);
                vars.remove(&entry.key);
                continue;
            }
            self.shape(&crate::protocol::Shape::Any, &entry.value, entry.key_span);
            vars.insert(entry.key.clone(), entry.value.to_json());
            // What was a pattern may be given a plain value by the edition or the case.
            if matches!(self.scope.vars.get(&entry.key), Some(VariableType::Pattern(_))) {
                self.scope.vars.remove(&entry.key);
            }
            self.define(&entry.key, entry.key_span, VariableType::Value);
        }
    }

    /// A pattern is put in where it is used; its variables must have values there, not here.
    fn pattern_variable(&mut self, entry: &Entry) {
        let json = self.put_in(&entry.value.to_json());
        match Pattern::compile(&json, &self.protocol.schemas(self.edition)) {
            Ok(pattern) => {
                if let Some(name) = pattern.captures().first() {
                    let message = format!("a pattern in a variable cannot capture `{name}`");
                    let fault = fault(self.source, "scenario/misplaced-capture", message, entry.key_span, "");
                    self.report(fault.help("capture it where the pattern is used: `{$capture: {as: NAME, is: …}}`"));
                }
            }
            // Once more, for the places; without checking variables, which may be set later.
            Err(errors) => {
                for error in errors {
                    self.pattern_error(&entry.value, entry.key_span, &error);
                }
            }
        }
        self.define(&entry.key, entry.key_span, VariableType::Pattern(json));
    }

    /// `set`: all at once, so that none may use another.
    pub(super) fn set(&mut self, entry: &Entry) -> Option<Map<String, Value>> {
        let map = self.map(entry, "a map of variables")?;
        if map.is_empty() {
            self.fault("scenario/empty", "`set` sets nothing", entry.key_span, "");
        }
        for var in map {
            self.shape(&crate::protocol::Shape::Any, &var.value, var.key_span);
        }
        let mut vars = Map::new();
        for var in map {
            if self.variable_name(&var.key, var.key_span) {
                self.define(&var.key, var.key_span, VariableType::Value);
                vars.insert(var.key.clone(), var.value.to_json());
            }
        }
        Some(vars)
    }

    /// Whether this can name a variable; reports it where not.
    pub(super) fn variable_name(&mut self, name: &str, span: Span) -> bool {
        let good = is_name(name);
        if !good {
            let message = format!("`{name}` cannot name a variable");
            let fault = fault(self.source, "scenario/bad-variable", message, span, "");
            self.report(fault.note("a name is a letter or `_`, then letters, digits, `_` and `-`"));
        }
        good
    }
}

/// Whether there is a matcher anywhere in a value.
fn has_matcher(node: &Node) -> bool {
    match &node.kind {
        Kind::Map(entries) => entries.iter().any(|e| e.key.starts_with('$') || has_matcher(&e.value)),
        Kind::List(items) => items.iter().any(has_matcher),
        _ => false,
    }
}
