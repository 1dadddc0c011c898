//! Equality and order of JSON values: numbers by what they stand for, objects whatever the order of their keys.

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
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// The number as an integer, where it is a whole one that fits.
pub(super) fn whole(n: &Number) -> Option<i128> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::equal;

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
}
