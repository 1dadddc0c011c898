//! `$each`: a list whose every item matches.

use serde_json::Value;

use super::check::Checker;
use super::pattern::{Kind, Matcher, Node};
use super::words::{Word, pattern};

pub(super) const EACH: Word = Word {
    name: "$each",
    doc: "A list whose every item matches the pattern; an empty list does.",
    argument: pattern,
    compile: |_, value, c| Some(Kind::Matcher(Box::new(Each(c.node(value))))),
};

struct Each(Node);

impl Matcher for Each {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let Some(Value::Array(items)) = actual else {
            return checker.unlike(self.0.size(), "a list", source, actual);
        };
        for (i, item) in items.iter().enumerate() {
            checker.inside(i, None, |c| self.0.check(Some(item), c));
        }
    }
}
