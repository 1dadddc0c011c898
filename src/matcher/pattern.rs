//! Compiled patterns, how a value is checked against one, and the mismatches that are found.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::compile::{Compiler, PatternError};
use super::json::{equal, show};
use super::types::Schemas;
use crate::diagnostic::nearest;

/// What a JSON value must look like. Cheap to clone.
#[derive(Clone)]
pub struct Pattern {
    root: Arc<Node>,
    captures: Arc<[String]>,
    exact: bool,
    exact_below: bool,
}

impl Pattern {
    /// Compiles a pattern as it is written. Variables are left open: a pattern that has any matches nothing where they
    /// stand, but everything that does not depend on them is checked.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order of the pattern.
    pub fn compile(pattern: &Value, schemas: &dyn Schemas) -> Result<Self, Vec<PatternError>> {
        Self::build(pattern, Compiler::new(schemas, None))
    }

    /// Compiles a pattern with the variables replaced. Their values are taken as they are: what looks like a matcher in
    /// them is none, and objects in them must be equal, not just have the same keys.
    ///
    /// # Errors
    /// Everything that is wrong with it, undefined variables included, in the order of the pattern.
    pub fn compile_with(
        pattern: &Value,
        schemas: &dyn Schemas,
        vars: &Map<String, Value>,
    ) -> Result<Self, Vec<PatternError>> {
        Self::build(pattern, Compiler::new(schemas, Some(vars)))
    }

    fn build(pattern: &Value, mut compiler: Compiler<'_>) -> Result<Self, Vec<PatternError>> {
        let root = compiler.node(pattern);
        let captures = compiler.finish()?;
        Ok(Self { root: Arc::new(root), captures: captures.into(), exact: false, exact_below: false })
    }

    /// The variables that the pattern may set, each once, in its order.
    pub fn captures(&self) -> &[String] {
        &self.captures
    }

    /// The same pattern, but whether objects may have keys that are not named, at every depth.
    pub fn exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }

    /// As [`Self::exact`], but the outermost object may have keys that are not named: the fields of an observation.
    pub fn exact_below(mut self, exact: bool) -> Self {
        self.exact_below = exact;
        self
    }

    /// Holds a value, or the absence of one, against the pattern. What the pattern captures is added to `captures` only
    /// where all of it matched; then earlier captures of the same name are replaced.
    ///
    /// # Errors
    /// Every mismatch (the first 100), in the order of the pattern.
    pub fn check(&self, actual: Option<&Value>, captures: &mut Captures) -> Result<(), Vec<Mismatch>> {
        let mut checker = self.run(actual);
        if checker.distance > 0 {
            return Err(checker.mismatches);
        }
        captures.append(&mut checker.captures);
        Ok(())
    }

    /// What the pattern captures of a value, whether the rest of it matches or not.
    pub fn captured(&self, actual: Option<&Value>) -> Captures {
        self.run(actual).captures
    }

    /// Where in a value the pattern captures what: names and JSON pointers.
    pub fn captured_at(&self, actual: Option<&Value>) -> Vec<(String, String)> {
        self.run(actual).captured_at
    }

    /// Whether the value matches.
    pub fn matches(&self, actual: Option<&Value>) -> bool {
        self.distance(actual) == 0
    }

    /// How far the value is from the pattern: about the number of its leaves that are wrong or missing; 0 where it
    /// matches. Of several candidates the one with the least distance is the one most likely meant.
    pub fn distance(&self, actual: Option<&Value>) -> usize {
        self.run(actual).distance
    }

    fn run(&self, actual: Option<&Value>) -> Checker {
        let mut checker = Checker::new(self.exact);
        match (&self.root.kind, actual) {
            (PatternKind::Object(entries), Some(Value::Object(map))) if self.exact_below => {
                self.root.entries(entries, map, &mut checker, true);
            }
            _ => self.root.check(actual, &mut checker),
        }
        checker
    }
}

/// What a `$`-word does.
pub(super) trait Matcher: Send + Sync {
    /// Holds a value, or its absence, against the matcher written as `source`.
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker);

    /// How many leaves it stands for.
    fn size(&self) -> usize {
        1
    }
}

