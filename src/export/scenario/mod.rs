//! A trace as a scenario that plays it again: [`Gathering`] takes in its events, [`Gathering::write`] gives the YAML.
//!
//! What a protocol's traffic is in the words of its roles, the role tells ([`Role::to_scenario`](crate::protocol::Role)). Here it is made a play
//! that works in another run: values that came from the subject are captured and used again, what differs from run to
//! run is matched for what it is, folders and ports become variables, and of time only the order is left. Where a
//! finding is to be shown, everything after it is left out, what the subject owes is awaited whatever it
//! holds, and the finding becomes the expectation that fails.

mod folder;
mod gather;
mod play;
mod values;
mod violation;
mod yaml;

pub use gather::Gathering;
pub use yaml::{Nothing, ScenarioGoal, Wanted};
