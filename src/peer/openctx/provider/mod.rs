//! The mock provider: plays `openctx-provider` for somebody else's client or tests.
//!
//! [`data::Data`] says what it has to give. What it answers to a request comes of that alone; the rest puts it on a
//! socket, and makes it different where flaws and freedoms say so.

pub mod data;
mod deviations;
mod mock;
pub mod request;
mod service;
#[cfg(test)]
mod tests;

pub use mock::{EDITION, MOCK};
