//! What the protocols over HTTP have in common: bodies, heads, exchanges, and the words for them.
//!
//! Their requirements of HTTP have the same areas and slugs, so that one rule serves all.

pub mod content;
pub mod exchanges;
pub mod heads;
pub mod members;
pub mod observation_draft;
pub mod redirects;
pub mod repeats;
pub mod requirement_index;
#[cfg(test)]
pub mod testing;
pub mod to_scenario;
pub mod words;
