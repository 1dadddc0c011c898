//! OpenCtx: clients and providers, those that perform scenarios and those that stand by themselves.

pub mod agent;
pub mod client;
mod codings;
pub mod host;
mod params;
pub mod provider;
