//! OpenCtx: one server and one client, each steered by the steps of scenarios or running as a mock.

pub mod client;
pub mod data;
pub mod request;
pub mod server;
