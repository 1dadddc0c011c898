//! Foreign texts, JSON and bytes, fit for a line of a terminal: nothing that steers it, no wider than there is room.

use std::fmt::Write as _;

use serde_json::Value;
use unicode_width::UnicodeWidthChar as _;

use crate::trace::Payload;

/// Whether a character steers a terminal or a reader's eye rather than being seen: control characters, line and
/// paragraph separators, marks that turn the direction of writing, and marks without width.
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text on one line: what steers is shown as an escape.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_clean(&mut out, text);
    out
}

/// Appends a text on one line.
pub fn push_clean(out: &mut String, text: &str) {
    let mut rest = text;
    loop {
        // Most texts are plain, and long traces have many.
        let plain = rest.bytes().position(|byte| !(b' '..=b'~').contains(&byte)).unwrap_or(rest.len());
        let (before, after) = rest.split_at(plain);
        out.push_str(before);
        let mut chars = after.chars();
        match chars.next() {
            None => return,
            Some('\n') => out.push_str("\\n"),
            Some('\t') => out.push_str("\\t"),
            Some('\r') => out.push_str("\\r"),
            Some(c) if steers(c) => out.extend(c.escape_unicode()),
            Some(c) => out.push(c),
        }
        rest = chars.as_str();
    }
}

/// How many columns a text takes.
pub fn width(text: &str) -> usize {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.len();
    }
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The beginning of a clean text that takes at most so many columns, with an ellipsis where that is not all.
pub fn cut(text: &str, most: usize) -> String {
    if text.len() <= most || width(text) <= most {
        return text.to_owned();
    }
    let (mut out, mut used) = (String::new(), 0);
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > most {
            break;
        }
        used += wide;
        out.push(c);
    }
    if most > 0 {
        out.push('…');
    }
    out
}

/// A clean text in lines of at most so many columns, broken at spaces where there are any.
pub fn wrap(text: &str, most: usize) -> Vec<String> {
    let most = most.max(8);
    let (mut lines, mut line, mut used) = (vec![], String::new(), 0);
    for word in text.split_inclusive(' ') {
        let wide = width(word.trim_end());
        if used + wide > most && used > 0 {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
            used = 0;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            if used + wide > most && c != ' ' {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += wide;
        }
    }
    if !line.trim_end().is_empty() || lines.is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// `1 event`, `2 events`.
pub fn counted(n: u64, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

/// A span of microseconds as people say it: `850 µs`, `12.3 ms`, `4.20 s`, `2 min 5 s`.
pub fn span(micros: u64) -> String {
    let fraction = |unit: u64, digits: usize, name: &str| {
        #[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
        let value = micros as f64 / unit as f64;
        format!("{value:.digits$} {name}")
    };
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..10_000 => fraction(1_000, 2, "ms"),
        10_000..1_000_000 => fraction(1_000, 1, "ms"),
        1_000_000..60_000_000 => fraction(1_000_000, 2, "s"),
        _ => format!("{} min {} s", micros / 60_000_000, micros / 1_000_000 % 60),
    }
}

/// Longer texts inside a value are cut.
const TEXT: usize = 60;

/// How many bytes of binary data are shown.
const BYTES: usize = 24;

/// JSON on one line of at most about `most` characters: long texts and what does not fit become an ellipsis. It takes
/// time for what is shown, not for what there is.
pub fn json(value: &Value, most: usize) -> String {
    let mut out = String::new();
    write(value, most, &mut out);
    out
}

fn write(value: &Value, most: usize, out: &mut String) {
    match value {
        Value::String(text) => quoted(text, TEXT.max(most / 2).min(most.saturating_sub(out.len()).max(8)), out),
        Value::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                if out.len() >= most {
                    let _ = write!(out, "…{} more", items.len() - n);
                    break;
                }
                write(item, most, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (n, (key, item)) in map.iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                if out.len() >= most {
                    out.push('…');
                    break;
                }
                quoted(key, TEXT, out);
                out.push(':');
                write(item, most, out);
            }
            out.push('}');
        }
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

/// A JSON string, cut after so many characters.
fn quoted(text: &str, most: usize, out: &mut String) {
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    let json = Value::from(&text[..end]).to_string();
    push_clean(out, json.strip_suffix('"').unwrap_or(&json));
    out.push_str(if end < text.len() { "…\"" } else { "\"" });
}

/// Bytes on one line: text, or hexadecimal digits.
pub fn payload(payload: &Payload, most: usize) -> String {
    match payload {
        Payload::Text(text) => {
            let text = text.trim_end_matches(['\n', '\r']);
            let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
            let mut out = String::new();
            push_clean(&mut out, &text[..end]);
            out.push_str(if end < text.len() { "…" } else { "" });
            out
        }
        Payload::Binary(bytes) => {
            let mut out = format!("{} bytes ", bytes.len());
            for byte in bytes.iter().take(BYTES) {
                let _ = write!(out, "{byte:02x}");
            }
            out.push_str(if bytes.len() > BYTES { "…" } else { "" });
            out
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        let hostile = "a\u{1b}[31m\r\n\t\u{9b}2J\u{202e}\u{2028}\u{feff}\u{7f}b";
        let shown = clean(hostile);
        assert!(!shown.chars().any(steers), "{shown}");
        assert_eq!(clean("é\n漢"), "é\\n漢");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap(&"x".repeat(20), 8), ["x".repeat(8), "x".repeat(8), "x".repeat(4)]);
    }

    #[test]
    fn spans_have_the_unit_that_suits_them() {
        let of = [850, 1_234, 12_345, 4_200_000, 125_000_000].map(span);
        assert_eq!(of, ["850 µs", "1.23 ms", "12.3 ms", "4.20 s", "2 min 5 s"]);
    }

    #[test]
    fn what_fits_is_whole_and_what_does_not_is_cut() {
        assert_eq!(json(&json!({"a": [1, "b"]}), 80), r#"{"a":[1,"b"]}"#);
        assert_eq!(json(&json!([1, 2, 3, 4]), 5), "[1,2,…2 more]");
        let long = json(&json!({"text": "x".repeat(1 << 20), "b": 1}), 40);
        assert!(long.len() < 120 && long.contains('…'), "{long}");
    }

    #[test]
    fn control_characters_become_escapes_and_bytes_digits() {
        assert_eq!(json(&json!("a\u{1b}\u{9b}"), 80), "\"a\\u001b\\u{9b}\"");
        assert_eq!(payload(&Payload::Binary(vec![0, 255]), 9), "2 bytes 00ff");
        assert_eq!(payload(&Payload::Text("line\n".to_owned()), 9), "line");
    }
}
