//! Variables in strings: `${name}`, `${name.key.0}`, and `$${` for a plain `${`.

use serde_json::{Map, Value};

use crate::diagnostic::nearest;

use super::pointer_push;

/// The longest string that putting variables in may give, in bytes.
pub const MAX_TEXT: usize = 64 << 20;

/// The longest value that may come of it all, counted in strings and their bytes.
const MAX_TOTAL: usize = 256 << 20;

/// Why a `${…}` has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub struct Undefined {
    /// What stands between the braces.
    pub name: String,
    /// The string it stands in, as a JSON pointer into the value given.
    pub pointer: String,
    /// A name that may have been meant.
    pub suggestion: Option<String>,
    /// What is wrong with it.
    pub fault: TemplateError,
}

/// What is wrong with a `${…}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateError {
    /// There is no variable of this name.
    Unknown,
    /// There is, but it has no such key or item.
    NoSuchPart,
    /// The text is not a name with dots, or the closing brace is missing.
    Malformed,
    /// The text would grow beyond [`MAX_TEXT`].
    TooLong,
}

impl Undefined {
    fn message(&self) -> String {
        let name = &self.name;
        match self.fault {
            TemplateError::Unknown => format!("undefined variable `{name}`"),
            TemplateError::NoSuchPart => format!("the variable has no part `{name}`"),
            TemplateError::Malformed => {
                format!("`${{{name}` is no variable: a name with `.key` or `.0` parts and a `}}`")
            }
            TemplateError::TooLong => format!("the text becomes too long when `${{{name}}}` is put in"),
        }
    }
}

/// A piece of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Text(String),
    /// A variable: the name, then keys and indices into its value.
    Variable(Vec<String>),
}

/// Splits a string. The error is the text after the `${` that is no variable.
pub fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut out = vec![];
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if at > 0 && rest.as_bytes()[at - 1] == b'$' {
            plain.push_str(&rest[..at - 1]);
            plain.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        plain.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        let broken = || after.chars().take_while(|c| *c != '}').take(40).collect::<String>();
        let name = &after[..after.find('}').ok_or_else(broken)?];
        let path: Vec<String> = name.split('.').map(str::to_owned).collect();
        if !is_name(&path[0]) || path.iter().any(String::is_empty) {
            return Err(broken());
        }
        if !plain.is_empty() {
            out.push(Piece::Text(std::mem::take(&mut plain)));
        }
        out.push(Piece::Variable(path));
        rest = &after[name.len() + 1..];
    }
    plain.push_str(rest);
    if !plain.is_empty() || out.is_empty() {
        out.push(Piece::Text(plain));
    }
    Ok(out)
}

/// Whether this can name a variable: a letter or `_`, then letters, digits, `_` and `-`.
pub fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Whether a string has a `${…}` in it that is not escaped.
pub fn has_variable(text: &str) -> bool {
    pieces(text).map_or(true, |pieces| pieces.iter().any(|p| matches!(p, Piece::Variable(_))))
}

/// The value with every `${…}` of its strings replaced. A string that is only `${…}` takes the value as it is, whatever
/// its type; inside a longer string, strings are put in as they are and everything else as JSON. Keys stay as they are.
///
/// # Errors
/// The first variable, in the order of the value, that has no value.
pub fn resolve(value: &Value, vars: &Map<String, Value>) -> Result<Value, Undefined> {
    let mut total = 0;
    walk(value, vars, &mut String::new(), &mut total, &|text| text.to_owned())
}

/// As [`resolve`], for the variables that a scenario begins with: each may use those before it and those of `base`.
///
/// # Errors
/// The first variable that has no value.
pub fn resolve_vars(vars: &Map<String, Value>, base: &Map<String, Value>) -> Result<Map<String, Value>, Undefined> {
    let mut out = base.clone();
    for (name, value) in vars {
        let value = resolve(value, &out).map_err(|mut e| {
            let mut pointer = String::new();
            pointer_push(&mut pointer, name);
            e.pointer.insert_str(0, &pointer);
            e
        })?;
        out.insert(name.clone(), value);
    }
    Ok(out)
}

