//! What has been observed so far in a play, and waiting for more.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value};
use tokio::sync::Notify;

use crate::protocol::{Observation, Observer};
use crate::text;
use crate::trace::{Direction, Event, EventKind, Mark, Sink, StreamEvent, TOO_MANY_VALUES, has_too_many_values};

/// More observations than this in one scenario are a flood: later ones are counted, not kept.
const MAX_OBSERVATIONS: usize = 20_000;
/// The largest size of all observations that are kept, in bytes; later ones are counted. A scenario may ask for a large file
/// many times.
const MAX_BYTES: usize = 128 << 20;
/// The largest number of events of the same name from a driven client that are kept. Of later ones only the newest is
/// kept: a stream may be long, and its last item and that item's number show its result.
const MAX_CLIENT_EVENTS: usize = 1_000;
/// The largest number of frames that are kept as observations: the message that they make is one of its own.
const MAX_FRAMES: usize = 5_000;
/// The largest number of requests without a response that are kept.
const MAX_UNANSWERED: usize = 16;
/// How much of the start line of a request without a response is kept, in bytes.
const MAX_START: usize = 200;
/// What a JSON value takes beside its text, in bytes.
const VALUE_OVERHEAD: usize = 64;

/// The observations of one play. Cheap to clone; clones share.
#[derive(Clone)]
pub struct Log(Arc<SharedLog>);

struct SharedLog {
    state: Mutex<LogState>,
    changed: Notify,
}

