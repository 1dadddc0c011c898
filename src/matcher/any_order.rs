//! `$any_order`: a list with these items, whatever their order.

use serde_json::Value;

use super::check::Checker;
use super::compile::Compiler;
use super::logic::located;
use super::pattern::{Kind, Matcher, Node};
use super::show::show;
use super::words::{Word, patterns};

pub(super) const ANY_ORDER: Word = Word {
    name: "$any_order",
    doc: "A list with these items in any order, and no others.",
    argument: patterns,
    compile,
};

/// So many items at most: finding which item belongs to which pattern takes up to the cube of it.
const MAX_ITEMS: usize = 200;

struct AnyOrder(Vec<Node>);

fn compile(word: &Word, value: &Value, c: &mut Compiler<'_>) -> Option<Kind> {
    let Value::Array(items) = value else {
        c.takes(word, "a list of patterns", value);
        return None;
    };
    if items.len() > MAX_ITEMS {
        c.error(format!("`{}` takes {MAX_ITEMS} items at most", word.name), None);
        return None;
    }
    let nodes = items.iter().enumerate().map(|(i, v)| c.inside(&i.to_string(), |c| c.node(v))).collect();
    Some(Kind::Matcher(Box::new(AnyOrder(nodes))))
}

impl Matcher for AnyOrder {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let Some(Value::Array(items)) = actual else {
            return checker.unlike(
                self.size(),
                &format!("a list of {} items in any order", self.0.len()),
                source,
                actual,
            );
        };
        if items.len() != self.0.len() {
            let message = format!("expected a list of {} in any order, got one of {}", self.0.len(), items.len());
            checker.wrong(items.len().abs_diff(self.0.len()), message, source, actual);
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
                    checker.wrong(distance, message, source, actual);
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
