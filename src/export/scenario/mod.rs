//! A trace as a scenario that plays it again: [`ScenarioBuilder`] takes in its events, [`ScenarioBuilder::write`] gives the YAML.
//!
//! The role translates the traffic of its protocol into verbs and observations
//! ([`Role::to_scenario`](crate::protocol::Role)). This module makes them a play that works in another run: values that
//! came from the subject are captured and used again, volatile values become matchers, folders and ports become
//! variables, and of time only the order is left. Where a finding is to be shown, everything after it is left out, what
//! the subject owes is awaited whatever it holds, and the finding becomes the expectation that fails.

mod builder;
mod play;
mod values;
mod violation;
mod workspace;
mod yaml;

pub use builder::ScenarioBuilder;
pub use yaml::{NoScenario, ScenarioGoal, ScenarioSpec};
