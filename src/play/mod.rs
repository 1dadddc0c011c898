//! Playing: a plan performed between our peer and a subject, with the trace as its record.
//!
//! [`suite()`] plays many plans with several jobs, each a task of its own; each play has its own trace, and ends as a
//! [`Play`](crate::judge::Play) for the judge. Expectations read the observations that the protocol's
//! observer makes of the trace; peers and subjects only write it.

mod collect;
mod draft;
mod driven_client;
mod expect;
mod files;
mod idle;
mod log;
mod matching;
mod missed;
mod needs;
mod one;
mod scene;
mod sign_of_life;
mod starvation;
mod steps;
mod subject_slot;
mod suite;
mod timing;

pub use driven_client::{Contact, contact};
pub use files::{FailedTraceOptions, FailedTraces, KeptTraces, Traces};
pub use needs::missing;
pub use one::{PlayOptions, Snapshotter, Watcher};
pub use subject_slot::{SubjectPool, fresh_run_dir, serves, start};
pub use suite::{Run, StopCondition, SuiteError, suite};
pub use timing::{Cancel, least_waiting_time};
