//! The types of members in this protocol.

use serde_json::Value;

use super::times;
pub use crate::protocol::http::members::{BodyObject, Member, OBJECT, STRING, Type};

pub const ANY: Type = Type { name: "any value", is: |_| true };
pub const BOOLEAN: Type = Type { name: "a boolean", is: Value::is_boolean };
pub const FILLED: Type = Type { name: "a string that is not empty", is: |v| v.as_str().is_some_and(|s| !s.is_empty()) };
pub const STRING_OR_NULL: Type = Type { name: "a string or null", is: |v| v.is_string() || v.is_null() };
pub const NUMBER_OR_NULL: Type = Type { name: "a number or null", is: |v| v.is_number() || v.is_null() };
pub const OBJECTS: Type = Type { name: "a list of objects", is: |v| is_list(v, Value::is_object) };
pub const STRINGS: Type = Type { name: "a list of strings", is: |v| is_list(v, Value::is_string) };
pub const OPTIONS: Type = Type {
    name: "a list of strings, which is not empty",
    is: |v| is_list(v, Value::is_string) && v.as_array().is_some_and(|list| !list.is_empty()),
};
pub const COUNT: Type = Type { name: "a whole number that is not negative", is: is_count };
pub const AMOUNT: Type = Type { name: "a number that is not negative", is: |v| v.as_f64().is_some_and(|n| n >= 0.0) };
pub const SPAN: Type = Type { name: "a number greater than zero", is: |v| v.as_f64().is_some_and(|n| n > 0.0) };
pub const PORT: Type =
    Type { name: "a port", is: |v| is_count(v) && v.as_f64().is_some_and(|n| (1.0..=65535.0).contains(&n)) };
pub const MOMENT: Type = Type {
    name: "a date and a time of day with an offset from UTC",
    is: |v| v.as_str().is_some_and(|text| times::moment(text).is_some()),
};
pub const SEVERITY: Type = Type {
    name: "`error`, `warning`, `info` or `hint`",
    is: |v| matches!(v.as_str(), Some("error" | "warning" | "info" | "hint")),
};
pub const STATUS: Type = Type {
    name: "`idle`, `processing`, `awaiting_approval`, `error` or `stopped`",
    is: |v| v.as_str().is_some_and(|status| crate::protocol::amplifier::STATUSES.contains(&status)),
};
pub const USAGE: Type = Type {
    name: "an object with the whole numbers `input_tokens` and `output_tokens`",
    is: |v| ["input_tokens", "output_tokens"].iter().all(|key| v.get(key).is_some_and(is_count)),
};
pub const POSITION: Type = Type { name: "an object with the whole numbers `line` and `character`", is: is_position };
pub const RANGE: Type = Type {
    name: "an object with the positions `start` and `end`",
    is: |v| ["start", "end"].iter().all(|key| v.get(key).is_some_and(is_position)),
};
pub const MODULES: Type = Type {
    name: "a list of objects with a string `module`",
    is: |v| is_list(v, |module| module.get("module").is_some_and(Value::is_string)),
};

fn is_list(value: &Value, each: fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(each))
}

/// A whole number, however it is written, and not negative.
fn is_count(value: &Value) -> bool {
    value.as_u64().is_some() || value.as_f64().is_some_and(|n| n >= 0.0 && n.fract() == 0.0)
}

fn is_position(value: &Value) -> bool {
    ["line", "character"].iter().all(|key| value.get(key).is_some_and(is_count))
}

/// Whether a sound range ends before it starts.
pub fn is_backward(range: &Value) -> bool {
    let at = |key: &str| {
        let position = range.get(key)?;
        Some((position.get("line")?.as_f64()?, position.get("character")?.as_f64()?))
    };
    at("start").zip(at("end")).is_some_and(|(start, end)| end < start)
}
