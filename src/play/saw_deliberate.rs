//! Whether our own side did anything wrong on purpose.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::trace::{Event, Sink};

/// Remembers whether a trace has an event that our side brought about on purpose, be it that a connection was left
/// before its time. Clones share it: give one to a recorder, ask the other.
#[derive(Clone, Default)]
pub struct SawDeliberate(Arc<AtomicBool>);

impl SawDeliberate {
    /// Whether there was such an event.
    pub fn is_so(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Sink for SawDeliberate {
    fn event(&mut self, event: &Event) {
        if event.deliberate.is_some() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
