//! How exchanges are named and TCP connections numbered in the trace of a play.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::trace::{End, Recorder};
use crate::wire::Tap;

/// Gives each exchange its name in the trace, and each TCP connection its number. Clones count on together: every
/// client and server of ours in a play has one.
#[derive(Clone)]
pub struct Exchanges {
    recorder: Recorder,
    us: End,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    exchanges: AtomicU64,
    connections: AtomicU64,
}

impl Exchanges {
    /// For the trace that this recorder writes; `us` is the end that this process is.
    pub fn new(recorder: Recorder, us: End) -> Self {
        Self { recorder, us, counts: Arc::default() }
    }

    /// A tap for an exchange: of this name, or of the next one of `x1`, `x2`….
    pub fn tap(&self, name: Option<&str>) -> Tap {
        let name = match name {
            Some(name) => name.to_owned(),
            None => format!("x{}", self.counts.exchanges.fetch_add(1, Ordering::Relaxed) + 1),
        };
        Tap::new(self.recorder.clone(), name, self.us)
    }

    /// The number of a TCP connection that was just made, from 1.
    pub fn next_connection(&self) -> u64 {
        self.counts.connections.fetch_add(1, Ordering::Relaxed) + 1
    }
}
