//! Exchanges told again as steps: [`server`] where the subject was the provider, [`client`] where it was the client.

mod client;
mod server;

pub use client::ClientToScenario;
pub use server::ServerToScenario;
