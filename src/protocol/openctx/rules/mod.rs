//! Rules: what any trace of OpenCtx can be held against, however it came about.
//!
//! [`exchanges`] keeps the exchanges that are under way, and hands what has become whole to the files that judge it. They
//! hold nothing longer than its exchange, but for [`scopes`], which remembers what providers said of themselves.

mod answers;
mod book;
mod exchanges;
mod exits;
mod http;
mod members;
mod params;
mod patterns;
mod ranges;
mod requests;
mod results;
mod scopes;

use crate::protocol::Rule;

/// Fresh rules. There is one edition.
pub fn of() -> Vec<Box<dyn Rule>> {
    vec![Box::new(exchanges::Exchanges::new()), Box::new(exits::Exits::new())]
}

#[cfg(test)]
mod tests;
