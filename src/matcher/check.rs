//! Holding a value against a pattern, and what is found wrong.

use serde_json::{Map, Value};

use super::json::{equal, show};

/// Variables that a pattern sets.
pub type Captures = Map<String, Value>;

/// One place where a value is not as its pattern says.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Where in the value, as a JSON pointer; for a missing key, where it should have been.
    pub pointer: String,
    /// What is wrong there, in a sentence without a full stop; long values are cut.
    pub message: String,
    /// The part of the pattern that did not match.
    pub expected: Value,
    /// What was there, whole; nothing where nothing was.
    pub actual: Option<Value>,
}

/// So many mismatches are kept; a value that is wrong throughout is told from fewer.
const KEPT: usize = 100;

/// Walks a value along a pattern.
pub(super) struct Checker {
    pointer: Vec<String>,
    pub(super) exact: bool,
    /// A key that is there and may be the one that is missing.
    near: Option<String>,
    pub(super) mismatches: Vec<Mismatch>,
    /// How far the value is from the pattern: each wrong leaf counts one.
    pub(super) distance: usize,
    pub(super) captures: Captures,
    /// Where each of them was captured, as a JSON pointer.
    pub(super) captured_at: Vec<(String, String)>,
}

impl Checker {
    pub(super) fn new(exact: bool) -> Self {
        Self {
            pointer: vec![],
            exact,
            near: None,
            mismatches: vec![],
            distance: 0,
            captures: Captures::new(),
            captured_at: vec![],
        }
    }

    /// A checker at the same place that keeps what it finds to itself.
    pub(super) fn trial(&self) -> Self {
        Self {
            pointer: self.pointer.clone(),
            exact: self.exact,
            near: self.near.clone(),
            mismatches: vec![],
            distance: 0,
            captures: self.captures.clone(),
            captured_at: self.captured_at.clone(),
        }
    }

    /// Takes over what a trial found.
    pub(super) fn adopt(&mut self, trial: Self) {
        let room = KEPT.saturating_sub(self.mismatches.len());
        self.mismatches.extend(trial.mismatches.into_iter().take(room));
        self.distance += trial.distance;
        self.captures = trial.captures;
        self.captured_at = trial.captured_at;
    }

    /// Goes into a key or item for the duration of `f`.
    pub(super) fn inside(&mut self, part: impl ToString, near: Option<String>, f: impl FnOnce(&mut Self)) {
        self.pointer.push(part.to_string());
        let outer = std::mem::replace(&mut self.near, near);
        f(self);
        self.near = outer;
        self.pointer.pop();
    }

    /// The JSON pointer of where we are.
    pub(super) fn pointer(&self) -> String {
        let mut out = String::new();
        for part in &self.pointer {
            super::pointer_push(&mut out, part);
        }
        out
    }

    /// Notes a mismatch here, which weighs as much as `weight` wrong leaves.
    pub(super) fn wrong(&mut self, weight: usize, message: String, expected: &Value, actual: Option<&Value>) {
        self.wrong_at(self.pointer(), weight, message, expected, actual);
    }

    /// Notes a mismatch elsewhere.
    pub(super) fn wrong_at(
        &mut self,
        pointer: String,
        weight: usize,
        message: String,
        expected: &Value,
        actual: Option<&Value>,
    ) {
        self.distance += weight.max(1);
        if self.mismatches.len() < KEPT {
            let (expected, actual) = (expected.clone(), actual.cloned());
            self.mismatches.push(Mismatch { pointer, message, expected, actual });
        }
    }

    /// Notes that the value is not what is wanted, or is missing: `expected {what}, got …`.
    pub(super) fn unlike(&mut self, weight: usize, what: &str, expected: &Value, actual: Option<&Value>) {
        let message = match actual {
            Some(actual) => format!("expected {what}, got {}", show(actual)),
            None => self.missing(what),
        };
        self.wrong(weight, message, expected, actual);
    }

    fn missing(&self, what: &str) -> String {
        let Some(key) = self.pointer.last() else { return format!("expected {what}, got nothing") };
        let near = self.near.as_ref().map(|n| format!("; there is `{n}`")).unwrap_or_default();
        format!("missing key `{key}`: expected {what}{near}")
    }

    /// Sets a variable. A name that is already set must get an equal value.
    pub(super) fn capture(&mut self, name: &str, value: &Value, expected: &Value) {
        match self.captures.get(name) {
            Some(earlier) if !equal(earlier, value) => {
                let message =
                    format!("`{name}` was {} elsewhere in this pattern, but is {} here", show(earlier), show(value));
                self.wrong(1, message, expected, Some(value));
            }
            Some(_) => {}
            None => {
                self.captures.insert(name.to_owned(), value.clone());
                self.captured_at.push((name.to_owned(), self.pointer()));
            }
        }
    }
}
