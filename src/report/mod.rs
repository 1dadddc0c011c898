//! Reports: each a function from what the judge concluded to a text, and the progress of a run while it goes on.

pub mod json;
mod progress;

pub use progress::{Progress, Silent};
