//! The writing end of a trace: [`Recorder`], the [`Clock`] that times its events, and the [`Sink`]s that read them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

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

/// Reads a trace while it is recorded.
pub trait Sink: Send {
    /// Called once for each event, in order. A sink that keeps the event shares it.
    fn event(&mut self, event: &Arc<Event>);
    /// What writes the events that the sink has got, for a sink that does not do so at once. It is called after the last of
    /// the events that are recorded together.
    fn flusher(&self) -> Option<Arc<dyn Flush>> {
        None
    }
    /// Called once, when the trace is complete.
    fn end(&mut self) {}
}

/// Writes what a [`Sink`] has got. It is called while other threads record, and by several threads at a time.
pub trait Flush: Send + Sync {
    /// Returns once every event that the sink got before is written.
    fn flush(&self);
}

/// Numbers and times events and hands them on. Cheap to clone; clones write the same trace.
#[derive(Clone)]
pub struct Recorder(Arc<RecorderInner>);

struct RecorderInner {
    clock: Clock,
    /// Whether there are sinks.
    recorded: bool,
    /// Called without the lock: writing takes longer than everything that needs it.
    flushers: Vec<Arc<dyn Flush>>,
    /// Whether only [`Recorder::flush`] flushes.
    manual_flush: AtomicBool,
    state: Mutex<RecorderState>,
}

#[derive(Default)]
struct RecorderState {
    next: u64,
    /// The time of the events that are recorded now, where that is not the current time.
    event_time: Option<u64>,
    phase: Phase,
    redactor: Redactor,
    sinks: Vec<Box<dyn Sink>>,
}

/// How far a trace has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Events are recorded.
    #[default]
    Open,
    /// Events are not recorded any more; conclusions are.
    Closed,
    /// Nothing is recorded any more.
    Ended,
}

impl Recorder {
    /// A recorder that hands every event to each of `sinks`.
    pub fn new(clock: Clock, sinks: Vec<Box<dyn Sink>>) -> Self {
        Self::with_redactor(clock, Redactor::default(), sinks)
    }

    /// A recorder that hides added secrets, and the values of these JSON keys and query parameters
    /// (`Protocol::secret_keys`), before any of `sinks` gets an event.
    pub fn with_secret_keys(clock: Clock, secret_keys: &[&str], sinks: Vec<Box<dyn Sink>>) -> Self {
        Self::with_redactor(clock, Redactor::new(secret_keys), sinks)
    }

    fn with_redactor(clock: Clock, redactor: Redactor, sinks: Vec<Box<dyn Sink>>) -> Self {
        let recorded = !sinks.is_empty();
        let flushers = sinks.iter().filter_map(|sink| sink.flusher()).collect();
        let state = Mutex::new(RecorderState { sinks, redactor, ..RecorderState::default() });
        Self(Arc::new(RecorderInner { clock, recorded, flushers, manual_flush: AtomicBool::new(false), state }))
    }

    /// Whether anybody reads the trace.
    pub fn is_recorded(&self) -> bool {
        self.0.recorded
    }

    /// Hides this text from now on, wherever it occurs, also in its escaped forms.
    pub fn add_secret(&self, secret: &str) {
        self.state().redactor.add_secret(secret);
    }

    /// How many secrets are known by now.
    pub fn secrets(&self) -> usize {
        self.state().redactor.count()
    }

    /// Hides secrets in JSON that is no part of the trace, such as that of a finding.
    pub fn hide_json(&self, value: &mut serde_json::Value) {
        self.state().redactor.redact_json(value);
    }

    /// Hides secrets in a text that is no part of the trace.
    pub fn hide_text(&self, text: &mut String) {
        self.state().redactor.redact_text(text);
    }

    /// Puts secrets back for their placeholders in JSON that is to be sent.
    pub fn reveal_json(&self, value: &mut serde_json::Value) {
        self.state().redactor.reveal_json(value);
    }

    /// The clock that times the events.
    pub fn clock(&self) -> Clock {
        self.0.clock
    }

    /// Sets the time of the events that are recorded from now on, in microseconds of the clock, for events that are
    /// recorded later than they happened. Time never goes back.
    pub fn set_event_time(&self, micros: u64) {
        let mut state = self.state();
        state.event_time = state.event_time.max(Some(micros));
    }

