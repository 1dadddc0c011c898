//! Which names mean something at a step: variables, which a file or a step sets, connections, labels.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::diagnostic::yaml::{Entry, Kind, Node};
use crate::diagnostic::{Span, nearest};
use crate::matcher::Pattern;
use crate::matcher::template::{Piece, is_name, pieces};
use crate::scenario::language::{self, VARIABLES};

use super::{Check, fault};

/// What is known of a variable.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum VariableType {
    /// Always there.
    BuiltIn,
    /// Has a value by now.
    Value,
    /// Stands for a pattern, written in the file.
    Pattern(Value),
    /// Set in some of the outcomes of an expectation only.
    Partly,
}

#[derive(Clone, Default)]
pub(super) struct Scope {
    pub(super) vars: BTreeMap<String, VariableType>,
    /// Connections, labels and other bound names, by namespace and name.
    pub(super) names: BTreeMap<(&'static str, String), Span>,
    /// Namespaces in which a name was bound that depends on variables: then anything may be bound.
    pub(super) dynamic: BTreeSet<&'static str>,
}

impl Scope {
    /// The variables that are always there.
    pub(super) fn new() -> Self {
        let vars = VARIABLES.iter().map(|v| (v.name.to_owned(), VariableType::BuiltIn)).collect();
        Self { vars, ..Self::default() }
    }
}

impl Check<'_> {
    /// Checks the variables of a string in the file.
    pub(super) fn text(&mut self, text: &str, span: Span, in_pattern: bool) {
        match pieces(text) {
            Err(broken) => {
                // In patterns, the matcher compiler reports it.
                if !in_pattern {
                    let message = format!("`${{{broken}` is no variable: a name, `.key` or `.0` parts, and a `}}`");
                    let fault = super::fault(self.source, "scenario/bad-variable", message, span, "");
                    self.report(fault.help("write `$${` for a plain `${`"));
                }
            }
            Ok(pieces) => {
                let whole = matches!(pieces.as_slice(), [Piece::Variable(path)] if path.len() == 1);
                for piece in pieces {
                    if let Piece::Variable(path) = piece {
                        let narrow = self.narrow(span, &path.join("."));
                        self.variable(&path[0], narrow, whole && in_pattern);
                        if path[0] == language::DESCRIBED {
                            self.described_at(&path[1..].join("."), narrow);
                        }
                    }
                }
            }
        }
    }

    /// Checks the use of a variable; `as_pattern` where it may stand for one.
    pub(super) fn variable(&mut self, name: &str, span: Span, as_pattern: bool) {
        let message = match self.scope.vars.get(name) {
            Some(VariableType::BuiltIn) => {
                if let Some(need) = language::needs_of_variable(name) {
                    self.need(need);
                }
                return;
            }
            Some(VariableType::Value) => return,
            Some(VariableType::Pattern(_)) if as_pattern => return,
            Some(VariableType::Pattern(_)) => {
                let message = format!("`{name}` is a pattern, and can only stand where a whole pattern stands");
                return self.fault("scenario/misplaced-pattern", message, span, "");
            }
            Some(VariableType::Partly) => {
                format!("`{name}` is set in some outcomes only, so that it may have no value here")
            }
            None => format!("undefined variable `{name}`"),
        };
        let fault = super::fault(self.source, "scenario/undefined-variable", message, span, "");
        let near = nearest(name, self.scope.vars.keys().map(String::as_str).filter(|k| *k != name));
        self.report(match near {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.help("set it in `vars`, with `set`, or capture it with `$capture` in an earlier step"),
        });
    }

    /// What the subject is described with at a path, which it has to be.
    fn described_at(&mut self, path: &str, span: Span) {
        let known: Vec<String> = language::described(self.role).collect();
        if path.is_empty() || known.iter().any(|known| known == path) {
            self.need(format!("{}:{path}", language::DESCRIBED));
            return;
        }
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let of = format!(" that the role `{}` is described with", self.role.name);
        let fault = super::unknown_word(self.source, "scenario/undefined-variable", "key", (path, span), &known, &of);
        self.report(fault);
    }

    /// Gives a variable a value, if it may have one.
    pub(super) fn define(&mut self, name: &str, span: Span, known: VariableType) {
        let labelled = |(space, bound): &&(&'static str, String)| *space != language::CONNECTION && bound == name;
        let label = self.scope.names.keys().find(labelled).map(|(space, _)| *space);
        if let Some(namespace) = label {
            let message = format!("`{name}` names a {namespace} already, and cannot be set to anything else");
            self.fault("scenario/reserved-variable", message, span, "choose another name");
            return;
        }
        match self.scope.vars.get(name) {
            Some(VariableType::BuiltIn) => {
                let message = format!("the variable `{name}` is always there and cannot be set");
                self.fault("scenario/reserved-variable", message, span, "choose another name");
            }
            Some(VariableType::Pattern(_)) if !matches!(known, VariableType::Pattern(_)) => {
                let message = format!("`{name}` is a pattern and cannot be set to a value");
                self.fault("scenario/reserved-variable", message, span, "choose another name");
            }
            _ => {
                self.scope.vars.insert(name.to_owned(), known);
            }
        }
    }

    /// Binds a name in a namespace. Names other than those of connections are variables too.
    pub(super) fn bind(&mut self, namespace: &'static str, name: &str, span: Span) {
        if name.contains("${") {
            self.text(name, span, false);
            self.scope.dynamic.insert(namespace);
            return;
        }
        let key = (namespace, name.to_owned());
        if namespace != language::CONNECTION && !self.scope.names.contains_key(&key) {
            self.variable_name(name, span);
            if matches!(self.scope.vars.get(name), Some(VariableType::Value | VariableType::Partly)) {
                let message = format!("`{name}` is a variable already, which this {namespace} would hide");
                self.fault("scenario/reserved-variable", message, span, "choose another name");
            }
            self.define(name, span, VariableType::Value);
        }
        self.scope.names.insert(key, span);
    }

    /// Checks that a name has been bound by an earlier step.
    pub(super) fn bound(&mut self, namespace: &'static str, name: &str, span: Span) {
        if name.contains("${") {
            return self.text(name, span, false);
        }
        if self.scope.dynamic.contains(namespace) || self.scope.names.contains_key(&(namespace, name.to_owned())) {
            return;
        }
        let names: Vec<&str> =
            self.scope.names.keys().filter(|(space, _)| *space == namespace).map(|(_, name)| name.as_str()).collect();
        let message = format!("no earlier step has a {namespace} `{name}`");
        let fault = super::fault(self.source, "scenario/unbound-name", message, span, "");
        let fault = match names.as_slice() {
            [] => fault.note(format!("no step before this one gives a {namespace} a name")),
            names => fault.note(format!("there are: {}", names.join(", "))),
        };
        let near = nearest(name, names).map(|near| format!("did you mean `{near}`?"));
        self.report(match near {
            Some(near) => fault.help(near),
            None => fault,
        });
    }

    /// The span of `${name}` inside a string, where it can be found there as it is.
    fn narrow(&self, span: Span, name: &str) -> Span {
        let written = self.source.text().get(span.start..span.end).unwrap_or_default();
        let wanted = format!("${{{name}}}");
        match written.find(&wanted) {
            Some(at) => Span { start: span.start + at, end: span.start + at + wanted.len() },
            None => span,
        }
    }
}

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
            self.shape(&crate::format::Shape::Any, &entry.value, entry.key_span);
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
        match Pattern::compile(&json, self.edition) {
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
            self.shape(&crate::format::Shape::Any, &var.value, var.key_span);
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
