//! Re-enacts one side of a recorded trace against a live other.
//!
//! A [`Script`] is what is known of a trace as a whole; what its two ends did is read from it step by step, as [`Steps`].
//! [`as_client`] does what the client did, in the order of the record, and holds little of it: before each step it waits
//! for what the server had said by then. [`as_server`] has the whole record at hand ([`LoadedTrace`]), since a live client may
//! ask in any order: it answers as the server answered the recorded client, and says at its place in the order what the
//! server said unasked.
//! What differs from run to run (tokens, ids, ports, folders) is translated by [`Values`]; where the live side departs
//! from the record is told by an [`Outcome`].
//!
//! Nothing here knows a protocol: frames and requests are sent as they were recorded.

mod client;
mod ledger;
mod message;
mod outcome;
mod said;
mod script;
mod server;
mod stage;
mod values;

pub use client::{Opposite, as_client};
pub use outcome::{Counts, Departure, Kind, Options, Outcome, Position, Timing};
pub use script::{EndBehaviour, LoadedTrace, RecordedAct, Request, Script, ScriptError, Step, Steps, Unit};
pub use server::{Client, Host, as_server};
pub use values::{Secrets, Values};
