//! `$starts_with` and `$ends_with`.

use serde_json::{Value, json};

use super::check::Checker;
use super::compile::{Argument, Compiler};
use super::pattern::{Kind, Matcher};
use super::words::Word;

pub(super) const STARTS_WITH: Word = Word {
    name: "$starts_with",
    doc: "A string that begins with this text.",
    argument: || json!({"type": "string"}),
    compile: |w, v, c| compile(w, v, c, End::Start),
};

pub(super) const ENDS_WITH: Word = Word {
    name: "$ends_with",
    doc: "A string that ends with this text.",
    argument: || json!({"type": "string"}),
    compile: |w, v, c| compile(w, v, c, End::End),
};

#[derive(Clone, Copy)]
enum End {
    Start,
    End,
}

struct Affix(End, String);

fn compile(word: &Word, value: &Value, c: &mut Compiler<'_>, end: End) -> Option<Kind> {
    match c.argument(value) {
        Argument::Value(Value::String(text)) => Some(Kind::Matcher(Box::new(Affix(end, text)))),
        Argument::Value(other) => {
            c.takes(word, "a string", &other);
            None
        }
        Argument::Open => None,
    }
}

impl Matcher for Affix {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        let text = actual.and_then(Value::as_str);
        let (holds, verb) = match self.0 {
            End::Start => (text.is_some_and(|t| t.starts_with(&self.1)), "begins"),
            End::End => (text.is_some_and(|t| t.ends_with(&self.1)), "ends"),
        };
        if !holds {
            let wanted = super::show(&Value::String(self.1.clone()));
            checker.unlike(1, &format!("a string that {verb} with {wanted}"), source, actual);
        }
    }
}
