//! The keys of a subject that only its role has: [`Described`].

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use crate::diagnostic::yaml::{Entry, Kind, Node};
use crate::diagnostic::{Diagnostic, Span};
use crate::format::{Field, Shape, parse_duration};
use crate::protocol::{Role, protocols};

use super::reader::Reader;
use super::resolve::Environment;
use super::schema::Key;

/// The keys of a subject that its role brings along. Secrets are given as names of environment variables.
#[derive(Clone, Default, PartialEq)]
pub struct Described {
    values: Map<String, Value>,
    /// The values of these environment variables, by their names.
    secrets: BTreeMap<String, String>,
}

impl Described {
    /// These values, and those of the environment variables that are named in them.
    pub fn new(values: Map<String, Value>, secrets: BTreeMap<String, String>) -> Self {
        Self { values, secrets }
    }

    /// The complete description as JSON.
    pub fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// The value at this path, such as `prompts.tool`.
    pub fn at(&self, path: &str) -> Option<&Value> {
        let mut keys = path.split('.');
        let first = self.values.get(keys.next()?)?;
        keys.try_fold(first, |value, key| value.get(key))
    }

    /// The text at this path.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.at(path).and_then(Value::as_str)
    }

    /// The texts of the list at this path.
    pub fn texts(&self, path: &str) -> impl Iterator<Item = &str> {
        self.at(path).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// The value of the environment variable that is named at this path.
    pub fn secret(&self, path: &str) -> Option<&str> {
        self.secrets.get(self.text(path)?).map(String::as_str)
    }

    /// The values of all environment variables that are named in it: nobody may ever see them.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.values().map(String::as_str)
    }
}

impl fmt::Debug for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Described").field("values", &self.values).finish_non_exhaustive()
    }
}

/// The keys by which subjects of any role are described.
pub(super) fn keys() -> impl Iterator<Item = Key> {
    let fields = protocols().iter().flat_map(|protocol| protocol.roles).flat_map(|role| (role.described)());
    fields.map(|field| (field.name, field.doc))
}

/// Reads what a subject of this role is described with.
pub(super) fn read(reader: &mut Reader, node: &Node, role: &Role, environment: &Environment) -> Described {
    let mut found = Described::default();
    for entry in node.as_map().into_iter().flatten() {
        if let Some(field) = (role.described)().iter().find(|field| field.name == entry.key) {
            if let Some(value) = value(reader, entry, &field.shape, environment, &mut found.secrets) {
                found.values.insert(entry.key.clone(), value);
            }
        } else if keys().any(|(key, _)| key == entry.key) {
            let message = format!("{} has no `{}`", role.about, entry.key);
            let others = protocols().iter().flat_map(|protocol| protocol.roles);
            let others = others.filter(|role| (role.described)().iter().any(|field| field.name == entry.key));
            let others: Vec<&str> = others.map(|role| role.name).collect();
            let fault = reader.fault("subject/unknown", entry.key_span, message, "this one");
            fault.help.push(format!("leave it out; the roles that have it: {}", others.join(", ")));
        }
    }
    found
}

fn value(
    reader: &mut Reader,
    entry: &Entry,
    shape: &Shape,
    environment: &Environment,
    secrets: &mut BTreeMap<String, String>,
) -> Option<Value> {
    match shape {
        Shape::String => reader.string(entry).map(Value::from),
        Shape::Path => path(reader, entry).map(Value::from),
        Shape::Variable => variable(reader, entry, environment, secrets).map(Value::from),
        Shape::Choice(words) => reader.choice(entry, words).map(Value::from),
        Shape::Bool => scalar(reader, entry, "true or false", |kind| matches!(kind, Kind::Bool(_))),
        Shape::Integer { min, max } => {
            let fits = |n: i64| (*min..=*max).contains(&n);
            let expected = format!("a whole number from {min} to {max}");
            scalar(reader, entry, &expected, |kind| matches!(kind, Kind::Number(n) if n.as_i64().is_some_and(fits)))
        }
        Shape::Duration => {
            let is_time = |kind: &Kind| matches!(kind, Kind::String(text) if parse_duration(text).is_ok());
            scalar(reader, entry, "a time such as 200ms", is_time)
        }
        Shape::List(_) => {
            let texts = reader.strings(entry, "texts")?;
            Some(texts.into_iter().map(|(text, _)| Value::from(text)).collect())
        }
        Shape::Object(fields, _) => {
            let keys: Vec<Key> = fields.iter().map(|field| (field.name, field.doc)).collect();
            let entries = reader.map(&entry.value, &format!("`{}`", entry.key), &keys)?;
            let mut values = Map::new();
            for entry in entries {
                let field = fields.iter().find(|field| field.name == entry.key);
                let value = field.and_then(|field| value(reader, entry, &field.shape, environment, secrets));
                values.extend(value.map(|value| (entry.key.clone(), value)));
            }
            required(reader, fields, &values, entry.key_span);
            Some(values.into())
        }
        // No role describes its subjects by anything else.
        _ => Some(entry.value.to_json()),
    }
}