/// A part of a pattern, with what it was written as.
pub(super) struct Node {
    pub(super) source: Value,
    pub(super) kind: PatternKind,
}

pub(super) enum PatternKind {
    /// This value.
    Plain,
    /// An object with these keys.
    Object(Vec<(String, Node)>),
    /// A list with these items.
    List(Vec<Node>),
    /// No keys but those named, below here.
    Exact(Box<Node>),
    /// Depends on variables that are still open.
    Open,
    /// A matcher.
    Matcher(Box<dyn Matcher>),
}

impl Node {
    /// The value itself, nothing in it being a matcher.
    pub(super) fn literal(value: Value) -> Self {
        let inner = Self::uninterpreted(&value);
        Self { source: value, kind: PatternKind::Exact(Box::new(inner)) }
    }

    fn uninterpreted(value: &Value) -> Self {
        let kind = match value {
            Value::Object(map) => {
                PatternKind::Object(map.iter().map(|(key, v)| (key.clone(), Self::uninterpreted(v))).collect())
            }
            Value::Array(items) => PatternKind::List(items.iter().map(Self::uninterpreted).collect()),
            _ => PatternKind::Plain,
        };
        Self { source: value.clone(), kind }
    }

    /// The value that this stands for, where it is a plain one.
    pub(super) fn plain(&self) -> Option<&Value> {
        match &self.kind {
            PatternKind::Plain => Some(&self.source),
            PatternKind::Exact(inner) => inner.plain(),
            _ => None,
        }
    }

    /// How many leaves the pattern has.
    pub(super) fn size(&self) -> usize {
        match &self.kind {
            PatternKind::Object(entries) => entries.iter().map(|(_, n)| n.size()).sum::<usize>().max(1),
            PatternKind::List(items) => items.iter().map(Self::size).sum::<usize>().max(1),
            PatternKind::Exact(inner) => inner.size(),
            PatternKind::Matcher(m) => m.size(),
            PatternKind::Plain | PatternKind::Open => 1,
        }
    }

    pub(super) fn check(&self, actual: Option<&Value>, checker: &mut Checker) {
        match &self.kind {
            PatternKind::Plain => {
                if !actual.is_some_and(|a| equal(&self.source, a)) {
                    self.differs(actual, checker);
                }
            }
            PatternKind::Object(entries) => match actual {
                Some(Value::Object(map)) => {
                    self.entries(entries, map, checker, checker.exact);
                    if checker.exact {
                        self.unnamed(entries, map, checker);
                    }
                }
                _ => checker.add_unexpected(self.size(), &self.describe("an object"), &self.source, actual),
            },
            PatternKind::List(items) => match actual {
                Some(Value::Array(values)) => self.list(items, values, checker),
                _ => checker.add_unexpected(self.size(), &self.describe("a list"), &self.source, actual),
            },
            PatternKind::Exact(inner) => {
                let outer = std::mem::replace(&mut checker.exact, true);
                inner.check(actual, checker);
                checker.exact = outer;
            }
            PatternKind::Open => checker.add_unexpected(
                1,
                &format!("{} (a variable without a value)", show(&self.source)),
                &self.source,
                actual,
            ),
            PatternKind::Matcher(m) => m.check(&self.source, actual, checker),
        }
    }

    fn describe(&self, kind: &str) -> String {
        let empty = matches!(&self.kind, PatternKind::Object(e) if e.is_empty())
            || matches!(&self.kind, PatternKind::List(i) if i.is_empty());
        if empty { kind.to_owned() } else { format!("{kind} like {}", show(&self.source)) }
    }

    fn differs(&self, actual: Option<&Value>, checker: &mut Checker) {
        let mut what = show(&self.source);
        if let (Value::String(wanted), Some(Value::String(got))) = (&self.source, actual) {
            what += &where_texts_differ(wanted, got);
        }
        checker.add_unexpected(1, &what, &self.source, actual);
    }

    /// Holds the keys named against those that are there; `exact` counts from below them.
    fn entries(&self, entries: &[(String, Self)], map: &Map<String, Value>, checker: &mut Checker, exact: bool) {
        let outer = std::mem::replace(&mut checker.exact, exact);
        for (key, node) in entries {
            let actual = map.get(key);
            let near = if actual.is_none() { nearest(key, others(entries, map)).map(str::to_owned) } else { None };
            checker.inside(key, near, |c| node.check(actual, c));
        }
        checker.exact = outer;
    }

