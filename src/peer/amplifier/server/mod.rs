//! The mock server: plays `amplifier-server` for somebody else's client or tests.
//!
//! A [`script::Script`] says what its agent does for a prompt, and what it has. The [`model::Model`] is its state, without
//! sockets; a [`stage::ServerContext`] has it go on by itself; the rest puts it on a socket, and makes it different where flaws
//! and freedoms say so.

pub mod form;
pub mod model;
pub mod quirks;
pub mod script;
pub mod stage;

mod flaws;
mod freedoms;
mod memory;
mod mock;
mod place;
mod service;
mod socket;
mod steer;
mod stream;
mod switches;
#[cfg(test)]
mod tests;

pub use mock::MOCK;

/// The one edition that there is.
pub const EDITION: &str = "2025-12-09";
