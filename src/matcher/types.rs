//! Matchers of types and sizes: `$type`, `$range`, `$length`, and `$schema`, a JSON Schema (draft-07).

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, ValidationError, Validator};
use parking_lot::Mutex;
use serde_json::{Number, Value, json};

use crate::diagnostic::nearest;

use super::compile::{Compiler, MatcherArgument, MatcherDefinition};
use super::json::{as_integer, compare, show};
use super::pattern::Checker;
use super::pattern::{Matcher, PatternKind};

pub(super) const TYPE: MatcherDefinition = MatcherDefinition {
    name: "$type",
    doc: "A type: `string`, `number`, `integer`, `boolean`, `object`, `array` or `null`, or one of a list of them.",
    argument: || json!({"anyOf": [{"enum": TYPES}, {"type": "array", "minItems": 1, "items": {"enum": TYPES}}]}),
    compile: compile_type,
};

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

struct Type(Vec<String>);

fn compile_type(word: &MatcherDefinition, value: &Value, c: &mut Compiler<'_>) -> Option<PatternKind> {
    let MatcherArgument::Value(value) = c.argument(value) else { return None };
    let names = match &value {
        Value::Array(items) if !items.is_empty() => items.clone(),
        Value::String(_) => vec![value.clone()],
        other => {
            c.wrong_argument(word, "the name of a type or a list of them", other);
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
            None => c.wrong_argument(word, "names of types", name),
        }
    }
    (types.len() == names.len()).then(|| PatternKind::Matcher(Box::new(Type(types))))
}

impl Matcher for Type {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        if !actual.is_some_and(|value| self.0.iter().any(|t| has_type(value, t))) {
            checker.add_unexpected(1, &format!("a value of type {}", self.0.join(" or ")), source, actual);
        }
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(n) => name == "number" || name == "integer" && as_integer(n).is_some(),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

pub(super) const RANGE: MatcherDefinition = MatcherDefinition {
    name: "$range",
    doc: "A number within bounds, both inclusive; one of them may be left out.",
    argument: || bounds(json!({"type": ["number", "string"]})),
    compile: |w, v, c| Some(PatternKind::Matcher(Box::new(Range(Bounds::compile(w, v, c)?)))),
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
    pub(super) fn compile(word: &MatcherDefinition, value: &Value, c: &mut Compiler<'_>) -> Option<Self> {
        let MatcherArgument::Value(value) = c.argument(value) else { return None };
        let Value::Object(map) = &value else {
            c.wrong_argument(word, "`{min: …, max: …}`", &value);
            return None;
        };
        c.keys(word, map, &["min", "max"]);
        let mut bound = |key: &str| match map.get(key) {
            Some(Value::Number(n)) => Some(n.clone()),
            Some(other) => {
                c.inside(key, |c| c.wrong_argument(word, "numbers as bounds", other));
                None
            }
            None => None,
        };
        let bounds = Self { min: bound("min"), max: bound("max") };
        if map.is_empty() {
            c.wrong_argument(word, "`min`, `max` or both", &value);
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

    pub(super) fn contain(&self, n: &Number) -> bool {
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
        if !matches!(actual, Some(Value::Number(n)) if self.0.contain(n)) {
            checker.add_unexpected(1, &format!("a number, {}", self.0.describe()), source, actual);
        }
    }
}

pub(super) const LENGTH: MatcherDefinition = MatcherDefinition {
    name: "$length",
    doc: "A string of so many characters (Unicode scalar values), a list of so many items or an object of so many keys; a \
          number, or bounds.",
    argument: || {
        let count = json!({"type": ["integer", "string"], "minimum": 0});
        json!({"anyOf": [count.clone(), bounds(count)]})
    },
    compile: compile_length,
};

struct Length(Bounds);

fn compile_length(word: &MatcherDefinition, value: &Value, c: &mut Compiler<'_>) -> Option<PatternKind> {
    let bounds = match c.argument(value) {
        MatcherArgument::Value(Value::Number(n)) if as_integer(&n).is_some_and(|n| n >= 0) => Bounds::exactly(n),
        MatcherArgument::Value(Value::Object(_)) => Bounds::compile(word, value, c)?,
        MatcherArgument::Value(other) => {
            c.wrong_argument(word, "a count or `{min: …, max: …}`", &other);
            return None;
        }
        MatcherArgument::Open => return None,
    };
    Some(PatternKind::Matcher(Box::new(Length(bounds))))
}

impl Matcher for Length {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let length = match actual {
            Some(Value::String(text)) => text.chars().count(),
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(map)) => map.len(),
            _ => {
                return checker.add_unexpected(
                    1,
                    &format!("something of length {}", self.0.describe()),
                    source,
                    actual,
                );
            }
        };
        if !self.0.contain(&length.into()) {
            let got = actual.map(show).unwrap_or_default();
            let message = format!("expected a length of {}, got {length}: {got}", self.0.describe());
            checker.add_mismatch(1, message, source, actual);
        }
    }
}

/// Where `$schema` finds schemas.
pub trait Schemas {
    /// The schema of this name.
    fn schema(&self, name: &str) -> Option<&'static Value>;
    /// Every name there is.
    fn names(&self) -> Vec<String>;
}

/// No schemas at all.
pub struct NoSchemas;

impl Schemas for NoSchemas {
    fn schema(&self, _: &str) -> Option<&'static Value> {
        None
    }

