//! [`Check`]: what is being checked, in one edition and case, and how its faults are reported.

use serde_json::{Map, Value};

use crate::diagnostic::yaml::{Entry, Kind, Node};
use crate::diagnostic::{Diagnostic, Source, Span, nearest};
use crate::protocol::{Edition, Protocol, RequirementId, Role};

use super::scope::Scope;

/// The largest number of faults of one file that are reported.
pub(super) const MAX_FAULTS: usize = 200;

/// What is being checked, in one edition and case.
pub(super) struct Check<'a> {
    pub(super) source: &'a Source,
    pub(super) protocol: &'static Protocol,
    pub(super) role: &'static Role,
    /// The edition that is being checked for.
    pub(super) edition: &'static dyn Edition,
    /// All editions that the file names.
    pub(super) editions: &'a [&'static str],
    /// Whether the scenario has a process of its own.
    pub(super) own_process: bool,
    pub(super) scope: Scope,
    /// The variables to begin with.
    pub(super) initial_vars: Map<String, Value>,
    /// What the scenario cannot be played without.
    pub(super) needs: Vec<String>,
    /// The requirements that the expectations prove.
    pub(super) proved: Vec<RequirementId>,
    /// How many expectations the scenario has.
    pub(super) expectations: usize,
    /// How many `repeat` we are inside of.
    pub(super) repeats: usize,
    pub(super) faults: Vec<Diagnostic>,
}

impl Check<'_> {
    pub(super) fn report(&mut self, fault: Diagnostic) {
        self.faults.push(fault);
    }

    /// A fault with its place.
    pub(super) fn fault(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) {
        let fault = fault(self.source, code, message, span, label);
        self.report(fault);
    }

    pub(super) fn need(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.needs.contains(&what) {
            self.needs.push(what);
        }
    }

    /// Reports every key of a map that is not known, with the one that may be meant.
    pub(super) fn known_keys(&mut self, map: &[Entry], known: &[&str], of: &str) {
        for entry in map.iter().filter(|e| !known.contains(&e.key.as_str())) {
            let fault = unknown(self.source, "scenario/unknown-key", "key", entry, known, of);
            self.report(fault);
        }
    }

    /// The entries of a map; reports anything else.
    pub(super) fn map<'n>(&mut self, entry: &'n Entry, what: &str) -> Option<&'n [Entry]> {
        match &entry.value.kind {
            Kind::Map(entries) => Some(entries),
            _ => {
                self.wrong_type(&entry.value, entry.key_span, what);
                None
            }
        }
    }

    /// Reports a value of the wrong type: `expected {what}, got …`.
    pub(super) fn wrong_type(&mut self, node: &Node, key: Span, what: &str) {
        let fault = wrong_type(self.source, node, key, what);
        self.report(fault);
    }
}

pub(super) fn fault(
    source: &Source,
    code: &'static str,
    message: impl Into<String>,
    span: Span,
    label: impl Into<String>,
) -> Diagnostic {
    Diagnostic::error(code, message).at(source.place(span), label)
}

/// An unknown word, those that are known, and the one that may be meant.
pub(super) fn unknown(
    source: &Source,
    code: &'static str,
    what: &str,
    entry: &Entry,
    known: &[&str],
    of: &str,
) -> Diagnostic {
    unknown_word(source, code, what, (&entry.key, entry.key_span), known, of)
}

pub(super) fn unknown_word(
    source: &Source,
    code: &'static str,
    what: &str,
    (word, span): (&str, Span),
    known: &[&str],
    of: &str,
) -> Diagnostic {
    let fault = fault(source, code, format!("unknown {what} `{word}`{of}"), span, "");
    let fault = match known {
        [] => fault,
        known => fault.note(format!("known: {}", known.join(", "))),
    };
    match nearest(word, known.iter().copied()) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None => fault,
    }
}

/// Whether a key that is missing is there, but misspelt: then that is reported already.
pub(super) fn is_misspelt(map: &[Entry], key: &str, known: &[&str]) -> bool {
    map.iter().filter(|e| !known.contains(&e.key.as_str())).any(|e| nearest(&e.key, known.iter().copied()) == Some(key))
}

pub(super) fn wrong_type(source: &Source, node: &Node, key: Span, what: &str) -> Diagnostic {
    fault(source, "scenario/wrong-type", format!("expected {what}, got {}", node.kind_name()), spot(node, key), "")
}

/// Where a value is at fault: itself where it is on one line, else its key.
pub(super) fn spot(node: &Node, key: Span) -> Span {
    match node.kind {
        Kind::Map(_) | Kind::List(_) | Kind::Null => key,
        _ => node.span,
    }
}
