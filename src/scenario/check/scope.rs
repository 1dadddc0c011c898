//! Which names mean something at a step: variables, connections, labels.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::diagnostic::{Span, nearest};
use crate::matcher::template::{Piece, pieces};
use crate::scenario::language::{self, VARIABLES};

use super::Check;

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
                // In patterns, the matcher compiler says so.
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
        if namespace != language::CONNECTION {
            self.variable_name(name, span);
            self.define(name, span, VariableType::Value);
        }
        self.scope.names.insert((namespace, name.to_owned()), span);
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
