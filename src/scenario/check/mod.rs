//! From a YAML tree to checked plans.
//!
//! A file is checked once for each edition and case it names, since variables differ between them; a
//! fault found in several of them is told once. Checking goes on after a fault wherever what follows can be understood.

mod collects;
mod expects;
mod header;
mod patterns;
mod proves;
mod requires;
mod scope;
mod shapes;
mod steps;
mod vars;
mod workspace;

use crate::diagnostic::yaml::{Entry, Kind, Node};
use crate::diagnostic::{Diagnostic, Source, Span, nearest};
use crate::protocol::{Protocol, RequirementId, Role};

use serde_json::{Map, Value};

use scope::Scope;

pub(super) use header::plays;

/// So many faults of one file are told.
const MAX_FAULTS: usize = 200;

/// What is being checked, in one edition and case.
struct Check<'a> {
    source: &'a Source,
    protocol: &'static Protocol,
    role: &'static Role,
    /// The edition that is being checked for.
    edition: &'static str,
    /// All editions that the file names.
    editions: &'a [&'static str],
    /// Whether it has a process of its own.
    own: bool,
    scope: Scope,
    /// The variables to begin with.
    given: Map<String, Value>,
    /// What it cannot be played without.
    needs: Vec<String>,
    /// What its expectations prove.
    proved: Vec<RequirementId>,
    /// How many expectations it has.
    expectations: usize,
    /// How many `repeat` we are inside of.
    repeats: usize,
    faults: Vec<Diagnostic>,
}

impl Check<'_> {
    fn report(&mut self, fault: Diagnostic) {
        self.faults.push(fault);
    }

    /// A fault with its place.
    fn fault(&mut self, code: &'static str, message: impl Into<String>, span: Span, label: impl Into<String>) {
        let fault = fault(self.source, code, message, span, label);
        self.report(fault);
    }

    fn need(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.needs.contains(&what) {
            self.needs.push(what);
        }
    }

    /// Reports every key of a map that is not known, with the one that may be meant.
    fn known_keys(&mut self, map: &[Entry], known: &[&str], of: &str) {
        for entry in map.iter().filter(|e| !known.contains(&e.key.as_str())) {
            let fault = unknown(self.source, "scenario/unknown-key", "key", entry, known, of);
            self.report(fault);
        }
    }

    /// The entries of a map; reports anything else.
    fn map<'n>(&mut self, entry: &'n Entry, what: &str) -> Option<&'n [Entry]> {
        match &entry.value.kind {
            Kind::Map(entries) => Some(entries),
            _ => {
                self.wrong_type(&entry.value, entry.key_span, what);
                None
            }
        }
    }

    /// Reports a value of the wrong type: `expected {what}, got …`.
    fn wrong_type(&mut self, node: &Node, key: Span, what: &str) {
        let fault = wrong_type(self.source, node, key, what);
        self.report(fault);
    }
}

fn fault(
    source: &Source,
    code: &'static str,
    message: impl Into<String>,
    span: Span,
    label: impl Into<String>,
) -> Diagnostic {
    Diagnostic::error(code, message).at(source.place(span), label)
}

/// An unknown word, those that are known, and the one that may be meant.
fn unknown(source: &Source, code: &'static str, what: &str, entry: &Entry, known: &[&str], of: &str) -> Diagnostic {
    unknown_word(source, code, what, (&entry.key, entry.key_span), known, of)
}

fn unknown_word(
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

/// Whether a key that is missing is there, but misspelt: then that is told already.
fn is_misspelt(map: &[Entry], key: &str, known: &[&str]) -> bool {
    map.iter().filter(|e| !known.contains(&e.key.as_str())).any(|e| nearest(&e.key, known.iter().copied()) == Some(key))
}

fn wrong_type(source: &Source, node: &Node, key: Span, what: &str) -> Diagnostic {
    fault(source, "scenario/wrong-type", format!("expected {what}, got {}", node.kind_name()), spot(node, key), "")
}

/// Where a value is at fault: itself where it is on one line, else its key.
fn spot(node: &Node, key: Span) -> Span {
    match node.kind {
        Kind::Map(_) | Kind::List(_) | Kind::Null => key,
        _ => node.span,
    }
}
