//! The types of which the scenario language of a role consists: verbs and kinds of observation.
//! Checking, errors and the editor schema follow from these descriptions.

use crate::format::Field;

use super::RequirementId;

/// A verb or stimulus: a word of the scenario language that a role brings with it, and the shape of its parameters. It is
/// a variant of an enum that derives `Deserialize` and `JsonSchema`, and that whoever performs it reads.
pub type Verb = Field;

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