/// The names of all variables in a value, each once, in order.
pub fn variables(value: &Value) -> Vec<String> {
    let mut out = vec![];
    collect(value, &mut out);
    out
}

fn collect(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            for piece in pieces(text).unwrap_or_default() {
                if let Piece::Variable(path) = piece
                    && let Some(name) = path.into_iter().next()
                    && !out.contains(&name)
                {
                    out.push(name);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|v| collect(v, out)),
        Value::Object(map) => map.values().for_each(|v| collect(v, out)),
        _ => {}
    }
}

/// A string with its variables replaced; `escape` is applied to what is put into longer strings.
pub(super) fn resolve_text(
    text: &str,
    vars: &Map<String, Value>,
    escape: &dyn Fn(&str) -> String,
) -> Result<Value, Undefined> {
    walk(&Value::String(text.to_owned()), vars, &mut String::new(), &mut 0, escape)
}

fn walk(
    value: &Value,
    vars: &Map<String, Value>,
    pointer: &mut String,
    total: &mut usize,
    escape: &dyn Fn(&str) -> String,
) -> Result<Value, Undefined> {
    let mut inside = |part: &str, value: &Value, total: &mut usize| {
        let length = pointer.len();
        pointer_push(pointer, part);
        let out = walk(value, vars, pointer, total, escape);
        pointer.truncate(length);
        out
    };
    match value {
        Value::Array(items) => {
            let items = items.iter().enumerate().map(|(i, v)| inside(&i.to_string(), v, total));
            Ok(Value::Array(items.collect::<Result<_, _>>()?))
        }
        Value::Object(map) => {
            let entries = map.iter().map(|(key, v)| Ok((key.clone(), inside(key, v, total)?)));
            Ok(Value::Object(entries.collect::<Result<_, _>>()?))
        }
        Value::String(text) => string(text, vars, pointer, total, escape),
        plain => Ok(plain.clone()),
    }
}

fn string(
    text: &str,
    vars: &Map<String, Value>,
    pointer: &str,
    total: &mut usize,
    escape: &dyn Fn(&str) -> String,
) -> Result<Value, Undefined> {
    let undefined =
        |name: String, fault, suggestion| Undefined { name, pointer: pointer.to_owned(), suggestion, fault };
    let pieces = pieces(text).map_err(|broken| undefined(broken, TemplateError::Malformed, None))?;
    let found = |path: &[String]| {
        look_up(path, vars).map_err(|(fault, suggestion)| undefined(path.join("."), fault, suggestion))
    };
    if let [Piece::Variable(path)] = pieces.as_slice() {
        let value = found(path)?;
        *total += weight(value);
        if *total > MAX_TOTAL {
            return Err(undefined(path.join("."), TemplateError::TooLong, None));
        }
        return Ok(value.clone());
    }
    let mut out = String::new();
    for piece in &pieces {
        let added = match piece {
            Piece::Text(text) => text.clone(),
            Piece::Variable(path) => match found(path)? {
                Value::String(text) => escape(text),
                other => escape(&other.to_string()),
            },
        };
        *total += added.len();
        if out.len() + added.len() > MAX_TEXT || *total > MAX_TOTAL {
            let name = if let Piece::Variable(path) = piece { path.join(".") } else { String::new() };
            return Err(undefined(name, TemplateError::TooLong, None));
        }
        out.push_str(&added);
    }
    Ok(Value::String(out))
}

fn look_up<'a>(path: &[String], vars: &'a Map<String, Value>) -> Result<&'a Value, (TemplateError, Option<String>)> {
    let Some((name, parts)) = path.split_first() else { return Err((TemplateError::Malformed, None)) };
    let mut value = vars
        .get(name)
        .ok_or_else(|| (TemplateError::Unknown, nearest(name, vars.keys().map(String::as_str)).map(str::to_owned)))?;
    for part in parts {
        value = match value {
            Value::Object(map) => map.get(part).ok_or_else(|| nearest(part, map.keys().map(String::as_str))),
            Value::Array(items) => part.parse().ok().and_then(|i: usize| items.get(i)).ok_or(None),
            _ => Err(None),
        }
        .map_err(|near| (TemplateError::NoSuchPart, near.map(str::to_owned)))?;
    }
    Ok(value)
}

