//! The Amp client: the peer opposite an editor.
//!
//! [`AmpClient`] performs the verbs of the role `amp-server`. It holds any number of named connections, each of
//! which writes the trace by itself.

mod amp_client;
pub(super) mod connection;
mod probe;

pub use amp_client::AmpClient;
pub use probe::{call, detect};
