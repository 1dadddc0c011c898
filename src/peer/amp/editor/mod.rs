//! The mock editor: plays `amp-server` for somebody else's client or tests.
//!
//! [`model::Editor`] is the editor itself, without any connection: files, buffers, selections, and what it answers to a
//! message. The rest puts it on a socket, with a lockfile, and makes it different where flaws and freedoms say so.

pub mod edition;
pub mod file_uri;
pub mod model;
pub mod quirks;
pub mod text;

mod diagnostics;
mod disk;
mod files;
mod flaws;
mod frames;
mod freedoms;
mod go_between;
pub(super) mod handshake;
mod lockfile;
mod methods;
mod mock;
mod notify;
pub(super) mod outgoing;
mod request;
mod server;
pub(super) mod service;
mod session;
pub(super) mod shared;
pub(super) mod steer;

pub use mock::MOCK;

#[cfg(test)]
mod tests;
