//! JSON and bytes folded to one short line.

use std::fmt::Write as _;

use serde_json::Value;

use crate::trace::Payload;

use super::text::push_clean;

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
