//! OpenCtx: clients and providers, those that perform scenarios and those that stand by themselves.

pub mod agent;
pub mod client;
pub mod host;
pub mod provider;
