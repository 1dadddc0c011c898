//! What the protocols over HTTP have in common: bodies, heads, exchanges, and their words in scenarios.
//!
//! Their requirements of HTTP have the same areas and slugs, so that one rule serves all. The main type is
//! [`exchanges::Exchanges`]: the exchanges under way in a trace, and what HTTP requires of each.

pub mod content;
pub mod exchanges;
pub mod heads;
pub mod redirects;
pub mod repeats;
pub mod rule_context;
pub mod scenario;
#[cfg(test)]
pub mod testing;
pub mod verbs;