/// About how much memory a copy takes.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(s) => s.len() + 32,
        Value::Array(items) => 32 + items.iter().map(weight).sum::<usize>(),
        Value::Object(map) => 32 + map.iter().map(|(k, v)| k.len() + weight(v)).sum::<usize>(),
        _ => 32,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;

    fn vars() -> Map<String, Value> {
        json!({"name": "x", "n": 3, "o": {"k": [true, {"d": null}]}, "text": "a"})
            .as_object()
            .cloned()
            .unwrap_or_default()
    }

    #[test]
    fn a_string_that_is_only_a_variable_takes_its_type() {
        let value = json!({"a": "${n}", "b": ["${o}"], "c": "${o.k.0}", "d": "${o.k.1.d}"});
        let expected = json!({"a": 3, "b": [{"k": [true, {"d": null}]}], "c": true, "d": null});
        assert_eq!(resolve(&value, &vars()), Ok(expected));
    }

    #[test]
    fn inside_a_longer_string_it_is_put_in_as_text() {
        let value = json!("${name}-${n}-${o.k.0}-${o.k}-$${n}");
        assert_eq!(resolve(&value, &vars()), Ok(json!("x-3-true-[true,{\"d\":null}]-${n}")));
    }

    #[test]
    fn dollars_and_braces_that_make_no_variable_stay() {
        for plain in ["$", "$x", "{x}", "a$b{", "}", "5$", "^a{2}$"] {
            assert_eq!(resolve(&json!(plain), &vars()), Ok(json!(plain)));
        }
    }

    #[test]
    fn an_undefined_variable_names_its_place_and_the_likely_one() {
        let e = resolve(&json!({"a": ["", "${nmae}"]}), &vars()).unwrap_err();
        assert_eq!((e.name.as_str(), e.pointer.as_str(), e.suggestion.as_deref()), ("nmae", "/a/1", Some("name")));
        assert_eq!(e.to_string(), "undefined variable `nmae`");
        let e = resolve(&json!("${o.q}"), &vars()).unwrap_err();
        assert_eq!((e.fault, e.name.as_str()), (TemplateError::NoSuchPart, "o.q"));
        for broken in ["${", "${}", "${a b}", "${1}", "${a..b}", "x${name"] {
            assert_eq!(resolve(&json!(broken), &vars()).unwrap_err().fault, TemplateError::Malformed, "{broken}");
        }
    }

    #[test]
    fn variables_are_listed_once_and_in_order() {
        assert_eq!(variables(&json!({"a": "${n}${o.k}", "b": ["$${no}", "${n}", "${z}"]})), ["n", "o", "z"]);
    }

    #[test]
    fn variables_may_use_those_before_them() {
        let vars = json!({"a": "${root}/a", "b": ["${a}", "${a}"]}).as_object().cloned().unwrap_or_default();
        let base = json!({"root": "/r"}).as_object().cloned().unwrap_or_default();
        assert_eq!(
            resolve_vars(&vars, &base).map(Value::Object),
            Ok(json!({"root": "/r", "a": "/r/a", "b": ["/r/a", "/r/a"]}))
        );
        let wrong = json!({"a": {"x": "${b}"}, "b": 1}).as_object().cloned().unwrap_or_default();
        assert_eq!(resolve_vars(&wrong, &base).unwrap_err().pointer, "/a/x");
    }

    #[test]
    fn a_text_that_doubles_itself_is_stopped() {
        let mut vars = vars();
        let error = (0..64).find_map(|_| match resolve(&json!("${text}${text}"), &vars) {
            Ok(text) => {
                vars.insert("text".into(), text);
                None
            }
            Err(e) => Some(e.fault),
        });
        assert_eq!(error, Some(TemplateError::TooLong));
    }
}
