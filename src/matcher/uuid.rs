//! `$uuid`: a UUID in its text form (RFC 9562 section 4).

use serde_json::Value;

use super::check::Checker;
use super::pattern::Matcher;
use super::presence::flag;
use super::words::{Word, only_true};

pub(super) const UUID: Word = Word {
    name: "$uuid",
    doc: "A string that is a UUID: 8-4-4-4-12 hexadecimal digits.",
    argument: only_true,
    compile: |w, v, c| flag(w, v, c, Uuid),
};

struct Uuid;

impl Matcher for Uuid {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        if !actual.and_then(Value::as_str).is_some_and(is_uuid) {
            checker.unlike(1, "a UUID", source, actual);
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
