//! The JSON Schema (draft-07) of files, for completion and checking in editors.

use serde_json::{Map, Value, json};

use super::{Key, Shape, VERSION};

/// The schema of a file of this shape.
pub fn schema(file: Shape, title: &str, description: &str) -> Value {
    let mut schema = of(file);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = title.into();
    schema["description"] = description.into();
    schema
}

fn of(shape: Shape) -> Value {
    match shape {
        Shape::Version => json!({"const": VERSION}),
        Shape::Text | Shape::Regex => json!({"type": "string"}),
        Shape::Content => json!({"oneOf": [{"type": "string"}, {
            "type": "object",
            "required": ["text", "times"],
            "additionalProperties": false,
            "properties": {
                "text": {"type": "string", "description": "What is repeated."},
                "times": {"type": "integer", "minimum": 1, "description": "How often; 64 MiB in all at most."},
            },
        }]}),
        Shape::Uri => json!({"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9+.-]*:"}),
        Shape::Time => time(),
        Shape::Duration => json!({"type": "string", "pattern": "^[0-9.]+(us|ms|s|m|h)$"}),
        Shape::TextOr(keys) => json!({"oneOf": [{"type": "string"}, map(keys)]}),
        Shape::Number(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Shape::Code => json!({"type": "integer"}),
        Shape::Count => json!({"type": "integer", "minimum": 0}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::FlagOrText => json!({"type": ["boolean", "string"]}),
        Shape::Choice(_, words) => json!({"enum": words}),
        Shape::Any => json!({}),
        Shape::Free => json!({"type": "object"}),
        Shape::Each(_, words, shape) => {
            let each: Map<String, Value> = words.iter().map(|name| ((*name).to_owned(), of(*shape))).collect();
            json!({"type": "object", "additionalProperties": false, "properties": each})
        }
        Shape::List(item) => json!({"type": "array", "items": of(*item)}),
        Shape::Several(item) => json!({"oneOf": [of(*item), {"type": "array", "items": of(*item)}]}),
        Shape::Map(keys) => map(keys),
        Shape::One(keys, choice) => {
            let mut map = map(keys);
            map["oneOf"] = choice.iter().map(|key| json!({"required": [key]})).collect();
            map
        }
    }
}

fn time() -> Value {
    json!({"type": "string", "pattern": "^[0-9.]+(us|ms|s|m|h)(\\.\\.[0-9.]+(us|ms|s|m|h))?$"})
}

fn map(keys: &[Key]) -> Value {
    let mut properties = Map::new();
    for key in keys {
        let mut property = of(key.shape);
        property["description"] = key.about.into();
        properties.insert(key.name.to_owned(), property);
    }
    let needed: Vec<&str> = keys.iter().filter(|key| key.needed).map(|key| key.name).collect();
    let mut map = json!({"type": "object", "additionalProperties": false, "properties": properties});
    if !needed.is_empty() {
        map["required"] = json!(needed);
    }
    map
}
