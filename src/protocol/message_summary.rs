//! What an event says in the words of its protocol: [`MessageSummary`].

use std::borrow::Cow;

use serde_json::Value;

/// What an event is in its protocol, for whoever shows it in a few words.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageSummary<'a> {
    /// What sort of thing it is.
    pub sort: MessageSort,
    /// The method, endpoint, event or action.
    pub name: Option<Cow<'a, str>>,
    /// What tells to which request a response belongs, where messages carry such.
    pub id: Option<&'a Value>,
    /// What it carries: parameters, a result, an error, data.
    pub content: Option<Cow<'a, Value>>,
}

/// The sorts of things that pass between two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageSort {
    /// It wants an answer.
    Request,
    /// It is the answer.
    Response,
    /// It is an answer that says that something went wrong.
    Failure,
    /// It comes unasked.
    Notification,
}

impl<'a> MessageSummary<'a> {
    /// Nothing but what sort it is.
    pub fn new(sort: MessageSort) -> Self {
        Self { sort, name: None, id: None, content: None }
    }

    /// With its name.
    pub fn named(self, name: impl Into<Cow<'a, str>>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// With what it carries.
    pub fn carrying(self, content: Option<&'a Value>) -> Self {
        Self { content: content.map(Cow::Borrowed), ..self }
    }
}
