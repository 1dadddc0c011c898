//! Playing: a plan performed between our peer and a subject, with the trace as its record.
//!
//! [`suite()`] plays many plans with several jobs, each a task of its own; each play has its own trace, and ends as a
//! [`Play`](crate::judge::Play) for the judge. Expectations read the observations that the protocol's
//! observer makes of the trace; peers and subjects only write it.

mod alive;
mod bound;
mod cancel;
mod collect;
mod contact;
mod death;
mod expect;
mod harness_delay;
mod lag;
mod laid;
mod log;
mod missed;
mod needs;
mod one;
mod saw_deliberate;
mod scene;
mod stage;
mod standing;
mod steps;
mod subject_slot;
mod suite;
mod tolerated;
mod traces;

pub use cancel::Cancel;
pub use contact::{Contact, contact};
pub use one::{Options, Snapshotter};
pub use stage::SubjectPool;
pub use subject_slot::{fresh_run_dir, serves, start};
pub use suite::{Run, SuiteError, Until, suite};
pub use traces::{FailedTraces, KeptTraces, Traces, Wanted};
