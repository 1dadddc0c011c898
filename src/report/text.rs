//! Values and foreign texts, fit to be printed.

use serde_json::Value;

/// The longest piece of a value that is shown, in characters.
const LONGEST: usize = 400;

/// A text that may come from a subject, without anything that would steer a terminal: control characters other
/// than line ends and tabs are shown as escapes.
pub fn clean(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// A JSON value in one line, its middle left out where it is long.
pub fn value(value: &Value) -> String {
    let text = clean(&value.to_string());
    let length = text.chars().count();
    if length <= LONGEST {
        return text;
    }
    let head: String = text.chars().take(LONGEST * 3 / 4).collect();
    let tail: String = text.chars().skip(length - LONGEST / 4).collect();
    format!("{head} …{} characters… {tail}", length - LONGEST)
}

/// `1 scenario`, `2 scenarios`.
pub fn counted(n: u64, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_steer_a_terminal_is_shown_instead() {
        assert_eq!(clean("a\u{1b}[31mb\r\n\tc\u{202e}"), "a\\u{1b}[31mb\\r\n\tc\\u{202e}");
    }

    #[test]
    fn a_long_value_keeps_its_beginning_and_end() {
        let text = value(&Value::String(format!("a{}z", "é".repeat(10_000))));
        assert!(text.starts_with("\"aé") && text.ends_with("éz\"") && text.contains("…9604 characters…"), "{text}");
        assert_eq!(value(&serde_json::json!({"a": [1, null]})), r#"{"a":[1,null]}"#);
    }
}
