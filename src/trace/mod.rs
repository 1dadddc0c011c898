//! The trace: everything that crossed the wire, and what happened around it, in order.
//!
//! Producers write [`Event`]s through a [`Recorder`], which numbers and times them with one clock,
//! hides secrets, and hands each to its [`Sink`]s: a file, the rules, a player that waits for
//! something, a snapshot. No sink knows who produced an event, no producer knows who reads it.

mod clock;
mod event;
mod recorder;
mod redact;

pub use clock::Clock;
pub use event::{
    Closed, Direction, End, Event, Exited, FileChange, Frame, Head, Launched, Mark, Message, Output, Payload, Stimulus,
    What,
};
pub use recorder::{Recorder, Sink};
pub use redact::Redactor;
