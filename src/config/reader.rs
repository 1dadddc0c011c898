//! Taking values out of a tree, and noting every fault on the way.

use std::time::Duration;

use crate::diagnostic::yaml::{Entry, Kind, Node};
use crate::diagnostic::{Diagnostic, Source, Span, nearest};
use crate::format::parse_bound;

use super::schema::Key;

/// A text being read, and what is wrong with it.
pub(super) struct Reader {
    pub(super) source: Source,
    pub(super) faults: Vec<Diagnostic>,
}

impl Reader {
    pub(super) fn new(source: Source) -> Self {
        Self { source, faults: vec![] }
    }

    /// Notes a fault at a place.
    pub(super) fn fault(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        there: impl Into<String>,
    ) -> &mut Diagnostic {
        self.faults.push(Diagnostic::error(code, message).at(self.source.place(span), there));
        let last = self.faults.len() - 1;
        &mut self.faults[last]
    }

    /// Notes a word that is none of those that there are, and which of them was probably meant.
    pub(super) fn unknown<'a>(
        &mut self,
        span: Span,
        what: &str,
        word: &str,
        words: impl IntoIterator<Item = &'a str> + Clone,
    ) {
        let all = words.clone().into_iter().collect::<Vec<_>>().join(", ");
        let there = if all.is_empty() { "there is none".to_owned() } else { format!("expected one of {all}") };
        let meant = nearest(word, words).map(|word| format!("did you mean `{word}`?"));
        self.fault("subject/unknown", span, format!("there is no {what} `{word}`"), there).help.extend(meant);
    }

    fn wrong(&mut self, entry: &Entry, expected: &str) {
        let message = format!("`{}` is {}", entry.key, entry.value.kind_name());
        self.fault("subject/type", entry.value.span, message, format!("expected {expected}"));
    }

    /// The entries of a map that may have these keys.
    pub(super) fn map<'n>(&mut self, node: &'n Node, what: &str, keys: &[Key]) -> Option<&'n [Entry]> {
        let Some(entries) = node.as_map() else {
            let message = format!("{what} is {}", node.kind_name());
            let names = keys.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            self.fault("subject/type", node.span, message, format!("expected a map with keys of {names}"));
            return None;
        };
        for entry in entries {
            if !keys.iter().any(|(name, _)| *name == entry.key) {
                self.unknown(entry.key_span, "key", &entry.key, keys.iter().map(|(name, _)| *name));
            }
        }
        Some(entries)
    }

    /// The entries of a map whose keys are free.
    pub(super) fn free_map<'n>(&mut self, entry: &'n Entry, expected: &str) -> &'n [Entry] {
        entry.value.as_map().unwrap_or_else(|| {
            self.wrong(entry, expected);
            &[]
        })
    }

    pub(super) fn string<'n>(&mut self, entry: &'n Entry) -> Option<&'n str> {
        match entry.value.as_str() {
            Some("") => {
                self.fault("subject/type", entry.value.span, format!("`{}` is empty", entry.key), "expected a text");
                None
            }
            Some(text) => Some(text),
            None => {
                let scalar = matches!(entry.value.kind, Kind::Number(_) | Kind::Bool(_));
                self.wrong(entry, if scalar { "a string; put it in quotes" } else { "a string" });
                None
            }
        }
    }

    /// Reads a value that must be one of these words.
    pub(super) fn choice(&mut self, entry: &Entry, words: &[&'static str]) -> Option<&'static str> {
        let text = self.string(entry)?;
        let found = words.iter().find(|word| **word == text).copied();
        if found.is_none() {
            let there = format!("expected one of {}", words.join(", "));
            let meant = nearest(text, words.iter().copied()).map(|word| format!("did you mean `{word}`?"));
            let message = format!("`{text}` is no value of `{}`", entry.key);
            self.fault("subject/unknown", entry.value.span, message, there).help.extend(meant);
        }
        found
    }

    pub(super) fn duration(&mut self, entry: &Entry) -> Option<Duration> {
        let time = entry.value.as_str().and_then(|text| parse_bound(text).ok());
        if time.is_none() {
            let message = format!("`{}` is no time", entry.key);
            let there = "expected a number with a unit, more than nothing: 200ms, 10s, 1m";
            self.fault("subject/type", entry.value.span, message, there);
        }
        time
    }

    pub(super) fn size(&mut self, entry: &Entry) -> Option<u64> {
        let size = match &entry.value.kind {
            Kind::Number(number) => number.as_u64(),
            Kind::String(text) => size(text),
            _ => None,
        };
        if size.is_none() {
            let message = format!("`{}` is no size", entry.key);
            self.fault("subject/type", entry.value.span, message, "expected a number of bytes: 512, 64KiB, 1MiB");
        }
        size
    }

    /// Strings with their places; without those items that are none, which are noted.
    pub(super) fn strings(&mut self, entry: &Entry, what: &str) -> Option<Vec<(String, Span)>> {
        let Some(items) = entry.value.as_list() else {
            self.wrong(entry, &format!("a list of {what}, such as [a, b]"));
            return None;
        };
        let mut strings = vec![];
        for item in items {
            match item.as_str() {
                Some(text) => strings.push((text.to_owned(), item.span)),
                None => {
                    let message = format!("an item of `{}` is {}", entry.key, item.kind_name());
                    self.fault("subject/type", item.span, message, "expected a string; put it in quotes");
                }
            }
        }
        Some(strings)
    }
}

/// A size in bytes: `512`, `64KiB`, `1MiB`.
pub(super) fn size(text: &str) -> Option<u64> {
    let (number, unit) = split(text).or_else(|| Some((text.parse().ok()?, "")))?;
    let scale: u64 = match unit {
        "" | "B" => 1,
        "KiB" => 1024,
        "MiB" => 1024 * 1024,
        _ => return None,
    };
    let is_valid = number.fract() == 0.0 && (0.0..=1e9).contains(&number);
    // A whole number within these bounds is exact in both types.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    is_valid.then(|| number as u64 * scale)
}

fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_bytes() {
        assert_eq!((size("512"), size("64KiB"), size("1MiB")), (Some(512), Some(65_536), Some(1 << 20)));
        for wrong in ["", "1.5KiB", "KiB", "1GB", "-1", "1e9", "9999999999KiB", "inf"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }
}
