//! Scenarios made from traces: [`server`] where the subject was the server, [`client`] where it was the
//! extension.

mod client;
mod server;

pub use client::ClientToScenario;
pub use server::ServerToScenario;
