//! Members of objects, and the requirements that each of them breaks where it is missing or of another type.

use serde_json::{Map, Value};

use super::book::{Bench, Fault};
use super::times;

/// A type, and its name for people.
#[derive(Clone, Copy)]
pub struct Type {
    name: &'static str,
    is: fn(&Value) -> bool,
}

pub const ANY: Type = Type { name: "any value", is: |_| true };
pub const BOOLEAN: Type = Type { name: "a boolean", is: Value::is_boolean };
pub const STRING: Type = Type { name: "a string", is: Value::is_string };
pub const FILLED: Type = Type { name: "a string that is not empty", is: |v| v.as_str().is_some_and(|s| !s.is_empty()) };
pub const STRING_OR_NULL: Type = Type { name: "a string or null", is: |v| v.is_string() || v.is_null() };
pub const NUMBER_OR_NULL: Type = Type { name: "a number or null", is: |v| v.is_number() || v.is_null() };
pub const OBJECT: Type = Type { name: "an object", is: Value::is_object };
pub const OBJECTS: Type = Type { name: "a list of objects", is: |v| is_list(v, Value::is_object) };
pub const STRINGS: Type = Type { name: "a list of strings", is: |v| is_list(v, Value::is_string) };
pub const OPTIONS: Type = Type {
    name: "a list of strings, which is not empty",
    is: |v| is_list(v, Value::is_string) && v.as_array().is_some_and(|list| !list.is_empty()),
};
pub const COUNT: Type = Type { name: "a whole number that is not negative", is: is_count };
pub const AMOUNT: Type = Type { name: "a number that is not negative", is: |v| v.as_f64().is_some_and(|n| n >= 0.0) };
pub const SPAN: Type = Type { name: "a number greater than zero", is: |v| v.as_f64().is_some_and(|n| n > 0.0) };
pub const PORT: Type =
    Type { name: "a port", is: |v| is_count(v) && v.as_f64().is_some_and(|n| (1.0..=65535.0).contains(&n)) };
pub const MOMENT: Type = Type {
    name: "a date and a time of day with an offset from UTC",
    is: |v| v.as_str().is_some_and(|text| times::moment(text).is_some()),
};
pub const SEVERITY: Type = Type {
    name: "`error`, `warning`, `info` or `hint`",
    is: |v| matches!(v.as_str(), Some("error" | "warning" | "info" | "hint")),
};
pub const STATUS: Type = Type {
    name: "`idle`, `processing`, `awaiting_approval`, `error` or `stopped`",
    is: |v| v.as_str().is_some_and(|status| crate::protocol::amplifier::STATUSES.contains(&status)),
};
pub const USAGE: Type = Type {
    name: "an object with the whole numbers `input_tokens` and `output_tokens`",
    is: |v| ["input_tokens", "output_tokens"].iter().all(|key| v.get(key).is_some_and(is_count)),
};
pub const POSITION: Type = Type { name: "an object with the whole numbers `line` and `character`", is: is_position };
pub const RANGE: Type = Type {
    name: "an object with the positions `start` and `end`",
    is: |v| ["start", "end"].iter().all(|key| v.get(key).is_some_and(is_position)),
};
pub const MODULES: Type = Type {
    name: "a list of objects with a string `module`",
    is: |v| is_list(v, |module| module.get("module").is_some_and(Value::is_string)),
};

fn is_list(value: &Value, each: fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(each))
}

/// A whole number, however it is written, and not negative.
fn is_count(value: &Value) -> bool {
    value.as_u64().is_some() || value.as_f64().is_some_and(|n| n >= 0.0 && n.fract() == 0.0)
}

fn is_position(value: &Value) -> bool {
    ["line", "character"].iter().all(|key| value.get(key).is_some_and(is_count))
}

/// Whether a sound range ends before it starts.
pub fn is_backward(range: &Value) -> bool {
    let at = |key: &str| {
        let position = range.get(key)?;
        Some((position.get("line")?.as_f64()?, position.get("character")?.as_f64()?))
    };
    at("start").zip(at("end")).is_some_and(|(start, end)| end < start)
}

/// What is asked of a member: its key, its type, whether it has to be there, and what it breaks otherwise.
pub type Member = (&'static str, Type, bool, &'static str);

/// An object and its place in the body.
#[derive(Clone, Copy)]
pub struct Place<'v> {
    pub members: &'v Map<String, Value>,
    pub pointer: &'v str,
}

impl<'v> Place<'v> {
    /// Holds every member to what is asked of it.
    pub fn hold(self, bench: &mut Bench<'_>, asked: &[Member]) {
        for (key, kind, required, short) in asked {
            match self.members.get(*key) {
                None if *required => {
                    let fault = Fault::new(format!("there is no `{key}`")).at(self.pointer).expected(kind.name);
                    bench.hold(short, Some(fault));
                }
                None => {}
                Some(value) => {
                    let fault = || Fault::new(format!("`{key}` is not {}", kind.name)).at(self.at(key));
                    let broken = !(kind.is)(value);
                    bench.hold(short, broken.then(|| fault().expected(kind.name).actual(value.clone())));
                }
            }
        }
    }

    /// The text of a member.
    pub fn text(self, key: &str) -> Option<&'v str> {
        self.members.get(key)?.as_str()
    }

    /// The place of a member, as a JSON pointer.
    pub fn at(self, key: &str) -> String {
        format!("{}/{key}", self.pointer)
    }

    /// Looks at a member that is an object.
    pub fn inner(self, key: &str, then: impl FnOnce(Place<'_>)) {
        if let Some(members) = self.members.get(key).and_then(Value::as_object) {
            then(Place { members, pointer: &self.at(key) });
        }
    }

    /// Looks at each object in a member that is a list.
    pub fn each(self, key: &str, mut then: impl FnMut(Place<'_>)) {
        let list = self.members.get(key).and_then(Value::as_array);
        for (at, value) in list.into_iter().flatten().enumerate() {
            if let Some(members) = value.as_object() {
                then(Place { members, pointer: &format!("{}/{at}", self.at(key)) });
            }
        }
    }

    /// The names of members that are not among these.
    pub fn others(self, known: &[&str]) -> Vec<String> {
        self.members.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect()
    }
}
