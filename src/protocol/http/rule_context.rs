//! What rules report with: requirements by area and slug, and the members of a JSON object checked for their types.
//!
//! [`RequirementIndex`] has the requirements of an edition, [`RuleContext`] is what a rule judges one event with.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::protocol::{Judgements, Refusal, Requirement, RequirementId, Use, ViolationDetail};
use crate::trace::End;

/// Ids, and whom they bind, by area and slug.
pub struct RequirementIndex(HashMap<&'static str, (RequirementId, End)>);

impl RequirementIndex {
    /// An index of the requirements of one edition.
    pub fn of(requirements: &'static [Requirement]) -> Self {
        Self(requirements.iter().map(|r| (r.short(), (r.id, r.binds))).collect())
    }

    /// The context of this event.
    pub fn ctx<'o>(&'o self, out: &'o mut Judgements, index: u64) -> RuleContext<'o> {
        RuleContext { requirements: self, out, index }
    }

    /// A requirement and whom it binds. Where there is none of this name, that is reported: nothing is judged by it.
    fn get(&self, short: &str, out: &mut Judgements) -> Option<(RequirementId, End)> {
        let found = self.0.get(short).copied();
        if found.is_none() {
            out.unlisted(short);
        }
        found
    }
}

/// What a rule judges one event with.
pub struct RuleContext<'o> {
    requirements: &'o RequirementIndex,
    out: &'o mut Judgements,
    /// The number of the event.
    pub index: u64,
}

impl RuleContext<'_> {
    /// Checks a requirement on the end that it binds: it was kept where there is no fault.
    pub fn check(&mut self, short: &str, fault: Option<ViolationDetail>) {
        let Some((requirement, blame)) = self.requirements.get(short, self.out) else { return };
        match fault {
            None => self.out.assess(requirement),
            Some(fault) => self.out.violate(fault.by(blame, requirement, self.index)),
        }
    }

    /// [`RuleContext::check`], where a fault is said by a condition.
    pub fn check_if(&mut self, short: &str, broken: bool, message: impl FnOnce() -> String) {
        self.check(short, broken.then(|| ViolationDetail::new(message())));
    }

    /// Reports that a sound request needed a capability, and how it was answered.
    pub fn used(&mut self, used: Use) {
        self.out.uses.push(used);
    }

    /// Notes the reading that was taken, or something else that is no fault.
    pub fn note(&mut self, short: &str, text: impl Into<String>) {
        let requirement = self.requirements.get(short, self.out).map(|(id, _)| id);
        self.out.notes.push((requirement, text.into()));
    }

    /// Notes a response that counts against nobody: what was asked for cannot be judged by it.
    pub fn refused(&mut self, short: &str, text: &str) {
        self.note(short, text);
        self.out.refusals.push(Refusal { conn: None, message: text.to_owned() });
    }
}

/// The type of a member.
#[derive(Clone, Copy)]
pub struct Type {
    /// Its name for people, with an article.
    pub name: &'static str,
    /// Whether a value is of it.
    pub is: fn(&Value) -> bool,
    /// Its JSON Schema (draft-07).
    pub schema: fn() -> Value,
}

impl Type {
    /// Its JSON Schema (draft-07).
    pub fn schema(self) -> Value {
        (self.schema)()
    }
}

pub const STRING: Type = Type { name: "a string", is: Value::is_string, schema: || json!({"type":"string"}) };
pub const OBJECT: Type = Type { name: "an object", is: Value::is_object, schema: || json!({"type":"object"}) };

/// What is required of a member: its key, its type, whether it has to be there, and the requirement that it breaks
/// otherwise.
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

    /// Checks every member for what is required of it.
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

#[cfg(test)]
mod tests {
    use crate::protocol::protocols;

    use super::*;

    #[test]
    fn what_is_no_requirement_is_reported_and_judges_nothing() {
        let protocol = protocols().iter().find(|p| p.name == "openctx").expect("it is there");
        let requirements = RequirementIndex::of((protocol.requirements)());
        let mut out = Judgements::default();
        requirements.ctx(&mut out, 0).check("meta/reslut", None);
        requirements.ctx(&mut out, 0).note("meta/result", "noted");
        assert_eq!((out.unlisted, out.assessed.len(), out.notes.len()), (vec!["meta/reslut".to_owned()], 0, 1));
    }
}
