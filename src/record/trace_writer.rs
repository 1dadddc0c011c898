//! The writer: takes apart what passes, in the order in which it passed, and writes the trace.
//!
//! It works on a thread of its own, so that whatever it does takes no time from the passing. Each [`TapHandle`] hands it copies.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use tokio::sync::{Notify, mpsc};

use crate::trace::{Closed, Direction, End, EventKind, Mark, Recorder};
use crate::wire::http::Exchanges;
use crate::wire::passive_decoder::PassiveDecoder;

/// How many bytes may wait for the writer. Once they are more, who passes bytes on waits: a slow disk slows the traffic
/// down, but the trace is whole and the memory bounded.
const BACKLOG: usize = 64 << 20;

/// What connections carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassedTraffic {
    /// A handshake and frames.
    WebSocket,
    /// HTTP, and perhaps WebSockets within.
    Http,
}

/// Something that was heard, and when, in microseconds of the trace.
struct TapEvent {
    t: u64,
    what: TapData,
}

enum TapData {
    Opened {
        conn: u64,
        address: String,
        process: Option<u32>,
    },
    Bytes {
        conn: u64,
        dir: Direction,
        bytes: Vec<u8>,
    },
    Closed {
        conn: u64,
        dir: Direction,
        how: Closed,
    },
    /// Nothing more will come of this connection.
    Over {
        conn: u64,
    },
    Event(EventKind),
    End,
}

/// Hands to the writer what is heard. Cheap to clone.
#[derive(Clone)]
pub struct TapHandle {
    queue: mpsc::UnboundedSender<TapEvent>,
    backlog: Arc<Backlog>,
    passing: Arc<Passing>,
    recorder: Recorder,
    next: Arc<AtomicU64>,
    carried: PassedTraffic,
}

/// Held shared by whoever passes something on, until it has told us so; the end of the trace waits for all of them.
/// Otherwise what an end has already received could be missing.
type Passing = RwLock<()>;

#[derive(Default)]
struct Backlog {
    bytes: AtomicUsize,
    less: Notify,
}

/// An [`TapHandle`] at one connection.
pub struct Wire {
    ear: TapHandle,
    conn: u64,
}

/// The thread that writes.
pub struct TraceWriter {
    thread: Option<JoinHandle<()>>,
    queue: mpsc::UnboundedSender<TapEvent>,
    passing: Arc<Passing>,
}

