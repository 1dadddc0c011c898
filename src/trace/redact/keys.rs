//! Finding secrets by their names: the values of secret JSON keys, query parameters and headers.

use std::sync::{Arc, OnceLock};

use memchr::memmem::Finder;
use parking_lot::Mutex;
use regex::bytes::{Captures, Regex};

use crate::uri;

/// Headers that carry credentials in every protocol.
const HEADERS: &[&str] = &["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key"];

/// Compiling the expressions costs more than a short trace: each set of names is compiled once, when it is first
/// needed. There are as many sets as protocols.
static COMPILED: Mutex<Vec<Keys>> = Mutex::new(Vec::new());

/// The names of secrets. Clones share the compiled expressions.
#[derive(Clone, Debug)]
pub struct Keys(Arc<KeysInner>);

#[derive(Debug)]
struct KeysInner {
    names: Vec<String>,
    patterns: OnceLock<Patterns>,
}

#[derive(Debug, Default)]
struct Patterns {
    /// Searches for each of the names: where none is, nothing but a header can match, and that is seen in a tenth of the time.
    names: Vec<Finder<'static>>,
    json: Option<Regex>,
    item: Option<Regex>,
    nested: Option<Regex>,
    query: Option<Regex>,
    header: Option<Regex>,
}

/// A value found under a secret name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedValue {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The value with its escapes resolved; none where that is not possible.
    pub meaning: Option<String>,
    /// Whether the value is the beginning of a JSON string that continues in a later piece.
    pub open: bool,
}

impl Default for Keys {
    /// No names.
    fn default() -> Self {
        Self(Arc::new(KeysInner { names: vec![], patterns: OnceLock::from(Patterns::default()) }))
    }
}

impl Keys {
    /// The names of these JSON keys and query parameters, and the headers with credentials.
    pub fn new(names: &[&str]) -> Self {
        let mut compiled = COMPILED.lock();
        if let Some(keys) = compiled.iter().find(|keys| keys.0.names == names) {
            return keys.clone();
        }
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let keys = Self(Arc::new(KeysInner { names, patterns: OnceLock::new() }));
        compiled.push(keys.clone());
        keys
    }

