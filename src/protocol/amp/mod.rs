//! AMP: an editor serves an agent CLI over a lockfile and a WebSocket.
//!
//! [`editions`] has what differs between the editions, [`PROTOCOL`] is the descriptor of all.

mod agent_model;
mod attribution;
mod client_attribution;
pub mod editions;
pub mod envelope;
mod guide_model;
pub mod lockfile;
mod model;
mod observer;
mod requirements;
mod roles;
mod rules;
mod samples;
#[cfg(test)]
mod testing;
mod to_scenario;
pub mod verbs;
mod walk_clients;

pub use envelope::{PROBE, is_probe};

use super::Protocol;

/// AMP in all editions.
pub static PROTOCOL: Protocol = Protocol {
    name: "amp",
    editions: &[&editions::CLI, &editions::GUIDE],
    roles: &[roles::AMP_SERVER, roles::AMP_CLIENT],
    secret_keys: &["authToken", "auth"],
    requirements: requirements::all,
};
