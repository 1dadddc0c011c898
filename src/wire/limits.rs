//! Bounds on what a counterpart can make us keep or wait for.

use std::time::Duration;

/// Bounds of one connection. Whatever goes beyond one is dropped or ends the wait; it never fills memory.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many bytes of one frame's payload are kept. The rest of a longer frame is read and dropped.
    pub frame: usize,
    /// How many bytes one message may join to. A longer one is not delivered as a message.
    pub message: usize,
    /// How many bytes of what was received, and not yet taken by the reader, are held before reading stops.
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
