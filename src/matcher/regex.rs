//! `$regex`: a string in which an expression is found.

use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

use super::check::Checker;
use super::compile::{Argument, Compiler};
use super::pattern::{Kind, Matcher};
use super::template::{Piece, pieces};
use super::words::Word;

pub(super) const REGEX: Word = Word {
    name: "$regex",
    doc: "A string in which the expression is found; `^` and `$` are its ends. A variable in a longer expression stands \
          for its text.",
    argument: || json!({"type": "string"}),
    compile,
};

/// The longest expression, in bytes.
const MAX_LENGTH: usize = 16 << 10;
/// The most memory that a compiled expression may take, in bytes.
const MAX_SIZE: usize = 4 << 20;

struct Expression(Regex);

fn compile(word: &Word, value: &Value, c: &mut Compiler<'_>) -> Option<Kind> {
    let Value::String(text) = value else {
        c.takes(word, "a regular expression as a string", value);
        return None;
    };
    // An expression that is one variable is the expression; elsewhere its text is meant, whatever characters it has.
    let whole = matches!(pieces(text).as_deref(), Ok([Piece::Variable(_)]));
    let argument = if whole { c.argument(value) } else { c.argument_with(value, &|text| regex::escape(text)) };
    let text = match argument {
        Argument::Value(Value::String(text)) => text,
        Argument::Value(other) => {
            c.takes(word, "a regular expression as a string", &other);
            return None;
        }
        Argument::Open => return None,
    };
    if text.len() > MAX_LENGTH {
        c.error(format!("the expression is {} bytes long, and {MAX_LENGTH} are allowed", text.len()), None);
        return None;
    }
    match RegexBuilder::new(&text).size_limit(MAX_SIZE).dfa_size_limit(MAX_SIZE).nest_limit(100).build() {
        Ok(regex) => Some(Kind::Matcher(Box::new(Expression(regex)))),
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

impl Matcher for Expression {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        if !actual.and_then(Value::as_str).is_some_and(|text| self.0.is_match(text)) {
            checker.unlike(1, &format!("a string with a match of /{}/", self.0), source, actual);
        }
    }
}
