//! What expectations speak about: events, seen with a protocol's eyes.

use serde_json::{Map, Value};

use crate::trace::Event;

use super::{Field, RequirementId};

/// Something that an expectation can wait for: a response, a notification, a close.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The name of its [`ObservationKind`].
    pub kind: &'static str,
    /// The connection it came on.
    pub conn: Option<String>,
    /// What tells it from others of its kind: the id of a response, the name of a notification.
    pub selectors: Map<String, Value>,
    /// What can be matched, under the names of the kind's fields.
    pub value: Map<String, Value>,
    /// The event that completed it.
    pub index: u64,
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

/// Turns events into observations. Holds state where one observation takes several events.
pub trait Observer: Send {
    /// What this event completes; usually nothing or one observation.
    fn observe(&mut self, event: &Event) -> Vec<Observation>;
}
