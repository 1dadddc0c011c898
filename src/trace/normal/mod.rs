//! Normalisation: a trace as text without what differs from run to run, by [`normalise`] or a [`Normaliser`].
//!
//! The text can be compared line by line. It has no times. Values that differ in every run but have an identity (UUIDs,
//! tokens, ports, process ids, folders) become placeholders that keep the identity: the first UUID is `<uuid:1>`
//! wherever it occurs. Events whose order the protocols leave open come in one canonical order: each connection by
//! itself, each response beside its request, unsolicited messages sorted by name.

mod connection;
mod conversation;
mod json;
mod normaliser;
#[cfg(test)]
mod tests;
mod volatile;

pub use connection::exchange_number;
pub use normaliser::{NormalisationFacts, Normaliser, Strength, ValueNormaliser, normalise};
pub use volatile::TraceFacts;
pub(super) use volatile::{Volatile, VolatilePiece};
