//! `$contains`: a string with a text in it, a list with an item.

use serde_json::{Value, json};

use super::check::Checker;
use super::compile::Compiler;
use super::logic::{list, located};
use super::pattern::{Kind, Matcher, Node};
use super::show::show;
use super::words::{Word, pattern};

pub(super) const CONTAINS: Word = Word {
    name: "$contains",
    doc: "A string with this text in it; a list with such an item. With a list of patterns: each of them somewhere in it.",
    argument: || json!({"anyOf": [pattern(), {"type": "array", "minItems": 1, "items": pattern()}]}),
    compile,
};

struct Contains(Vec<Node>);

fn compile(word: &Word, value: &Value, c: &mut Compiler<'_>) -> Option<Kind> {
    let nodes = if value.is_array() { list(word, value, c)? } else { vec![c.node(value)] };
    Some(Kind::Matcher(Box::new(Contains(nodes))))
}

impl Matcher for Contains {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        match actual {
            Some(Value::String(text)) => {
                for node in &self.0 {
                    match node.plain() {
                        Some(Value::String(wanted)) if text.contains(wanted.as_str()) => {}
                        Some(wanted @ Value::String(_)) => {
                            checker.unlike(1, &format!("a text with {} in it", show(wanted)), source, actual);
                        }
                        _ => checker.unlike(1, &format!("a list with {} in it", show(&node.source)), source, actual),
                    }
                }
            }
            Some(Value::Array(items)) => {
                for node in &self.0 {
                    item(node, items, source, actual, checker);
                }
            }
            _ => {
                let wanted: Vec<String> = self.0.iter().map(|n| show(&n.source)).collect();
                checker.unlike(
                    self.size(),
                    &format!("a text or list with {} in it", wanted.join(" and ")),
                    source,
                    actual,
                );
            }
        }
    }

    fn size(&self) -> usize {
        self.0.iter().map(Node::size).sum()
    }
}

fn item(node: &Node, items: &[Value], source: &Value, actual: Option<&Value>, checker: &mut Checker) {
    let mut nearest: Option<Checker> = None;
    for (i, item) in items.iter().enumerate() {
        let mut trial = checker.trial();
        trial.inside(i, None, |c| node.check(Some(item), c));
        if trial.distance == 0 {
            return checker.adopt(trial);
        }
        if nearest.as_ref().is_none_or(|best| trial.distance < best.distance) {
            nearest = Some(trial);
        }
    }
    // Of a single item it is told what is wrong with it.
    let nearest = match nearest {
        Some(only) if items.len() == 1 => return checker.adopt(only),
        nearest => nearest,
    };
    let near =
        nearest.as_ref().and_then(|t| t.mismatches.first()).map(|m| format!("; nearest: {}", located(m, checker)));
    let message = format!("none of {} items is like {}{}", items.len(), show(&node.source), near.unwrap_or_default());
    checker.wrong(nearest.map_or(node.size(), |t| t.distance), message, source, actual);
}
