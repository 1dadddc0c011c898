//! Which values of a trace came from earlier ones, and which differ in every run: [`Correlator`] and [`Translation`].
//!
//! Whoever plays one side of a trace again has to know three things of each value that this side sent: whether it
//! came from the other side (an answer's id, a session's id, a token: then what the live other side sent has to take
//! its place), whether it is made anew each time (a UUID of its own, a moment, a port), or whether it is a constant.
//! Nothing here knows a protocol: it goes by what values look like, by the keys that they stand under, and by
//! whether they were seen before.
//!
//! All of it works on *documents*: an event as one JSON value ([`document()`]), or whatever else is made of events. A
//! [`ValueLocation`] in a document is a JSON pointer, and which of the volatile pieces of the text there is meant.

mod correlator;
mod find;

pub use correlator::{Correlator, Link, Origin, Translation};
pub use find::{Find, Finder, Kind, ValueLocation, document};
