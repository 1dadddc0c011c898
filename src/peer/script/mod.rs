//! What a mock does by itself: a file of steps, each with what it waits for and what is done then.
//!
//! [`read`] makes a [`Script`] of a file, telling all that is wrong with it at once; [`play`] has a mock do it.

mod check;
mod player;
mod schema;

pub use check::{read, read_steps};
pub use player::play;
pub use schema::schema;

use std::time::Duration;

use serde_json::{Map, Value};

use crate::diagnostic::SourceSpan;

/// A script, read and checked.
#[derive(Debug)]
pub struct Script {
    steps: Vec<Step>,
}

/// Something to wait for, and what to do then.
#[derive(Debug)]
struct Step {
    when: When,
    times: Times,
    what: ScriptAction,
}

/// What a step waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum When {
    /// Nothing: the step before is done.
    Start,
    /// A client is let in.
    Connected,
    /// A client is gone.
    Disconnected,
    /// A client made a request for this method.
    Request(String),
    /// Time goes by.
    After(Duration),
}

/// How often a step is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Times {
    /// This often.
    Count(u64),
    /// Until the mock ends.
    Forever,
}

/// What is done.
#[derive(Debug)]
enum ScriptAction {
    /// These commands.
    Do(Vec<Order>),
    /// These steps.
    Steps(Vec<Step>),
}

/// A command, and where it stands.
#[derive(Debug)]
struct Order {
    command: Map<String, Value>,
    place: SourceSpan,
}

/// The keys of a script.
const SCRIPT: [&str; 2] = ["wirecert", "steps"];
/// The keys of a step.
const STEP: [&str; 4] = ["when", "repeat", "do", "steps"];
/// The words that a step can wait for.
const WORDS: [&str; 3] = ["start", "connected", "disconnected"];
/// What a step can wait for that has a value.
const MAPS: [&str; 2] = ["request", "after"];
/// The version of the language.
const VERSION: u64 = 1;
/// How often a step can be repeated.
const MOST: u64 = 1_000_000;
