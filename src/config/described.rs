//! The keys of a subject that only its role has: [`Described`].

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::diagnostic::yaml::{Entry, Node};
use crate::format::{Checker, Shape};
use crate::protocol::{Role, protocols};

use super::file::role_keys;
use super::resolve::Environment;

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

/// What a subject of this role is described with, out of its checked value. Environment variables that hold secrets are
/// read.
pub(super) fn read(
    checker: &mut Checker<'_>,
    node: &Node,
    value: &Value,
    role: &Role,
    environment: &Environment,
) -> Described {
    let mut found = Described::default();
    for entry in node.as_map().into_iter().flatten() {
        if let Some(field) = (role.described)().iter().find(|field| field.name == entry.key) {
            if let Some(value) = value.get(&entry.key) {
                read_secrets(checker, entry, value, &field.shape, environment, &mut found.secrets);
                found.values.insert(entry.key.clone(), value.clone());
            }
        } else if role_keys().any(|field| field.name == entry.key) {
            let message = format!("{} has no `{}`", role.about, entry.key);
            let others = protocols().iter().flat_map(|protocol| protocol.roles);
            let others = others.filter(|role| (role.described)().iter().any(|field| field.name == entry.key));
            let others: Vec<&str> = others.map(|role| role.name).collect();
            let fault = checker.fault("unknown", entry.key_span, message, "this one");
            fault.help.push(format!("leave it out; the roles that have it: {}", others.join(", ")));
        }
    }
    found
}

/// Reads the environment variables that are named somewhere in a value. They have to be there: what is said to be known
/// is used.
fn read_secrets(
    checker: &mut Checker<'_>,
    entry: &Entry,
    value: &Value,
    shape: &Shape,
    environment: &Environment,
    secrets: &mut BTreeMap<String, String>,
) {
    match (shape, value) {
        (Shape::Variable, Value::String(name)) => {
            let value = (environment.variable)(name).filter(|value| !value.is_empty());
            if let Some(value) = value.and_then(|value| value.into_string().ok()) {
                secrets.insert(name.clone(), value);
                return;
            }
            let message = format!("the environment variable {name} is not set");
            let fault = checker.fault("variable", entry.value.span, message, "its value is needed");
            fault.help.push(format!("set it, or leave `{}` out", entry.key));
        }
        (Shape::Object(fields, _), Value::Object(values)) => {
            for field in *fields {
                if let (Some(entry), Some(value)) = (entry.value.get(field.name), values.get(field.name)) {
                    read_secrets(checker, entry, value, &field.shape, environment, secrets);
                }
            }
        }
        _ => {}
    }
}
