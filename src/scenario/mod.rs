//! Scenarios: from YAML to a checked plan.
//!
//! The language is strict and knows no protocol: the verbs, observations and stimuli come from the
//! role's descriptor in [`crate::protocol`]. A file that checks out becomes one [`Plan`] for each
//! edition and case it names.

pub mod filter;
mod literal;
mod plan;

pub use filter::{Filter, glob};
pub use literal::{parse_duration, parse_hex};
pub use plan::{
    Collect, Content, Expectation, Outcome, Part, Plan, Process, SeedFile, Step, StepKind, StreamEnd, Until,
};