    fn patterns(&self) -> &Patterns {
        self.0.patterns.get_or_init(|| {
            let names = &self.0.names;
            let any = names.iter().map(|name| regex::escape(name)).collect::<Vec<_>>().join("|");
            let compile = |pattern: String| (!names.is_empty()).then(|| Regex::new(&pattern).ok()).flatten();
            Patterns {
                names: names.iter().map(|name| Finder::new(name).into_owned()).collect(),
                json: compile(format!(
                    r#"(?s-u)"(?:{any})"[ \t\r\n]*:[ \t\r\n]*(?:"((?:[^"\\]|\\.)*\\?)|(-?[0-9][0-9eE.+-]*)|\[([^\[\]{{}}]*))"#
                )),
                item: compile(r#"(?s-u)"((?:[^"\\]|\\.)*\\?)"?|(-?[0-9][0-9eE.+-]*)"#.to_owned()),
                // In JSON that is a string of other JSON.
                nested: compile(format!(r#"(?s-u)\\"(?:{any})\\"[ \t]*:[ \t]*\\"((?:[^"\\]|\\\\(?:\\.|[^\\]))*)"#)),
                query: compile(format!(r#"(?-u)[?&;](?:{any})=([^&;#\s"'<>]+)"#)),
                header: Regex::new(&format!(
                    r"(?im-u)^(?:{})[ \t]*:[ \t]*(?:[A-Za-z]+[ \t]+)?([^\r\n]*[^\r\n \t])",
                    HEADERS.join("|")
                ))
                .ok(),
            }
        })
    }

    /// Whether the value of this JSON key is secret.
    pub fn has(&self, key: &str) -> bool {
        self.0.names.iter().any(|name| name == key)
    }

    /// The secret part of a header's value: the credentials after the scheme.
    pub fn in_header<'a>(&self, name: &str, value: &'a str) -> Option<&'a str> {
        let named = HEADERS.iter().any(|header| header.eq_ignore_ascii_case(name))
            || self.0.names.iter().any(|key| key.eq_ignore_ascii_case(name));
        let value = value.trim();
        let secret = match value.split_once(' ') {
            Some((scheme, rest)) if scheme.bytes().all(|b| b.is_ascii_alphabetic()) => rest.trim_start(),
            _ => value,
        };
        (named && !secret.is_empty()).then_some(secret)
    }

    /// Every secret value in a text: JSON, a URL, a head.
    pub fn find(&self, data: &[u8]) -> Vec<NamedValue> {
        let mut values = Vec::new();
        if !data.iter().any(|byte| matches!(byte, b':' | b'=')) {
            return values;
        }
        let Patterns { names, json, item, nested, query, header } = self.patterns();
        let named = names.iter().any(|name| name.find(data).is_some());
        let json = json.as_ref().filter(|_| named);
        let query = query.as_ref().filter(|_| named);
        let header = header.as_ref().filter(|_| may_have_header(data));
        for found in json.iter().flat_map(|regex| regex.captures_iter(data)) {
            values.extend(json_value(&found, 0, data));
            if let Some(list) = found.get(3) {
                let items = item.iter().flat_map(|regex| regex.captures_iter(list.as_bytes()));
                values.extend(items.filter_map(|found| json_value(&found, list.start(), data)));
            }
        }
        let nested = nested.as_ref().filter(|_| named);
        for found in nested.iter().flat_map(|regex| regex.captures_iter(data)).filter_map(|c| c.get(1)) {
            let meaning = unescape(found.as_bytes()).and_then(|once| unescape(once.as_bytes()));
            values.push(NamedValue { start: found.start(), end: found.end(), meaning, open: false });
        }
        for found in query.iter().flat_map(|regex| regex.captures_iter(data)).filter_map(|c| c.get(1)) {
            let meaning = String::from_utf8(uri::decode_bytes(found.as_bytes())).ok();
            values.push(NamedValue { start: found.start(), end: found.end(), meaning, open: false });
        }
        for found in header.iter().flat_map(|regex| regex.captures_iter(data)).filter_map(|c| c.get(1)) {
            let meaning = std::str::from_utf8(found.as_bytes()).ok().map(str::to_owned);
            values.push(NamedValue { start: found.start(), end: found.end(), meaning, open: false });
        }
        values.retain(|value| value.start < value.end || value.open);
        values
    }
}

/// The string or number that was found as group 1 or 2, in a part of the data that begins at `offset`.
fn json_value(found: &Captures<'_>, offset: usize, data: &[u8]) -> Option<NamedValue> {
    if let Some(text) = found.get(1) {
        let (start, end) = (offset + text.start(), offset + text.end());
        let open = data.get(end) != Some(&b'"');
        let meaning = if open { None } else { unescape(text.as_bytes()) };
        return Some(NamedValue { start, end, meaning, open });
    }
    let number = found.get(2)?;
    let meaning = std::str::from_utf8(number.as_bytes()).ok().map(str::to_owned);
    let (start, end) = (offset + number.start(), offset + number.end());
    Some(NamedValue { start, end, meaning, open: false })
}

/// Whether any line may begin with one of [`HEADERS`]. For JSON this is much faster than the expression.
fn may_have_header(data: &[u8]) -> bool {
    let begins = |line: &[u8]| {
        let begins_with =
            |name: &&str| line.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name.as_bytes()));
        HEADERS.iter().any(begins_with)
    };
    begins(data) || memchr::memchr_iter(b'\n', data).any(|at| begins(&data[at + 1..]))
}

/// The text of a JSON string, given without its quotes.
pub fn unescape(inside: &[u8]) -> Option<String> {
    let mut quoted = Vec::with_capacity(inside.len() + 2);
    quoted.push(b'"');
    quoted.extend(inside);
    quoted.push(b'"');
    serde_json::from_slice(&quoted).ok()
}

/// Where the JSON string ends that began with `so_far` in an earlier piece: the position of its closing quote.
pub fn closing_quote(so_far: &[u8], data: &[u8]) -> Option<usize> {
    let backslashes = so_far.iter().rev().take_while(|byte| **byte == b'\\').count();
    let mut escaped = backslashes % 2 == 1;
    data.iter().position(|byte| {
        let closes = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        closes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meanings(text: &str) -> Vec<String> {
        Keys::new(&["authToken", "auth"]).find(text.as_bytes()).into_iter().filter_map(|v| v.meaning).collect()
    }

    #[test]
    fn values_are_found_in_json_in_queries_and_in_heads_and_their_escapes_resolved() {
        assert_eq!(meanings(r#"{"port":1,"authToken" : "a\"b\u0063"}"#), ["a\"bc"]);
        assert_eq!(meanings("GET /?x=1&auth=a%2Fb%zz HTTP/1.1"), ["a/b%zz"]);
        assert_eq!(meanings("GET / HTTP/1.1\r\nAuthorization: Bearer abc.def \r\nHost: x\r\n"), ["abc.def"]);
        assert_eq!(meanings("{\"at\":1}\nhost: x\n\nx-Api-KEY: abc\n"), ["abc"]);
        assert_eq!(meanings(r#"{"token":"x","author":"y"} ?other=1"#), Vec::<String>::new());
    }

    #[test]
    fn numbers_lists_and_json_within_json_are_found() {
        assert_eq!(meanings(r#"{"auth":12345678901,"port":1}"#), ["12345678901"]);
        assert_eq!(meanings(r#"{"auth" : [ "a\"b", 17, true, "c"], "x": ["d"]}"#), ["a\"b", "17", "c"]);
        assert_eq!(meanings(r#"{"message":"{\"auth\": \"nes\\\"ted\",\"x\":\"y\"}"}"#), ["nes\"ted"]);
        assert_eq!(meanings(r#"{"auth":[{"x":"y"}],"auth":true}"#), Vec::<String>::new());
    }

    #[test]
    fn an_unfinished_value_is_told_apart() {
        let found = Keys::new(&["authToken"]).find(br#"{"authToken":"ab"#);
        assert_eq!(found, [NamedValue { start: 14, end: 16, meaning: None, open: true }]);
        assert_eq!(closing_quote(b"ab", br#"c\"d"}"#), Some(4));
        assert_eq!(closing_quote(br"ab\", br#""d"}"#), Some(2));
    }

    #[test]
    fn the_scheme_of_credentials_stays_readable() {
        let keys = Keys::new(&[]);
        assert_eq!(keys.in_header("AUTHORIZATION", "Bearer abc"), Some("abc"));
        assert_eq!(keys.in_header("Authorization", "abc"), Some("abc"));
        assert_eq!(keys.in_header("Host", "abc"), None);
    }
}
