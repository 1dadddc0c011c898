//! `$any` and `$absent`: whether something is there.

use serde_json::Value;

use super::check::Checker;
use super::compile::{Argument, Compiler};
use super::pattern::{Kind, Matcher};
use super::words::{Word, only_true};

pub(super) const ANY: Word =
    Word { name: "$any", doc: "Anything that is there.", argument: only_true, compile: |w, v, c| flag(w, v, c, Any) };

pub(super) const ABSENT: Word = Word {
    name: "$absent",
    doc: "Only a key that is not there.",
    argument: only_true,
    compile: |w, v, c| flag(w, v, c, Absent),
};

struct Any;
struct Absent;

/// Compiles a matcher whose only argument is `true`.
pub(super) fn flag(word: &Word, value: &Value, c: &mut Compiler<'_>, matcher: impl Matcher + 'static) -> Option<Kind> {
    match c.argument(value) {
        Argument::Value(Value::Bool(true)) => Some(Kind::Matcher(Box::new(matcher))),
        Argument::Value(other) => {
            c.takes(word, "only `true`", &other);
            None
        }
        Argument::Open => None,
    }
}

impl Matcher for Any {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        if actual.is_none() {
            checker.unlike(1, "anything", source, actual);
        }
    }
}

impl Matcher for Absent {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        if actual.is_some() {
            checker.unlike(1, "nothing to be there", source, actual);
        }
    }
}
