//! The implementation under test: starting it in isolation, finding it, provoking it, stopping it.
//!
//! A [`RunDir`] is the place where a subject lives; a [`Running`] is a subject that responds. Whatever
//! a subject does, [`Running::stop`] and dropping it end its whole process tree within a bound.

mod control;
mod driver;
mod error;
pub mod guard;
mod lockfile;
mod output;
mod process;
mod ready;
mod remove_tree;
mod run_dir;
mod running;
mod surroundings;
mod table;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tree;
mod workspace;

pub use error::{RunError, SubjectError};
pub use lockfile::LockfileState;
pub(crate) use lockfile::read_bounded;
pub use run_dir::RunDir;
pub use running::{Running, Start, StopResult};
pub use table::ProcessorTimes;
pub use tree::{Descendants, is_alive};
pub use workspace::{FileState, ScenarioDir};