    /// Notes the keys that are there and not named.
    fn unnamed(&self, entries: &[(String, Self)], map: &Map<String, Value>, checker: &mut Checker) {
        for key in others(entries, map) {
            checker.inside(key, None, |c| {
                let message = format!("unexpected key `{key}`: none but those named may be there");
                c.add_mismatch(1, message, &self.source, map.get(key));
            });
        }
    }

    fn list(&self, items: &[Self], values: &[Value], checker: &mut Checker) {
        if items.len() != values.len() {
            let message = format!("expected a list of {}, got one of {}", items.len(), values.len());
            checker.add_mismatch(
                items.len().abs_diff(values.len()),
                message,
                &self.source,
                Some(&Value::Array(values.to_vec())),
            );
        }
        for (i, (node, value)) in items.iter().zip(values).enumerate() {
            checker.inside(i, None, |c| node.check(Some(value), c));
        }
    }
}

/// Where two texts differ, as an addition to a message; nothing where that is easy to see.
pub(super) fn where_texts_differ(wanted: &str, got: &str) -> String {
    let at = wanted.chars().zip(got.chars()).take_while(|(a, b)| a == b).count();
    let (wanted_here, got_here) = (wanted.chars().nth(at), got.chars().nth(at));
    // Different characters may look alike, or not be seen at all.
    let is_plain = |c: Option<char>| c.is_none_or(|c| c.is_ascii_graphic());
    if !(is_plain(wanted_here) && is_plain(got_here)) {
        let (wanted, got) = (code_point(wanted_here), code_point(got_here));
        format!(" (the texts differ from character {}: expected {wanted}, got {got})", at + 1)
    } else if wanted.len().max(got.len()) > 60 {
        format!(" (the texts differ from character {})", at + 1)
    } else {
        String::new()
    }
}

/// A character by its number in Unicode.
fn code_point(character: Option<char>) -> String {
    character.map_or_else(|| "the end".to_owned(), |c| format!("U+{:04X}", u32::from(c)))
}

/// The keys that are there and not named.
fn others<'m>(entries: &'m [(String, Node)], map: &'m Map<String, Value>) -> impl Iterator<Item = &'m str> {
    map.keys().map(String::as_str).filter(|k| entries.iter().all(|(named, _)| named != k))
}

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

/// The largest number of mismatches that are kept; fewer are enough to see that a value is wrong throughout.
const MAX_MISMATCHES: usize = 100;

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
    /// Where each variable was captured, as a JSON pointer.
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
    pub(super) fn accept_trial(&mut self, trial: Self) {
        let room = MAX_MISMATCHES.saturating_sub(self.mismatches.len());
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
    pub(super) fn add_mismatch(&mut self, weight: usize, message: String, expected: &Value, actual: Option<&Value>) {
        self.add_mismatch_at(self.pointer(), weight, message, expected, actual);
    }

    /// Notes a mismatch elsewhere.
    pub(super) fn add_mismatch_at(
        &mut self,
        pointer: String,
        weight: usize,
        message: String,
        expected: &Value,
        actual: Option<&Value>,
    ) {
        self.distance += weight.max(1);
        if self.mismatches.len() < MAX_MISMATCHES {
            let (expected, actual) = (expected.clone(), actual.cloned());
            self.mismatches.push(Mismatch { pointer, message, expected, actual });
        }
    }

    /// Notes that the value is not what is wanted, or is missing: `expected {what}, got …`.
    pub(super) fn add_unexpected(&mut self, weight: usize, what: &str, expected: &Value, actual: Option<&Value>) {
        let message = match actual {
            Some(actual) => format!("expected {what}, got {}", show(actual)),
            None => self.missing(what),
        };
        self.add_mismatch(weight, message, expected, actual);
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
                self.add_mismatch(1, message, expected, Some(value));
            }
            Some(_) => {}
            None => {
                self.captures.insert(name.to_owned(), value.clone());
                self.captured_at.push((name.to_owned(), self.pointer()));
            }
        }
    }
}
