//! What a mock does by itself: a file of steps, each with what it waits for and what is done then.
//!
//! [`read`] makes a [`Script`] of a file, reporting all that is wrong with it at once; [`play`] has a mock do it.

mod check;
mod player;

pub use check::{read, read_steps, schema};
pub use player::{Script, play};