    /// Records an event; returns its number, or 0 if nobody reads the trace.
    pub fn record(&self, conn: Option<&str>, dir: Option<Direction>, what: EventKind) -> u64 {
        self.record_deliberate(conn, dir, None, what)
    }

    /// Records an event; `deliberate` is the reason where one of our own peers caused it on purpose.
    pub fn record_deliberate(
        &self,
        conn: Option<&str>,
        dir: Option<Direction>,
        deliberate: Option<&str>,
        what: EventKind,
    ) -> u64 {
        // Without sinks there is nothing to deliver or to hide, and hiding takes time.
        if !self.is_recorded() {
            return 0;
        }
        let mut state = self.state();
        let i = state.next;
        if state.phase == Phase::Open {
            let (conn, deliberate) = (conn.map(str::to_owned), deliberate.map(str::to_owned));
            state.add(&self.0.clock, conn, dir, deliberate, what);
            drop(state);
            self.flush_unless_manual();
        }
        i
    }

    /// Records several events of one connection and direction, each with the reason if one of our own peers caused it on
    /// purpose. No other event comes between them.
    pub fn record_all(&self, conn: &str, dir: Direction, events: Vec<(Option<String>, EventKind)>) {
        if events.is_empty() || !self.is_recorded() {
            return;
        }
        let mut state = self.state();
        if state.phase == Phase::Open {
            for (deliberate, what) in events {
                state.add(&self.0.clock, Some(conn.to_owned()), Some(dir), deliberate, what);
            }
            drop(state);
            self.flush_unless_manual();
        }
    }

    /// From now on sinks are flushed only by [`Recorder::flush`], for events that are recorded later than they happened.
    pub fn set_manual_flush(&self) {
        self.0.manual_flush.store(true, Ordering::Relaxed);
    }

    /// Flushes every sink.
    pub fn flush(&self) {
        self.0.flushers.iter().for_each(|flusher| flusher.flush());
    }

    fn flush_unless_manual(&self) {
        if !self.0.manual_flush.load(Ordering::Relaxed) {
            self.flush();
        }
    }

    /// Closes the trace for events. It does not end yet: conclusions can be added with [`Recorder::conclude`].
    pub fn close(&self) {
        let mut state = self.state();
        if state.phase == Phase::Open {
            state.phase = Phase::Closed;
        }
    }

    /// Adds a conclusion to a trace that has been closed and has not ended.
    pub fn conclude(&self, what: EventKind) {
        let mut state = self.state();
        if state.phase == Phase::Closed {
            state.add(&self.0.clock, None, None, None, what);
            drop(state);
            self.flush_unless_manual();
        }
    }

    /// Ends the trace. Later events are dropped.
    pub fn end(&self) {
        let mut state = self.state();
        if std::mem::replace(&mut state.phase, Phase::Ended) != Phase::Ended {
            for sink in &mut state.sinks {
                sink.end();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, RecorderState> {
        self.0.state.lock()
    }
}

impl RecorderState {
    /// Numbers and times an event, hides secrets in it, and gives it to every sink.
    fn add(
        &mut self,
        clock: &Clock,
        conn: Option<String>,
        dir: Option<Direction>,
        deliberate: Option<String>,
        kind: EventKind,
    ) {
        let t = self.event_time.unwrap_or_else(|| clock.micros());
        let mut event = Event { i: self.next, t, conn, dir, deliberate, kind };
        self.next += 1;
        self.redactor.redact(&mut event);
        let event = Arc::new(event);
        for sink in &mut self.sinks {
            sink.event(&event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{JudgementEnd, Mark};

    /// Collects the number and kind of each event.
    #[derive(Clone, Default)]
    struct KindSink(Arc<Mutex<Vec<String>>>);

    impl Sink for KindSink {
        fn event(&mut self, event: &Arc<Event>) {
            self.0.lock().push(format!("{} {}", event.i, event.kind.kind()));
        }

        fn end(&mut self) {
            self.0.lock().push("end".to_owned());
        }
    }

    #[test]
    fn after_its_close_a_trace_takes_in_conclusions_and_nothing_that_happens() {
        let kinds = KindSink::default();
        let recorder = Recorder::new(Clock::start(), vec![Box::new(kinds.clone())]);
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
        assert_eq!(*kinds.0.lock(), ["0 mark", "1 judged", "end"]);
    }
}
