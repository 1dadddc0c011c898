//! Bounds on what a counterpart can make us keep or wait for.

use std::time::Duration;

/// Bounds of one client or server. Whatever goes beyond one is dropped or ends the exchange; it never fills memory.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long a head, or the trailers after a body, may be, in bytes.
    pub head: usize,
    /// How many bytes a body may join to, its content coding undone. Of a longer one only the pieces are seen.
    pub message: usize,
    /// How many bytes of a body are read at all. Event streams are bounded by nothing but time.
    pub body: u64,
    /// How many bytes of one event of an event stream are kept.
    pub event: usize,
    /// How many connections a server holds at once; further ones wait until one goes.
    pub connections: usize,
    /// How long connecting may take.
    pub connect: Duration,
    /// How long a head may take to come, from when it is awaited: a client's answer, from when the request is sent;
    /// a server's request, from its first byte.
    pub head_within: Duration,
    /// How long a body may take that is no event stream.
    pub body_within: Duration,
    /// How long one write may take before the counterpart counts as no longer reading.
    pub write: Duration,
    /// How long a client keeps an unused connection for the next request. Many servers close theirs after 5 s or less.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head: 64 << 10,
            message: 16 << 20,
            body: 1 << 30,
            event: 16 << 20,
            connections: 4096,
            connect: Duration::from_secs(10),
            head_within: Duration::from_secs(30),
            body_within: Duration::from_secs(60),
            write: Duration::from_secs(10),
            idle: Duration::from_secs(1),
        }
    }
}
