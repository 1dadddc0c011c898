//! Amplifier: one server and one client, each steered by the steps of scenarios or running as a mock.

pub mod client;
pub mod server;
