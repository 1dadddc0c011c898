//! Re-enacts one side of a recorded trace against a live other.
//!
//! A [`Script`] has the facts about a complete trace; the acts of its two ends are read from it step by step, as [`Steps`].
//! [`as_client`] repeats the client's steps in the order of the record, and holds few of them in memory: before each step
//! it waits for the messages that the server had sent by then. [`as_server`] has the complete record in memory
//! ([`LoadedTrace`]), since a live client may send its requests in any order: it responds as the server responded to the
//! recorded client, and sends unrequested messages at their place in the order.
//!
//! [`ReplayValues`] translates what differs from run to run (tokens, ids, ports, folders). A [`ReplayOutcome`] lists where
//! the live side departs from the record.
//!
//! Nothing here knows a protocol: frames and requests are sent as they were recorded.

mod client;
mod ledger;
mod live;
mod message;
mod outcome;
mod plan;
mod recorded;
mod script;
mod server;
mod state;
mod values;

pub use client::{LiveServer, as_client};
pub use live::{LiveSide, ReplayEnvironment, deliberate_faults, replay};
pub use outcome::{Departure, DepartureCounts, DepartureKind, Position, ReplayOptions, ReplayOutcome, Timing};
pub use script::{EndBehaviour, LoadedTrace, RecordedAct, Request, Script, ScriptError, Step, Steps, Unit};
pub use server::{LiveClient, ReplayListener, as_server};
pub use values::{ReplayValues, Secrets};
