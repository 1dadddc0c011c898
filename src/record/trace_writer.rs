//! The [`TraceWriter`]: decodes the bytes that were forwarded, in their order, and writes the trace.
//!
//! It works on a thread of its own, so that it does not delay the forwarding. Each [`TapHandle`] sends it copies.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use parking_lot::RwLock;
use tokio::sync::{Notify, mpsc};

use crate::trace::{Closed, Direction, End, EventKind, Mark, Recorder};
use crate::wire::http::Exchanges;
use crate::wire::passive_decoder::PassiveDecoder;

/// How many bytes may wait for the writer. Beyond that, forwarding waits: a slow disk slows the traffic down, but the
/// trace is complete and the memory bounded.
const BACKLOG: usize = 64 << 20;

/// The protocol of the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassedTraffic {
    /// A WebSocket handshake and frames.
    WebSocket,
    /// HTTP, and perhaps WebSockets within.
    Http,
}

/// An observation, and its time in microseconds of the trace.
struct TapEvent {
    t: u64,
    data: TapData,
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
    /// The connection is closed.
    Finished {
        conn: u64,
    },
    Event(EventKind),
    End,
}

/// Sends observations to the writer. Cheap to clone.
#[derive(Clone)]
pub struct TapHandle {
    queue: mpsc::UnboundedSender<TapEvent>,
    backlog: Arc<Backlog>,
    passing: Arc<Passing>,
    recorder: Recorder,
    next_connection: Arc<AtomicU64>,
    traffic: PassedTraffic,
}

/// Locked for reading while bytes are forwarded and reported to the writer; the end of the trace waits for all readers.
/// Otherwise bytes that an end has already received could be missing.
type Passing = RwLock<()>;

#[derive(Default)]
struct Backlog {
    bytes: AtomicUsize,
    drained: Notify,
}

/// A [`TapHandle`] for one connection.
pub struct ConnectionTap {
    tap: TapHandle,
    conn: u64,
}

/// The thread that writes the trace.
pub struct TraceWriter {
    thread: Option<JoinHandle<()>>,
    queue: mpsc::UnboundedSender<TapEvent>,
    passing: Arc<Passing>,
}

