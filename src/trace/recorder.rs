//! The writing end of a trace.

use std::sync::{Arc, Mutex, MutexGuard};

use super::redact::Redactor;
use super::{Clock, Direction, Event, What};

/// Reads a trace as it comes about.
pub trait Sink: Send {
    /// Called once for each event, in order.
    fn event(&mut self, event: &Event);
    /// Called once, when the trace is complete.
    fn end(&mut self) {}
}

/// Numbers and times events and hands them on. Cheap to clone; clones write the same trace.
#[derive(Clone)]
pub struct Recorder(Arc<Inner>);

struct Inner {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// When the events came that are recorded now, where that is not when they are recorded.
    told: Option<u64>,
    ended: bool,
    redactor: Redactor,
    sinks: Vec<Box<dyn Sink>>,
}

impl Recorder {
    /// A recorder that hands every event to each of `sinks`.
    pub fn new(clock: Clock, sinks: Vec<Box<dyn Sink>>) -> Self {
        Self(Arc::new(Inner { clock, state: Mutex::new(State { sinks, ..State::default() }) }))
    }

    /// A recorder that hides what it is told is secret, and the values of these JSON keys and query parameters
    /// (`Protocol::secret_keys`), before any of `sinks` sees an event.
    pub fn with_secret_keys(clock: Clock, secret_keys: &[&str], sinks: Vec<Box<dyn Sink>>) -> Self {
        let redactor = Redactor::new(secret_keys);
        Self(Arc::new(Inner { clock, state: Mutex::new(State { sinks, redactor, ..State::default() }) }))
    }

    /// From now on this text is hidden wherever it turns up, also in its escaped forms.
    pub fn add_secret(&self, secret: &str) {
        self.state().redactor.add_secret(secret);
    }

    /// Hides what is secret in JSON that goes beside the trace, such as a finding's.
    pub fn hide_json(&self, value: &mut serde_json::Value) {
        self.state().redactor.redact_json(value);
    }

    /// Hides what is secret in a text that goes beside the trace.
    pub fn hide_text(&self, text: &mut String) {
        self.state().redactor.redact_text(text);
    }

    /// The clock that times the events.
    pub fn clock(&self) -> Clock {
        self.0.clock
    }

    /// Says when the events came that are recorded from now on, in microseconds of the clock: for somebody who records
    /// what passed by a moment ago. Time never goes back.
    pub fn came_at(&self, micros: u64) {
        let mut state = self.state();
        state.told = state.told.max(Some(micros));
    }

    /// Records an event; gives its number.
    pub fn record(&self, conn: Option<&str>, dir: Option<Direction>, what: What) -> u64 {
        self.record_deliberate(conn, dir, None, what)
    }

    /// Records an event that one of our own peers brought about on purpose, if `deliberate` says why.
    pub fn record_deliberate(
        &self,
        conn: Option<&str>,
        dir: Option<Direction>,
        deliberate: Option<&str>,
        what: What,
    ) -> u64 {
        let mut state = self.state();
        let mut event = Event {
            i: state.next,
            t: state.told.unwrap_or_else(|| self.0.clock.micros()),
            conn: conn.map(str::to_owned),
            dir,
            deliberate: deliberate.map(str::to_owned),
            what,
        };
        state.next += 1;
        // Hiding takes time, and a mock that is not recorded has nobody to hide from.
        if !state.ended && !state.sinks.is_empty() {
            state.redactor.redact(&mut event);
            for sink in &mut state.sinks {
                sink.event(&event);
            }
        }
        event.i
    }

    /// Says that nothing more will come. Later events are dropped.
    pub fn end(&self) {
        let mut state = self.state();
        if !std::mem::replace(&mut state.ended, true) {
            for sink in &mut state.sinks {
                sink.end();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
