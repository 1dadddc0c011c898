//! The types and syntaxes of members in this protocol: integers, URIs, patterns.

use serde_json::{Value, json};

use crate::protocol::ViolationDetail;
use crate::protocol::http::rule_context::RuleContext;
pub use crate::protocol::http::rule_context::{BodyObject, OBJECT, STRING, Type};
use crate::uri::is_well_encoded;

pub const LIST: Type = Type { name: "a list", is: Value::is_array, schema: || json!({"type":"array"}) };
pub const INTEGER: Type = Type { name: "an integer", is: is_integer, schema: || json!({"type":"integer"}) };
pub const STRING_OR_BOOLEAN: Type = Type {
    name: "a string or a boolean",
    is: |v| v.is_string() || v.is_boolean(),
    schema: || json!({"type":["string","boolean"]}),
};

/// A number without a fraction, however it is written.
fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
}

/// Whether a text is a URI: it has a scheme (RFC 3986 section 3.1), each percent sign begins an encoded byte
/// (section 2.1), and it has none of the ASCII characters that a URI never has (section 2). Characters beyond ASCII are taken
/// for those of an IRI.
pub fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let scheme_is_sound = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b));
    let never = |c: char| c == ' ' || c.is_ascii_control() || "\"<>\\^`{|}".contains(c);
    scheme_is_sound && is_well_encoded(rest) && !rest.contains(never)
}

/// Checks that a text is a URI.
pub fn uri(ctx: &mut RuleContext<'_>, value: &Value, pointer: &str, short: &str) {
    // What stands for bytes that are no UTF-8 says nothing of the URI.
    let Some(text) = value.as_str().filter(|text| !text.contains(char::REPLACEMENT_CHARACTER)) else { return };
    let sound = is_uri(text);
    let fault = ViolationDetail::new("this is no URI")
        .at(pointer)
        .expected("a scheme, percent signs that encode bytes, and no space");
    ctx.check(short, (!sound).then(|| fault.actual(value.clone())));
}

/// What is wrong with a pattern in every dialect of regular expressions.
///
/// The document names no dialect, and they differ. Only what none of them allows (ECMAScript, PCRE, Python, RE2, Rust) is a
/// fault: a group or a class that is not closed, a group that was not opened, nothing to repeat, and nothing after the last
/// backslash.
pub fn pattern_fault(pattern: &str) -> Option<&'static str> {
    let mut chars = pattern.chars().peekable();
    let (mut groups, mut repeatable) = (0_u32, false);
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                // Quoted text is known to some dialects only, and may hold anything.
                if chars.next_if_eq(&'Q').is_some() {
                    return None;
                }
                if chars.next().is_none() {
                    return Some("nothing follows the last backslash");
                }
                repeatable = true;
            }
            '[' => {
                if !skip_class(&mut chars) {
                    return Some("a class is not closed");
                }
                repeatable = true;
            }
            '(' => {
                groups += 1;
                repeatable = false;
                // PCRE has verbs.
                if chars.next_if_eq(&'*').is_some() && !chars.peek().is_some_and(char::is_ascii_uppercase) {
                    return Some("there is nothing to repeat");
                }
                if chars.next_if_eq(&'?').is_some() {
                    // Comments and free spacing are known to some dialects only.
                    let word: String = chars.clone().take_while(|c| c.is_ascii_alphabetic() || *c == '#').collect();
                    if word.contains(['x', '#']) && chars.peek() != Some(&'<') {
                        return None;
                    }
                    chars.next();
                }
            }
            ')' => {
                groups = match groups.checked_sub(1) {
                    Some(groups) => groups,
                    None => return Some("a group is closed that was not opened"),
                };
                repeatable = true;
            }
            '*' | '+' | '?' if !repeatable => return Some("there is nothing to repeat"),
            '|' => repeatable = false,
            _ => repeatable = true,
        }
    }
    (groups > 0).then_some("a group is not closed")
}

/// Goes to the end of a class; whether there is one. A bracket right after the opening one may stand for itself.
fn skip_class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    chars.next_if_eq(&'^');
    // In some dialects `[]` is an empty class, in others the bracket is the first member: the next one decides, if any.
    let empty = chars.next_if_eq(&']').is_some();
    // A bracket within a class opens another one in some dialects only: then the first end may be the end of all.
    let (mut depth, mut ended) = (0_u32, empty);
    while let Some(c) = chars.next() {
        match c {
            '\\' => _ = chars.next(),
            '[' => depth += 1,
            ']' if depth == 0 => return true,
            ']' => (depth, ended) = (depth - 1, true),
            _ => {}
        }
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_has_a_scheme_and_percent_signs_that_encode_something() {
        for sound in
            ["file:///a", "untitled:1", "https://a/b%20c", "a+b.c-d:", "urn:x%E2%82%AC", "https://a/é?b=[c]#d'"]
        {
            assert!(is_uri(sound), "{sound}");
        }
        for wrong in [
            "",
            "/a",
            "a b",
            "1a:b",
            ":b",
            "file:///100%",
            "file:///%zz",
            "file:///%a",
            "a%20:b",
            "a:b c",
            "a:b\n",
            "a:<b>",
            "a:\\b",
        ] {
            assert!(!is_uri(wrong), "{wrong}");
        }
    }

    #[test]
    fn an_integer_may_be_written_with_a_fraction_of_nothing() {
        assert!(is_integer(&serde_json::json!(1.0)) && is_integer(&serde_json::json!(-3)));
        assert!(!is_integer(&serde_json::json!(1.5)) && !is_integer(&serde_json::json!("1")));
    }

    #[test]
    fn what_is_a_regular_expression_in_some_dialect_is_none_the_worse_for_it() {
        for pattern in [
            "",
            ".*",
            "^\\s+$",
            "(a|b)*",
            "[^\\]]+",
            "[]a]",
            "[]",
            "[[:alpha:]]",
            "(?i)x",
            "(?<name>a)\\k<name>",
            "(?:a)?",
            "(?<=a)b",
            "(?!a)b",
            "a++",
            "a{2,3}?",
            "\\Q(\\E",
            "(?x) a # (",
            "(?#()a",
            "a|",
            "|a",
            "(|a)",
            "[a[b]",
            "^*",
            "\\(",
            "https?://linear\\.app/.*",
            "(*UTF8)a",
        ] {
            assert_eq!(pattern_fault(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn what_no_dialect_allows_is_a_fault() {
        for pattern in ["(", "a(b", "(a", ")", "a)", "[a", "[^", "*a", "+", "?", "(*a)", "a|*", "a\\", "(?:a"] {
            assert!(pattern_fault(pattern).is_some(), "{pattern}");
        }
    }
}
