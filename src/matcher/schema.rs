//! `$schema`: what a JSON Schema (draft-07) allows.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, ValidationError, Validator};
use serde_json::{Value, json};

use super::check::Checker;
use super::compile::{Argument, Compiler};
use super::pattern::{Kind, Matcher};
use super::words::Word;
use crate::diagnostic::nearest;

/// Where `$schema` finds schemas.
pub trait Schemas {
    /// The schema of this name.
    fn schema(&self, name: &str) -> Option<&'static Value>;
    /// Every name there is.
    fn names(&self) -> Vec<&'static str>;
}

/// No schemas at all.
pub struct NoSchemas;

impl Schemas for NoSchemas {
    fn schema(&self, _: &str) -> Option<&'static Value> {
        None
    }

    fn names(&self) -> Vec<&'static str> {
        vec![]
    }
}

pub(super) const SCHEMA: Word = Word {
    name: "$schema",
    doc: "What the edition's schema of this name allows.",
    argument: || json!({"type": "string"}),
    compile,
};

/// A compiled schema, and its name.
struct Allowed(String, Arc<Validator>);

/// Compiled schemas by the address of their text, which is static.
static COMPILED: LazyLock<Mutex<HashMap<usize, Arc<Validator>>>> = LazyLock::new(Mutex::default);

fn compile(word: &Word, value: &Value, c: &mut Compiler<'_>) -> Option<Kind> {
    let name = match c.argument(value) {
        Argument::Value(Value::String(name)) => name,
        Argument::Value(other) => {
            c.takes(word, "the name of a schema", &other);
            return None;
        }
        Argument::Open => return None,
    };
    let Some(schema) = c.schemas.schema(&name) else {
        let names = c.schemas.names();
        let known =
            if names.is_empty() { "there are none here".to_owned() } else { format!("one of {}", names.join(", ")) };
        c.error(format!("unknown schema `{name}`: {known}"), nearest(&name, names).map(str::to_owned));
        return None;
    };
    match validator(schema) {
        Ok(validator) => Some(Kind::Matcher(Box::new(Allowed(name, validator)))),
        Err(e) => {
            c.error(format!("the schema `{name}` is not a draft-07 schema: {e}"), None);
            None
        }
    }
}

fn validator(schema: &'static Value) -> Result<Arc<Validator>, String> {
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let address = std::ptr::from_ref(schema).addr();
    if let Some(validator) = compiled.get(&address) {
        return Ok(validator.clone());
    }
    let options = jsonschema::options().with_draft(Draft::Draft7).should_validate_formats(true);
    let validator = Arc::new(options.build(schema).map_err(|e| e.to_string())?);
    compiled.insert(address, validator.clone());
    Ok(validator)
}

impl Matcher for Allowed {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let Some(value) = actual else {
            return checker.unlike(1, &format!("what the schema `{}` allows", self.0), source, actual);
        };
        let here = checker.pointer();
        for error in self.1.iter_errors(value) {
            leaf(&error, &mut |error| {
                let at = error.instance_path().to_string();
                let message = format!("{} (schema `{}`)", wording(error), self.0);
                checker.wrong_at(format!("{here}{at}"), 1, message, source, value.pointer(&at));
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
