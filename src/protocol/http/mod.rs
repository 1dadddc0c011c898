//! What the protocols over HTTP have in common: bodies, heads, exchanges, and the words for them.
//!
//! Their requirements of HTTP have the same areas and slugs, so that one rule serves all.

pub mod book;
pub mod content;
pub mod exchanges;
pub mod heads;
pub mod members;
pub mod redirects;
pub mod repeats;
pub mod retell;
pub mod seen;
#[cfg(test)]
pub mod testing;
pub mod words;
