//! JSON values: equality and order of numbers by their value, objects whatever the order of their keys; and values in
//! messages.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Whether two values are the same JSON: 1 equals 1.0, and the order of keys does not count.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// Which of two numbers is the larger, exactly also where one is whole and the other a fraction.
pub fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    match (as_integer(a), as_integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// The number as an integer, where it is a whole one that fits.
pub fn as_integer(n: &Number) -> Option<i128> {
    if let Some(n) = n.as_i64() {
        return Some(n.into());
    }
    if let Some(n) = n.as_u64() {
        return Some(n.into());
    }
    let f = n.as_f64()?;
    // 2^100: far beyond the integers of JSON, and exact as a float.
    (f.fract() == 0.0 && f.abs() < 1.267_650_600_228_229_4e30).then_some(f as i128)
}

/// A text that is the same for two values where they are [`equal`] apart from the order of lists, at every depth.
pub fn unordered_key(value: &Value) -> String {
    match value {
        Value::Number(n) => as_integer(n).map_or_else(|| n.to_string(), |n| n.to_string()),
        Value::Array(items) => {
            let mut keys: Vec<String> = items.iter().map(unordered_key).collect();
            keys.sort_unstable();
            format!("[{}]", keys.join(","))
        }
        Value::Object(map) => {
            let mut keys: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), unordered_key(value)))
                .collect();
            keys.sort_unstable();
            format!("{{{}}}", keys.join(","))
        }
        value => value.to_string(),
    }
}

/// The number of characters of a value that are shown.
const MAX_SHOWN: usize = 160;

/// A value as compact JSON, cut where it is long; then its size is added.
pub fn show(value: &Value) -> String {
    let (text, whole) = match value {
        // A long text is cut before it is encoded, so that a huge one costs nothing.
        Value::String(s) if s.len() > 8 * MAX_SHOWN => {
            let head: String = s.chars().take(2 * MAX_SHOWN).collect();
            (Value::String(head).to_string(), Some(format!("{} bytes of text", s.len())))
        }
        value => (value.to_string(), None),
    };
    match (text.char_indices().nth(MAX_SHOWN), whole) {
        (None, _) => text,
        (Some((at, _)), Some(whole)) => format!("{}… ({whole})", &text[..at]),
        (Some((at, _)), None) => format!("{}… ({} bytes)", &text[..at], text.len()),
    }
}

/// Appends a key or index to a JSON pointer (RFC 6901 section 3: `~` is `~0`, `/` is `~1`).
pub fn pointer_push(pointer: &mut String, part: &str) {
    pointer.push('/');
    for c in part.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{equal, show, unordered_key};

    #[test]
    fn numbers_are_compared_by_value() {
        assert!(equal(&json!(1), &json!(1.0)));
        assert!(equal(&json!({"a": [1.0]}), &json!({"a": [1]})));
        assert!(!equal(&json!(1), &json!(1.5)));
        assert!(!equal(&json!(9007199254740993_i64), &json!(9007199254740992.0)));
        assert!(equal(&json!(u64::MAX), &json!(u64::MAX)));
    }

    #[test]
    fn the_order_of_keys_does_not_count_but_their_number_does() {
        assert!(equal(&json!({"a": 1, "b": 2}), &json!({"b": 2, "a": 1})));
        assert!(!equal(&json!({"a": 1}), &json!({"a": 1, "b": 2})));
        assert!(!equal(&json!({"a": 1, "b": 2}), &json!({"a": 1})));
        assert!(!equal(&json!("1"), &json!(1)));
    }

    #[test]
    fn the_order_of_lists_does_not_count_in_a_key_but_how_often_an_item_is_there_does() {
        let same = |a, b| unordered_key(&a) == unordered_key(&b);
        assert!(same(json!([{"a": [1, 2.0], "b": null}, "x"]), json!(["x", {"b": null, "a": [2, 1]}])));
        assert!(!same(json!([1, 1, 2]), json!([1, 2, 2])));
        assert!(!same(json!(["1"]), json!([1])));
        assert!(!same(json!(["a,b"]), json!(["a", "b"])));
        assert!(!same(json!({"a": [1]}), json!({"a": [[1]]})));
        assert!(!same(json!({"a": 1.5}), json!({"a": 1})));
    }

    #[test]
    fn short_values_are_shown_whole_and_long_ones_cut_with_their_size() {
        assert_eq!(show(&json!({"a": [1, null, "x"]})), r#"{"a":[1,null,"x"]}"#);
        let shown = show(&json!("ä".repeat(1_000_000)));
        assert!(shown.chars().count() < 220 && shown.ends_with("… (2000000 bytes of text)"), "{shown}");
        assert!(show(&json!(vec![7; 1000])).ends_with("… (2001 bytes)"));
    }
}
