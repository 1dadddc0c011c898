//! Correlation: which values of a trace came from earlier ones ([`Correlator`]), and what they are in a live run
//! ([`Translation`]).
//!
//! To play one side of a trace again, each value that this side sent has to be classified: it came from the other side
//! (the id of a response, a session id, a token: then the value of the live other side takes its place), it is made
//! anew in each run (a UUID, a time, a port), or it is a constant. Nothing here knows a protocol: values are classified
//! by their form, by their keys, and by earlier occurrences.
//!
//! All of it works on *documents*: an event as one JSON value ([`document()`]), or another JSON value made of events. A
//! [`ValueLocation`] in a document is a JSON pointer and, where a volatile piece of a text is meant, the number of the
//! piece.

mod correlator;
mod find;

pub use correlator::{Correlator, Translation, ValueLink, ValueOrigin};
pub use find::{Find, Finder, Kind, ValueLocation, document};
