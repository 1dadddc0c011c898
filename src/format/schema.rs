//! The JSON Schema (draft-07) of files that are read as a type, for completion and checking in editors: [`SchemaWriter`].

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::shape::VERSION;
use super::{Field, Group, Shape, shape_of};

/// The schema of files that are read as `T`.
pub fn schema<T: JsonSchema + 'static>(title: &str, description: &str) -> Value {
    let mut writer = SchemaWriter::default();
    let mut schema = writer.shape(shape_of::<T>());
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = title.into();
    schema["description"] = description.into();
    if !writer.definitions.is_empty() {
        schema["definitions"] = writer.definitions.into();
    }
    schema
}

/// Makes the schemas of shapes.
#[derive(Debug, Default)]
pub struct SchemaWriter {
    /// The schemas of shapes that may contain themselves, by their names.
    pub definitions: Map<String, Value>,
    /// The schemas of shapes that this format has other ones for.
    pub special: Option<fn(&Shape) -> Option<Value>>,
}

impl SchemaWriter {
    /// The schema of a key, with what it means.
    pub fn property(&mut self, field: &Field) -> Value {
        let mut schema = self.shape(&field.shape);
        // Beside `$ref`, draft-07 ignores every other key.
        if schema.get("$ref").is_some() {
            schema = json!({"allOf": [schema]});
        }
        schema["title"] = field.name.into();
        schema["description"] = field.doc.into();
        schema
    }

    /// The schemas of keys, by their names.
    pub fn properties(&mut self, fields: &[Field]) -> Map<String, Value> {
        fields.iter().map(|field| (field.name.to_owned(), self.property(field))).collect()
    }

    /// The schema of a map with these keys and no others.
    pub fn object(&mut self, fields: &[Field]) -> Value {
        let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
        let mut object =
            json!({"type": "object", "properties": self.properties(fields), "additionalProperties": false});
        if !required.is_empty() {
            object["required"] = json!(required);
        }
        object
    }

    /// The schema of a shape.
    pub fn shape(&mut self, shape: &Shape) -> Value {
        if let Some(schema) = self.special.and_then(|special| special(shape)) {
            return schema;
        }
        match shape {
            Shape::Any | Shape::Pattern => json!({}),
            Shape::String | Shape::Binds(_) | Shape::Bound(_) => json!({"type": "string"}),
            Shape::Text => json!({"type": "string", "minLength": 1}),
            Shape::Bool => json!({"type": "boolean"}),
            Shape::Integer { min, max } => {
                let mut schema = json!({"type": "integer"});
                if *min != i64::MIN {
                    schema["minimum"] = json!(min);
                }
                if *max != i64::MAX {
                    schema["maximum"] = json!(max);
                }
                schema
            }
            Shape::Version => json!({"const": VERSION}),
            Shape::Path => json!({"type": "string", "minLength": 1, "not": {"pattern": "^/|(^|/)\\.\\.(/|$)"}}),
            Shape::Hex => json!({"type": "string", "pattern": "^\\s*([0-9a-fA-F]{2}\\s*)*$"}),
            Shape::Duration => json!({"type": "string", "pattern": "^[0-9.]+(us|ms|s|m|h)$"}),
            Shape::Choice(words) | Shape::Name(_, words) | Shape::Described(_, words) => json!({"enum": words}),
            Shape::Variable => json!({"type": "string", "pattern": "^[A-Za-z0-9_]+$"}),
            Shape::Command => json!({"type": "array", "minItems": 1, "items": {"type": "string"}}),
            Shape::Special(special) => (special.schema)(),
            Shape::Object(fields, group) => {
                let mut schema = self.object(fields);
                if let Some(Group { keys, required }) = group {
                    let mut ways: Vec<Value> = keys.iter().map(|name| json!({"required": [name]})).collect();
                    if !required {
                        ways.push(json!({"not": {"anyOf": ways.clone()}}));
                    }
                    schema["oneOf"] = ways.into();
                }
                schema
            }
            Shape::OneOf(fields) => {
                let mut schema = self.object(fields);
                schema["minProperties"] = 1.into();
                schema["maxProperties"] = 1.into();
                schema
            }
            Shape::Map(Shape::Any) => json!({"type": "object"}),
            Shape::Map(of) => json!({"type": "object", "additionalProperties": self.shape(of)}),
            Shape::List(of) => json!({"type": "array", "items": self.shape(of)}),
            Shape::Nullable(of) => json!({"anyOf": [self.shape(of), {"type": "null"}]}),
            Shape::Either(shapes) => {
                json!({"anyOf": shapes.iter().map(|shape| self.shape(shape)).collect::<Vec<_>>()})
            }
            Shape::Recursive(shape) => {
                if !self.definitions.contains_key(&shape.name) {
                    // Known from here on, so that it can refer to itself.
                    self.definitions.insert(shape.name.clone(), Value::Null);
                    let schema = self.shape(&shape.get());
                    self.definitions.insert(shape.name.clone(), schema);
                }
                json!({"$ref": format!("#/definitions/{}", shape.name)})
            }
        }
    }
}
