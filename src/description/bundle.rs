//! The schemas of one document: [`Bundle`], which puts the definitions inside of each schema beside it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Schemas by the names that they have in a document.
pub struct Bundle {
    /// Where they stand in it: `#/definitions/`.
    place: &'static str,
    /// What a name becomes in it.
    rename: fn(&str) -> String,
    schemas: BTreeMap<String, Value>,
    /// The definitions as they were, by their names in the document.
    raw: BTreeMap<String, Value>,
}

impl Bundle {
    /// None yet.
    pub fn new(place: &'static str, rename: fn(&str) -> String) -> Self {
        Self { place, rename, schemas: BTreeMap::new(), raw: BTreeMap::new() }
    }

    /// Adds a schema with what is defined in it. Gives a schema that refers to it.
    pub fn add(&mut self, name: &str, mut schema: Value) -> Value {
        let mut definitions = Map::new();
        if let Some(map) = schema.as_object_mut() {
            map.shift_remove("$schema");
            if let Some(Value::Object(found)) = map.shift_remove("definitions") {
                definitions = found;
            }
        }
        let names: BTreeMap<String, String> =
            definitions.iter().map(|(key, value)| (key.clone(), self.name_for(name, key, value))).collect();
        for (key, value) in definitions {
            let mut moved = value.clone();
            self.relocate(&mut moved, &names);
            self.raw.insert(names[&key].clone(), value);
            self.schemas.entry(names[&key].clone()).or_insert(moved);
        }
        self.relocate(&mut schema, &names);
        let name = (self.rename)(name);
        self.schemas.insert(name.clone(), schema);
        self.reference(&name)
    }

    /// The schemas, by name in alphabetical order.
    pub fn into_schemas(self) -> Value {
        self.schemas.into_iter().collect::<Map<String, Value>>().into()
    }

    fn reference(&self, name: &str) -> Value {
        serde_json::json!({ "$ref": format!("{}{name}", self.place) })
    }

    /// The name of a definition: its own, or with that of its owner before it where something else has that name.
    fn name_for(&self, owner: &str, key: &str, value: &Value) -> String {
        let short = (self.rename)(key);
        match self.raw.get(&short) {
            Some(other) if other == value => short,
            None if !self.schemas.contains_key(&short) => short,
            _ => (self.rename)(&format!("{owner}.{key}")),
        }
    }

    /// Has references to definitions inside of a schema lead to where they stand now.
    fn relocate(&self, schema: &mut Value, names: &BTreeMap<String, String>) {
        match schema {
            Value::Object(map) => {
                for (key, value) in map.iter_mut() {
                    let own = value.as_str().filter(|_| key == "$ref");
                    let own = own.and_then(|text| names.get(text.strip_prefix("#/definitions/")?));
                    match own {
                        Some(name) => *value = format!("{}{name}", self.place).into(),
                        None => self.relocate(value, names),
                    }
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|value| self.relocate(value, names)),
            _ => {}
        }
    }
}

/// A name as generators of code like it: `createSession.request` is `CreateSessionRequest`.
pub fn pascal(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn definitions_stand_beside_what_uses_them_and_never_replace_others() {
        let mut bundle = Bundle::new("#/x/", str::to_owned);
        let uses = |definition: Value| json!({"$schema": "s", "items": {"$ref": "#/definitions/a"}, "definitions": {"a": definition}});
        assert_eq!(bundle.add("one", uses(json!({"type": "string"}))), json!({"$ref": "#/x/one"}));
        bundle.add("same", uses(json!({"type": "string"})));
        bundle.add("other", uses(json!({"type": "number"})));
        let expected = json!({
            "a": {"type": "string"},
            "one": {"items": {"$ref": "#/x/a"}},
            "other": {"items": {"$ref": "#/x/other.a"}},
            "other.a": {"type": "number"},
            "same": {"items": {"$ref": "#/x/a"}},
        });
        assert_eq!(bundle.into_schemas(), expected);
    }

    #[test]
    fn a_name_becomes_that_of_a_type() {
        assert_eq!(pascal("createSession.request"), "CreateSessionRequest");
        assert_eq!(pascal("content_block-delta.event"), "ContentBlockDeltaEvent");
    }
}
