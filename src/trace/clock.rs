//! The one clock of a run.

use std::time::{Duration, Instant};

/// Monotonic time since the run began. Copies agree with each other.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// Microseconds since the clock began.
    pub fn micros(&self) -> u64 {
        u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Time since the clock began.
    pub fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }
}
