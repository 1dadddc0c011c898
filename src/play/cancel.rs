//! Ending a run early: [`Cancel`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// Ends a run early. Cheap to clone; clones end the same run.
#[derive(Clone)]
pub struct Cancel {
    cancelled: watch::Sender<bool>,
    idle: Arc<AtomicBool>,
}

impl Default for Cancel {
    fn default() -> Self {
        Self { cancelled: watch::Sender::new(false), idle: Arc::default() }
    }
}

impl Cancel {
    /// Ends the run; what is known is kept.
    pub fn cancel(&self) {
        self.cancelled.send_replace(true);
    }

    /// Whether it was ended.
    pub fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }

    /// Says that no subject is left that would have to be stopped.
    pub fn nothing_runs(&self) {
        self.idle.store(true, Ordering::SeqCst);
    }

    /// Whether there may be subjects that have to be stopped.
    pub fn something_runs(&self) -> bool {
        !self.idle.load(Ordering::SeqCst)
    }

    /// Waits until it is ended.
    pub async fn cancelled(&self) {
        let mut receiver = self.cancelled.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = receiver.wait_for(|cancelled| *cancelled).await;
    }
}
