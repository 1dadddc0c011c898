//! `$somewhere`: the value itself, or anything inside it.

use serde_json::Value;

use super::check::Checker;
use super::logic::located;
use super::pattern::{Kind, Matcher, Node};
use super::show::show;
use super::words::{Word, pattern};

pub(super) const SOMEWHERE: Word = Word {
    name: "$somewhere",
    doc: "A value that the pattern matches, or that has a key's value or an item inside it, however deep, that it matches.",
    argument: pattern,
    compile: |_, value, c| Some(Kind::Matcher(Box::new(Somewhere(c.node(value))))),
};

struct Somewhere(Node);

impl Matcher for Somewhere {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let Some(actual) = actual else {
            let what = format!("something with {} somewhere in it", show(&self.0.source));
            return checker.unlike(self.size(), &what, source, None);
        };
        let mut search = Search { node: &self.0, nearest: None };
        if let Some(found) = search.visit(actual, checker.trial()) {
            return checker.adopt(found);
        }
        // Of a plain value every other one is equally far.
        let trial = search.nearest.as_ref().filter(|_| self.0.plain().is_none());
        let near = trial.and_then(|t| t.mismatches.first()).map(|m| format!("; nearest: {}", located(m, checker)));
        let near = near.unwrap_or_default();
        let message = format!("nothing like {} is anywhere in {}{near}", show(&self.0.source), show(actual));
        checker.wrong(search.nearest.map_or(self.size(), |t| t.distance), message, source, Some(actual));
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}

/// Goes through a value from the outside in, each object and list before what is in it.
struct Search<'n> {
    node: &'n Node,
    /// What came nearest so far.
    nearest: Option<Checker>,
}

impl Search<'_> {
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
