//! The writing end of a trace.

use std::sync::{Arc, Mutex, MutexGuard};

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
    ended: bool,
    sinks: Vec<Box<dyn Sink>>,
}

impl Recorder {
    /// A recorder that hands every event to each of `sinks`.
    pub fn new(clock: Clock, sinks: Vec<Box<dyn Sink>>) -> Self {
        Self(Arc::new(Inner { clock, state: Mutex::new(State { sinks, ..State::default() }) }))
    }

    /// The clock that times the events.
    pub fn clock(&self) -> Clock {
        self.0.clock
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
        let event = Event {
            i: state.next,
            t: self.0.clock.micros(),
            conn: conn.map(str::to_owned),
            dir,
            deliberate: deliberate.map(str::to_owned),
            what,
        };
        state.next += 1;
        if !state.ended {
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
