//! From JSON to a pattern, and the list of all matchers: [`words()`].

use serde_json::{Map, Value, json};

use crate::diagnostic::nearest;

use super::pattern::{Node, PatternKind};
use super::template::{self, TemplateError, Undefined};
use super::types::Schemas;
use super::{collections, logic, pointer_push, strings, types};

/// A matcher as the language knows it.
pub struct MatcherDefinition {
    /// The key of the matcher, with the `$`.
    pub name: &'static str,
    /// What it matches, for the editor schema and the documentation.
    pub doc: &'static str,
    /// The JSON Schema (draft-07) of its argument; `{"$ref": "#/definitions/pattern"}` stands for a pattern.
    pub argument: fn() -> Value,
    pub(super) compile: Compile,
}

/// Compiles the argument; nothing where it is wrong, which has been noted.
pub(super) type Compile = fn(&MatcherDefinition, &Value, &mut Compiler<'_>) -> Option<PatternKind>;

/// Every matcher, in the order of the documentation.
pub fn words() -> &'static [MatcherDefinition] {
    static ALL: [MatcherDefinition; 23] = [
        logic::ANY,
        logic::ABSENT,
        types::TYPE,
        strings::REGEX,
        logic::EQUALS,
        logic::NOT,
        logic::ONE_OF,
        logic::ALL,
        collections::CONTAINS,
        collections::ANY_ORDER,
        collections::UNORDERED,
        collections::EACH,
        collections::SOMEWHERE,
        types::LENGTH,
        types::RANGE,
        strings::STARTS_WITH,
        strings::ENDS_WITH,
        strings::UUID,
        strings::TIMESTAMP,
        strings::URI,
        types::SCHEMA,
        logic::CAPTURE,
        logic::LITERAL,
    ];
    &ALL
}

/// The matcher of this name, with the `$`.
pub(super) fn definition(name: &str) -> Option<&'static MatcherDefinition> {
    words().iter().find(|w| w.name == name)
}

/// The schema of a pattern.
pub(super) fn pattern_schema() -> Value {
    json!({"$ref": "#/definitions/pattern"})
}

/// The schema of a list of patterns.
pub(super) fn patterns_schema() -> Value {
    json!({"type": "array", "items": pattern_schema()})
}

/// The schema of `true`.
pub(super) fn true_schema() -> Value {
    json!({"const": true})
}

/// Something wrong with a pattern itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    /// Where in the pattern, as a JSON pointer; `$`-keys are part of it.
    pub pointer: String,
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
    /// What to write instead.
    pub suggestion: Option<String>,
    /// Whether the key at the end of the pointer is at fault, rather than its value.
    pub on_key: bool,
}

/// Patterns nested deeper than this are refused.
const MAX_DEPTH: usize = 100;

pub(super) struct Compiler<'a> {
    pub(super) schemas: &'a dyn Schemas,
    vars: Option<&'a Map<String, Value>>,
    pointer: String,
    depth: usize,
    /// Set inside of `$not`, where nothing can be captured.
    pub(super) negated: bool,
    /// The names captured.
    pub(super) captures: Vec<String>,
    errors: Vec<PatternError>,
}

/// The argument of a matcher that is no pattern.
pub(super) enum MatcherArgument {
    /// The value of the argument, variables replaced.
    Value(Value),
    /// The argument depends on variables that are still open, or is wrong; the error has been noted.
    Open,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(schemas: &'a dyn Schemas, vars: Option<&'a Map<String, Value>>) -> Self {
        Self { schemas, vars, pointer: String::new(), depth: 0, negated: false, captures: vec![], errors: vec![] }
    }

    /// The names captured, if nothing was wrong.
    pub(super) fn finish(self) -> Result<Vec<String>, Vec<PatternError>> {
        if self.errors.is_empty() { Ok(self.captures) } else { Err(self.errors) }
    }

    /// Notes an error here.
    pub(super) fn error(&mut self, message: impl Into<String>, suggestion: Option<String>) {
        let (pointer, message) = (self.pointer.clone(), message.into());
        self.errors.push(PatternError { pointer, message, suggestion, on_key: false });
    }

    /// Notes that a key here is wrong.
    fn bad_key(&mut self, key: &str, message: String, suggestion: Option<String>) {
        let mut pointer = self.pointer.clone();
        pointer_push(&mut pointer, key);
        self.errors.push(PatternError { pointer, message, suggestion, on_key: true });
    }

    /// Goes into a key or item for the duration of `f`.
    pub(super) fn inside<R>(&mut self, part: &str, f: impl FnOnce(&mut Self) -> R) -> R {
        let length = self.pointer.len();
        pointer_push(&mut self.pointer, part);
        let out = f(self);
        self.pointer.truncate(length);
        out
    }

