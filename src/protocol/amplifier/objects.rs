//! The types of the objects in messages, as data: [`ObjectType`]. The catalogue, the rule on members and the JSON Schemas
//! follow from the tables of them, [`BODIES`](super::bodies::BODIES) and [`EVENTS`](super::events::EVENTS).

use serde_json::{Map, Value, json};

use crate::protocol::http::rule_context::RuleContext;
use crate::protocol::{Requirement, ViolationDetail};

use super::members::{BodyObject, Type};

/// The type of an object in a message.
#[derive(Clone, Copy)]
pub struct ObjectType {
    /// The members.
    pub members: &'static [ObjectMember],
    /// The requirements on the members, and others on the object.
    pub requirements: &'static [Requirement],
    /// What is judged of such an object beside the types of its members.
    pub judge: Option<fn(BodyObject<'_>, &mut RuleContext<'_>)>,
}

/// A member of an object.
pub struct ObjectMember {
    /// Its key.
    pub key: &'static str,
    /// Its type.
    pub kind: Type,
    /// When it is there.
    pub presence: Presence,
    /// The requirement that it breaks otherwise, as area and slug.
    pub requirement: &'static str,
    /// The text that it has to be, where there is only one.
    pub text: Option<&'static str>,
    /// The types of the member where it is an object, or of each object in it where it is a list.
    pub inside: &'static [&'static ObjectType],
}

/// When a member is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Always.
    Always,
    /// It may be missing.
    Maybe,
    /// Always in event streams; it may be missing over a WebSocket.
    InStreams,
}

impl ObjectType {
    /// Judges the members of an object, and what is inside of them.
    pub fn check(&self, object: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
        for member in self.members {
            if member.presence == Presence::Always {
                object.required(ctx, member.key, member.kind, member.requirement);
            } else {
                object.optional(ctx, member.key, member.kind, member.requirement);
            }
        }
        for ObjectMember { key, kind, inside, .. } in self.members.iter().filter(|member| !member.inside.is_empty()) {
            // Nothing is looked for in an object that stands where a list belongs, nor the other way round.
            if (kind.is)(&json!([])) {
                object.each(key, |inner| inside.iter().for_each(|kind| kind.check(inner, ctx)));
            } else {
                object.inner(key, |inner| inside.iter().for_each(|kind| kind.check(inner, ctx)));
            }
        }
        for member in self.members {
            judge_text(object, member.key, member.text, member.requirement, ctx);
        }
        if let Some(judge) = self.judge {
            judge(object, ctx);
        }
    }
}

/// Judges a member that has to have an expected text.
pub fn judge_text(object: BodyObject<'_>, key: &str, expected: Option<&str>, short: &str, ctx: &mut RuleContext<'_>) {
    let (Some(expected), Some(actual)) = (expected, object.text(key)) else { return };
    let fault =
        ViolationDetail::new(format!("`{key}` is another one")).at(object.at(key)).expected(expected).actual(actual);
    ctx.check(short, (expected != actual).then_some(fault));
}

/// Judges whether an object has members that none of these types has.
pub fn judge_others(object: BodyObject<'_>, kinds: &[&ObjectType], short: &str, ctx: &mut RuleContext<'_>) {
    let known: Vec<&str> = kinds.iter().flat_map(|kind| kind.members).map(|member| member.key).collect();
    judge_others_than(object, &known, short, ctx);
}

/// Judges whether an object has members other than these.
pub fn judge_others_than(object: BodyObject<'_>, known: &[&str], short: &str, ctx: &mut RuleContext<'_>) {
    let others = object.others(known);
    let fault = || {
        ViolationDetail::new("a body has members that the document does not know")
            .at(object.pointer)
            .actual(others.clone())
    };
    ctx.check(short, (!others.is_empty()).then(fault));
}

/// The JSON Schema (draft-07) of a message that is an object of all these types.
pub fn message_schema(title: &str, kinds: &[&ObjectType]) -> Value {
    let mut schema = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "title": title, "type": "object" });
    add_members(&mut schema, kinds);
    schema
}

/// The JSON Schema of an object of all these types, as a part of another schema.
pub fn schema(kinds: &[&ObjectType]) -> Value {
    let mut schema = json!({ "type": "object" });
    add_members(&mut schema, kinds);
    schema
}

/// Adds the members of types to the schema of an object.
fn add_members(schema: &mut Value, kinds: &[&ObjectType]) {
    let members = || kinds.iter().flat_map(|kind| kind.members);
    let required = members().filter(|member| member.presence == Presence::Always).map(|member| member.key.into());
    let required: Vec<Value> = required.collect();
    let Some(schema) = schema.as_object_mut() else { return };
    if !required.is_empty() {
        let all = schema.entry("required").or_insert_with(|| json!([]));
        all.as_array_mut().into_iter().for_each(|all| all.extend(required.iter().cloned()));
    }
    let properties = schema.entry("properties").or_insert_with(|| Map::new().into());
    let schemas = members().map(|member| (member.key.to_owned(), member.schema()));
    properties.as_object_mut().into_iter().for_each(|properties| properties.extend(schemas.clone()));
}

