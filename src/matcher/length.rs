//! `$length`: how long a string, list or object is.

use serde_json::{Value, json};

use super::check::Checker;
use super::compile::{Argument, Compiler};
use super::pattern::{Kind, Matcher};
use super::range::{Bounds, bounds};
use super::show::show;
use super::words::Word;

pub(super) const LENGTH: Word = Word {
    name: "$length",
    doc: "A string of so many characters (Unicode scalar values), a list of so many items or an object of so many keys; a \
          number, or bounds.",
    argument: || {
        let count = json!({"type": ["integer", "string"], "minimum": 0});
        json!({"anyOf": [count.clone(), bounds(count)]})
    },
    compile,
};

struct Length(Bounds);

fn compile(word: &Word, value: &Value, c: &mut Compiler<'_>) -> Option<Kind> {
    let bounds = match c.argument(value) {
        Argument::Value(Value::Number(n)) if n.as_u64().is_some() => Bounds::exactly(n),
        Argument::Value(Value::Object(_)) => Bounds::compile(word, value, c)?,
        Argument::Value(other) => {
            c.takes(word, "a count or `{min: …, max: …}`", &other);
            return None;
        }
        Argument::Open => return None,
    };
    Some(Kind::Matcher(Box::new(Length(bounds))))
}

impl Matcher for Length {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let length = match actual {
            Some(Value::String(text)) => text.chars().count(),
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(map)) => map.len(),
            _ => return checker.unlike(1, &format!("something of length {}", self.0.describe()), source, actual),
        };
        if !self.0.hold(&length.into()) {
            let got = actual.map(show).unwrap_or_default();
            let message = format!("expected a length of {}, got {length}: {got}", self.0.describe());
            checker.wrong(1, message, source, actual);
        }
    }
}
