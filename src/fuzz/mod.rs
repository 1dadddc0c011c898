//! Fuzzing: generated traffic that a subject has to withstand, as scenarios.
//!
//! The protocol lists the moves of a role's traffic ([`Role::traffic`](crate::protocol::Role)), with open values: sound
//! moves, and ones that are wrong on purpose. A [`Generator`] chooses moves, fills in their values and orders them. Each
//! [`Case`] is a scenario like any other: it can be saved, played and shrunk. The same seed and number give the same case
//! on every machine. Where the protocol has a [`Model`](crate::protocol::model::Model) of the role, cases can be [`Walks`] of it instead.

mod campaign;
mod case;
#[cfg(test)]
mod tests;
mod values;
mod walk;

pub use campaign::{Campaign, CaseViolation, FuzzEvent, FuzzResult, Memory, MemoryUse, count_in_words};
pub use case::{Case, Generator, Traffic, TrafficError};
pub use values::SeededRandom;
pub use walk::Walks;
