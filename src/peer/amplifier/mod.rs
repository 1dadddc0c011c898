//! Amplifier: servers with an agent and their clients, those that perform scenarios and those that stand by themselves.

pub mod agent;
pub mod client;
pub mod host;
mod routes;
pub mod server;