impl ObjectMember {
    /// The JSON Schema (draft-07) of its value.
    pub fn schema(&self) -> Value {
        if let Some(text) = self.text {
            return json!({ "const": text });
        }
        let mut schema = self.kind.schema();
        if !self.inside.is_empty() {
            let object = if schema.get("items").is_some() { &mut schema["items"] } else { &mut schema };
            add_members(object, self.inside);
        }
        schema
    }

    /// The requirements that this member, and those inside of it, break.
    pub fn every_requirement(&self) -> Vec<&'static str> {
        let inside = self.inside.iter().flat_map(|kind| kind.members).flat_map(Self::every_requirement);
        std::iter::once(self.requirement).chain(inside).collect()
    }
}

/// The type of an object: an area, the end that its requirements bind, a capability, and rows, each of which is
///
/// - a member with the requirement on it: `Presence "key" TYPE => "slug" Level source, "statement" "why";`. Behind the type
///   may stand the only text that it has (`= "text"`), or the types of what is inside (`(INNER)`);
/// - a member on which the requirement of another row is: `Presence "key" TYPE => "slug";`;
/// - a requirement that is not on the type of a member: `+ "slug" Level source, "statement" "why";`.
///
/// `then Some(function)` at the end names what is judged besides.
macro_rules! object {
    (@ $of:tt [$($members:tt)*] [$($requirements:tt)*]) => {
        object!(@ $of [$($members)*] [$($requirements)*] then None)
    };
    (@ $of:tt [$($members:tt)*] [$($requirements:tt)*] then $judge:expr) => {
        $crate::protocol::amplifier::objects::ObjectType {
            members: &[$($members)*],
            requirements: &[$($requirements)*],
            judge: $judge,
        }
    };
    (@ $of:tt [$($members:tt)*] [$($requirements:tt)*]
       + $slug:literal $level:ident $source:expr, $statement:literal $why:literal; $($rest:tt)*) => {
        object!(@ $of [$($members)*]
            [$($requirements)* object!(@requirement $of $slug $level $source, $statement $why),] $($rest)*)
    };
    (@ $of:tt [$($members:tt)*] [$($requirements:tt)*]
       $presence:ident $key:literal $kind:ident $(= $text:literal)? $(($($inside:ident),+))?
       => $slug:literal $level:ident $source:expr, $statement:literal $why:literal; $($rest:tt)*) => {
        object!(@ $of
            [$($members)* object!(@member $of $presence $key $kind [$($text)?] [$($($inside)+)?] $slug),]
            [$($requirements)* object!(@requirement $of $slug $level $source, $statement $why),] $($rest)*)
    };
    (@ $of:tt [$($members:tt)*] [$($requirements:tt)*]
       $presence:ident $key:literal $kind:ident $(= $text:literal)? $(($($inside:ident),+))?
       => $slug:literal; $($rest:tt)*) => {
        object!(@ $of
            [$($members)* object!(@member $of $presence $key $kind [$($text)?] [$($($inside)+)?] $slug),]
            [$($requirements)*] $($rest)*)
    };
    (@member ($area:literal $binds:ident $capability:expr)
       $presence:ident $key:literal $kind:ident $text:tt [$($inside:ident)*] $slug:literal) => {
        $crate::protocol::amplifier::objects::ObjectMember {
            key: $key,
            kind: $kind,
            presence: $crate::protocol::amplifier::objects::Presence::$presence,
            requirement: concat!($area, "/", $slug),
            text: object!(@text $text),
            inside: &[$(&$inside),*],
        }
    };
    (@text []) => { None };
    (@text [$text:literal]) => { Some($text) };
    (@requirement ($area:literal $binds:ident $capability:expr)
       $slug:literal $level:ident $source:expr, $statement:literal $why:literal) => {
        $crate::protocol::Requirement {
            id: concat!("amplifier/2025-12-09/", $area, "/", $slug),
            level: $crate::protocol::Level::$level,
            binds: $crate::trace::End::$binds,
            statement: $statement,
            why: $why,
            source: $source,
            since: "0.1.0",
            capability: $capability,
        }
    };
    ($area:literal, $binds:ident, $capability:expr; $($rows:tt)+) => {
        object!(@ ($area $binds $capability) [] [] $($rows)+)
    };
}
pub(super) use object;
