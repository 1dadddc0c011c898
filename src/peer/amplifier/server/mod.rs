//! The mock server: plays `amplifier-server` for somebody else's client or tests.
//!
//! A [`script::Script`] says what its agent does for a prompt, and what it has. The [`model::Model`] is its state,
//! without sockets; a [`context::ServerContext`] has it go on by itself. `service` answers requests with it,
//! `subscription` serves its events, and [`deviations`] are where flaws and freedoms make it different.

pub mod context;
pub mod deviations;
pub mod format;
mod mock;
pub mod model;
pub mod script;
mod service;
mod subscription;
#[cfg(test)]
mod tests;

pub use mock::MOCK;

/// The one edition that there is.
pub const EDITION: &str = "2025-12-09";
