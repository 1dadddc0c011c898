//! The reference client: plays `amp-client`, driven by lines on stdin and stdout.
//!
//! [`run::run`] is the main loop: it looks for an editor, keeps a connection to it, makes the calls that the driver
//! sends, and reports their outcomes. Flaws and freedoms change its behaviour in small ways. [`MOCK`] is the descriptor of
//! the mock.

mod calls;
mod deviations;
mod discovery;
mod handshake;
mod incoming;
mod mock;
mod run;
mod session;

pub use mock::MOCK;
