//! Members of objects, and the requirements that each of them breaks where it is missing or has another type.

use serde_json::{Map, Value};

use super::requirement_index::RuleContext;
use crate::protocol::ViolationDetail;

/// A type, and its name for people.
#[derive(Clone, Copy)]
pub struct Type {
    pub name: &'static str,
    pub is: fn(&Value) -> bool,
}

pub const STRING: Type = Type { name: "a string", is: Value::is_string };
pub const OBJECT: Type = Type { name: "an object", is: Value::is_object };

/// What is asked of a member: its key, its type, whether it has to be there, and what it breaks otherwise.
pub type Member = (&'static str, Type, bool, &'static str);

/// An object and its place in the body.
#[derive(Clone, Copy)]
pub struct BodyObject<'v> {
    pub members: &'v Map<String, Value>,
    pub pointer: &'v str,
}

impl<'v> BodyObject<'v> {
    /// A member that has to be there: its value where it is of the type.
    pub fn required(self, ctx: &mut RuleContext<'_>, key: &str, kind: Type, short: &str) -> Option<&'v Value> {
        if !self.members.contains_key(key) {
            let fault = ViolationDetail::new(format!("there is no `{key}`")).at(self.pointer).expected(kind.name);
            ctx.check(short, Some(fault));
            return None;
        }
        self.optional(ctx, key, kind, short)
    }

    /// A member that may be left out: its value where it is there, and of the type.
    pub fn optional(self, ctx: &mut RuleContext<'_>, key: &str, kind: Type, short: &str) -> Option<&'v Value> {
        let value = self.members.get(key)?;
        let fine = (kind.is)(value);
        let fault = || {
            let fault = ViolationDetail::new(format!("`{key}` is not {}", kind.name)).at(self.at(key));
            fault.expected(kind.name).actual(value.clone())
        };
        ctx.check(short, (!fine).then(fault));
        fine.then_some(value)
    }

    /// Holds every member to what is asked of it.
    pub fn check(self, ctx: &mut RuleContext<'_>, asked: &[Member]) {
        for (key, kind, required, short) in asked {
            if *required {
                self.required(ctx, key, *kind, short);
            } else {
                self.optional(ctx, key, *kind, short);
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
    pub fn inner(self, key: &str, then: impl FnOnce(BodyObject<'_>)) {
        if let Some(members) = self.members.get(key).and_then(Value::as_object) {
            then(BodyObject { members, pointer: &self.at(key) });
        }
    }

    /// Looks at each object in a member that is a list.
    pub fn each(self, key: &str, mut then: impl FnMut(BodyObject<'_>)) {
        let list = self.members.get(key).and_then(Value::as_array);
        for (at, value) in list.into_iter().flatten().enumerate() {
            if let Some(members) = value.as_object() {
                then(BodyObject { members, pointer: &format!("{}/{at}", self.at(key)) });
            }
        }
    }

    /// The names of members that are not among these.
    pub fn others(self, known: &[&str]) -> Vec<String> {
        self.members.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect()
    }
}
