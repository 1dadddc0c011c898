//! The reference client: plays `amplifier-client`, driven by lines on stdin and stdout.
//!
//! `run` is the whole of it: each call is a task of its own. A request goes out by `ask`, as `routes` says; a subscription
//! is followed by `stream` or `socket`, and `tell` says what comes. Flaws and freedoms make it different in small ways.

mod ask;
mod flaws;
mod freedoms;
mod memory;
mod mock;
mod quirks;
mod reader;
mod run;
mod socket;
mod stream;
mod subscriptions;
mod tell;

pub use mock::MOCK;
