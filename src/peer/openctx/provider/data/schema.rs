//! The JSON Schema (draft-07) of data files, for completion and checking in editors.

use serde_json::{Map, Value, json};

use super::VERSION;
use super::shape::{FILE, Key, Shape, methods};

/// The schema.
pub fn schema() -> Value {
    let mut schema = of(FILE);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = "data of a mock provider".into();
    schema["description"] = "What `wirecert mock openctx-provider --data` serves.".into();
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
        Shape::Status => json!({"type": "integer", "minimum": 300, "maximum": 599}),
        Shape::Code => json!({"type": "integer"}),
        Shape::Count => json!({"type": "integer", "minimum": 0}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Include => json!({"type": ["boolean", "string"]}),
        Shape::Method => json!({"enum": methods(false).collect::<Vec<_>>()}),
        Shape::Optional => json!({"enum": methods(true).collect::<Vec<_>>()}),
        Shape::Any => json!({}),
        Shape::Free => json!({"type": "object"}),
        Shape::Times => {
            let times: Map<String, Value> = methods(false).map(|name| (name.to_owned(), time())).collect();
            json!({"type": "object", "additionalProperties": false, "properties": times})
        }
        Shape::List(item) => json!({"type": "array", "items": of(*item)}),
        Shape::Several(item) => json!({"oneOf": [of(*item), {"type": "array", "items": of(*item)}]}),
        Shape::Map(keys) => map(keys),
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
