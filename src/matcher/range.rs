//! `$range`: a number within bounds.

use std::cmp::Ordering;

use serde_json::{Number, Value, json};

use super::check::Checker;
use super::compile::{Argument, Compiler};
use super::equality::compare;
use super::pattern::{Kind, Matcher};
use super::words::Word;

pub(super) const RANGE: Word = Word {
    name: "$range",
    doc: "A number within bounds, both inclusive; one of them may be left out.",
    argument: || bounds(json!({"type": ["number", "string"]})),
    compile: |w, v, c| Some(Kind::Matcher(Box::new(Range(Bounds::compile(w, v, c)?)))),
};

/// The schema of bounds.
pub(super) fn bounds(bound: Value) -> Value {
    json!({
        "type": "object",
        "properties": {"min": bound.clone(), "max": bound},
        "additionalProperties": false,
        "minProperties": 1,
    })
}

/// Bounds, both inclusive.
pub(super) struct Bounds {
    min: Option<Number>,
    max: Option<Number>,
}

impl Bounds {
    pub(super) fn compile(word: &Word, value: &Value, c: &mut Compiler<'_>) -> Option<Self> {
        let Argument::Value(value) = c.argument(value) else { return None };
        let Value::Object(map) = &value else {
            c.takes(word, "`{min: …, max: …}`", &value);
            return None;
        };
        c.keys(word, map, &["min", "max"]);
        let mut bound = |key: &str| match map.get(key) {
            Some(Value::Number(n)) => Some(n.clone()),
            Some(other) => {
                c.inside(key, |c| c.takes(word, "numbers as bounds", other));
                None
            }
            None => None,
        };
        let bounds = Self { min: bound("min"), max: bound("max") };
        if map.is_empty() {
            c.takes(word, "`min`, `max` or both", &value);
            return None;
        }
        if let (Some(min), Some(max)) = (&bounds.min, &bounds.max)
            && compare(min, max) == Some(Ordering::Greater)
        {
            c.error(format!("nothing is between {min} and {max}"), None);
        }
        Some(bounds)
    }

    pub(super) fn exactly(n: Number) -> Self {
        Self { min: Some(n.clone()), max: Some(n) }
    }

    pub(super) fn hold(&self, n: &Number) -> bool {
        let above =
            self.min.as_ref().is_none_or(|min| matches!(compare(n, min), Some(Ordering::Greater | Ordering::Equal)));
        let below =
            self.max.as_ref().is_none_or(|max| matches!(compare(n, max), Some(Ordering::Less | Ordering::Equal)));
        above && below
    }

    pub(super) fn describe(&self) -> String {
        match (&self.min, &self.max) {
            (Some(min), Some(max)) if compare(min, max) == Some(Ordering::Equal) => min.to_string(),
            (Some(min), Some(max)) => format!("{min} to {max}"),
            (Some(min), None) => format!("{min} or more"),
            (None, Some(max)) => format!("{max} or less"),
            (None, None) => "any".to_owned(),
        }
    }
}

struct Range(Bounds);

impl Matcher for Range {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        if !matches!(actual, Some(Value::Number(n)) if self.0.hold(n)) {
            checker.unlike(1, &format!("a number, {}", self.0.describe()), source, actual);
        }
    }
}
