//! When something is given: [`DataCondition`], as a file says it and a request satisfies it.

use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::format::types::{Expression, OneOrMany};
use crate::peer::fill::{Groups, note};

use super::super::request::Request;

/// Conditions of which any one is enough; always, where there is none.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct DataCondition(OneOrMany<Condition>);

/// A condition: all of its parts have to be satisfied. What it can be about depends on the method.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Condition {
    /// Matches the query somewhere; an absent one is empty.
    query: Option<Expression>,
    /// Matches the URI of the document somewhere; an absent one is empty.
    uri: Option<Expression>,
    /// Matches the name of the codebase; an absent one is empty.
    codebase: Option<Expression>,
    /// Whether default context is asked for.
    auto_include: Option<bool>,
    /// Matches the message somewhere; an absent one is empty.
    message: Option<Expression>,
    /// Matches the URI of the mention somewhere.
    mention: Option<Expression>,
    /// Matches the document somewhere.
    content: Option<Expression>,
    /// Settings that have exactly these values.
    #[serde(default)]
    settings: Map<String, Value>,
}

impl DataCondition {
    /// Whether the request satisfies a condition; gives what the groups of the expressions matched.
    pub fn holds(&self, request: &Request) -> Option<Groups> {
        match self.0.as_slice() {
            [] => Some(Groups::new()),
            conditions => conditions.iter().find_map(|one| one.holds(request)),
        }
    }

    /// Whether a condition is about this parameter.
    pub fn is_about(&self, parameter: &str) -> bool {
        self.0.as_slice().iter().any(|one| one.texts().any(|(name, _)| name == parameter))
    }
}

impl Condition {
    /// Parameters, and what each has to match somewhere.
    fn texts(&self) -> impl Iterator<Item = (&'static str, &Expression)> {
        let texts = [
            ("query", &self.query),
            ("uri", &self.uri),
            ("codebase", &self.codebase),
            ("message", &self.message),
            ("mention", &self.mention),
            ("content", &self.content),
        ];
        texts.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?)))
    }

    fn holds(&self, request: &Request) -> Option<Groups> {
        let settings = self.settings.iter().all(|(name, value)| request.settings.get(name) == Some(value));
        let wanted = self.auto_include.is_none_or(|wanted| wanted == request.auto_include());
        if !settings || !wanted {
            return None;
        }
        let mut groups = Groups::new();
        for (name, regex) in self.texts() {
            // A parameter that is not there counts as empty, but for `mention`, whose URI it is about.
            let text = if name == "mention" { request.mention()? } else { request.text(name) };
            note(&mut groups, regex, &regex.captures(text)?);
        }
        Some(groups)
    }
}

/// What conditions of mentions can be about, in the schema of their key.
pub fn about_mentions(schema: &mut Schema) {
    keep(schema, &["query", "uri", "codebase", "autoInclude", "settings"]);
}

/// What conditions of items can be about.
pub fn about_items(schema: &mut Schema) {
    keep(schema, &["message", "mention", "settings"]);
}

/// What conditions of annotations can be about.
pub fn about_annotations(schema: &mut Schema) {
    keep(schema, &["uri", "content", "settings"]);
}

/// Leaves these keys of conditions in a schema.
fn keep(schema: &mut Schema, keys: &[&str]) {
    let mut value = std::mem::take(schema).to_value();
    keep_in(&mut value, keys);
    *schema = value.try_into().unwrap_or_default();
}

fn keep_in(schema: &mut Value, keys: &[&str]) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| keys.contains(&name.as_str()));
    }
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(|schema| keep_in(schema, keys)),
        Value::Object(members) => ["anyOf", "oneOf", "items"]
            .into_iter()
            .for_each(|key| members.get_mut(key).into_iter().for_each(|inner| keep_in(inner, keys))),
        _ => {}
    }
}
