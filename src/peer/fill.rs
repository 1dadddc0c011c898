//! Placeholders in texts, `${0}` or `${name}`: filled in with what the groups of an expression matched.

use std::collections::BTreeMap;

use regex::Captures;
use serde_json::{Map, Value};

/// The largest text that is made by repetition, in bytes.
pub const MAX_FILL: usize = 64 << 20;

/// What the groups of an expression matched, by name or number.
pub type Groups = BTreeMap<String, String>;

/// Notes what the groups of a match are, the whole being number 0. Those noted before stay.
pub fn note(groups: &mut Groups, regex: &regex::Regex, captures: &Captures<'_>) {
    for (number, name) in regex.capture_names().enumerate() {
        let Some(matched) = captures.get(number) else { continue };
        for key in name.map(str::to_owned).into_iter().chain([number.to_string()]) {
            groups.entry(key).or_insert_with(|| matched.as_str().to_owned());
        }
    }
}

/// A value with the placeholders in its texts filled in. Those of no group stay as they are.
pub fn fill(value: &Value, groups: &Groups) -> Value {
    match value {
        Value::String(text) => Value::String(fill_text(text, groups)),
        Value::Array(items) => items.iter().map(|item| fill(item, groups)).collect(),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(k, v)| (k.clone(), fill(v, groups))).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// A text with its placeholders filled in.
pub fn fill_text(text: &str, groups: &Groups) -> String {
    if groups.is_empty() || !text.contains("${") {
        return text.to_owned();
    }
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        let found = from.find('}').and_then(|end| Some((groups.get(&from[2..end])?, end)));
        rest = match found {
            Some((value, end)) => {
                filled.push_str(value);
                &from[end + 1..]
            }
            None => {
                filled.push_str("${");
                &from[2..]
            }
        };
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use regex::Regex;
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_are_filled_in_at_any_depth_and_others_stay() {
        let regex = Regex::new("(?<team>[A-Z]+)-([0-9]+)(x)?").unwrap();
        let mut groups = Groups::new();
        note(&mut groups, &regex, &regex.captures("see ABC-12").unwrap());
        let value = json!({"a": ["${0}: ${team} ${1} ${2} ${3} ${no} ${"], "${1}": 5, "plain": "$1"});
        let expected = json!({"a": ["ABC-12: ABC ABC 12 ${3} ${no} ${"], "${1}": 5, "plain": "$1"});
        assert_eq!(fill(&value, &groups), expected);
    }
}
