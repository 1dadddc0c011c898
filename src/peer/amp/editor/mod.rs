//! The mock editor: plays `amp-server` for somebody else's client or tests.
//!
//! [`model::Editor`] is the editor itself, without any connection: files, buffers, selections, and what it answers to a
//! message. The rest puts it on a socket, with a lockfile, and makes it different where flaws and freedoms say so.

pub mod model;
pub mod quirks;
pub mod text;

pub mod disk;
mod files;
mod flaws;
mod freedoms;
pub(super) mod handshake;
pub(super) mod lockfile;
mod methods;
mod mock;
pub(super) mod outgoing;
pub(super) mod request;
mod server;
mod session;
pub(super) mod shared;
pub(super) mod steer;

pub use mock::MOCK;

#[cfg(test)]
mod tests;
