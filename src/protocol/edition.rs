//! [`Edition`]: one dated description of a protocol, and all that depends on which one is spoken.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::matcher::Schemas;
use crate::trace::{End, Event};

use super::sample::{Example, Flow, MessageType, SampleStep};
use super::scenario_element::TraceToScenario;
use super::{Lock, MessageSummary, Observer, Rule};

/// One dated description of a protocol. Its [`Schemas`] are those of messages and parts of them, under the names that
/// `$schema` matchers use.
///
/// Two editions of a protocol are equal if their ids are.
pub trait Edition: Schemas + Sync {
    /// The id, the second part of requirement ids.
    fn id(&self) -> &'static str;
    /// What sets the edition apart, in a sentence.
    fn about(&self) -> &'static str;
    /// Fresh rules.
    fn rules(&'static self) -> Vec<Box<dyn Rule>>;
    /// A fresh observer of what the subject does: this end.
    fn observer(&'static self, subject: End) -> Box<dyn Observer>;
    /// What tells the traffic of a trace again, as steps and observations of the role whose subject is this end.
    fn to_scenario(&'static self, subject: End) -> Box<dyn TraceToScenario>;
    /// What an event is in a few words, where the protocol has words for it.
    fn summarize<'a>(&self, event: &'a Event) -> Option<MessageSummary<'a>>;
    /// Every type of message.
    fn message_types(&self) -> Vec<MessageType>;
    /// The shortest conversation in which such a message stands; in it the message is the last turn that has its type.
    fn conversation(&self, message: &MessageType, body: &Value, example: Example<'_>) -> Vec<SampleStep>;
    /// Typical conversations.
    fn flows(&self, example: Example<'_>) -> Vec<Flow>;

    /// What a server answers to a client's message that it cannot make sense of, so that the client does not wait for
    /// nothing; none where the protocol has no such thing.
    fn refusal(&self, _message: &Value) -> Option<Value> {
        None
    }

    /// Reads a lockfile's content: what a client needs of it, or why a client would ignore it.
    fn read_lockfile(&self, _content: &[u8]) -> Result<Lock, String> {
        Err("it is no lockfile".to_owned())
    }

    /// Whether a server may look at no variable that names a data home, and use the default one.
    fn may_know_home_only(&self) -> bool {
        false
    }

    /// The ports at which clients may look for a server without knowing more, where there are such.
    fn ports(&self) -> Option<RangeInclusive<u16>> {
        None
    }
}

impl PartialEq for dyn Edition + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for dyn Edition + '_ {}

impl fmt::Debug for dyn Edition + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.id(), f)
    }
}

impl fmt::Display for dyn Edition + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

impl Serialize for dyn Edition + '_ {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
