//! Changes of JSON and of texts, as flaws and freedoms make them.
//!
//! They leave alone what is not of the type that they change.

use serde_json::{Value, json};

use crate::wire::http::BYTE_ORDER_MARK;

/// Sets a member of an object.
pub fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Value::Object(members) = object {
        members.insert(key.to_owned(), value.into());
    }
}

/// Takes a member out of an object, and gives it; null where there is none.
pub fn remove(object: &mut Value, key: &str) -> Value {
    object.as_object_mut().and_then(|members| members.shift_remove(key)).unwrap_or_default()
}

/// Gives a member another name.
pub fn rename(object: &mut Value, key: &str, name: &str) {
    if object.get(key).is_some() {
        let value = remove(object, key);
        set(object, name, value);
    }
}

/// Changes each item of a list.
pub fn each(list: &mut Value, change: impl Fn(&mut Value)) {
    list.as_array_mut().into_iter().flatten().for_each(change);
}

/// Sets a member of each item of a list.
pub fn set_each(list: &mut Value, key: &str, value: impl Into<Value>) {
    let value = value.into();
    each(list, |item| set(item, key, value.clone()));
}

/// Takes members out of each item of a list.
pub fn remove_each(list: &mut Value, keys: &[&str]) {
    each(list, |item| keys.iter().for_each(|key| drop(remove(item, key))));
}

/// Changes every value with this key, at any depth.
pub fn everywhere(value: &mut Value, key: &str, change: fn(&mut Value)) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if name == key { change(value) } else { everywhere(value, key, change) }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| everywhere(item, key, change)),
        _ => {}
    }
}

/// Changes what a pointer leads to.
pub fn at(value: &mut Value, pointer: &str, change: fn(&mut Value)) {
    value.pointer_mut(pointer).into_iter().for_each(change);
}

/// Takes a member out of the object that a pointer leads to.
pub fn without(value: &mut Value, pointer: &str, key: &str) {
    value.pointer_mut(pointer).into_iter().for_each(|object| drop(remove(object, key)));
}

/// Changes a member that is a text.
pub fn text(object: &mut Value, key: &str, change: fn(&str) -> Value) {
    if let Some(text) = object.get(key).and_then(Value::as_str) {
        object[key] = change(text);
    }
}

/// Puts a value into a list.
pub fn listed(value: &mut Value) {
    *value = json!([value.take()]);
}

/// Takes the offset from UTC from a moment.
pub fn naive(object: &mut Value, key: &str) {
    text(object, key, |moment| moment.trim_end_matches('Z').into());
}

/// Reverses the order of the members of every object.
pub fn reverse_keys(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(reverse_keys);
            *members = std::mem::take(members).into_iter().rev().collect();
        }
        Value::Array(items) => items.iter_mut().for_each(reverse_keys),
        _ => {}
    }
}

/// Puts white space around every token of JSON.
pub fn pretty(json: &mut Vec<u8>) {
    if let Ok(value) = serde_json::from_slice::<Value>(json) {
        *json = format!("\t{value:#}\r\n ").into_bytes();
    }
}

/// Escapes slashes, and characters beyond ASCII, in JSON.
pub fn escape(json: &mut Vec<u8>) {
    let escaped: String = String::from_utf8_lossy(json)
        .chars()
        .map(|c| match c {
            '/' => "\\/".to_owned(),
            c if c.is_ascii() => c.to_string(),
            c => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04X}")).collect(),
        })
        .collect();
    *json = escaped.into_bytes();
}

/// Writes single quotes for double ones.
pub fn single_quotes(json: &mut Vec<u8>) {
    *json = json.iter().map(|byte| if *byte == b'"' { b'\'' } else { *byte }).collect();
}

/// Encodes a text in Latin-1; what that does not have becomes an inverted question mark.
pub fn latin_1(text: &mut Vec<u8>) {
    let chars = String::from_utf8_lossy(text).into_owned();
    *text = chars.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(0xbf)).collect();
}

/// Replaces what is beyond ASCII by question marks, byte for byte, but for a byte order mark.
pub fn ascii(text: &mut Vec<u8>) {
    let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let rest = text.split_off(mark);
    text.extend(rest.into_iter().map(|byte| if byte.is_ascii() { byte } else { b'?' }));
}

/// Puts a byte that no UTF-8 has into a text of JSON.
pub fn bad_byte(json: &mut Vec<u8>) {
    if let Some(at) = json.windows(2).rposition(|two| two == b":\"") {
        json.insert(at + 2, 0xff);
    }
}

/// Puts a byte order mark at the beginning.
pub fn byte_order_mark(text: &mut Vec<u8>) {
    text.splice(..0, BYTE_ORDER_MARK.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_changed_where_they_are_and_nothing_is_added_where_they_are_not() {
        let mut value = json!({"a": {"b": "x", "c": [1]}, "d": "2025-12-09T10:30:00Z"});
        rename(&mut value, "missing", "found");
        without(&mut value, "/a", "c");
        text(&mut value["a"], "b", |text| json!([text]));
        naive(&mut value, "d");
        everywhere(&mut value, "b", |b| set(b, "no", "object"));
        at(&mut value, "/a/e", listed);
        assert_eq!(value, json!({"a": {"b": ["x"]}, "d": "2025-12-09T10:30:00"}));
        rename(&mut value, "a", "z");
        reverse_keys(&mut value);
        assert_eq!(value.to_string(), r#"{"z":{"b":["x"]},"d":"2025-12-09T10:30:00"}"#);
    }

    #[test]
    fn items_are_changed_one_by_one() {
        let mut list = json!([{"a": 1, "b": 2}, 3]);
        set_each(&mut list, "c", 4);
        remove_each(&mut list, &["a", "b"]);
        assert_eq!(list, json!([{"c": 4}, 3]));
    }

    #[test]
    fn json_is_written_otherwise_and_stays_what_it_is() {
        let value = json!({"text": "a/ä😀", "list": [1, {}]});
        for change in [pretty, escape] {
            let mut bytes = value.to_string().into_bytes();
            change(&mut bytes);
            assert_ne!(bytes, value.to_string().into_bytes());
            assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), value);
        }
    }
}