    /// Compiles a part of a pattern.
    pub(super) fn node(&mut self, value: &Value) -> Node {
        self.depth += 1;
        let kind = if self.depth > MAX_DEPTH {
            self.error(format!("a pattern may be nested {MAX_DEPTH} deep at most"), None);
            PatternKind::Open
        } else {
            self.kind(value)
        };
        self.depth -= 1;
        match kind {
            // What a variable stands for is shown, rather than its name.
            PatternKind::Exact(inner) => Node { source: inner.source.clone(), kind: PatternKind::Exact(inner) },
            kind => Node { source: value.clone(), kind },
        }
    }

    fn kind(&mut self, value: &Value) -> PatternKind {
        match value {
            Value::Object(map) => match map.keys().find(|k| k.starts_with('$')) {
                Some(word) => self.matcher(word, map),
                None => PatternKind::Object(
                    map.iter().map(|(key, v)| (key.clone(), self.inside(key, |c| c.node(v)))).collect(),
                ),
            },
            Value::Array(items) => PatternKind::List(
                items.iter().enumerate().map(|(i, v)| self.inside(&i.to_string(), |c| c.node(v))).collect(),
            ),
            Value::String(text) if text.contains("${") => match self.argument(value) {
                MatcherArgument::Value(value) => PatternKind::Exact(Box::new(Node::literal(value))),
                MatcherArgument::Open => PatternKind::Open,
            },
            _ => PatternKind::Plain,
        }
    }

    fn matcher(&mut self, name: &str, map: &Map<String, Value>) -> PatternKind {
        if map.len() > 1 {
            let message = format!("a map with the matcher `{name}` can have no other key");
            let help = "put matchers together with `$all`, and keys that begin with `$` into `$literal`".to_owned();
            self.bad_key(name, message, Some(help));
            return PatternKind::Open;
        }
        let Some(word) = definition(name) else {
            let near = nearest(name, words().iter().map(|w| w.name)).or_else(|| {
                words().iter().map(|w| w.name).find(|w| w[1..].eq_ignore_ascii_case(name.trim_matches('$')))
            });
            self.bad_key(name, format!("unknown matcher `{name}`"), near.map(str::to_owned));
            return PatternKind::Open;
        };
        let argument = map.get(name).unwrap_or(&Value::Null);
        self.inside(name, |c| (word.compile)(word, argument, c)).unwrap_or(PatternKind::Open)
    }

    /// The argument of a matcher, variables replaced.
    pub(super) fn argument(&mut self, value: &Value) -> MatcherArgument {
        self.argument_with(value, &|text| text.to_owned())
    }

    /// As [`Self::argument`], for a string in which what is put in must be escaped.
    pub(super) fn argument_with(&mut self, value: &Value, escape: &dyn Fn(&str) -> String) -> MatcherArgument {
        let resolved = match (self.vars, value) {
            (Some(vars), Value::String(text)) => template::resolve_text(text, vars, escape),
            (Some(vars), value) => template::resolve(value, vars),
            (None, value) if template::variables(value).is_empty() => template::resolve(value, &Map::new()),
            (None, _) => return MatcherArgument::Open,
        };
        match resolved {
            Ok(value) => MatcherArgument::Value(value),
            Err(undefined) => {
                self.undefined(undefined);
                MatcherArgument::Open
            }
        }
    }

    fn undefined(&mut self, undefined: Undefined) {
        let suggestion = match undefined.fault {
            TemplateError::Malformed => Some("`$${` for a plain `${`".to_owned()),
            _ => undefined.suggestion.clone(),
        };
        let pointer = format!("{}{}", self.pointer, undefined.pointer);
        self.errors.push(PatternError { pointer, message: undefined.to_string(), suggestion, on_key: false });
    }

    /// Notes that an argument is of the wrong kind.
    pub(super) fn wrong_argument(&mut self, word: &MatcherDefinition, what: &str, got: &Value) {
        self.error(format!("`{}` takes {what}, not {}", word.name, super::show(got)), None);
    }

    /// The value under `key` of an argument that is a map; every key but `allowed` is noted as an error.
    pub(super) fn keys(&mut self, word: &MatcherDefinition, map: &Map<String, Value>, allowed: &[&str]) {
        for key in map.keys().filter(|k| !allowed.contains(&k.as_str())) {
            let near = nearest(key, allowed.iter().copied()).map(str::to_owned);
            let message = format!("`{}` has no key `{key}`: it takes {}", word.name, allowed.join(", "));
            self.bad_key(key, message, near);
        }
    }
}
