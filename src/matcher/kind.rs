//! `$type`: the JSON type of a value.

use serde_json::{Value, json};

use super::check::Checker;
use super::compile::{Argument, Compiler};
use super::equality::whole;
use super::pattern::{Kind, Matcher};
use super::words::Word;
use crate::diagnostic::nearest;

pub(super) const TYPE: Word = Word {
    name: "$type",
    doc: "A type: `string`, `number`, `integer`, `boolean`, `object`, `array` or `null`, or one of a list of them.",
    argument: || json!({"anyOf": [{"enum": TYPES}, {"type": "array", "minItems": 1, "items": {"enum": TYPES}}]}),
    compile,
};

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

struct Type(Vec<String>);

fn compile(word: &Word, value: &Value, c: &mut Compiler<'_>) -> Option<Kind> {
    let Argument::Value(value) = c.argument(value) else { return None };
    let names = match &value {
        Value::Array(items) if !items.is_empty() => items.clone(),
        Value::String(_) => vec![value.clone()],
        other => {
            c.takes(word, "the name of a type or a list of them", other);
            return None;
        }
    };
    let mut types = vec![];
    for name in &names {
        match name.as_str() {
            Some(name) if TYPES.contains(&name) => types.push(name.to_owned()),
            Some(name) => {
                c.error(
                    format!("unknown type `{name}`: one of {}", TYPES.join(", ")),
                    nearest(name, TYPES).map(str::to_owned),
                );
            }
            None => c.takes(word, "names of types", name),
        }
    }
    (types.len() == names.len()).then(|| Kind::Matcher(Box::new(Type(types))))
}

impl Matcher for Type {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        if !actual.is_some_and(|value| self.0.iter().any(|t| is(value, t))) {
            checker.unlike(1, &format!("a value of type {}", self.0.join(" or ")), source, actual);
        }
    }
}

fn is(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(n) => name == "number" || name == "integer" && whole(n).is_some(),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}
