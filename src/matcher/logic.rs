//! Matchers that are about no type: `$any` and `$absent`, `$equals` and `$literal`, `$not`, `$one_of` and `$all`, and
//! `$capture`, which keeps a value for later.

use serde_json::{Value, json};

use super::compile::{Compiler, MatcherArgument, MatcherDefinition, pattern_schema, patterns_schema, true_schema};
use super::json::show;
use super::pattern::Checker;
use super::pattern::{Matcher, Node, PatternKind};
use super::template::is_name;

pub(super) const ANY: MatcherDefinition = MatcherDefinition {
    name: "$any",
    doc: "Anything that is there.",
    argument: true_schema,
    compile: |w, v, c| flag(w, v, c, Any),
};

pub(super) const ABSENT: MatcherDefinition = MatcherDefinition {
    name: "$absent",
    doc: "Only a key that is not there.",
    argument: true_schema,
    compile: |w, v, c| flag(w, v, c, Absent),
};

struct Any;
struct Absent;

/// Compiles a matcher whose only argument is `true`.
pub(super) fn flag(
    word: &MatcherDefinition,
    value: &Value,
    c: &mut Compiler<'_>,
    matcher: impl Matcher + 'static,
) -> Option<PatternKind> {
    match c.argument(value) {
        MatcherArgument::Value(Value::Bool(true)) => Some(PatternKind::Matcher(Box::new(matcher))),
        MatcherArgument::Value(other) => {
            c.wrong_argument(word, "only `true`", &other);
            None
        }
        MatcherArgument::Open => None,
    }
}

impl Matcher for Any {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        if actual.is_none() {
            checker.add_unexpected(1, "anything", source, actual);
        }
    }
}

impl Matcher for Absent {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        if actual.is_some() {
            checker.add_unexpected(1, "nothing to be there", source, actual);
        }
    }
}

pub(super) const EQUALS: MatcherDefinition = MatcherDefinition {
    name: "$equals",
    doc: "Exactly this value: no keys but those named, at every depth.",
    argument: || json!({}),
    compile: compile_literal,
};

pub(super) const LITERAL: MatcherDefinition = MatcherDefinition {
    name: "$literal",
    doc: "The value itself, exactly, even where it looks like a matcher.",
    argument: || json!({}),
    compile: compile_literal,
};

fn compile_literal(_: &MatcherDefinition, value: &Value, c: &mut Compiler<'_>) -> Option<PatternKind> {
    match c.argument(value) {
        MatcherArgument::Value(value) => Some(PatternKind::Exact(Box::new(Node::literal(value)))),
        MatcherArgument::Open => None,
    }
}

pub(super) const NOT: MatcherDefinition = MatcherDefinition {
    name: "$not",
    doc: "Something that is there and that the pattern does not match.",
    argument: pattern_schema,
    compile: compile_not,
};

pub(super) const ONE_OF: MatcherDefinition = MatcherDefinition {
    name: "$one_of",
    doc: "What at least one of the patterns matches.",
    argument: patterns_schema,
    compile: |w, v, c| Some(PatternKind::Matcher(Box::new(OneOf(compile_list(w, v, c)?)))),
};

pub(super) const ALL: MatcherDefinition = MatcherDefinition {
    name: "$all",
    doc: "What all of the patterns match.",
    argument: patterns_schema,
    compile: |w, v, c| Some(PatternKind::Matcher(Box::new(All(compile_list(w, v, c)?)))),
};

struct Not(Node);
struct OneOf(Vec<Node>);
struct All(Vec<Node>);

fn compile_not(_: &MatcherDefinition, value: &Value, c: &mut Compiler<'_>) -> Option<PatternKind> {
    let outer = std::mem::replace(&mut c.negated, true);
    let node = c.node(value);
    c.negated = outer;
    Some(PatternKind::Matcher(Box::new(Not(node))))
}

/// Compiles a list of patterns, one at least.
pub(super) fn compile_list(word: &MatcherDefinition, value: &Value, c: &mut Compiler<'_>) -> Option<Vec<Node>> {
    match value {
        Value::Array(items) if !items.is_empty() => {
            Some(items.iter().enumerate().map(|(i, v)| c.inside(&i.to_string(), |c| c.node(v))).collect())
        }
        other => {
            c.wrong_argument(word, "a list of one pattern or more", other);
            None
        }
    }
}

impl Matcher for Not {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let mut trial = checker.trial();
        self.0.check(actual, &mut trial);
        if actual.is_none() || trial.distance == 0 {
            checker.add_unexpected(1, &format!("anything but {}", show(&self.0.source)), source, actual);
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
                return checker.accept_trial(trial);
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
        checker.add_mismatch(trial.distance, message, source, actual);
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

pub(super) const CAPTURE: MatcherDefinition = MatcherDefinition {
    name: "$capture",
    doc: "Anything that is there, and sets the variable named; `{as: NAME, is: PATTERN}`: what the pattern matches.",
    argument: || {
        let name = json!({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_-]*$"});
        json!({"anyOf": [
            name.clone(),
            {
                "type": "object",
                "properties": {"as": name, "is": pattern_schema()},
                "required": ["as"],
                "additionalProperties": false,
            },
        ]})
    },
    compile: compile_capture,
};

struct Capture {
    name: String,
    is: Option<Node>,
}

fn compile_capture(word: &MatcherDefinition, value: &Value, c: &mut Compiler<'_>) -> Option<PatternKind> {
    if c.negated {
        c.error("nothing can be captured inside `$not`", None);
        return None;
    }
    let (name, is) = match value {
        Value::String(name) => (name, None),
        Value::Object(map) => {
            c.keys(word, map, &["as", "is"]);
            let is = map.get("is").map(|v| c.inside("is", |c| c.node(v)));
            match map.get("as") {
                Some(Value::String(name)) => (name, is),
                _ => {
                    c.error("`$capture` needs `as`, the name of a variable", None);
                    return None;
                }
            }
        }
        other => {
            c.wrong_argument(word, "the name of a variable or `{as: …, is: …}`", other);
            return None;
        }
    };
    if !is_name(name) {
        c.error(format!("`{name}` cannot name a variable: a letter or `_`, then letters, digits, `_` and `-`"), None);
        return None;
    }
    if !c.captures.contains(name) {
        c.captures.push(name.clone());
    }
    Some(PatternKind::Matcher(Box::new(Capture { name: name.clone(), is })))
}

impl Matcher for Capture {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        if let Some(is) = &self.is {
            is.check(actual, checker);
        }
        match actual {
            Some(value) => checker.capture(&self.name, value, source),
            None if self.is.is_none() => checker.add_unexpected(1, "anything", &json!({"$any": true}), actual),
            None => {}
        }
    }

    fn size(&self) -> usize {
        self.is.as_ref().map_or(1, Node::size)
    }
}
