//! Schemas of shapes.

use serde_json::{Map, Value, json};

use crate::protocol::{Field, Shape};

use super::{closed, defined, described};

/// The schema of a shape. A string with a variable may stand for any scalar.
pub(super) fn shape(shape: &Shape) -> Value {
    match shape {
        Shape::Any => json!({}),
        Shape::Pattern => defined("pattern"),
        Shape::String => json!({"type": "string"}),
        Shape::Path => json!({"type": "string", "minLength": 1, "not": {"pattern": "^/|(^|/)\\.\\.(/|$)"}}),
        Shape::Hex => hex("hex", "Hexadecimal digits, two a byte."),
        Shape::Bool => or_variable(json!({"type": "boolean"})),
        Shape::Integer { min, max } => or_variable(json!({"type": "integer", "minimum": min, "maximum": max})),
        Shape::Duration => defined("duration"),
        Shape::Binds(_) | Shape::Bound(_) => defined("name"),
        Shape::Variable => json!({"type": "string", "minLength": 1}),
        Shape::Choice(words) | Shape::Described(_, words) => or_variable(json!({"enum": words})),
        Shape::Object(of) => object(of),
        Shape::Choose(of, exactly_one) => {
            let mut schema = object(of);
            schema["oneOf"] = exactly_one.iter().map(|name| json!({"required": [name]})).collect();
            schema
        }
        Shape::OneOf(of) => {
            let mut schema = closed(fields(of), &[]);
            schema["minProperties"] = 1.into();
            schema["maxProperties"] = 1.into();
            schema
        }
        Shape::Map(of) => json!({"type": "object", "additionalProperties": self::shape(of)}),
        Shape::List(of) => json!({"type": "array", "items": self::shape(of)}),
        Shape::Either(shapes) => json!({"anyOf": shapes.iter().map(self::shape).collect::<Vec<_>>()}),
    }
}

/// The properties of fields, each with its documentation.
pub(super) fn fields(of: &[Field]) -> Map<String, Value> {
    of.iter().map(|f| (f.name.to_owned(), described(shape(&f.shape), f.name, f.doc))).collect()
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(title: &str, doc: &str) -> Value {
    let pattern = "^\\s*([0-9a-fA-F]{2}\\s*)*$|\\$\\{";
    json!({"title": title, "description": doc, "type": "string", "pattern": pattern})
}

fn object(of: &[Field]) -> Value {
    let required: Vec<&str> = of.iter().filter(|f| f.required).map(|f| f.name).collect();
    closed(fields(of), &required)
}

fn or_variable(schema: Value) -> Value {
    json!({"anyOf": [schema, {"title": "variable", "description": "`${name}`", "type": "string", "pattern": "\\$\\{"}]})
}
