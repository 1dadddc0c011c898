//! One connection, seen from its socket: the [`Tap`] where its events go, and the [`Limits`] of what it can make us
//! keep.

use std::time::Duration;

use crate::trace::{Closed, Direction, End, EventKind, Payload, Recorder};

/// Writes what happens on one connection into the trace. Cheap to clone.
#[derive(Clone)]
pub struct Tap {
    recorder: Recorder,
    conn: String,
    us: End,
}

impl Tap {
    /// A tap for the connection named `conn` in the trace; `us` is the end that this process is.
    pub fn new(recorder: Recorder, conn: impl Into<String>, us: End) -> Self {
        Self { recorder, conn: conn.into(), us }
    }

    /// The connection's name.
    pub fn conn(&self) -> &str {
        &self.conn
    }

    /// The end that this process is.
    pub fn us(&self) -> End {
        self.us
    }

    /// The direction of what we send.
    pub fn outward(&self) -> Direction {
        match self.us {
            End::Client => Direction::ToServer,
            End::Server => Direction::ToClient,
        }
    }

    /// The direction of what we receive.
    pub fn inward(&self) -> Direction {
        match self.us {
            End::Client => Direction::ToClient,
            End::Server => Direction::ToServer,
        }
    }

    /// Records that a TCP connection was made; `address` is the server's.
    pub(super) fn connected(&self, address: std::net::SocketAddr) {
        self.connected_to(&address.to_string());
    }

    /// Like [`Tap::connected`], with the address as a text.
    pub(super) fn connected_to(&self, address: &str) {
        let what = EventKind::Connected { address: address.to_owned() };
        self.recorder.record(Some(&self.conn), Some(Direction::ToServer), what);
    }

    /// Records an event that we are about to send.
    pub(super) fn sent(&self, deliberate: Option<&str>, what: EventKind) {
        self.recorder.record_deliberate(Some(&self.conn), Some(self.outward()), deliberate, what);
    }

    /// Records bytes that we are about to send and that are no complete frame or head.
    pub(super) fn sent_bytes(&self, deliberate: Option<&str>, bytes: &[u8]) {
        self.sent(deliberate, EventKind::Bytes { bytes: Payload::from(bytes) });
    }

    /// Records an event that the counterpart sent.
    pub(super) fn received(&self, what: EventKind) {
        self.recorder.record(Some(&self.conn), Some(self.inward()), what);
    }

    /// Records bytes that the counterpart sent and that are no complete frame or head.
    pub(super) fn received_bytes(&self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.received(EventKind::Bytes { bytes: Payload::from(bytes) });
        }
    }

    /// Records that the counterpart's stream ended.
    pub(super) fn ended(&self, how: Closed) {
        self.received(EventKind::Closed(how));
    }
}

/// Bounds of one connection. What exceeds a bound is dropped or ends the wait.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many bytes of one frame's payload are kept. The rest of a longer frame is read and dropped.
    pub frame: usize,
    /// How many bytes one message may join to. A longer one is not delivered as a message.
    pub message: usize,
    /// How many received bytes may wait for the user of the connection, before reading stops.
    pub backlog: usize,
    /// How long the head of a handshake may be, in bytes.
    pub head: usize,
    /// How much of a refusal's body is kept, in bytes.
    pub body: usize,
    /// How long connecting and the handshake may take together.
    pub handshake: Duration,
    /// How long one write may take before the counterpart counts as no longer reading.
    pub write: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame: 16 << 20,
            message: 16 << 20,
            backlog: 64 << 20,
            head: 64 << 10,
            body: 64 << 10,
            handshake: Duration::from_secs(10),
            write: Duration::from_secs(10),
        }
    }
}
