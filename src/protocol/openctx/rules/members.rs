//! The types of members in this protocol.

use serde_json::Value;

use crate::protocol::ViolationDetail;
pub use crate::protocol::http::members::{BodyObject, OBJECT, STRING, Type};
use crate::protocol::http::requirement_index::RuleContext;
use crate::uri::is_well_encoded;

pub const LIST: Type = Type { name: "a list", is: Value::is_array };
pub const INTEGER: Type = Type { name: "an integer", is: is_integer };
pub const STRING_OR_BOOLEAN: Type = Type { name: "a string or a boolean", is: |v| v.is_string() || v.is_boolean() };

/// A number without a fraction, however it is written.
fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
}

/// Whether a text is a URI: it has a scheme (RFC 3986 section 3.1), and each percent sign begins an encoded byte
/// (section 2.1).
pub fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let scheme_is_sound = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b));
    scheme_is_sound && is_well_encoded(rest)
}

/// Holds a text to being a URI.
pub fn uri(ctx: &mut RuleContext<'_>, value: &Value, pointer: &str, short: &str) {
    // What stands for bytes that are no UTF-8 says nothing of the URI.
    let Some(text) = value.as_str().filter(|text| !text.contains(char::REPLACEMENT_CHARACTER)) else { return };
    let sound = is_uri(text);
    let fault =
        ViolationDetail::new("this is no URI").at(pointer).expected("a scheme, and percent signs that encode bytes");
    ctx.check(short, (!sound).then(|| fault.actual(value.clone())));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_has_a_scheme_and_percent_signs_that_encode_something() {
        for sound in ["file:///a", "untitled:1", "https://a/b%20c", "a+b.c-d:", "urn:x%E2%82%AC"] {
            assert!(is_uri(sound), "{sound}");
        }
        for wrong in ["", "/a", "a b", "1a:b", ":b", "file:///100%", "file:///%zz", "file:///%a", "a%20:b"] {
            assert!(!is_uri(wrong), "{wrong}");
        }
    }

    #[test]
    fn an_integer_may_be_written_with_a_fraction_of_nothing() {
        assert!(is_integer(&serde_json::json!(1.0)) && is_integer(&serde_json::json!(-3)));
        assert!(!is_integer(&serde_json::json!(1.5)) && !is_integer(&serde_json::json!("1")));
    }
}
