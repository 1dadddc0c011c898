//! Matchers of what is inside a string, list or object: `$contains`, `$any_order`, `$unordered`, `$each` and
//! `$somewhere`.

use serde_json::{Value, json};

use super::compile::{Compiler, MatcherArgument, MatcherDefinition, pattern_schema, patterns_schema};
use super::json::{equal, show, unordered_key};
use super::logic::{compile_list, located};
use super::pattern::Checker;
use super::pattern::{Matcher, Node, PatternKind};

pub(super) const CONTAINS: MatcherDefinition = MatcherDefinition {
    name: "$contains",
    doc: "A string with this text in it; a list with such an item. With a list of patterns: each of them somewhere in it.",
    argument: || json!({"anyOf": [pattern_schema(), {"type": "array", "minItems": 1, "items": pattern_schema()}]}),
    compile: compile_contains,
};

struct Contains(Vec<Node>);

fn compile_contains(word: &MatcherDefinition, value: &Value, c: &mut Compiler<'_>) -> Option<PatternKind> {
    let nodes = if value.is_array() { compile_list(word, value, c)? } else { vec![c.node(value)] };
    Some(PatternKind::Matcher(Box::new(Contains(nodes))))
}

impl Matcher for Contains {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        match actual {
            Some(Value::String(text)) => {
                for node in &self.0 {
                    match node.plain() {
                        Some(Value::String(wanted)) if text.contains(wanted.as_str()) => {}
                        Some(wanted @ Value::String(_)) => {
                            checker.add_unexpected(1, &format!("a text with {} in it", show(wanted)), source, actual);
                        }
                        _ => checker.add_unexpected(
                            1,
                            &format!("a list with {} in it", show(&node.source)),
                            source,
                            actual,
                        ),
                    }
                }
            }
            Some(Value::Array(items)) => {
                for node in &self.0 {
                    check_contains_item(node, items, source, actual, checker);
                }
            }
            _ => {
                let wanted: Vec<String> = self.0.iter().map(|n| show(&n.source)).collect();
                checker.add_unexpected(
                    self.size(),
                    &format!("a text or list with {} in it", wanted.join(" and ")),
                    source,
                    actual,
                );
            }
        }
    }

    fn size(&self) -> usize {
        self.0.iter().map(Node::size).sum()
    }
}

fn check_contains_item(node: &Node, items: &[Value], source: &Value, actual: Option<&Value>, checker: &mut Checker) {
    let mut nearest: Option<Checker> = None;
    for (i, item) in items.iter().enumerate() {
        let mut trial = checker.trial();
        trial.inside(i, None, |c| node.check(Some(item), c));
        if trial.distance == 0 {
            return checker.accept_trial(trial);
        }
        if nearest.as_ref().is_none_or(|best| trial.distance < best.distance) {
            nearest = Some(trial);
        }
    }
    // Of a single item, its own mismatches are reported.
    let nearest = match nearest {
        Some(only) if items.len() == 1 => return checker.accept_trial(only),
        nearest => nearest,
    };
    let near =
        nearest.as_ref().and_then(|t| t.mismatches.first()).map(|m| format!("; nearest: {}", located(m, checker)));
    let message = format!("none of {} items is like {}{}", items.len(), show(&node.source), near.unwrap_or_default());
    checker.add_mismatch(nearest.map_or(node.size(), |t| t.distance), message, source, actual);
}

pub(super) const ANY_ORDER: MatcherDefinition = MatcherDefinition {
    name: "$any_order",
    doc: "A list with these items in any order, and no others.",
    argument: patterns_schema,
    compile: compile_any_order,
};

/// The largest number of items: finding which item belongs to which pattern takes up to the cube of it.
const MAX_ITEMS: usize = 200;

struct AnyOrder(Vec<Node>);

fn compile_any_order(word: &MatcherDefinition, value: &Value, c: &mut Compiler<'_>) -> Option<PatternKind> {
    let Value::Array(items) = value else {
        c.wrong_argument(word, "a list of patterns", value);
        return None;
    };
    if items.len() > MAX_ITEMS {
        c.error(format!("`{}` takes {MAX_ITEMS} items at most", word.name), None);
        return None;
    }
    let nodes = items.iter().enumerate().map(|(i, v)| c.inside(&i.to_string(), |c| c.node(v))).collect();
    Some(PatternKind::Matcher(Box::new(AnyOrder(nodes))))
}