impl TraceWriter {
    /// Begins to write what ears will hear into this recorder's trace.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(recorder: &Recorder, carried: PassedTraffic) -> std::io::Result<(Self, TapHandle)> {
        let (queue, heard) = mpsc::unbounded_channel();
        let backlog = Arc::new(Backlog::default());
        let passing = Arc::<Passing>::default();
        let ear = TapHandle {
            queue: queue.clone(),
            backlog: backlog.clone(),
            passing: passing.clone(),
            recorder: recorder.clone(),
            next: Arc::default(),
            carried,
        };
        let writing = Writing {
            recorder: recorder.clone(),
            exchanges: Exchanges::new(recorder.clone(), End::Server),
            carried,
            connections: HashMap::new(),
        };
        let thread =
            thread::Builder::new().name("trace-writer".to_owned()).spawn(move || writing.all(heard, &backlog))?;
        Ok((Self { thread: Some(thread), queue, passing }, ear))
    }

    /// Writes everything that was passed on so far, and ends the trace. What is heard later is dropped.
    pub async fn finish(mut self) {
        {
            let _all_told = self.passing.write().unwrap_or_else(PoisonError::into_inner);
            // Fails only where the writer has ended.
            let _ = self.queue.send(TapEvent { t: 0, what: TapData::End });
        }
        if let Some(thread) = self.thread.take() {
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

impl TapHandle {
    /// A connection stands; `address` is the server's, `process` the id of the client's process, where it is known.
    pub fn open(&self, address: String, process: Option<u32>) -> Wire {
        let conn = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        self.say(self.now(), TapData::Opened { conn, address, process });
        Wire { ear: self.clone(), conn }
    }

    /// What connections carry.
    pub fn carried(&self) -> PassedTraffic {
        self.carried
    }

    /// Something happened that belongs to no connection.
    pub fn event(&self, what: EventKind) {
        self.say(self.now(), TapData::Event(what));
    }

    /// The time of the trace, in microseconds.
    fn now(&self) -> u64 {
        self.recorder.clock().micros()
    }

    fn say(&self, t: u64, what: TapData) {
        // Fails only once the trace has ended.
        let _ = self.queue.send(TapEvent { t, what });
    }
}

impl Wire {
    /// The time of the trace, in microseconds.
    pub fn now(&self) -> u64 {
        self.ear.now()
    }

    /// These bytes came at `t` and go this way as `pass` sends them, which returns at once with how it went. Gives that
    /// back; see [`Wire::room`] for what comes next.
    pub fn bytes<R>(&self, t: u64, dir: Direction, bytes: &[u8], pass: impl FnOnce() -> R) -> R {
        let _passing = self.ear.passing.read().unwrap_or_else(PoisonError::into_inner);
        // First on its way, then into the trace.
        let passed = pass();
        self.ear.backlog.bytes.fetch_add(bytes.len(), Ordering::AcqRel);
        self.ear.say(t, TapData::Bytes { conn: self.conn, dir, bytes: bytes.to_vec() });
        passed
    }

    /// Returns once the writer is not far behind.
    pub async fn room(&self) {
        let backlog = &self.ear.backlog;
        let behind = || backlog.bytes.load(Ordering::Acquire) > BACKLOG && !self.ear.queue.is_closed();
        while behind() {
            let less = backlog.less.notified();
            tokio::pin!(less);
            less.as_mut().enable();
            if behind() {
                less.await;
            }
        }
    }

    /// The sender of this direction ended its stream.
    pub fn closed(&self, dir: Direction, how: Closed) {
        self.ear.say(self.now(), TapData::Closed { conn: self.conn, dir, how });
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.ear.say(self.now(), TapData::Over { conn: self.conn });
    }
}

/// What the writer has in hand.
struct Writing {
    recorder: Recorder,
    exchanges: Exchanges,
    carried: PassedTraffic,
    connections: HashMap<u64, PassiveDecoder>,
}

impl Writing {
    fn all(mut self, mut heard: mpsc::UnboundedReceiver<TapEvent>, backlog: &Backlog) {
        while let Some(TapEvent { t, what }) = heard.blocking_recv() {
            if matches!(what, TapData::End) {
                break;
            }
            self.recorder.came_at(t);
            let size = if let TapData::Bytes { bytes, .. } = &what { bytes.len() } else { 0 };
            self.one(what);
            if size > 0 && backlog.bytes.fetch_sub(size, Ordering::AcqRel) > BACKLOG {
                backlog.less.notify_waiters();
            }
        }
        let mut left: Vec<(u64, PassiveDecoder)> = self.connections.drain().collect();
        left.sort_by_key(|(conn, _)| *conn);
        left.iter_mut().for_each(|(_, overheard)| overheard.left());
        self.recorder.end();
        // Whoever waits for room goes on.
        drop(heard);
        backlog.less.notify_waiters();
    }

    fn one(&mut self, what: TapData) {
        match what {
            TapData::Opened { conn, address, process } => {
                let overheard = match self.carried {
                    PassedTraffic::WebSocket => {
                        PassiveDecoder::websocket(&self.recorder, &format!("c{conn}"), &address)
                    }
                    PassedTraffic::Http => PassiveDecoder::http(&self.recorder, &self.exchanges, &address),
                };
                self.connections.insert(conn, overheard);
                // The connections of HTTP have other names in the trace.
                if let (PassedTraffic::WebSocket, Some(pid)) = (self.carried, process) {
                    let mark = EventKind::Mark(Mark { mark: Mark::PROCESS.to_owned(), text: pid.to_string() });
                    self.recorder.record(Some(&format!("c{conn}")), Some(Direction::ToServer), mark);
                }
            }
            TapData::Bytes { conn, dir, bytes } => {
                if let Some(overheard) = self.connections.get_mut(&conn) {
                    overheard.bytes(dir, &bytes);
                }
            }
            TapData::Closed { conn, dir, how } => {
                if let Some(overheard) = self.connections.get_mut(&conn) {
                    overheard.closed(dir, how);
                }
            }
            TapData::Over { conn } => {
                if let Some(mut overheard) = self.connections.remove(&conn) {
                    overheard.left();
                }
            }
            TapData::Event(what) => {
                self.recorder.record(None, None, what);
            }
            TapData::End => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use crate::trace::{Clock, Tail};

    use super::*;

    #[test]
    fn what_an_end_has_received_stands_in_the_trace_even_if_that_ends_before_it_is_told() {
        let tail = Tail::new(10);
        let recorder = Recorder::new(Clock::start(), vec![Box::new(tail.clone())]);
        let (writer, ear) = TraceWriter::start(&recorder, PassedTraffic::Http).unwrap();
        let wire = ear.open("127.0.0.1:1".to_owned(), None);
        let (passed, ending) = channel();
        let (ended, end) = channel();
        let finishing = thread::spawn(move || {
            ending.recv().unwrap();
            tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(writer.finish());
            let _ = ended.send(());
        });
        wire.bytes(0, Direction::ToServer, b"GET / HTTP/1.1\r\n\r\n", || {
            passed.send(()).unwrap();
            // A trace that does not wait has ended long before.
            let _ = end.recv_timeout(Duration::from_millis(200));
        });
        finishing.join().unwrap();
        let lines = tail.lines().join("\n");
        assert!(lines.contains("GET /"), "{lines}");
    }
}
