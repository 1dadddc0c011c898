//! JSON that not every reader can represent: a lone surrogate, thousands of levels, a number beyond all bounds.
//!
//! RFC 8259 permits all of this (sections 6 to 9), and permits readers to have limits. [`read`] gives as much of it as
//! a [`Value`] represents, so that the rest of the JSON can be judged.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::traffic::{MAX_DEPTH, is_within_depth};

/// JSON, as far as a [`Value`] represents it.
#[derive(Clone, Debug, PartialEq)]
pub struct LenientJson {
    /// The value, with U+FFFD for a lone surrogate, null for what is nested too deep, and the largest number for one
    /// that is too large.
    pub value: Value,
    /// Whether a part of the JSON could not be represented.
    pub lossy: bool,
}

/// How many JSON values one text may have. In memory a value takes many times the two bytes that it may take on the
/// wire, so a bound of the length alone would not bound the memory.
const MAX_VALUES: usize = 1_000_000;

/// What is said of JSON with more values.
pub const TOO_MANY_VALUES: &str = "JSON of more than a million values, the most that wirecert takes";

/// Whether JSON has more values than are decoded, by an upper bound of their number: the commas, colons and opening brackets
/// outside strings, and one.
pub fn has_too_many_values(json: &[u8]) -> bool {
    // Each takes a byte.
    if json.len() < MAX_VALUES {
        return false;
    }
    let (mut count, mut in_string, mut escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b':' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count > MAX_VALUES
}

/// Reads JSON; none where the text is no JSON by its grammar, or has too many values.
pub fn read(text: &str) -> Option<LenientJson> {
    if has_too_many_values(text.as_bytes()) {
        return None;
    }
    if let Ok(value) = serde_json::from_str(text)
        && is_within_depth(&value, MAX_DEPTH)
    {
        return Some(LenientJson { value, lossy: false });
    }
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let value = serde_json::from_str(&representable(text)).ok()?;
    Some(LenientJson { value, lossy: true })
}

/// JSON with every part replaced that a [`Value`] cannot represent.
fn representable(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    let mut depth = 0;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => string_length(rest),
            '-' | '0'..='9' => rest.find([',', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        if matches!(c, '[' | '{') {
            depth += 1;
            if depth == MAX_DEPTH + 1 {
                out.push_str("null");
            }
        }
        if depth <= MAX_DEPTH {
            match c {
                '"' => out.push_str(&without_lone_surrogates(token)),
                '-' | '0'..='9' => out.push_str(&clamped(token)),
                _ => out.push_str(token),
            }
        }
        if matches!(c, ']' | '}') {
            depth -= 1;
        }
    }
    out
}

/// The length of the string at the beginning of `json`, with its quotes.
pub fn string_length(json: &str) -> usize {
    let mut escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(json.len(), |at| at + 2)
}

/// A JSON string, with U+FFFD for each lone surrogate.
fn without_lone_surrogates(string: &str) -> Cow<'_, str> {
    if !string.contains("\\u") {
        return Cow::Borrowed(string);
    }
    let mut out = String::with_capacity(string.len());
    let mut rest = string;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (utf16_escape(rest), rest.get(6..).and_then(utf16_escape)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => 0,
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        let kept = if length == 0 { "\u{fffd}" } else { rest.get(..length).unwrap_or(rest) };
        out.push_str(kept);
        rest = rest.get(if length == 0 { 6 } else { length }..).unwrap_or_default();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The UTF-16 unit of the escape at the beginning of a text.
fn utf16_escape(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// A number within the bounds of `f64`.
fn clamped(number: &str) -> Cow<'_, str> {
    match number.parse::<f64>() {
        Ok(n) if n.is_infinite() => Cow::Owned(n.clamp(f64::MIN, f64::MAX).to_string()),
        _ => Cow::Borrowed(number),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trace::Message;

    fn lossy(text: &str) -> Value {
        let read = read(text).unwrap();
        assert!(read.lossy, "{text}");
        read.value
    }

    #[test]
    fn json_with_too_many_values_is_not_decoded() {
        let message =
            |text: String| Message { text: true, json: None, payload: Some(text.as_bytes().into()), frames: 1 };
        assert_eq!(message(format!("[{}0]", "0,".repeat(MAX_VALUES))).value(), None);
        let text = json!(["\\\",,,,", ",".repeat(MAX_VALUES)]);
        assert_eq!(message(text.to_string()).value().as_deref(), Some(&text), "what is in strings counts as one value");
    }

    #[test]
    fn what_can_be_held_is_as_it_is() {
        for text in ["null", " {\"a\": [1, \"\\ud83d\\ude00\\\\ud800\"]} ", "1e308"] {
            assert_eq!(read(text), Some(LenientJson { value: serde_json::from_str(text).unwrap(), lossy: false }));
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced_and_everything_else_kept() {
        assert_eq!(lossy(r#"{"\ud800": "a\uDFFF\"\\\ud83d\ude00é"}"#), json!({"\u{fffd}": "a\u{fffd}\"\\\u{1f600}é"}));
        assert_eq!(
            lossy(r#"["\ud800\ud83d\ude00", "\ud800x", "\ud800\n"]"#),
            json!(["\u{fffd}😀", "\u{fffd}x", "\u{fffd}\n"])
        );
    }

    #[test]
    fn what_is_nested_too_deep_is_left_out() {
        let nested = |depth: usize| format!("{}\"]\"{}", "[".repeat(depth), "]".repeat(depth));
        let value = lossy(&format!("{{\"deep\": {}, \"beside\": 1}}", nested(5000)));
        assert_eq!(value["beside"], 1);
        assert!(is_within_depth(&value, MAX_DEPTH));
        assert!(read(&nested(MAX_DEPTH)).is_some_and(|read| !read.lossy));
    }

    #[test]
    fn a_number_beyond_all_bounds_is_the_largest() {
        assert_eq!(lossy("[1e999, -1e999, 1e-999]"), json!([f64::MAX, f64::MIN, 0.0]));
    }

    #[test]
    fn what_is_no_json_is_none() {
        for text in ["", "{", "[1e999", r#"["\ud800]"#, r#""\ud8""#, &"[".repeat(5000), "\u{feff}{}"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