fn required(reader: &mut Reader, fields: &[Field], values: &Map<String, Value>, span: Span) {
    for field in fields.iter().filter(|field| field.required && !values.contains_key(field.name)) {
        let message = format!("the key `{}` is missing", field.name);
        reader.fault("subject/missing", span, message, "in here").help.push(field.doc.to_owned());
    }
}

fn scalar(reader: &mut Reader, entry: &Entry, expected: &str, fits: impl Fn(&Kind) -> bool) -> Option<Value> {
    if fits(&entry.value.kind) {
        return Some(entry.value.to_json());
    }
    let message = format!("`{}` is {}", entry.key, entry.value.kind_name());
    reader.fault("subject/type", entry.value.span, message, format!("expected {expected}"));
    None
}

/// A path that stays below a folder of the workspace.
fn path<'n>(reader: &mut Reader, entry: &'n Entry) -> Option<&'n str> {
    let path = reader.string(entry)?;
    let leaves = path.starts_with('/')
        || path.contains(['\\', '\0'])
        || path.split('/').any(|part| matches!(part, "" | "." | ".."));
    if leaves {
        let there = "expected a relative path with `/` between its parts, and no `..`";
        reader.fault("subject/type", entry.value.span, format!("`{}` is no path below a folder", entry.key), there);
        return None;
    }
    Some(path)
}

/// An environment variable, which has to be there: what is said to be known is used.
fn variable(
    reader: &mut Reader,
    entry: &Entry,
    environment: &Environment,
    secrets: &mut BTreeMap<String, String>,
) -> Option<String> {
    let name = reader.string(entry)?.to_owned();
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        // It may be a key that was written down here: it is not repeated.
        let place = reader.source.place(entry.value.span);
        let message = format!("what stands at {place} is no name of an environment variable");
        let help = "write the name of the variable that has the key, such as ANTHROPIC_API_KEY, and never the key";
        reader.faults.push(Diagnostic::error("subject/type", message).help(help));
        return None;
    }
    let value = (environment.variable)(&name).filter(|value| !value.is_empty());
    let Some(value) = value.and_then(|value| value.into_string().ok()) else {
        let message = format!("the environment variable {name} is not set");
        let fault = reader.fault("subject/variable", entry.value.span, message, "its value is needed");
        fault.help.push(format!("set it, or leave `{}` out", entry.key));
        return None;
    };
    secrets.insert(name.clone(), value);
    Some(name)
}

/// The JSON Schema of what a subject may be described with.
pub(super) fn schema(shape: &Shape) -> Value {
    match shape {
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Integer { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Shape::Choice(words) => json!({"enum": words}),
        Shape::Variable => json!({"type": "string", "pattern": "^[A-Za-z0-9_]+$"}),
        Shape::Path => json!({"type": "string", "minLength": 1, "not": {"pattern": "^/|(^|/)\\.\\.(/|$)"}}),
        Shape::Duration => json!({"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(us|ms|s|m|h)$"}),
        Shape::List(of) => json!({"type": "array", "items": schema(of)}),
        Shape::Object(fields, _) => {
            let properties = fields.iter().map(|field| (field.name.to_owned(), described(field)));
            let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
            let properties: Map<String, Value> = properties.collect();
            let mut object = json!({"type": "object", "properties": properties, "additionalProperties": false});
            if !required.is_empty() {
                object["required"] = json!(required);
            }
            object
        }
        _ => json!({"type": "string", "minLength": 1}),
    }
}

/// The schema of a key, with what it means.
pub(super) fn described(field: &Field) -> Value {
    let mut schema = schema(&field.shape);
    schema["description"] = field.doc.into();
    schema
}
