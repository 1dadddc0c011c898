//! A conversation told again as steps: [`server`] where the subject was the editor, [`client`] where it was the agent.

mod client;
mod frames;
mod server;

pub use client::RetellClient;
pub use server::RetellServer;
