//! The types of which the scenario language of a role consists: verbs, kinds of observation, and the shapes of their values.
//! Checking, errors and the editor schema follow from these descriptions.

use super::RequirementId;

/// A word of the scenario language that a role brings with it.
pub struct Verb {
    /// The key of the step.
    pub name: &'static str,
    /// What it does, for the schema and the docs.
    pub doc: &'static str,
    /// Its parameters.
    pub shape: Shape,
}

/// A kind of observation, as the scenario language offers it: `expect: { <name>: { …fields } }`.
pub struct ObservationKind {
    /// The key under `expect`.
    pub name: &'static str,
    /// What it is, for the schema and the docs.
    pub doc: &'static str,
    /// Whether it comes on a connection: then expectations may say `on`, and mean `main` where they do not.
    pub on_connection: bool,
    /// Fields that choose which observation is meant. Their values are compared for equality.
    pub selectors: &'static [Field],
    /// Fields that the chosen one must match.
    pub fields: &'static [Field],
    /// Which observation is held against the fields.
    pub pick: Pick,
    /// The requirement (area and slug) that stands for an expectation of this kind that names none.
    pub default_proves: Option<RequirementId>,
}

/// Which of the observations that fit the selectors is held against the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The first one that no earlier expectation has taken: if it does not match, the expectation fails.
    First,
    /// Any: those that do not match are passed over until one does, or the time is up.
    Any,
}

/// What a value in a scenario may be. A string that contains `${…}` may stand for any scalar.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Any JSON; `${…}` in its strings is replaced before use.
    Any,
    /// Any JSON with matchers in it.
    Pattern,
    /// A string.
    String,
    /// `true` or `false`.
    Bool,
    /// A whole number within bounds, both inclusive.
    Integer { min: i64, max: i64 },
    /// A path below the scenario's corner of the workspace: relative, `/` between its parts, no `..`.
    Path,
    /// Bytes, as hexadecimal digits; blanks between them are allowed.
    Hex,
    /// A time such as `200ms`, `2s`, `1m`.
    Duration,
    /// A name that this step introduces, in a namespace such as `connection` or `request`.
    Binds(&'static str),
    /// A name that an earlier step introduced in that namespace; stands for the value bound to it.
    Bound(&'static str),
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// The name of an environment variable that holds a secret, in what a subject is described with.
    Variable,
    /// One of the keys that a subject is described with below this one: see [`Role::described`](super::Role).
    Described(&'static str, &'static [&'static str]),
    /// A map with these keys and no others.
    Object(&'static [Field]),
    /// A map with these keys and no others, and exactly one of those that are named second.
    Choose(&'static [Field], &'static [&'static str]),
    /// A map with exactly one of these keys.
    OneOf(&'static [Field]),
    /// A map with any keys, all of this shape.
    Map(&'static Shape),
    /// A list.
    List(&'static Shape),
    /// Any of several shapes, told apart by their kind of YAML (string, number, map, list…).
    Either(&'static [Shape]),
}

/// A key of a map.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key.
    pub name: &'static str,
    /// What it means, for the schema and the docs.
    pub doc: &'static str,
    /// What its value may be.
    pub shape: Shape,
    /// Whether it must be there.
    pub required: bool,
}

impl Field {
    /// A key that must be there.
    pub const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Self { name, doc, shape, required: true }
    }

    /// A key that may be left out.
    pub const fn optional(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Self { name, doc, shape, required: false }
    }
}
