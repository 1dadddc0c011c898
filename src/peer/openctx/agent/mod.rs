//! The reference client: plays `openctx-client`, driven by lines on stdin and stdout.
//!
//! `run` is the whole of it: each call is a task of its own, asks the provider over HTTP by `ask`, and says
//! what came of it. Flaws and freedoms make it different in small ways.

mod ask;
mod flaws;
mod freedoms;
mod mock;
mod quirks;
mod run;
mod seen;
mod selectors;

pub use mock::MOCK;
