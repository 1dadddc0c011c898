//! OpenCtx: the client that stands opposite a provider, and the reference client.

pub mod client;
mod params;
