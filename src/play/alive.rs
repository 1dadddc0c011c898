//! Whether a driven client shows to be alive: the time that it takes to start is not counted against what is awaited of it.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::trace::{Direction, Event, EventKind, Sink};

/// What is known of the client that was launched last.
#[derive(Clone)]
pub struct Alive(watch::Sender<Life>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    /// It has shown itself, or there is none to wait for.
    shown: bool,
    /// It was asked to do something.
    called: bool,
}

impl Default for Alive {
    fn default() -> Self {
        Self(watch::Sender::new(Life { shown: true, called: true }))
    }
}

impl Alive {
    /// Whether it was started, and has neither shown itself nor been asked to do anything.
    pub fn is_untouched(&self) -> bool {
        let life = *self.0.borrow();
        !life.shown && !life.called
    }

    /// Returns once it has written a line, connected or asked for something, or has ended; after this time at most.
    pub async fn shows(&self, within: Duration) {
        // One that does not show itself in time is awaited like any other.
        let _ = timeout(within, self.0.subscribe().wait_for(|life| life.shown)).await;
    }
}

impl Sink for Alive {
    fn event(&mut self, event: &Event) {
        let shows = match &event.kind {
            EventKind::Launched(_) => {
                self.0.send_replace(Life { shown: false, called: false });
                return;
            }
            EventKind::Call(_) => {
                self.0.send_modify(|life| life.called = true);
                return;
            }
            EventKind::Output(output) => output.stream == "stdout",
            EventKind::Returned(_) | EventKind::Told(_) | EventKind::State { .. } | EventKind::Exited(_) => true,
            _ => event.dir == Some(Direction::ToServer),
        };
        if shows {
            self.0.send_if_modified(|life| !std::mem::replace(&mut life.shown, true));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Call, Clock, Launched, Recorder};

    fn launched() -> EventKind {
        EventKind::Launched(Launched { command: vec![], pid: 7 })
    }

    #[tokio::test]
    async fn a_client_shows_itself_by_what_it_says_and_not_by_what_it_is_asked() {
        let alive = Alive::default();
        assert!(!alive.is_untouched());
        let recorder = Recorder::new(Clock::start(), vec![Box::new(alive.clone())]);
        recorder.record(None, None, launched());
        assert!(alive.is_untouched());
        recorder.record(
            None,
            None,
            EventKind::Call(Call { id: 1, call: "meta".into(), params: serde_json::json!({}), settings: None }),
        );
        assert!(!alive.is_untouched());
        let shows = alive.shows(Duration::from_secs(60));
        tokio::pin!(shows);
        tokio::select! {
            biased;
            () = &mut shows => panic!("it has said nothing"),
            () = std::future::ready(()) => {}
        }
        recorder.record(None, None, EventKind::State { state: "connected".into() });
        shows.await;
    }
}