impl TraceWriter {
    /// Starts to write what the taps observe into this recorder's trace.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(recorder: &Recorder, traffic: PassedTraffic) -> std::io::Result<(Self, TapHandle)> {
        let (queue, events) = mpsc::unbounded_channel();
        let backlog = Arc::new(Backlog::default());
        let passing = Arc::<Passing>::default();
        let tap = TapHandle {
            queue: queue.clone(),
            backlog: backlog.clone(),
            passing: passing.clone(),
            recorder: recorder.clone(),
            next_connection: Arc::default(),
            traffic,
        };
        let writing = WriterThread {
            recorder: recorder.clone(),
            exchanges: Exchanges::new(recorder.clone(), End::Server),
            traffic,
            connections: HashMap::new(),
        };
        let thread =
            thread::Builder::new().name("trace-writer".to_owned()).spawn(move || writing.run(events, &backlog))?;
        Ok((Self { thread: Some(thread), queue, passing }, tap))
    }

    /// Writes everything that was forwarded so far, and ends the trace. Later observations are dropped.
    pub async fn finish(mut self) {
        {
            let _all_told = self.passing.write();
            // Fails only where the writer has ended.
            let _ = self.queue.send(TapEvent { t: 0, data: TapData::End });
        }
        if let Some(thread) = self.thread.take() {
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

impl TapHandle {
    /// A connection was made; `address` is the server's, `process` the id of the client's process, where it is known.
    pub fn open(&self, address: String, process: Option<u32>) -> ConnectionTap {
        let conn = self.next_connection.fetch_add(1, Ordering::Relaxed) + 1;
        self.send(self.now(), TapData::Opened { conn, address, process });
        ConnectionTap { tap: self.clone(), conn }
    }

    /// The protocol of the connections.
    pub fn traffic(&self) -> PassedTraffic {
        self.traffic
    }

    /// Records an event that belongs to no connection.
    pub fn event(&self, data: EventKind) {
        self.send(self.now(), TapData::Event(data));
    }

    /// The time of the trace, in microseconds.
    fn now(&self) -> u64 {
        self.recorder.clock().micros()
    }

    fn send(&self, t: u64, data: TapData) {
        // Fails only once the trace has ended.
        let _ = self.queue.send(TapEvent { t, data });
    }
}

impl ConnectionTap {
    /// The time of the trace, in microseconds.
    pub fn now(&self) -> u64 {
        self.tap.now()
    }

    /// Forwards bytes that came at `t` by calling `pass`, which must not block, and records them. Returns the result of
    /// `pass`. Call [`ConnectionTap::wait_for_room`] afterwards.
    pub fn bytes<R>(&self, t: u64, dir: Direction, bytes: &[u8], pass: impl FnOnce() -> R) -> R {
        let _passing = self.tap.passing.read();
        // Forwarded first, then recorded.
        let passed = pass();
        self.tap.backlog.bytes.fetch_add(bytes.len(), Ordering::AcqRel);
        self.tap.send(t, TapData::Bytes { conn: self.conn, dir, bytes: bytes.to_vec() });
        passed
    }

    /// Returns once the backlog of the writer is below its bound.
    pub async fn wait_for_room(&self) {
        let backlog = &self.tap.backlog;
        let behind = || backlog.bytes.load(Ordering::Acquire) > BACKLOG && !self.tap.queue.is_closed();
        while behind() {
            let drained = backlog.drained.notified();
            tokio::pin!(drained);
            drained.as_mut().enable();
            if behind() {
                drained.await;
            }
        }
    }

    /// Records that the sender of this direction ended its stream.
    pub fn closed(&self, dir: Direction, how: Closed) {
        self.tap.send(self.now(), TapData::Closed { conn: self.conn, dir, how });
    }
}

impl Drop for ConnectionTap {
    fn drop(&mut self) {
        self.tap.send(self.now(), TapData::Finished { conn: self.conn });
    }
}

/// The state of the writer thread.
struct WriterThread {
    recorder: Recorder,
    exchanges: Exchanges,
    traffic: PassedTraffic,
    connections: HashMap<u64, PassiveDecoder>,
}

impl WriterThread {
    fn run(mut self, mut events: mpsc::UnboundedReceiver<TapEvent>, backlog: &Backlog) {
        self.recorder.set_manual_flush();
        while let Some(TapEvent { t, data }) = events.blocking_recv() {
            if matches!(data, TapData::End) {
                break;
            }
            self.recorder.set_event_time(t);
            let size = if let TapData::Bytes { bytes, .. } = &data { bytes.len() } else { 0 };
            self.handle(data);
            if size > 0 && backlog.bytes.fetch_sub(size, Ordering::AcqRel) > BACKLOG {
                backlog.drained.notify_waiters();
            }
            if events.is_empty() {
                self.recorder.flush();
            }
        }
        let mut remaining: Vec<(u64, PassiveDecoder)> = self.connections.drain().collect();
        remaining.sort_by_key(|(conn, _)| *conn);
        remaining.iter_mut().for_each(|(_, decoder)| decoder.finish());
        self.recorder.end();
        // Wakes those who wait for room.
        drop(events);
        backlog.drained.notify_waiters();
    }

    fn handle(&mut self, data: TapData) {
        match data {
            TapData::Opened { conn, address, process } => {
                let decoder = match self.traffic {
                    PassedTraffic::WebSocket => {
                        PassiveDecoder::websocket(&self.recorder, &format!("c{conn}"), &address)
                    }
                    PassedTraffic::Http => PassiveDecoder::http(&self.recorder, &self.exchanges, &address),
                };
                self.connections.insert(conn, decoder);
                // HTTP exchanges have other names in the trace.
                if let (PassedTraffic::WebSocket, Some(pid)) = (self.traffic, process) {
                    let mark = EventKind::Mark(Mark { mark: Mark::PROCESS.to_owned(), text: pid.to_string() });
                    self.recorder.record(Some(&format!("c{conn}")), Some(Direction::ToServer), mark);
                }
            }
            TapData::Bytes { conn, dir, bytes } => {
                if let Some(decoder) = self.connections.get_mut(&conn) {
                    decoder.bytes(dir, &bytes);
                }
            }
            TapData::Closed { conn, dir, how } => {
                if let Some(decoder) = self.connections.get_mut(&conn) {
                    decoder.closed(dir, how);
                }
            }
            TapData::Finished { conn } => {
                if let Some(mut decoder) = self.connections.remove(&conn) {
                    decoder.finish();
                }
            }
            TapData::Event(data) => {
                self.recorder.record(None, None, data);
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
        let (writer, tap) = TraceWriter::start(&recorder, PassedTraffic::Http).unwrap();
        let wire = tap.open("127.0.0.1:1".to_owned(), None);
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
