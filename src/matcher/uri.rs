//! `$uri`: an absolute URI (RFC 3986), and which file a `file` URI stands for (RFC 8089).

use serde_json::{Value, json};

use crate::uri::{decode_bytes, is_well_encoded};

use super::check::Checker;
use super::compile::{Argument, Compiler};
use super::pattern::{Kind, Matcher};
use super::show::show;
use super::words::Word;

pub(super) const URI: Word = Word {
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
    compile,
};

struct Uri {
    scheme: Option<String>,
    path: Option<String>,
}

fn compile(word: &Word, value: &Value, c: &mut Compiler<'_>) -> Option<Kind> {
    let uri = match c.argument(value) {
        Argument::Value(Value::Bool(true)) => Uri { scheme: None, path: None },
        Argument::Value(Value::Object(map)) if !map.is_empty() => {
            c.keys(word, &map, &["scheme", "path"]);
            let mut text = |key: &str| match map.get(key) {
                Some(Value::String(text)) => Some(text.clone()),
                Some(other) => {
                    c.inside(key, |c| c.takes(word, "strings", other));
                    None
                }
                None => None,
            };
            Uri { scheme: text("scheme"), path: text("path") }
        }
        Argument::Value(other) => {
            c.takes(word, "`true`, `{scheme: …}` or `{path: …}`", &other);
            return None;
        }
        Argument::Open => return None,
    };
    Some(Kind::Matcher(Box::new(uri)))
}

impl Matcher for Uri {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let Some((scheme, rest)) = actual.and_then(Value::as_str).and_then(split) else {
            return checker.unlike(1, "an absolute URI", source, actual);
        };
        if let Some(wanted) = &self.scheme
            && !wanted.eq_ignore_ascii_case(scheme)
        {
            return checker.unlike(1, &format!("a URI with the scheme `{wanted}`"), source, actual);
        }
        if let Some(wanted) = &self.path {
            let path = match scheme.eq_ignore_ascii_case("file") {
                true => file_path(rest),
                false => Err(format!("its scheme is `{scheme}`")),
            };
            match path {
                Ok(path) if path == wanted.as_bytes() => {}
                Ok(path) => {
                    let stands_for = show(&Value::String(String::from_utf8_lossy(&path).into_owned()));
                    let wanted = show(&Value::String(wanted.clone()));
                    let message = format!("expected a file URI that stands for {wanted}, got one for {stands_for}");
                    checker.wrong(1, message, source, actual);
                }
                Err(why) => {
                    let got = actual.map(show).unwrap_or_default();
                    let message = format!("expected a file URI that stands for `{wanted}`, got {got}: {why}");
                    checker.wrong(1, message, source, actual);
                }
            }
        }
    }
}

/// Scheme and the rest of an absolute URI with no characters that a URI cannot have.
fn split(text: &str) -> Option<(&str, &str)> {
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
    Ok(decode_bytes(path))
}
