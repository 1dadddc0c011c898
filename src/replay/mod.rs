//! Re-enacts one side of a recorded trace against a live other.
//!
//! A [`Script`] is a trace as what its two ends did, step by step. [`as_client`] does what the client did, in the
//! order of the record: before each step it waits for what the server had said by then. [`as_server`] answers a live
//! client as the server answered the recorded one, and says at its place in the order what the server said unasked.
//! What differs from run to run (tokens, ids, ports, folders) is translated by [`Values`]; where the live side departs
//! from the record is told by an [`Outcome`].
//!
//! Nothing here knows a protocol: frames and requests are sent as they were recorded.

mod client;
mod ledger;
mod options;
mod outcome;
mod payload;
mod said;
mod script;
mod server;
mod stage;
mod values;

pub use client::{Opposite, as_client};
pub use options::{Options, Timing};
pub use outcome::{Counts, Departure, Kind, Outcome, Position};
pub use script::{Act, Habits, Request, Script, ScriptError, Step, Unit};
pub use server::{Client, Host, as_server};
pub use values::{Secrets, Values};