impl Matcher for AnyOrder {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let Some(Value::Array(items)) = actual else {
            return checker.add_unexpected(
                self.size(),
                &format!("a list of {} items in any order", self.0.len()),
                source,
                actual,
            );
        };
        if items.len() != self.0.len() {
            let message = format!("expected a list of {} in any order, got one of {}", self.0.len(), items.len());
            checker.add_mismatch(items.len().abs_diff(self.0.len()), message, source, actual);
        }
        // A list much longer than wanted is wrong already; looking through all of it would only cost time.
        let items = &items[..items.len().min(MAX_ITEMS * 2)];
        let matches: Vec<Vec<bool>> =
            self.0.iter().map(|n| items.iter().map(|i| fits(n, i, checker)).collect()).collect();
        let owner = assign(&matches, items.len());
        for (p, node) in self.0.iter().enumerate() {
            match owner.iter().position(|o| *o == Some(p)) {
                // Once more, for what it captures.
                Some(i) => checker.inside(i, None, |c| node.check(Some(&items[i]), c)),
                None => {
                    let free = items.iter().enumerate().filter(|(i, _)| owner[*i].is_none());
                    let (message, distance) = unmatched(p, node, free, checker);
                    checker.add_mismatch(distance, message, source, actual);
                }
            }
        }
    }

    fn size(&self) -> usize {
        self.0.iter().map(Node::size).sum::<usize>().max(1)
    }
}

/// What to say of a pattern for which no item is left, and how far the nearest of the free items is from it.
fn unmatched<'v>(
    p: usize,
    node: &Node,
    free: impl Iterator<Item = (usize, &'v Value)>,
    checker: &Checker,
) -> (String, usize) {
    let nearest = free
        .map(|(i, item)| {
            let mut trial = checker.trial();
            trial.inside(i, None, |c| node.check(Some(item), c));
            trial
        })
        .min_by_key(|trial| trial.distance);
    let near =
        nearest.as_ref().and_then(|t| t.mismatches.first()).map(|m| format!("; nearest: {}", located(m, checker)));
    let message = format!("no item is left for pattern {}, {}{}", p + 1, show(&node.source), near.unwrap_or_default());
    (message, nearest.map_or(node.size(), |t| t.distance))
}

fn fits(node: &Node, item: &Value, checker: &Checker) -> bool {
    let mut trial = checker.trial();
    node.check(Some(item), &mut trial);
    trial.distance == 0
}

/// A largest assignment of patterns to items: for each item, the pattern it got.
fn assign(matches: &[Vec<bool>], items: usize) -> Vec<Option<usize>> {
    let mut owner = vec![None; items];
    for p in 0..matches.len() {
        augment(p, matches, &mut owner, &mut vec![false; items]);
    }
    owner
}

/// Finds an item for a pattern, moving other patterns to other items where that helps.
fn augment(p: usize, matches: &[Vec<bool>], owner: &mut [Option<usize>], seen: &mut [bool]) -> bool {
    for i in 0..owner.len() {
        if !matches[p][i] || std::mem::replace(&mut seen[i], true) {
            continue;
        }
        if owner[i].is_none_or(|other| augment(other, matches, owner, seen)) {
            owner[i] = Some(p);
            return true;
        }
    }
    false
}

pub(super) const UNORDERED: MatcherDefinition = MatcherDefinition {
    name: "$unordered",
    doc: "Exactly this value, apart from the order of the items of lists, at every depth.",
    argument: || json!({}),
    compile: |_, value, c| match c.argument(value) {
        MatcherArgument::Value(value) => Some(PatternKind::Matcher(Box::new(Unordered(value)))),
        MatcherArgument::Open => None,
    },
};

struct Unordered(Value);

impl Matcher for Unordered {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        match actual {
            Some(actual) => check_unordered(&self.0, actual, source, checker),
            None => checker.add_unexpected(1, &show(&self.0), source, None),
        }
    }
}

