//! Scenarios as texts that programs change: read with their comments, written so that people like to read them.
//!
//! What a [`Tree`] is read from may look any way that YAML allows; what is written from it always looks the same. Comments
//! stay with the node that they are beside or above. Anchors, aliases and merge keys are written out.

#[cfg(test)]
mod tests;
mod tree;
mod write;

pub use tree::{Branch, Path, Tree};
pub use write::write;
