//! `$equals` and `$literal`: exactly this value.

use serde_json::{Value, json};

use super::compile::{Argument, Compiler};
use super::pattern::{Kind, Node};
use super::words::Word;

pub(super) const EQUALS: Word = Word {
    name: "$equals",
    doc: "Exactly this value: no keys but those named, at every depth.",
    argument: || json!({}),
    compile,
};

pub(super) const LITERAL: Word = Word {
    name: "$literal",
    doc: "The value itself, exactly, even where it looks like a matcher.",
    argument: || json!({}),
    compile,
};

fn compile(_: &Word, value: &Value, c: &mut Compiler<'_>) -> Option<Kind> {
    match c.argument(value) {
        Argument::Value(value) => Some(Kind::Exact(Box::new(Node::literal(value)))),
        Argument::Open => None,
    }
}
