//! A trace as a scenario that plays it again: [`Gathering`] takes in its events, [`Gathering::write`] gives the YAML.
//!
//! What a protocol's traffic is in the words of its roles, the role tells ([`Role::retell`]). Here it is made a play
//! that works in another run: values that came from the subject are captured and used again, what differs from run to
//! run is matched for what it is, folders and ports become variables, and of time only the order is left. Where a
//! finding is to be shown, everything after it is left out, what the subject owes is awaited whatever it
//! holds, and the finding becomes the expectation that fails.

mod breach;
mod folder;
mod gather;
mod linked;
mod nest;
mod play;
mod values;
mod yaml;

use serde_json::{Map, Value};

use crate::protocol::{Requirement, Role};
use crate::trace::End;

pub use gather::Gathering;

/// What the rules found, as a scenario is to show it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The requirement that was broken.
    pub requirement: &'static Requirement,
    /// By whom.
    pub blame: End,
    /// The number of the event that shows it.
    pub index: u64,
    /// What happened, in one sentence.
    pub message: String,
    /// Where in the message's JSON, as a JSON pointer.
    pub path: Option<String>,
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
    pub finding: Option<Shown>,
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
