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
