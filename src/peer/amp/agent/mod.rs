//! The reference client: plays `amp-client`, driven by lines on stdin and stdout.
//!
//! `run` is the whole of it: it looks for an editor, keeps a connection to it, makes the calls that it is
//! told to make, and says what came of them. Flaws and freedoms make it different in small ways.

mod calls;
mod discovery;
mod flaws;
mod freedoms;
mod handshake;
mod incoming;
mod mock;
mod quirks;
mod run;
mod session;

pub use mock::MOCK;
