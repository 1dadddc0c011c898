//! JSON as comparable text: keys sorted, on one line where it fits.

use std::borrow::Cow;

use serde_json::Value;

use super::Strength;
use super::volatile::{Volatile, unnumbered};

/// The widest line, in characters.
const WIDTH: usize = 110;

/// JSON as marked text; lines after the first are indented by `indent` spaces.
pub fn render(value: &Value, volatile: &Volatile, strength: Strength, indent: usize) -> String {
    let tree = match strength {
        Strength::Exact => exact(value, "", volatile),
        Strength::Shape => shape(value),
    };
    tree.lay_out(indent)
}

/// A rendered text, or a list or map of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LayoutTree {
    Leaf(String),
    List(Vec<LayoutTree>),
    Map(Vec<(String, LayoutTree)>),
}

/// A text as a JSON string on one line, with every control character escaped: JSON permits some of them.
pub fn quoted(text: &str) -> String {
    let json = Value::from(text).to_string();
    if !json.contains(char::is_control) {
        return json;
    }
    let escape = |c: char| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    json.chars().map(escape).collect()
}

/// The longest text that a snapshot holds in full, in characters.
const MAX_TEXT: usize = 400;

/// A long text as its beginning and its length.
pub fn abbreviated(text: &str) -> Cow<'_, str> {
    let count = if text.len() > MAX_TEXT { text.chars().count() } else { 0 };
    if count <= MAX_TEXT {
        return text.into();
    }
    let beginning: String = text.chars().take(MAX_TEXT / 4).collect();
    format!("{beginning}… ({count} characters)").into()
}

fn exact(value: &Value, key: &str, volatile: &Volatile) -> LayoutTree {
    match value {
        Value::String(text) => LayoutTree::Leaf(quoted(
            &volatile.mark_keyed(key, text).unwrap_or_else(|| volatile.mark(&abbreviated(text))),
        )),
        Value::Number(number) => {
            LayoutTree::Leaf(volatile.mark_number(key, number).unwrap_or_else(|| number.to_string()))
        }
        Value::Array(items) => {
            let mut list: Vec<LayoutTree> = items.iter().map(|item| exact(item, key, volatile)).collect();
            // The files of a list of diagnostics come in any order.
            if items.iter().all(|item| item.get("uri").is_some() && item.get("diagnostics").is_some()) {
                list.sort();
            }
            LayoutTree::List(list)
        }
        Value::Object(map) => {
            let mut entries: Vec<(String, LayoutTree)> =
                map.iter().map(|(key, value)| (quoted(&volatile.mark(key)), exact(value, key, volatile))).collect();
            entries.sort();
            LayoutTree::Map(entries)
        }
        Value::Bool(_) | Value::Null => LayoutTree::Leaf(value.to_string()),
    }
}

/// Keys and types; a list has each shape that occurs in it once.
fn shape(value: &Value) -> LayoutTree {
    match value {
        Value::Null => LayoutTree::Leaf("null".to_owned()),
        Value::Bool(_) => LayoutTree::Leaf("boolean".to_owned()),
        Value::Number(_) => LayoutTree::Leaf("number".to_owned()),
        Value::String(_) => LayoutTree::Leaf("string".to_owned()),
        Value::Array(items) => {
            let mut shapes: Vec<LayoutTree> = items.iter().map(shape).collect();
            shapes.sort();
            shapes.dedup();
            LayoutTree::List(shapes)
        }
        Value::Object(map) => {
            let mut entries: Vec<(String, LayoutTree)> =
                map.iter().map(|(key, value)| (quoted(key), shape(value))).collect();
            entries.sort();
            LayoutTree::Map(entries)
        }
    }
}

impl LayoutTree {
    fn lay_out(&self, indent: usize) -> String {
        let line = self.one_line();
        if indent + unnumbered(&line).chars().count() <= WIDTH {
            return line;
        }
        let pad = " ".repeat(indent + 2);
        let end = " ".repeat(indent);
        match self {
            Self::Leaf(text) => text.clone(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|i| format!("{pad}{}", i.lay_out(indent + 2))).collect();
                format!("[\n{}\n{end}]", items.join(",\n"))
            }
            Self::Map(entries) => {
                let entries: Vec<String> =
                    entries.iter().map(|(k, v)| format!("{pad}{k}: {}", v.lay_out(indent + 2))).collect();
                format!("{{\n{}\n{end}}}", entries.join(",\n"))
            }
        }
    }

    fn one_line(&self) -> String {
        match self {
            Self::Leaf(text) => text.clone(),
            Self::List(items) => format!("[{}]", items.iter().map(Self::one_line).collect::<Vec<_>>().join(", ")),
            Self::Map(entries) => {
                let entries: Vec<String> = entries.iter().map(|(k, v)| format!("{k}: {}", v.one_line())).collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }
}
