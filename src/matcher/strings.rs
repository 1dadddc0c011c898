//! Matchers of strings: `$regex`, `$starts_with` and `$ends_with`, `$uuid` (RFC 9562 section 4), `$timestamp` (RFC 3339
//! section 5.6), and `$uri` (RFC 3986) with the path that a `file` URI stands for (RFC 8089).

use std::time::Duration;

use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

use crate::uri::{decode_bytes, is_well_encoded};

use super::compile::{Compiler, MatcherArgument, MatcherDefinition, true_schema};
use super::json::show;
use super::logic::flag;
use super::pattern::{Checker, Matcher, PatternKind, where_texts_differ};
use super::template::{Piece, pieces};

pub(super) const REGEX: MatcherDefinition = MatcherDefinition {
    name: "$regex",
    doc: "A string in which the expression is found; `^` and `$` are its ends. A variable in a longer expression stands \
          for its text.",
    argument: || json!({"type": "string"}),
    compile: compile_regex,
};

/// The longest expression, in bytes.
const MAX_LENGTH: usize = 16 << 10;
/// The most memory that a compiled expression may take, in bytes.
const MAX_SIZE: usize = 4 << 20;

struct RegexMatcher(Regex);

fn compile_regex(word: &MatcherDefinition, value: &Value, c: &mut Compiler<'_>) -> Option<PatternKind> {
    let Value::String(text) = value else {
        c.wrong_argument(word, "a regular expression as a string", value);
        return None;
    };
    // An expression that is one variable is the expression; elsewhere its text is meant, whatever characters it has.
    let whole = matches!(pieces(text).as_deref(), Ok([Piece::Variable(_)]));
    let argument = if whole { c.argument(value) } else { c.argument_with(value, &|text| regex::escape(text)) };
    let text = match argument {
        MatcherArgument::Value(Value::String(text)) => text,
        MatcherArgument::Value(other) => {
            c.wrong_argument(word, "a regular expression as a string", &other);
            return None;
        }
        MatcherArgument::Open => return None,
    };
    if text.len() > MAX_LENGTH {
        c.error(format!("the expression is {} bytes long, and {MAX_LENGTH} are allowed", text.len()), None);
        return None;
    }
    match RegexBuilder::new(&text).size_limit(MAX_SIZE).dfa_size_limit(MAX_SIZE).nest_limit(100).build() {
        Ok(regex) => Some(PatternKind::Matcher(Box::new(RegexMatcher(regex)))),
        Err(regex::Error::CompiledTooBig(_)) => {
            c.error("the expression takes too much memory when compiled", Some("smaller repetition counts".to_owned()));
            None
        }
        Err(e) => {
            let text = e.to_string();
            let reason = text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
            c.error(format!("not a regular expression: {reason}"), None);
            None
        }
    }
}

impl Matcher for RegexMatcher {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        if !actual.and_then(Value::as_str).is_some_and(|text| self.0.is_match(text)) {
            checker.add_unexpected(1, &format!("a string with a match of /{}/", self.0), source, actual);
        }
    }
}

pub(super) const STARTS_WITH: MatcherDefinition = MatcherDefinition {
    name: "$starts_with",
    doc: "A string that begins with this text.",
    argument: || json!({"type": "string"}),
    compile: |w, v, c| compile_affix(w, v, c, AffixEnd::Start),
};

pub(super) const ENDS_WITH: MatcherDefinition = MatcherDefinition {
    name: "$ends_with",
    doc: "A string that ends with this text.",
    argument: || json!({"type": "string"}),
    compile: |w, v, c| compile_affix(w, v, c, AffixEnd::End),
};

#[derive(Clone, Copy)]
enum AffixEnd {
    Start,
    End,
}

struct Affix(AffixEnd, String);

fn compile_affix(word: &MatcherDefinition, value: &Value, c: &mut Compiler<'_>, end: AffixEnd) -> Option<PatternKind> {
    match c.argument(value) {
        MatcherArgument::Value(Value::String(text)) => Some(PatternKind::Matcher(Box::new(Affix(end, text)))),
        MatcherArgument::Value(other) => {
            c.wrong_argument(word, "a string", &other);
            None
        }
        MatcherArgument::Open => None,
    }
}

impl Matcher for Affix {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let text = actual.and_then(Value::as_str);
        let (holds, verb) = match self.0 {
            AffixEnd::Start => (text.is_some_and(|t| t.starts_with(&self.1)), "begins"),
            AffixEnd::End => (text.is_some_and(|t| t.ends_with(&self.1)), "ends"),
        };
        if !holds {
            let wanted = super::show(&Value::String(self.1.clone()));
            checker.add_unexpected(1, &format!("a string that {verb} with {wanted}"), source, actual);
        }
    }
}

