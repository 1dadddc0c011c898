//! Rules: what any trace of Amplifier can be held against, however it came about.

mod book;
mod exits;

use crate::protocol::Rule;

/// Fresh rules. There is one edition.
pub fn of() -> Vec<Box<dyn Rule>> {
    vec![Box::new(exits::Exits::new())]
}
