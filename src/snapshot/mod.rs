//! Snapshots: the normalised trace of a scenario, pinned in a file.
//!
//! A snapshot holds what [`Normaliser`](crate::trace::Normaliser) makes of a trace. [`compare()`] compares a text with
//! the file that pins it. A change becomes a pending file beside it, which a person accepts or rejects
//! ([`PendingSnapshot`]); in CI nothing is written. Files have the format of insta's `.snap` files, so that `cargo insta`
//! can review them where there is a cargo project.

mod compare;
mod file;

pub use compare::{ComparedSnapshot, Snapshot, SnapshotOutcome, compare, unreferenced};
pub use file::{Document, PendingSnapshot, SnapshotError, pending};
