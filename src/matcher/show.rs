//! Values in messages.

use serde_json::Value;

/// So many characters of a value are shown.
const SHOWN: usize = 160;

/// A value as compact JSON, cut where it is long; then its size is told.
pub fn show(value: &Value) -> String {
    let (text, whole) = match value {
        // A long text is cut before it is encoded, so that a huge one costs nothing.
        Value::String(s) if s.len() > 8 * SHOWN => {
            let head: String = s.chars().take(2 * SHOWN).collect();
            (Value::String(head).to_string(), Some(format!("{} bytes of text", s.len())))
        }
        value => (value.to_string(), None),
    };
    match (text.char_indices().nth(SHOWN), whole) {
        (None, _) => text,
        (Some((at, _)), Some(whole)) => format!("{}… ({whole})", &text[..at]),
        (Some((at, _)), None) => format!("{}… ({} bytes)", &text[..at], text.len()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::show;

    #[test]
    fn short_values_are_shown_whole_and_long_ones_cut_with_their_size() {
        assert_eq!(show(&json!({"a": [1, null, "x"]})), r#"{"a":[1,null,"x"]}"#);
        let shown = show(&json!("ä".repeat(1_000_000)));
        assert!(shown.chars().count() < 220 && shown.ends_with("… (2000000 bytes of text)"), "{shown}");
        assert!(show(&json!(vec![7; 1000])).ends_with("… (2001 bytes)"));
    }
}
