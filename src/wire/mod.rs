//! Transports: sockets with a tap that writes what crosses them into the trace.
//!
//! Nothing here knows what the messages mean. A connection is opened or accepted with a [`Tap`], which has its name and
//! records its events. The user of the connection sends, and may read what is received, but need not: the trace has all
//! of it.

pub mod http;
pub mod http_head;
pub mod passive_decoder;
pub mod process;
pub mod tcp;
#[cfg(test)]
mod testing;
pub mod websocket;

pub use tcp::{Limits, Tap};
