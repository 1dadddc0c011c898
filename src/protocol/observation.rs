//! What a protocol makes of the events of a trace: observations for expectations, summaries for people.
//!
//! An [`Observer`] makes an [`Observation`]; an [`ObservationKind`] describes it for the language of scenarios, from which checking,
//! errors and the editor schema follow.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::format::Field;
use crate::protocol::RequirementId;
use crate::trace::Event;

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
    /// Which observation is compared with the fields.
    pub pick: Pick,
    /// The requirement (area and slug) that is meant by an expectation of this kind that names none.
    pub default_proves: Option<RequirementId>,
}

impl ObservationKind {
    /// Whether it is the state of a file, which is read when it is compared, not a message of the trace.
    pub fn is_file(&self) -> bool {
        matches!(self.name, "file" | "lockfile")
    }
}

/// Which of the observations that fit the selectors is compared with the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The first one that no earlier expectation has taken: if it does not match, the expectation fails.
    First,
    /// Any: those that do not match are passed over until one does, or the time is up.
    Any,
}

/// Something that an expectation can wait for: a response, a notification, a close.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The name of its [`ObservationKind`].
    pub kind: &'static str,
    /// The connection it came on.
    pub conn: Option<String>,
    /// What distinguishes it from others of its kind: the id of a response, the name of a notification.
    pub selectors: Map<String, Value>,
    /// What can be matched: an object, with the names of the kind's fields as keys.
    pub value: Value,
    /// The event that completed it.
    pub index: u64,
}

/// Turns events into observations. Keeps state where one observation takes several events.
pub trait Observer: Send {
    /// What this event completes; usually nothing or one observation.
    fn observe(&mut self, event: &Event) -> Vec<Observation>;
}

/// What an event is in its protocol, for whoever shows it in a few words.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageSummary<'a> {
    /// What sort of thing it is.
    pub sort: MessageSort,
    /// The method, endpoint, event or action.
    pub name: Option<Cow<'a, str>>,
    /// What says to which request a response belongs, where messages carry such.
    pub id: Option<&'a Value>,
    /// What it carries: parameters, a result, an error, data.
    pub content: Option<Cow<'a, Value>>,
}

/// The sorts of things that pass between two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageSort {
    /// A message that wants a response.
    Request,
    /// A response with a result.
    Response,
    /// A response with an error.
    Failure,
    /// A message without a request.
    Notification,
}

impl<'a> MessageSummary<'a> {
    /// A summary that has only a sort.
    pub fn new(sort: MessageSort) -> Self {
        Self { sort, name: None, id: None, content: None }
    }

    /// Sets the name.
    pub fn named(self, name: impl Into<Cow<'a, str>>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Sets the content.
    pub fn carrying(self, content: Option<&'a Value>) -> Self {
        Self { content: content.map(Cow::Borrowed), ..self }
    }
}