fn check_unordered(wanted: &Value, actual: &Value, source: &Value, checker: &mut Checker) {
    match (wanted, actual) {
        (Value::Object(wanted), Value::Object(map)) => {
            for (key, value) in wanted {
                checker.inside(key, None, |c| match map.get(key) {
                    Some(actual) => check_unordered(value, actual, source, c),
                    None => c.add_unexpected(1, &show(value), source, None),
                });
            }
            for (key, value) in map.iter().filter(|(key, _)| !wanted.contains_key(*key)) {
                checker.inside(key, None, |c| {
                    c.add_mismatch(1, format!("unexpected key `{key}`"), source, Some(value));
                });
            }
        }
        (Value::Array(wanted), Value::Array(items)) => {
            let mut surplus: Vec<(String, &Value)> = items.iter().map(|i| (unordered_key(i), i)).collect();
            surplus.sort_by(|a, b| a.0.cmp(&b.0));
            let mut missing = vec![];
            for value in wanted {
                match surplus.binary_search_by(|(key, _)| key.cmp(&unordered_key(value))) {
                    Ok(at) => {
                        surplus.remove(at);
                    }
                    Err(_) => missing.push(value),
                }
            }
            let mut note = |message: String| checker.add_mismatch(1, message, source, Some(actual));
            missing.iter().for_each(|value| note(format!("no item is {}", show(value))));
            surplus.iter().for_each(|(_, value)| note(format!("unexpected item {}", show(value))));
        }
        _ if equal(wanted, actual) => {}
        _ => checker.add_unexpected(1, &show(wanted), source, Some(actual)),
    }
}

pub(super) const EACH: MatcherDefinition = MatcherDefinition {
    name: "$each",
    doc: "A list whose every item matches the pattern; an empty list does.",
    argument: pattern_schema,
    compile: |_, value, c| Some(PatternKind::Matcher(Box::new(Each(c.node(value))))),
};

struct Each(Node);

impl Matcher for Each {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let Some(Value::Array(items)) = actual else {
            return checker.add_unexpected(self.0.size(), "a list", source, actual);
        };
        for (i, item) in items.iter().enumerate() {
            checker.inside(i, None, |c| self.0.check(Some(item), c));
        }
    }
}

pub(super) const SOMEWHERE: MatcherDefinition = MatcherDefinition {
    name: "$somewhere",
    doc: "A value that the pattern matches, or that has a key's value or an item inside it, however deep, that it matches.",
    argument: pattern_schema,
    compile: |_, value, c| Some(PatternKind::Matcher(Box::new(Somewhere(c.node(value))))),
};

struct Somewhere(Node);

impl Matcher for Somewhere {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let Some(actual) = actual else {
            let what = format!("something with {} somewhere in it", show(&self.0.source));
            return checker.add_unexpected(self.size(), &what, source, None);
        };
        let mut search = SomewhereSearch { node: &self.0, nearest: None };
        if let Some(found) = search.visit(actual, checker.trial()) {
            return checker.accept_trial(found);
        }
        // Of a plain value every other one is equally far.
        let trial = search.nearest.as_ref().filter(|_| self.0.plain().is_none());
        let near = trial.and_then(|t| t.mismatches.first()).map(|m| format!("; nearest: {}", located(m, checker)));
        let near = near.unwrap_or_default();
        let message = format!("nothing like {} is anywhere in {}{near}", show(&self.0.source), show(actual));
        checker.add_mismatch(search.nearest.map_or(self.size(), |t| t.distance), message, source, Some(actual));
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}

/// Goes through a value from the outside in, each object and list before what is in it.
struct SomewhereSearch<'n> {
    node: &'n Node,
    /// What came nearest so far.
    nearest: Option<Checker>,
}

impl SomewhereSearch<'_> {
    /// Holds the value against the pattern, then what is in it; gives the first trial that found no fault. `here` is a
    /// trial at the place of the value.
    fn visit(&mut self, value: &Value, here: Checker) -> Option<Checker> {
        let mut trial = here.trial();
        self.node.check(Some(value), &mut trial);
        if trial.distance == 0 {
            return Some(trial);
        }
        if self.nearest.as_ref().is_none_or(|best| trial.distance < best.distance) {
            self.nearest = Some(trial);
        }
        match value {
            Value::Object(map) => map.iter().find_map(|(key, inner)| self.enter(key, inner, &here)),
            Value::Array(items) => items.iter().enumerate().find_map(|(i, inner)| self.enter(i, inner, &here)),
            _ => None,
        }
    }

    fn enter(&mut self, part: impl ToString, value: &Value, outer: &Checker) -> Option<Checker> {
        let mut found = None;
        outer.trial().inside(part, None, |here| found = self.visit(value, here.trial()));
        found
    }
}
