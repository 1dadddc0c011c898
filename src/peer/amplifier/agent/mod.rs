//! The reference client: plays `amplifier-client`, driven by lines on stdin and stdout.
//!
//! `mock` runs it: each call is a task of its own. `request` sends what [`routes`](super::routes) gives for a call. `follow`
//! reads the event stream or WebSocket of a subscription with `reader`, and `subscriptions` passes the events on to the
//! caller. Flaws and freedoms change it in small ways, which `deviations` lists.

mod deviations;
mod follow;
mod mock;
mod reader;
mod request;
mod subscriptions;

pub use mock::MOCK;
