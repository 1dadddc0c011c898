//! What has been observed so far in a play, and waiting for more.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::Notify;

use crate::protocol::{Observation, Observer};
use crate::trace::{Event, Sink, What};

/// More observations than this in one scenario are a flood: later ones are counted, not kept.
const KEPT: usize = 20_000;

/// The observations of one play. Cheap to clone; clones share.
#[derive(Clone)]
pub struct Log(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    observer: Box<dyn Observer>,
    seen: Vec<Observation>,
    dropped: u64,
    taken: HashSet<usize>,
    /// For kinds of which any may match: streams have been read up to here.
    cursors: Vec<(StreamKey, usize)>,
}

type StreamKey = (&'static str, Option<String>, Map<String, Value>);

/// An observation and its place in the log.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its place.
    pub at: usize,
    /// What was observed.
    pub observation: Observation,
}

impl Log {
    /// An empty log that reads events with `observer`'s eyes.
    pub fn new(observer: Box<dyn Observer>) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State { observer, seen: vec![], dropped: 0, taken: HashSet::new(), cursors: vec![] }),
            changed: Notify::new(),
        }))
    }

    /// The reader to hand to the recorder.
    pub fn sink(&self) -> Box<dyn Sink> {
        Box::new(LogSink(self.clone()))
    }

    /// The observations of this kind, connection and selectors that no expectation has taken or
    /// read past, in order.
    pub fn untaken(&self, kind: &'static str, conn: Option<&str>, selectors: &Map<String, Value>) -> Vec<Candidate> {
        let state = self.state();
        let key = (kind, conn.map(str::to_owned), selectors.clone());
        let from = state.cursors.iter().find(|(k, _)| *k == key).map_or(0, |(_, at)| *at);
        let fits = |o: &Observation| {
            o.kind == kind
                && (conn.is_none() || o.conn.as_deref() == conn)
                && selectors.iter().all(|(k, v)| o.selectors.get(k) == Some(v))
        };
        let seen = state.seen.iter().enumerate().skip(from);
        seen.filter(|(at, o)| fits(o) && !state.taken.contains(at))
            .map(|(at, o)| Candidate { at, observation: o.clone() })
            .collect()
    }

    /// Takes an observation, so that no later expectation meets it again.
    pub fn take(&self, at: usize) {
        self.state().taken.insert(at);
    }

    /// Takes an observation and everything before it in its stream.
    pub fn take_through(&self, at: usize, kind: &'static str, conn: Option<&str>, selectors: &Map<String, Value>) {
        let mut state = self.state();
        state.taken.insert(at);
        let key = (kind, conn.map(str::to_owned), selectors.clone());
        match state.cursors.iter_mut().find(|(k, _)| *k == key) {
            Some((_, cursor)) => *cursor = (*cursor).max(at + 1),
            None => state.cursors.push((key, at + 1)),
        }
    }

    /// Observations that were not kept because there were too many.
    pub fn dropped(&self) -> u64 {
        self.state().dropped
    }

    /// Whether the connection's server side is gone: its stream ended.
    pub fn has_closed(&self, conn: &str) -> bool {
        self.state().seen.iter().any(|o| o.kind == "closed" && o.conn.as_deref() == Some(conn))
    }

    /// A future that is ready when something is observed after this call.
    pub fn changed(&self) -> impl Future<Output = ()> + '_ {
        let mut notified = Box::pin(self.0.changed.notified());
        notified.as_mut().enable();
        notified
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct LogSink(Log);

impl Sink for LogSink {
    fn event(&mut self, event: &Event) {
        let mut state = self.0.state();
        let mut observed = state.observer.observe(event);
        observed.extend(exit(event));
        if observed.is_empty() {
            return;
        }
        let room = KEPT.saturating_sub(state.seen.len());
        state.dropped += observed.len().saturating_sub(room) as u64;
        state.seen.extend(observed.into_iter().take(room));
        drop(state);
        self.0.0.changed.notify_waiters();
    }
}

/// The end of the subject's process, which every role can speak about.
fn exit(event: &Event) -> Option<Observation> {
    let What::Exited(exited) = &event.what else { return None };
    let mut value = Map::new();
    value.extend(exited.code.map(|code| ("code".to_owned(), code.into())));
    value.extend(exited.signal.map(|signal| ("signal".to_owned(), signal.into())));
    Some(Observation { kind: "exit", conn: None, selectors: Map::new(), value, index: event.i })
}
