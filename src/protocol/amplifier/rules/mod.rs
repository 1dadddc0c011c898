//! Rules: what any trace of Amplifier can be held against, however it came about.
//!
//! [`traffic`] keeps what is under way, and hands what has become whole to the files that judge it. They hold nothing longer
//! than its exchange or stream, but for [`sessions`], which remembers what was said of each session over all of them.

mod answers;
mod book;
mod errors;
mod events;
mod exchange;
mod exits;
mod gate;
mod http;
mod lives;
mod members;
mod requests;
mod sessions;
mod sockets;
mod streams;
mod times;
mod traffic;

use crate::protocol::Rule;

/// Fresh rules. There is one edition.
pub fn of() -> Vec<Box<dyn Rule>> {
    vec![Box::new(traffic::Traffic::default()), Box::new(exits::Exits::new())]
}

#[cfg(test)]
mod tests;
