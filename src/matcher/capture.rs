//! `$capture`: keeps a value for later.

use serde_json::{Value, json};

use super::check::Checker;
use super::compile::Compiler;
use super::pattern::{Kind, Matcher, Node};
use super::template::is_name;
use super::words::{Word, pattern};

pub(super) const CAPTURE: Word = Word {
    name: "$capture",
    doc: "Anything that is there, and sets the variable named; `{as: NAME, is: PATTERN}`: what the pattern matches.",
    argument: || {
        let name = json!({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_-]*$"});
        json!({"anyOf": [
            name.clone(),
            {
                "type": "object",
                "properties": {"as": name, "is": pattern()},
                "required": ["as"],
                "additionalProperties": false,
            },
        ]})
    },
    compile,
};

struct Capture {
    name: String,
    is: Option<Node>,
}

fn compile(word: &Word, value: &Value, c: &mut Compiler<'_>) -> Option<Kind> {
    if c.negated {
        c.error("nothing can be captured inside `$not`", None);
        return None;
    }
    let (name, is) = match value {
        Value::String(name) => (name, None),
        Value::Object(map) => {
            c.keys(word, map, &["as", "is"]);
            let is = map.get("is").map(|v| c.inside("is", |c| c.node(v)));
            match map.get("as") {
                Some(Value::String(name)) => (name, is),
                _ => {
                    c.error("`$capture` needs `as`, the name of a variable", None);
                    return None;
                }
            }
        }
        other => {
            c.takes(word, "the name of a variable or `{as: …, is: …}`", other);
            return None;
        }
    };
    if !is_name(name) {
        c.error(format!("`{name}` cannot name a variable: a letter or `_`, then letters, digits, `_` and `-`"), None);
        return None;
    }
    if !c.captures.contains(name) {
        c.captures.push(name.clone());
    }
    Some(Kind::Matcher(Box::new(Capture { name: name.clone(), is })))
}

impl Matcher for Capture {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        if let Some(is) = &self.is {
            is.check(actual, checker);
        }
        match actual {
            Some(value) => checker.capture(&self.name, value, source),
            None if self.is.is_none() => checker.unlike(1, "anything", &json!({"$any": true}), actual),
            None => {}
        }
    }

    fn size(&self) -> usize {
        self.is.as_ref().map_or(1, Node::size)
    }
}
