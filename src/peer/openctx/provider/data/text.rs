//! Texts of a document: places in it counted.

use serde_json::{Value, json};

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
    use super::*;

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
