//! Fuzzing: generated traffic that a subject has to bear, as scenarios.
//!
//! What traffic of a role is made of, its protocol says ([`Role::traffic`](crate::protocol::Role)): moves with values left
//! open, sound ones and ones that are wrong on purpose. A [`Generator`] chooses moves, fills them in and puts them in
//! order; each [`Case`] is a scenario as any other, which can be saved, played and shrunk. The same seed and number give
//! the same case on every machine.

mod case;
mod memory;
#[cfg(test)]
mod tests;
mod values;

pub use case::{Case, Generator, Traffic, TrafficError};
pub use memory::{Memory, Taken};
pub use values::Draw;