struct LogState {
    observer: Box<dyn Observer>,
    observations: Vec<Arc<Observation>>,
    /// When each observation came, in microseconds of the trace's clock.
    came: Vec<u64>,
    /// About how many bytes the observations take.
    bytes: usize,
    dropped: u64,
    /// The first response that was longer than what we take.
    too_long: Option<String>,
    /// How many of the observations are frames.
    frames: usize,
    taken: HashSet<usize>,
    /// The calls that a driven client was requested to make, by the number of the call.
    calls: HashMap<u64, String>,
    /// The first requested call that the client does not offer.
    unsupported: Option<String>,
    /// The events of a driven client, by name: how many, and the position of the newest of a flood.
    client_events: HashMap<String, (usize, Option<usize>)>,
    /// The last message of each connection and direction that could not be read: the event, and what it is not.
    unread: HashMap<(String, Direction), (u64, &'static str)>,
    /// The HTTP requests that have no response yet, by their exchange: the event, and the start line.
    unanswered: BTreeMap<String, (u64, String)>,
    /// The connections and exchanges that the subject ended, and that were not begun again since.
    ended: HashSet<String>,
    /// For kinds of which any may match: streams have been read up to here.
    cursors: Vec<(StreamKey, usize)>,
}

type StreamKey = (&'static str, Option<String>, Map<String, Value>);

/// An observation and its place in the log.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The position of the observation in the log.
    pub at: usize,
    /// What was observed.
    pub observation: Arc<Observation>,
    /// When it came, in microseconds of the trace's clock.
    pub came: u64,
}

impl Log {
    /// An empty log that turns events into observations with `observer`.
    pub fn new(observer: Box<dyn Observer>) -> Self {
        Self(Arc::new(SharedLog {
            state: Mutex::new(LogState {
                observer,
                observations: vec![],
                came: vec![],
                bytes: 0,
                dropped: 0,
                too_long: None,
                frames: 0,
                taken: HashSet::new(),
                calls: HashMap::new(),
                unsupported: None,
                client_events: HashMap::new(),
                unread: HashMap::new(),
                unanswered: BTreeMap::new(),
                ended: HashSet::new(),
                cursors: vec![],
            }),
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
        state.candidates(kind, conn, selectors, from, |at| !state.taken.contains(&at))
    }

    /// The observations of this kind, connection and selectors, also those that expectations have taken, in order.
    pub fn seen(&self, kind: &'static str, conn: Option<&str>, selectors: &Map<String, Value>) -> Vec<Candidate> {
        self.state().candidates(kind, conn, selectors, 0, |_| true)
    }

    /// The value of an observation.
    pub fn value(&self, at: usize) -> Option<Value> {
        self.state().observations.get(at).map(|seen| seen.value.clone())
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

    /// The events of the observations that expectations have taken.
    pub fn awaited(&self) -> BTreeSet<u64> {
        let state = self.state();
        state.taken.iter().filter_map(|at| state.observations.get(*at)).map(|seen| seen.index).collect()
    }

    /// Observations that were not kept because there were too many.
    pub fn dropped(&self) -> u64 {
        self.state().dropped
    }

    /// The first message that was more than what we take: the subject gave it, and nobody has read it.
    pub fn too_long(&self) -> Option<String> {
        self.state().too_long.clone()
    }

    /// The requested call that a driven client does not offer, if there is one.
    pub fn unsupported(&self) -> Option<String> {
        self.state().unsupported.clone()
    }

    /// The last message to this end on a connection that could not be read, if there was one: the event, and what it is not.
    pub fn unread(&self, conn: &str, dir: Direction) -> Option<(u64, &'static str)> {
        self.state().unread.get(&(conn.to_owned(), dir)).copied()
    }

    /// The start lines of the HTTP requests that have no response yet, in order.
    pub fn unanswered(&self) -> Vec<String> {
        let mut requests: Vec<_> = self.state().unanswered.values().cloned().collect();
        requests.sort();
        requests.into_iter().map(|(_, start)| start).collect()
    }

    /// Whether the connection's server side is gone: its stream ended.
    pub fn has_closed(&self, conn: &str) -> bool {
        self.state().observations.iter().any(|o| o.kind == "closed" && o.conn.as_deref() == Some(conn))
    }

    /// Whether the subject ended this connection or exchange: nothing more comes on it.
    pub fn has_ended(&self, conn: &str) -> bool {
        self.state().ended.contains(conn)
    }

    /// A future that is ready when something is observed after this call.
    pub fn changed(&self) -> impl Future<Output = ()> + '_ {
        let mut notified = Box::pin(self.0.changed.notified());
        notified.as_mut().enable();
        notified
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.0.state.lock()
    }
}

struct LogSink(Log);

impl Sink for LogSink {
    fn event(&mut self, event: &Arc<Event>) {
        let mut state = self.0.state();
        state.note_unread(event);
        state.note_unanswered(event);
        let too_long = match &event.kind {
            EventKind::Mark(mark) if mark.mark == Mark::TOO_LONG => Some(mark.text.clone()),
            EventKind::Message(message) if message.has_too_many_values() => Some(TOO_MANY_VALUES.to_owned()),
            EventKind::StreamEvent(StreamEvent { data: Some(data), .. }) if has_too_many_values(data.as_bytes()) => {
                Some(TOO_MANY_VALUES.to_owned())
            }
            _ => None,
        };
        state.too_long = state.too_long.take().or(too_long);
        if let (EventKind::Connected { .. } | EventKind::HttpRequest(_), Some(conn)) = (&event.kind, &event.conn) {
            state.ended.remove(conn);
        }
        let mut observed = state.observer.observe(event);
        observed.extend(exit_observation(event));
        observed.extend(state.client_observation(event));
        if observed.is_empty() {
            return;
        }
        for observation in observed {
            state.keep(observation, event.t);
        }
        drop(state);
        self.0.0.changed.notify_waiters();
    }
}

impl LogState {
    /// The observations of this kind, connection and selectors at the places from `from` that are `open`, in order.
    fn candidates(
        &self,
        kind: &str,
        conn: Option<&str>,
        selectors: &Map<String, Value>,
        from: usize,
        open: impl Fn(usize) -> bool,
    ) -> Vec<Candidate> {
        let fits = |o: &Observation| {
            o.kind == kind
                && (conn.is_none() || o.conn.as_deref() == conn)
                && selectors.iter().all(|(k, v)| o.selectors.get(k) == Some(v))
        };
        let fitting = self.observations.iter().enumerate().skip(from).filter(|(at, o)| fits(o) && open(*at));
        fitting.map(|(at, o)| Candidate { at, observation: o.clone(), came: self.came[at] }).collect()
    }

    fn note_unread(&mut self, event: &Event) {
        let EventKind::Message(message) = &event.kind else { return };
        if let (Some(lacks), Some(conn), Some(dir)) = (message.lacks(), &event.conn, event.dir) {
            self.unread.insert((conn.clone(), dir), (event.i, lacks));
        }
    }

    fn note_unanswered(&mut self, event: &Event) {
        let Some(conn) = &event.conn else { return };
        match &event.kind {
            EventKind::HttpRequest(head) if self.unanswered.len() < MAX_UNANSWERED => {
                let start = text::prefix(&head.start, MAX_START).to_owned();
                self.unanswered.insert(conn.clone(), (event.i, start));
            }
            EventKind::HttpResponse(_) | EventKind::Closed(_) => {
                self.unanswered.remove(conn);
            }
            _ => {}
        }
    }

    /// What a driven client reports, as an observation that every client role has.
    fn client_observation(&mut self, event: &Event) -> Option<Observation> {
        let (mut selectors, mut value) = (Map::new(), Map::new());
        let kind = match &event.kind {
            EventKind::Call(call) => {
                self.calls.insert(call.id, call.call.clone());
                return None;
            }
            EventKind::Returned(returned) => {
                if returned.unsupported {
                    self.unsupported = self.unsupported.take().or_else(|| self.calls.get(&returned.id).cloned());
                }
                selectors.insert("to".to_owned(), returned.id.into());
                value.extend(returned.result.clone().map(|result| ("result".to_owned(), result)));
                value.extend(returned.error.clone().map(|error| ("error".to_owned(), error)));
                "returned"
            }
            EventKind::Reported(event) => {
                selectors.insert("event".to_owned(), event.event.clone().into());
                value.insert("data".to_owned(), event.data.clone());
                value.extend(event.subscription.clone().map(|of| ("subscription".to_owned(), of)));
                let number = self.client_events.entry(event.event.clone()).or_default();
                number.0 += 1;
                value.insert("number".to_owned(), number.0.into());
                "reported"
            }
            EventKind::State { state } => {
                value.insert("is".to_owned(), state.clone().into());
                "state"
            }
            _ => return None,
        };
        Some(Observation { kind, conn: None, selectors, value: value.into(), index: event.i })
    }

    fn keep(&mut self, observation: Observation, came: u64) {
        if observation.kind == "closed" {
            let exchange = observation.selectors.get("to").and_then(Value::as_str);
            self.ended.extend(exchange.or(observation.conn.as_deref()).map(str::to_owned));
        }
        if let Some(at) = self.newest_of_flood(&observation) {
            self.observations[at] = Arc::new(observation);
            self.came[at] = came;
            return;
        }
        if observation.kind == "frame" {
            self.frames += 1;
            if self.frames > MAX_FRAMES {
                return;
            }
        }
        let bytes = self.bytes + approximate_size(&observation.value);
        if self.observations.len() >= MAX_OBSERVATIONS || bytes > MAX_BYTES {
            self.dropped += 1;
        } else {
            self.bytes = bytes;
            self.observations.push(Arc::new(observation));
            self.came.push(came);
        }
    }
}

impl LogState {
    /// The position that a further client event takes where there are too many: that of the previous one of the same name.
    fn newest_of_flood(&mut self, observation: &Observation) -> Option<usize> {
        let name = observation.selectors.get("event").filter(|_| observation.kind == "reported")?.as_str()?;
        let next = self.observations.len();
        let (count, newest) = self.client_events.get_mut(name)?;
        if *count <= MAX_CLIENT_EVENTS {
            return None;
        }
        let before = newest.filter(|at| !self.taken.contains(at));
        if before.is_none() {
            *newest = Some(next);
        }
        before
    }
}

/// About how many bytes a value takes.
fn approximate_size(value: &Value) -> usize {
    VALUE_OVERHEAD
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(approximate_size).sum(),
            Value::Object(entries) => {
                entries.iter().map(|(key, value)| VALUE_OVERHEAD + key.len() + approximate_size(value)).sum()
            }
            _ => 0,
        }
}

/// The end of the subject's process, as an observation that every role has.
fn exit_observation(event: &Event) -> Option<Observation> {
    let EventKind::Exited(exited) = &event.kind else { return None };
    let mut value = Map::new();
    value.extend(exited.code.map(|code| ("code".to_owned(), code.into())));
    value.extend(exited.signal.map(|signal| ("signal".to_owned(), signal.into())));
    Some(Observation { kind: "exit", conn: None, selectors: Map::new(), value: value.into(), index: event.i })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoObservations;

    impl Observer for NoObservations {
        fn observe(&mut self, _: &Event) -> Vec<Observation> {
            vec![]
        }
    }

    #[test]
    fn an_exchange_has_ended_until_it_is_begun_again() {
        let log = Log::new(Box::new(NoObservations));
        let selectors = Map::from_iter([("to".to_owned(), Value::from("a"))]);
        let closed =
            Observation { kind: "closed", conn: Some("a~1".to_owned()), selectors, value: Value::Null, index: 0 };
        log.state().keep(closed, 0);
        assert!(log.has_ended("a") && !log.has_ended("a~1"));
        let connected = EventKind::Connected { address: "127.0.0.1:1".to_owned() };
        let event = Event { i: 1, t: 1, conn: Some("a".to_owned()), dir: None, deliberate: None, kind: connected };
        log.sink().event(&Arc::new(event));
        assert!(!log.has_ended("a"));
    }

    #[test]
    fn what_is_too_many_or_too_large_is_counted_and_not_kept() {
        let log = Log::new(Box::new(NoObservations));
        let observation = |text: String| {
            let value = Map::from_iter([("text".to_owned(), Value::from(text))]);
            Observation { kind: "notification", conn: None, selectors: Map::new(), value: value.into(), index: 0 }
        };
        let large = observation("x".repeat(MAX_BYTES / 4));
        for _ in 0..5 {
            log.state().keep(large.clone(), 0);
        }
        let kept = || log.state().observations.len();
        assert_eq!(kept(), 3);
        assert_eq!(log.dropped(), 2);
        for _ in 0..MAX_OBSERVATIONS {
            log.state().keep(observation(String::new()), 0);
        }
        assert_eq!(kept(), MAX_OBSERVATIONS);
        assert_eq!(log.dropped(), 5);
    }

    #[test]
    fn of_a_long_stream_of_client_events_the_first_ones_and_the_newest_are_kept() {
        let log = Log::new(Box::new(NoObservations));
        let record_event = |log: &Log, event: &str, i: u64| {
            let what = EventKind::Reported(crate::trace::ClientEvent {
                event: event.to_owned(),
                data: i.into(),
                subscription: None,
            });
            let event = Event { i, t: 0, conn: None, dir: None, deliberate: None, kind: what };
            log.sink().event(&Arc::new(event));
        };
        (1..=5_000).for_each(|i| record_event(&log, "delta", i));
        record_event(&log, "end", 1);
        let of = |event: &str| {
            let selectors = Map::from_iter([("event".to_owned(), Value::from(event))]);
            log.untaken("reported", None, &selectors)
        };
        assert_eq!((of("delta").len(), of("end").len(), log.dropped()), (MAX_CLIENT_EVENTS + 1, 1, 0));
        let newest = of("delta").pop().unwrap();
        assert_eq!((&newest.observation.value["number"], newest.observation.index), (&Value::from(5_000), 5_000));
        log.take(newest.at);
        record_event(&log, "delta", 5_001);
        assert_eq!(of("delta").pop().unwrap().observation.value["number"], 5_001);
    }
}
