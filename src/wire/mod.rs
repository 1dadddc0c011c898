//! Transports: sockets with a tap that writes what crosses them into the trace.
//!
//! Nothing here knows what the messages mean. A connection is opened or accepted with a [`Tap`],
//! which names it and writes every event of it; whoever uses the connection says what to send and
//! may read what comes, but need not: the trace has it all.

pub mod http;
pub mod http_head;
pub mod passive_decoder;
pub mod process;
mod tap;
pub mod tcp;
#[cfg(test)]
mod testing;
pub mod websocket;

pub use tap::{Limits, Tap};
