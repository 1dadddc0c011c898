//! The editors of a play: the peer opposite an agent.
//!
//! [`AmpHost`] performs the verbs of the role `amp-client`: it starts editors, each of which listens, writes a
//! lockfile and serves whoever connects, in the background. Their connections are known by names that scenarios give
//! in advance; a step on one waits until the client has come.

mod amp_host;
mod connection;
mod editor;
mod listener;
mod lockfile;
mod serve;

pub use amp_host::AmpHost;
pub use lockfile::announce;
