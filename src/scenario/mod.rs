//! Scenarios: from YAML to a checked plan.
//!
//! The language is strict and knows no protocol: the verbs, observations and stimuli come from the
//! role's descriptor in [`crate::protocol`]. A file that checks out becomes one [`Plan`] for each
//! edition and case it names.

mod check;
pub mod filter;
pub mod language;
mod load;
mod plan;
mod schema;
pub mod text;
pub mod values;
mod variety;

pub use filter::{Filter, glob};
pub use load::{Loaded, files_below, load, load_str, load_texts};
pub use plan::{
    Collect, Content, Expectation, ExpectedOutcome, Part, Plan, ProcessSharing, SeedFile, Step, StepKind, StreamEnd,
    Until,
};
pub use schema::schema;
pub use variety::{Dimension, varied};
