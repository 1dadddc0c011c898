//! The writing end of a trace: [`Recorder`], the [`Clock`] that times its events, and the [`Sink`]s that read them.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::redact::Redactor;
use super::{Direction, Event, EventKind};

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
    phase: Phase,
    redactor: Redactor,
    sinks: Vec<Box<dyn Sink>>,
}

/// How far a trace has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// What happens is recorded.
    #[default]
    Open,
    /// What happens is not recorded any more; what is concluded from it is.
    Over,
    /// Nothing is recorded any more.
    Ended,
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
    pub fn record(&self, conn: Option<&str>, dir: Option<Direction>, what: EventKind) -> u64 {
        self.record_deliberate(conn, dir, None, what)
    }

    /// Records an event that one of our own peers brought about on purpose, if `deliberate` says why.
    pub fn record_deliberate(
        &self,
        conn: Option<&str>,
        dir: Option<Direction>,
        deliberate: Option<&str>,
        what: EventKind,
    ) -> u64 {
        let mut state = self.state();
        let mut event = Event {
            i: state.next,
            t: state.told.unwrap_or_else(|| self.0.clock.micros()),
            conn: conn.map(str::to_owned),
            dir,
            deliberate: deliberate.map(str::to_owned),
            kind: what,
        };
        if state.phase == Phase::Open {
            state.hand_on(&mut event);
        }
        event.i
    }

    /// Says that what happens from now on is no part of the trace, which does not end yet: what is concluded from it can be
    /// added with [`Recorder::conclude`].
    pub fn close(&self) {
        let mut state = self.state();
        if state.phase == Phase::Open {
            state.phase = Phase::Over;
        }
    }

    /// Adds what was concluded from the trace, which has been closed and has not ended.
    pub fn conclude(&self, what: EventKind) {
        let mut state = self.state();
        let t = state.told.unwrap_or_else(|| self.0.clock.micros());
        let mut event = Event { i: state.next, t, conn: None, dir: None, deliberate: None, kind: what };
        if state.phase == Phase::Over {
            state.hand_on(&mut event);
        }
    }

    /// Says that nothing more will come. Later events are dropped.
    pub fn end(&self) {
        let mut state = self.state();
        if std::mem::replace(&mut state.phase, Phase::Ended) != Phase::Ended {
            for sink in &mut state.sinks {
                sink.end();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl State {
    /// Hides what is secret in the next event and gives it to every reader.
    fn hand_on(&mut self, event: &mut Event) {
        self.next += 1;
        // Hiding takes time, and a mock that is not recorded has nobody to hide from.
        if !self.sinks.is_empty() {
            self.redactor.redact(event);
            for sink in &mut self.sinks {
                sink.event(event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{JudgementEnd, Mark};

    /// Keeps what it is told.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<String>>>);

    impl Sink for Kept {
        fn event(&mut self, event: &Event) {
            self.0.lock().unwrap().push(format!("{} {}", event.i, event.kind.kind()));
        }

        fn end(&mut self) {
            self.0.lock().unwrap().push("end".to_owned());
        }
    }

    #[test]
    fn after_its_close_a_trace_takes_in_conclusions_and_nothing_that_happens() {
        let kept = Kept::default();
        let recorder = Recorder::new(Clock::start(), vec![Box::new(kept.clone())]);
        let happens = || recorder.record(None, None, EventKind::Mark(Mark { mark: "step".into(), text: "x".into() }));
        let conclude = || recorder.conclude(EventKind::Judged(JudgementEnd { findings: 0 }));
        conclude();
        happens();
        recorder.close();
        happens();
        conclude();
        recorder.end();
        happens();
        conclude();
        recorder.end();
        assert_eq!(*kept.0.lock().unwrap(), ["0 mark", "1 judged", "end"]);
    }
}