    fn names(&self) -> Vec<String> {
        vec![]
    }
}

pub(super) const SCHEMA: MatcherDefinition = MatcherDefinition {
    name: "$schema",
    doc: "What the edition's schema of this name allows.",
    argument: || json!({"type": "string"}),
    compile: compile_schema,
};

/// A compiled schema, and its name.
struct SchemaMatcher(String, Arc<Validator>);

/// Compiled schemas by the address of their text, which is static.
static COMPILED: LazyLock<Mutex<HashMap<usize, Arc<Validator>>>> = LazyLock::new(Mutex::default);

fn compile_schema(word: &MatcherDefinition, value: &Value, c: &mut Compiler<'_>) -> Option<PatternKind> {
    let name = match c.argument(value) {
        MatcherArgument::Value(Value::String(name)) => name,
        MatcherArgument::Value(other) => {
            c.wrong_argument(word, "the name of a schema", &other);
            return None;
        }
        MatcherArgument::Open => return None,
    };
    let Some(schema) = c.schemas.schema(&name) else {
        let names = c.schemas.names();
        let known =
            if names.is_empty() { "there are none here".to_owned() } else { format!("one of {}", names.join(", ")) };
        c.error(
            format!("unknown schema `{name}`: {known}"),
            nearest(&name, names.iter().map(String::as_str)).map(str::to_owned),
        );
        return None;
    };
    match validator(schema) {
        Ok(validator) => Some(PatternKind::Matcher(Box::new(SchemaMatcher(name, validator)))),
        Err(e) => {
            c.error(format!("the schema `{name}` is not a draft-07 schema: {e}"), None);
            None
        }
    }
}

fn validator(schema: &'static Value) -> Result<Arc<Validator>, String> {
    let mut compiled = COMPILED.lock();
    let address = std::ptr::from_ref(schema).addr();
    if let Some(validator) = compiled.get(&address) {
        return Ok(validator.clone());
    }
    let options = jsonschema::options().with_draft(Draft::Draft7).should_validate_formats(true);
    let validator = Arc::new(options.build(schema).map_err(|e| e.to_string())?);
    compiled.insert(address, validator.clone());
    Ok(validator)
}

impl Matcher for SchemaMatcher {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let Some(value) = actual else {
            return checker.add_unexpected(1, &format!("what the schema `{}` allows", self.0), source, actual);
        };
        let here = checker.pointer();
        for error in self.1.iter_errors(value) {
            leaf(&error, &mut |error| {
                let at = error.instance_path().to_string();
                let message = format!("{} (schema `{}`)", wording(error), self.0);
                checker.add_mismatch_at(format!("{here}{at}"), 1, message, source, value.pointer(&at));
            });
        }
    }
}

/// "None of the alternatives" says little: where one alternative fits the value's outside, what is wrong further inside
/// says more.
fn leaf(error: &ValidationError<'_>, out: &mut impl FnMut(&ValidationError<'_>)) {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) = error.kind() else {
        return out(error);
    };
    let here = depth(error);
    let inside = |branch: &&Vec<ValidationError<'static>>| !branch.is_empty() && branch.iter().all(|e| depth(e) > here);
    match context.iter().filter(inside).min_by_key(|branch| branch.len()) {
        Some(branch) => branch.iter().for_each(|e| leaf(e, out)),
        None => out(error),
    }
}

/// How deep in the value an error lies.
fn depth(error: &ValidationError<'_>) -> usize {
    error.instance_path().to_string().matches('/').count()
}

fn wording(error: &ValidationError<'_>) -> String {
    let text = error.to_string();
    match text.char_indices().nth(300) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
