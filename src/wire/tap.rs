//! The tap: where a connection's events go.

use crate::trace::{Closed, Direction, End, EventKind, Payload, Recorder};

/// Writes what happens on one connection into the trace. Cheap to clone.
#[derive(Clone)]
pub struct Tap {
    recorder: Recorder,
    conn: String,
    us: End,
}

impl Tap {
    /// For the connection named `conn` in the trace; `us` is the end that this process is.
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

    /// A TCP connection stands; `address` is the server's.
    pub(super) fn connected(&self, address: std::net::SocketAddr) {
        self.connected_to(&address.to_string());
    }

    /// The same of an address that is known as a text.
    pub(super) fn connected_to(&self, address: &str) {
        let what = EventKind::Connected { address: address.to_owned() };
        self.recorder.record(Some(&self.conn), Some(Direction::ToServer), what);
    }

    /// We are about to send this.
    pub(super) fn sent(&self, deliberate: Option<&str>, what: EventKind) {
        self.recorder.record_deliberate(Some(&self.conn), Some(self.outward()), deliberate, what);
    }

    /// We are about to send bytes that are no whole frame or head.
    pub(super) fn sent_bytes(&self, deliberate: Option<&str>, bytes: &[u8]) {
        self.sent(deliberate, EventKind::Bytes { bytes: Payload::from(bytes) });
    }

    /// The counterpart sent this.
    pub(super) fn received(&self, what: EventKind) {
        self.recorder.record(Some(&self.conn), Some(self.inward()), what);
    }

    /// The counterpart sent bytes that are no whole frame or head.
    pub(super) fn received_bytes(&self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.received(EventKind::Bytes { bytes: Payload::from(bytes) });
        }
    }

    /// The counterpart's stream ended.
    pub(super) fn ended(&self, how: Closed) {
        self.received(EventKind::Closed(how));
    }
}
