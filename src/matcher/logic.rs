//! `$not`, `$one_of` and `$all`: patterns put together.

use serde_json::Value;

use super::check::Checker;
use super::compile::Compiler;
use super::pattern::{Kind, Matcher, Node};
use super::show::show;
use super::words::{Word, pattern, patterns};

pub(super) const NOT: Word = Word {
    name: "$not",
    doc: "Something that is there and that the pattern does not match.",
    argument: pattern,
    compile: not,
};

pub(super) const ONE_OF: Word = Word {
    name: "$one_of",
    doc: "What at least one of the patterns matches.",
    argument: patterns,
    compile: |w, v, c| Some(Kind::Matcher(Box::new(OneOf(list(w, v, c)?)))),
};

pub(super) const ALL: Word = Word {
    name: "$all",
    doc: "What all of the patterns match.",
    argument: patterns,
    compile: |w, v, c| Some(Kind::Matcher(Box::new(All(list(w, v, c)?)))),
};

struct Not(Node);
struct OneOf(Vec<Node>);
struct All(Vec<Node>);

fn not(_: &Word, value: &Value, c: &mut Compiler<'_>) -> Option<Kind> {
    let outer = std::mem::replace(&mut c.negated, true);
    let node = c.node(value);
    c.negated = outer;
    Some(Kind::Matcher(Box::new(Not(node))))
}

/// Compiles a list of patterns, one at least.
pub(super) fn list(word: &Word, value: &Value, c: &mut Compiler<'_>) -> Option<Vec<Node>> {
    match value {
        Value::Array(items) if !items.is_empty() => {
            Some(items.iter().enumerate().map(|(i, v)| c.inside(&i.to_string(), |c| c.node(v))).collect())
        }
        other => {
            c.takes(word, "a list of one pattern or more", other);
            None
        }
    }
}

impl Matcher for Not {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let mut trial = checker.trial();
        self.0.check(actual, &mut trial);
        if actual.is_none() || trial.distance == 0 {
            checker.unlike(1, &format!("anything but {}", show(&self.0.source)), source, actual);
        }
    }
}

impl Matcher for OneOf {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let mut nearest: Option<(usize, Checker)> = None;
        for (i, node) in self.0.iter().enumerate() {
            let mut trial = checker.trial();
            node.check(actual, &mut trial);
            if trial.distance == 0 {
                return checker.adopt(trial);
            }
            if nearest.as_ref().is_none_or(|(_, best)| trial.distance < best.distance) {
                nearest = Some((i, trial));
            }
        }
        let Some((i, trial)) = nearest else { return };
        let why = trial.mismatches.first().map(|m| format!(": {}", located(m, checker))).unwrap_or_default();
        let got = actual.map_or("nothing".to_owned(), show);
        let message =
            format!("none of {} alternatives matches {got}; the nearest is number {}{why}", self.0.len(), i + 1);
        checker.wrong(trial.distance, message, source, actual);
    }

    fn size(&self) -> usize {
        self.0.iter().map(Node::size).min().unwrap_or(1)
    }
}

impl Matcher for All {
    fn check(&self, _: &Value, actual: Option<&Value>, checker: &mut Checker) {
        for node in &self.0 {
            node.check(actual, checker);
        }
    }

    fn size(&self) -> usize {
        self.0.iter().map(Node::size).sum()
    }
}

/// A mismatch of a trial in words, with its place where that is deeper than where we are.
pub(super) fn located(mismatch: &super::Mismatch, checker: &Checker) -> String {
    match mismatch.pointer.strip_prefix(&checker.pointer()) {
        Some("") | None => mismatch.message.clone(),
        Some(below) => format!("at {below}, {}", mismatch.message),
    }
}
