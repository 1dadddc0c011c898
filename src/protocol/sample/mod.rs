//! Whole messages as they cross the wire, and conversations of them: what examples are made of and recognised by.
//!
//! [`MessageType`] is one type of message with the schema of all of it, envelope included. A [`SampleStep`] is one message or
//! other step of a conversation, whatever carries it; [`events()`] makes a trace of turns, [`SampleReader`] makes turns of a trace.

mod trace;
mod types;

pub use trace::{SampleReader, events, events_with, recognise};
pub use types::{Carrier, Flow, MessageMark, MessageType, SampleStep, Script, Sent, whole};

use serde_json::Value;

/// An example of a message type, by its name: valid, and always the same.
pub type Example<'a> = &'a dyn Fn(&str) -> Value;

/// What a protocol says of whole messages.
pub struct Samples {
    /// Every type of message of an edition.
    pub types: fn(edition: &str) -> Vec<MessageType>,
    /// The shortest conversation in which such a message stands; in it the message is the last turn that has its type.
    pub around: fn(edition: &str, message: &MessageType, body: &Value, example: Example<'_>) -> Vec<SampleStep>,
    /// Typical conversations.
    pub flows: fn(edition: &str, example: Example<'_>) -> Vec<Flow>,
}
