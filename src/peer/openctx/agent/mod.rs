//! The reference client: plays `openctx-client`, driven by lines on stdin and stdout.
//!
//! `run` is the client itself: each call is a task of its own, asks the provider over HTTP by `request_client`, and writes
//! what came of it. Flaws and freedoms make it different in small ways.

mod deviations;
mod request_client;
mod run;
mod selectors;

pub use run::MOCK;
