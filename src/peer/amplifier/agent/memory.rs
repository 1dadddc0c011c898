//! What flaws remember from one call to the next.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// Shared by all that a client does.
#[derive(Debug, Default)]
pub struct Memory(Mutex<Remembered>);

/// What is remembered.
#[derive(Debug, Default)]
pub struct Remembered {
    /// An API key that was given for a session.
    pub key: Option<String>,
    /// The last prompt that was accepted: its parameters.
    pub prompt: Option<Value>,
    /// The parameters of calls that are under way, each with its name.
    pub under_way: Vec<(&'static str, Value)>,
    /// How many prompts wait for their answers.
    pub posting: usize,
    /// A flaw has made the client deaf: nothing is answered any more.
    pub deaf: bool,
    /// The newest subscription.
    pub newest: u64,
}

impl Memory {
    /// To look into and to write.
    pub fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
