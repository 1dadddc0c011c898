//! Texts of a data file: placeholders filled in, and places in a document counted.

use std::collections::BTreeMap;

use regex::Captures;
use serde_json::{Map, Value, json};

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

/// A value whose texts may have placeholders, `${0}` or `${name}`. Those of no group stay as they are.
pub struct Text;

impl Text {
    /// The value with its placeholders filled in.
    pub fn fill(value: &Value, groups: &Groups) -> Value {
        match value {
            Value::String(text) => Value::String(fill(text, groups)),
            Value::Array(items) => items.iter().map(|item| Self::fill(item, groups)).collect(),
            Value::Object(map) => {
                Value::Object(map.iter().map(|(k, v)| (k.clone(), Self::fill(v, groups))).collect::<Map<_, _>>())
            }
            other => other.clone(),
        }
    }
}

fn fill(text: &str, groups: &Groups) -> String {
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

/// What a character offset counts. The document does not say; editors and the reference client count code units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Characters {
    /// Code units of UTF-16.
    #[default]
    Utf16,
    /// Code points.
    CodePoints,
}

/// Counts lines and characters of a document, from front to back.
pub struct Places<'a> {
    content: &'a str,
    characters: Characters,
    at: usize,
    line: u64,
    begin: usize,
}

impl<'a> Places<'a> {
    /// For this document.
    pub fn new(content: &'a str, characters: Characters) -> Self {
        Self { content, characters, at: 0, line: 0, begin: 0 }
    }

    /// The place of a byte offset, which is not before those asked for earlier.
    pub fn of(&mut self, offset: usize) -> Value {
        let passed = &self.content[self.at..offset];
        self.line += passed.bytes().filter(|byte| *byte == b'\n').count() as u64;
        if let Some(last) = passed.rfind('\n') {
            self.begin = self.at + last + 1;
        }
        self.at = offset;
        let before = &self.content[self.begin..offset];
        let character = match self.characters {
            Characters::Utf16 => before.encode_utf16().count(),
            Characters::CodePoints => before.chars().count(),
        };
        json!({"line": self.line, "character": character})
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn placeholders_are_filled_in_at_any_depth_and_others_stay() {
        let regex = Regex::new("(?<team>[A-Z]+)-([0-9]+)(x)?").unwrap();
        let mut groups = Groups::new();
        note(&mut groups, &regex, &regex.captures("see ABC-12").unwrap());
        let value = json!({"a": ["${0}: ${team} ${1} ${2} ${3} ${no} ${"], "${1}": 5, "plain": "$1"});
        let expected = json!({"a": ["ABC-12: ABC ABC 12 ${3} ${no} ${"], "${1}": 5, "plain": "$1"});
        assert_eq!(Text::fill(&value, &groups), expected);
    }

    #[test]
    fn places_count_from_0_and_characters_in_code_units_or_code_points() {
        let content = "a\r\nb😀c\n\nd";
        let offsets = [0, 3, 8, 10, 11];
        let places = |characters| {
            let mut places = Places::new(content, characters);
            offsets.map(|offset| {
                let place = places.of(offset);
                (place["line"].as_u64().unwrap(), place["character"].as_u64().unwrap())
            })
        };
        assert_eq!(places(Characters::Utf16), [(0, 0), (1, 0), (1, 3), (2, 0), (3, 0)]);
        assert_eq!(places(Characters::CodePoints), [(0, 0), (1, 0), (1, 2), (2, 0), (3, 0)]);
    }
}