pub(super) const UUID: MatcherDefinition = MatcherDefinition {
    name: "$uuid",
    doc: "A string that is a UUID: 8-4-4-4-12 hexadecimal digits.",
    argument: true_schema,
    compile: |w, v, c| flag(w, v, c, Uuid),
};

struct Uuid;

impl Matcher for Uuid {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        if !actual.and_then(Value::as_str).is_some_and(is_uuid) {
            checker.add_unexpected(1, "a UUID", source, actual);
        }
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

pub(super) const TIMESTAMP: MatcherDefinition = MatcherDefinition {
    name: "$timestamp",
    doc: "A string that is an RFC 3339 date and time with an offset: `2025-12-09T10:00:00.5Z`; with `near`, one that is no \
          further than `seconds` from this one.",
    argument: || {
        json!({"anyOf": [
            {"const": true},
            {
                "type": "object",
                "properties": {
                    "near": {"type": "string", "description": "A date and time, such as `${began}`."},
                    "seconds": {"type": "integer", "minimum": 0, "description": "How far from it."},
                },
                "required": ["near", "seconds"],
                "additionalProperties": false,
            },
        ]})
    },
    compile: compile_timestamp,
};

struct TimestampMatcher {
    near: Option<(jiff::Timestamp, Duration)>,
}

fn compile_timestamp(word: &MatcherDefinition, value: &Value, c: &mut Compiler<'_>) -> Option<PatternKind> {
    let near = match c.argument(value) {
        MatcherArgument::Value(Value::Bool(true)) => None,
        MatcherArgument::Value(Value::Object(map)) if !map.is_empty() => {
            c.keys(word, &map, &["near", "seconds"]);
            let (near, seconds) = (map.get("near").unwrap_or(&Value::Null), map.get("seconds").unwrap_or(&Value::Null));
            let moment = near.as_str().and_then(|text| text.parse().ok());
            if moment.is_none() {
                c.inside("near", |c| c.wrong_argument(word, "a date and time with an offset", near));
            }
            if seconds.as_u64().is_none() {
                c.inside("seconds", |c| c.wrong_argument(word, "a number of seconds", seconds));
            }
            Some((moment?, Duration::from_secs(seconds.as_u64()?)))
        }
        MatcherArgument::Value(other) => {
            c.wrong_argument(word, "`true` or `{near: …, seconds: …}`", &other);
            return None;
        }
        MatcherArgument::Open => return None,
    };
    Some(PatternKind::Matcher(Box::new(TimestampMatcher { near })))
}

impl Matcher for TimestampMatcher {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let Some(text) = actual.and_then(Value::as_str).filter(|text| is_timestamp(text)) else {
            return checker.add_unexpected(1, "an RFC 3339 date and time with an offset", source, actual);
        };
        let (Some((near, within)), Ok(moment)) = (self.near, text.parse::<jiff::Timestamp>()) else { return };
        if moment.duration_since(near).unsigned_abs() > within {
            let message = format!("expected a time within {within:?} of {near:.0}, got {moment}");
            checker.add_mismatch(1, message, source, actual);
        }
    }
}

/// The form is checked here, since parsers of dates accept more forms than RFC 3339; whether there is such a day is left
/// to the parser.
fn is_timestamp(text: &str) -> bool {
    has_form(text) && text.parse::<jiff::Timestamp>().is_ok()
}

fn has_form(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shaped = |part: &[u8], shape: &str| {
        part.len() == shape.len()
            && part.iter().zip(shape.bytes()).all(|(b, s)| match s {
                b'9' => b.is_ascii_digit(),
                b'T' => b.eq_ignore_ascii_case(&b'T'),
                s => *b == s,
            })
    };
    let Some((time, mut rest)) = bytes.split_at_checked(19) else { return false };
    if !shaped(time, "9999-99-99T99:99:99") {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            return false;
        }
        rest = &fraction[digits..];
    }
    rest.eq_ignore_ascii_case(b"Z") || shaped(rest, "+99:99") || shaped(rest, "-99:99")
}

pub(super) const URI: MatcherDefinition = MatcherDefinition {
    name: "$uri",
    doc: "A string that is an absolute URI; with `scheme`, one of that scheme; with `path`, a `file` URI that stands for \
          this path, however its characters are encoded.",
    argument: || {
        json!({"anyOf": [
            {"const": true},
            {
                "type": "object",
                "properties": {
                    "scheme": {"type": "string", "description": "The scheme, without the colon."},
                    "path": {"type": "string", "description": "An absolute path."},
                },
                "additionalProperties": false,
                "minProperties": 1,
            },
        ]})
    },
    compile: compile_uri,
};

struct Uri {
    scheme: Option<String>,
    path: Option<String>,
}

