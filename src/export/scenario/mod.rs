//! A trace as a scenario that plays it again: [`Gathering`] takes in its events, [`Gathering::write`] gives the YAML.
//!
//! What a protocol's traffic is in the words of its roles, the role tells ([`Role::to_scenario`]). Here it is made a play
//! that works in another run: values that came from the subject are captured and used again, what differs from run to
//! run is matched for what it is, folders and ports become variables, and of time only the order is left. Where a
//! finding is to be shown, everything after it is left out, what the subject owes is awaited whatever it
//! holds, and the finding becomes the expectation that fails.

mod breach;
mod failed;
mod folder;
mod gather;
mod linked;
mod nest;
mod play;
mod values;
mod yaml;

use serde_json::{Map, Value};

use crate::protocol::{Level, Requirement, Role};
use crate::trace::Finding;

pub use gather::Gathering;

/// What was found, as a scenario is to show it.
#[derive(Clone, Debug)]
pub struct ScenarioGoal {
    /// The requirement that was broken; none where an expectation failed that proves none.
    pub requirement: Option<&'static Requirement>,
    /// What was found.
    pub finding: Finding,
}

impl ScenarioGoal {
    /// How binding it is: what proves nothing has to come true all the same.
    pub fn level(&self) -> Level {
        self.requirement.map_or(Level::Must, |requirement| requirement.level)
    }

    /// The number of the last event that it takes: that which shows it, or the last before an expectation failed.
    pub fn last_event(&self) -> u64 {
        self.finding.awaited.as_ref().map_or(self.finding.at, |awaited| awaited.until.max(self.finding.at))
    }

    /// Its name: that of the requirement, without protocol and edition.
    pub fn short(&self) -> &str {
        self.requirement.map_or("an expectation that proves no requirement", Requirement::short)
    }
}

/// What a scenario is to be like.
#[derive(Clone)]
pub struct Wanted {
    /// The role of the subject that it will be played at.
    pub role: &'static Role,
    /// Its edition.
    pub edition: &'static str,
    /// What the trace is called, for the comment at the top.
    pub trace: String,
    /// The finding that it is to show; without one, it says what was observed.
    pub finding: Option<ScenarioGoal>,
}

/// Why there is no scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Nothing {
    /// Our side does nothing in it that could be done again.
    #[error("nothing in it can be played again")]
    Empty,
    /// It has more in it than a scenario should.
    #[error("it has more than {most} steps before that")]
    TooLong {
        /// The most steps of a scenario.
        most: usize,
    },
}

/// A step of the scenario that comes about.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    /// Its one key.
    verb: &'static str,
    /// What stands under it.
    body: Map<String, Value>,
    /// Where it comes from.
    comment: Option<String>,
}
