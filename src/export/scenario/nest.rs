//! Patterns for one place in a value.

use serde_json::{Map, Value, json};

/// A pattern that holds a place of a value to another pattern, and says nothing of the rest. In a list, only that item
/// is held to it, in a list of the same length.
pub fn exactly(value: &Value, pointer: &str, pattern: Value) -> Value {
    let Some((key, rest)) = split(pointer) else { return pattern };
    match value {
        Value::Array(items) => {
            let at = key.parse::<usize>().ok();
            let any = || json!({ "$any": true });
            let hold = |(n, item): (usize, &Value)| {
                if Some(n) == at { exactly(item, rest, pattern.clone()) } else { any() }
            };
            items.iter().enumerate().map(hold).collect::<Vec<_>>().into()
        }
        value => {
            let inner = exactly(value.get(&key).unwrap_or(&Value::Null), rest, pattern);
            Value::Object(Map::from_iter([(key, inner)]))
        }
    }
}

/// Both patterns at once, the second one over the first.
pub fn merge(into: &mut Value, other: Value) {
    match (into, other) {
        (Value::Object(into), Value::Object(other)) if !is_matcher(into) && !is_matcher(&other) => {
            for (key, value) in other {
                match into.get_mut(&key) {
                    Some(there) => merge(there, value),
                    None => drop(into.insert(key, value)),
                }
            }
        }
        (Value::Array(into), Value::Array(other)) if into.len() == other.len() => {
            into.iter_mut().zip(other).for_each(|(into, other)| merge(into, other));
        }
        (Value::Object(into), _) if into.contains_key("$capture") => {}
        (_, Value::Object(other)) if other.contains_key("$any") => {}
        (into, other) => *into = other,
    }
}

fn is_matcher(map: &Map<String, Value>) -> bool {
    map.len() == 1 && map.keys().any(|key| key.starts_with('$'))
}

/// The first key of a JSON pointer, and the rest of it.
fn split(pointer: &str) -> Option<(String, &str)> {
    let rest = pointer.strip_prefix('/')?;
    let end = rest.find('/').unwrap_or(rest.len());
    Some((rest[..end].replace("~1", "/").replace("~0", "~"), &rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_is_held_and_all_others_are_free() {
        let value = json!({"a": [{"b/c": 1}, 2], "d": 3});
        let held = exactly(&value, "/a/0/b~1c", json!({"$capture": "x"}));
        assert_eq!(held, json!({"a": [{"b/c": {"$capture": "x"}}, {"$any": true}]}));
    }

    #[test]
    fn two_places_are_held_at_once() {
        let mut both = json!({"a": [1, {"$any": true}], "b": {"c": 1}});
        merge(&mut both, json!({"a": [{"$any": true}, 2], "b": {"d": 2}}));
        assert_eq!(both, json!({"a": [1, 2], "b": {"c": 1, "d": 2}}));
    }
}
