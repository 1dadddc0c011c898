//! A trace without what differs from one run to the next: [`normalise`].
//!
//! The result is a text for people, line by line comparable. Times are gone. What is different in every run but means
//! something (UUIDs, tokens, ports, process ids, folders) becomes a placeholder that keeps its identity: the first
//! UUID is `<uuid:1>` wherever it comes again. What the protocols leave open in order comes in one canonical order:
//! each connection by itself, each answer beside its request, what nobody asked for sorted by its name.

mod connection;
mod conversation;
mod json;
mod normaliser;
#[cfg(test)]
mod tests;
mod volatile;

pub use connection::exchange_number;
pub use normaliser::{HandshakeNormaliser, NormalisationFacts, Normaliser, Strength, normalise};
pub use volatile::TraceFacts;
pub(super) use volatile::{Volatile, VolatilePiece};
