//! The mock editor: plays `amp-server` for somebody else's client or tests.
//!
//! [`model::Editor`] is the editor itself, without any connection: files, buffers, selections, and its
//! responses to messages. The other files put it on a socket, with a lockfile, and change it where flaws and freedoms say so.
//! [`MOCK`] is the descriptor of the mock.

pub(super) mod deviations;
mod disk;
mod files;
pub(super) mod handshake;
pub(super) mod lockfile;
mod methods;
mod mock;
pub(super) mod model;
pub(super) mod outgoing;
pub(super) mod request;
mod server;
mod session;
pub(super) mod shared;
pub(super) mod steer;
#[cfg(test)]
mod tests;
mod text;

pub use mock::MOCK;