fn compile_uri(word: &MatcherDefinition, value: &Value, c: &mut Compiler<'_>) -> Option<PatternKind> {
    let uri = match c.argument(value) {
        MatcherArgument::Value(Value::Bool(true)) => Uri { scheme: None, path: None },
        MatcherArgument::Value(Value::Object(map)) if !map.is_empty() => {
            c.keys(word, &map, &["scheme", "path"]);
            let mut text = |key: &str| match map.get(key) {
                Some(Value::String(text)) => Some(text.clone()),
                Some(other) => {
                    c.inside(key, |c| c.wrong_argument(word, "strings", other));
                    None
                }
                None => None,
            };
            Uri { scheme: text("scheme"), path: text("path") }
        }
        MatcherArgument::Value(other) => {
            c.wrong_argument(word, "`true`, `{scheme: …}` or `{path: …}`", &other);
            return None;
        }
        MatcherArgument::Open => return None,
    };
    Some(PatternKind::Matcher(Box::new(uri)))
}

impl Matcher for Uri {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let Some((scheme, rest)) = actual.and_then(Value::as_str).and_then(split_uri) else {
            return checker.add_unexpected(1, "an absolute URI", source, actual);
        };
        if let Some(wanted) = &self.scheme
            && !wanted.eq_ignore_ascii_case(scheme)
        {
            return checker.add_unexpected(1, &format!("a URI with the scheme `{wanted}`"), source, actual);
        }
        if let Some(wanted) = &self.path {
            let path = match scheme.eq_ignore_ascii_case("file") {
                true => file_path(rest),
                false => Err(format!("its scheme is `{scheme}`")),
            };
            match path {
                Ok(path) if path == wanted.as_bytes() => {}
                Ok(path) => {
                    let got = String::from_utf8_lossy(&path).into_owned();
                    let differs = where_texts_differ(wanted, &got);
                    let (wanted, got) = (show(&Value::String(wanted.clone())), show(&Value::String(got)));
                    let message = format!("expected a file URI that stands for {wanted}, got one for {got}{differs}");
                    checker.add_mismatch(1, message, source, actual);
                }
                Err(why) => {
                    let got = actual.map(show).unwrap_or_default();
                    let message = format!("expected a file URI that stands for `{wanted}`, got {got}: {why}");
                    checker.add_mismatch(1, message, source, actual);
                }
            }
        }
    }
}

/// Scheme and the rest of an absolute URI with no characters that a URI cannot have.
fn split_uri(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let stays = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&b);
    let clean = rest.bytes().all(stays) && is_well_encoded(rest);
    (named && clean && !rest.is_empty()).then_some((scheme, rest))
}

/// The path that the rest of a `file` URI stands for; where it names another machine, a query or a fragment, that.
fn file_path(rest: &str) -> Result<Vec<u8>, String> {
    let relative = || "its path does not begin with `/`".to_owned();
    let path = match rest.strip_prefix("//") {
        Some(after) => {
            let (host, path) = after.split_at(after.find('/').ok_or_else(relative)?);
            let here = host.is_empty() || host.eq_ignore_ascii_case("localhost");
            here.then_some(path).ok_or_else(|| format!("it names the machine `{host}`"))?
        }
        None => rest,
    };
    if !path.starts_with('/') {
        return Err(relative());
    }
    if let Some(at) = path.find(['?', '#']) {
        let (path, rest) = path.split_at(at);
        let what = if rest.starts_with('#') { "fragment" } else { "query" };
        return Err(format!("its path is `{path}`, and `{rest}` is its {what}"));
    }
    // What is encoded separates nothing (RFC 3986 section 2.2), and no file has a slash in its name.
    if path.to_ascii_lowercase().contains("%2f") {
        return Err("a `/` in its path is encoded as `%2F`, so that it would be part of a name".to_owned());
    }
    Ok(decode_bytes(path))
}

#[cfg(test)]
mod tests {
    use super::is_timestamp;

    #[test]
    fn only_rfc_3339_with_an_offset_passes() {
        for good in [
            "2025-12-09T10:00:00Z",
            "2025-12-09t10:00:00.123456z",
            "2025-12-09T10:00:00+02:00",
            "2024-02-29T23:59:60Z",
            "1990-12-31T15:59:59-08:00",
        ] {
            assert!(is_timestamp(good), "{good}");
        }
        for bad in [
            "2025-12-09T10:00:00",
            "2025-12-09 10:00:00Z",
            "2025-12-09",
            "2025-02-29T10:00:00Z",
            "2025-12-09T24:00:00Z",
            "2025-12-09T10:00:00.Z",
            "2025-12-09T10:00:00+0200",
            "2025-12-09T10:00:00,5Z",
            "2025-12-09T10:00Z",
            "",
            "ä025-12-09T10:00:00Z",
        ] {
            assert!(!is_timestamp(bad), "{bad}");
        }
    }
}
