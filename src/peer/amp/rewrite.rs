//! Ways to write the same JSON differently.

use serde_json::Value;

/// White space around every token.
pub fn pretty(text: &mut Vec<u8>) {
    if let Ok(value) = serde_json::from_slice::<Value>(text) {
        *text = format!("\t{value:#}\r\n ").into_bytes();
    }
}

/// The keys of every object in reverse order.
pub fn reverse_keys(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(reverse_keys);
            *map = std::mem::take(map).into_iter().rev().collect();
        }
        Value::Array(items) => items.iter_mut().for_each(reverse_keys),
        _ => {}
    }
}

/// Slashes, and characters beyond ASCII, as escapes.
pub fn escape(text: &mut Vec<u8>) {
    let escaped: String = String::from_utf8_lossy(text)
        .chars()
        .map(|c| match c {
            '/' => "\\/".to_owned(),
            c if c.is_ascii() => c.to_string(),
            c => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04X}")).collect(),
        })
        .collect();
    *text = escaped.into_bytes();
}
