//! JSON texts in which single values are replaced, and every other byte stays as it was.

use std::ops::Range;

use serde_json::Value;

/// A scalar of a JSON text that is no key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Scalar {
    /// Where it is, quotes included.
    at: Range<usize>,
    /// Where the key is that it stands under, quotes included; none in a list or at the top.
    key: Option<Range<usize>>,
}

/// The scalars of a text that is JSON, or begins as JSON does, in order.
fn scalars(text: &str) -> Vec<Scalar> {
    let bytes = text.as_bytes();
    let (mut found, mut key, mut i) = (vec![], None, 0);
    while i < bytes.len() {
        match bytes[i] {
            b'"' => {
                let end = end_of_string(bytes, i);
                let after = bytes[end..].iter().position(|b| !b.is_ascii_whitespace()).map(|n| bytes[end + n]);
                if after == Some(b':') {
                    key = Some(i..end);
                } else {
                    found.push(Scalar { at: i..end, key: key.take() });
                }
                i = end;
            }
            b'{' | b'[' | b'}' | b']' => {
                key = None;
                i += 1;
            }
            b if b.is_ascii_alphanumeric() || b == b'-' => {
                let length = bytes[i..].iter().position(|b| !(b.is_ascii_alphanumeric() || b"+-.".contains(b)));
                let end = length.map_or(bytes.len(), |n| i + n);
                found.push(Scalar { at: i..end, key: key.take() });
                i = end;
            }
            _ => i += 1,
        }
    }
    found
}

/// One past the quote that ends the string which begins here; the end of the text where it does not end.
fn end_of_string(bytes: &[u8], begin: usize) -> usize {
    let mut i = begin + 1;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 2,
            b'"' => return i + 1,
            _ => i += 1,
        }
    }
    bytes.len()
}

/// The scalars of a JSON value that are no keys, in order.
fn leaves<'v>(value: &'v Value, found: &mut Vec<&'v Value>) {
    match value {
        Value::Object(map) => map.values().for_each(|value| leaves(value, found)),
        Value::Array(items) => items.iter().for_each(|value| leaves(value, found)),
        scalar => found.push(scalar),
    }
}

/// The text of `was` as one of `is`, which differs from it in scalars only: those are replaced, and every other byte
/// stays. Where a key occurs twice, so that the text says more than the value, `is` is written anew.
pub fn patched(text: &str, was: &Value, is: &Value) -> String {
    let (mut old, mut new) = (vec![], vec![]);
    leaves(was, &mut old);
    leaves(is, &mut new);
    let places = scalars(text);
    if places.len() != old.len() || old.len() != new.len() {
        return is.to_string();
    }
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for ((place, old), new) in places.into_iter().zip(old).zip(new) {
        if old != new {
            out += &text[from..place.at.start];
            out += &new.to_string();
            from = place.at.end;
        }
    }
    out + &text[from..]
}

/// The text with the first value under a key `id` that is `recorded` replaced by `live`.
pub fn with_id(text: &str, recorded: &Value, live: &Value) -> String {
    let is_id = |scalar: &Scalar| {
        let key = scalar.key.clone().and_then(|key| text.get(key));
        let value = text.get(scalar.at.clone()).and_then(|value| serde_json::from_str::<Value>(value).ok());
        key == Some("\"id\"") && value.as_ref() == Some(recorded)
    };
    match scalars(text).into_iter().find(is_id) {
        Some(Scalar { at, .. }) if recorded != live => format!("{}{live}{}", &text[..at.start], &text[at.end..]),
        _ => text.to_owned(),
    }
}

/// Bytes in the pieces that they had before they were translated: as long as before, but for the last one.
pub fn cut_like(bytes: &[u8], lengths: impl IntoIterator<Item = usize>) -> Vec<Vec<u8>> {
    let mut pieces: Vec<Vec<u8>> = vec![];
    let mut rest = bytes;
    for length in lengths {
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(piece.to_vec());
        rest = after;
    }
    if let Some(last) = pieces.last_mut() {
        last.extend_from_slice(rest);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_replaced() {
        let text = "{ \"a\" : [\"x\\u0041\", 1.50,\t\"\\\"q\"], \"b\":{\"id\":\"u\"} }";
        let was: Value = serde_json::from_str(text).expect("it is JSON");
        let mut is = was.clone();
        is["b"]["id"] = json!("new \"one\"");
        assert_eq!(patched(text, &was, &was), text);
        assert_eq!(patched(text, &was, &is), text.replace("\"u\"", "\"new \\\"one\\\"\""));
    }

    #[test]
    fn a_key_that_occurs_twice_has_the_whole_written_anew() {
        let text = "{\"a\":1, \"a\":2}";
        let was: Value = serde_json::from_str(text).expect("it is JSON");
        assert_eq!(patched(text, &was, &json!({"a": 3})), "{\"a\":3}");
    }

    #[test]
    fn an_id_is_replaced_where_it_is_one_also_in_what_is_no_json() {
        assert_eq!(
            with_id("{\"r\":{\"id\":\"1\",\"n\":\"1\"}", &json!("1"), &json!(7)),
            "{\"r\":{\"id\":7,\"n\":\"1\"}"
        );
        assert_eq!(with_id("{\"n\":1,\"id\": 1 }", &json!(1), &json!("a")), "{\"n\":1,\"id\": \"a\" }");
        assert_eq!(with_id("{\"id\":2}", &json!(1), &json!(3)), "{\"id\":2}");
    }

    #[test]
    fn pieces_stay_as_long_as_they_were_but_for_the_last() {
        assert_eq!(cut_like(b"abcdef", [2, 1, 1]), [b"ab".to_vec(), b"c".to_vec(), b"def".to_vec()]);
        assert_eq!(cut_like(b"a", [2, 3]), [b"a".to_vec(), vec![]]);
    }
}
