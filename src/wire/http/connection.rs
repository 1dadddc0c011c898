//! What both ends share: names of exchanges and numbers of TCP connections, bounds, and writing to a connection within
//! them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::sleep;

use crate::trace::{Closed, End, Recorder};
use crate::wire::Tap;
use crate::wire::tcp::{self, WriteFailure};
use crate::wire::websocket::SendOptions;

use super::framing::{HttpError, chunk, last_chunk};
use super::outgoing::{Content, Ending, Piece};
use super::transcript::Transcript;

/// Gives each exchange its name in the trace, and each TCP connection its number. Clones share the counters: all our
/// clients and servers of a play use one.
#[derive(Clone)]
pub struct Exchanges {
    recorder: Recorder,
    us: End,
    counts: Arc<ExchangeCounts>,
}

#[derive(Default)]
struct ExchangeCounts {
    exchanges: AtomicU64,
    connections: AtomicU64,
}

impl Exchanges {
    /// Exchanges for the trace of this recorder; `us` is the end that this process is.
    pub fn new(recorder: Recorder, us: End) -> Self {
        Self { recorder, us, counts: Arc::default() }
    }

    /// A tap for an exchange of this name, or else of the next of `x1`, `x2`….
    pub fn tap(&self, name: Option<&str>) -> Tap {
        let name = match name {
            Some(name) => name.to_owned(),
            None => format!("x{}", self.counts.exchanges.fetch_add(1, Ordering::Relaxed) + 1),
        };
        Tap::new(self.recorder.clone(), name, self.us)
    }

    /// The number for a new TCP connection, from 1.
    pub fn next_connection(&self) -> u64 {
        self.counts.connections.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Bounds of one client or server. What exceeds a bound is dropped or ends the exchange.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long a head, or the trailers after a body, may be, in bytes.
    pub head: usize,
    /// How long a decoded body may be, in bytes. Of a longer one only the pieces are given.
    pub message: usize,
    /// How long a body may be, in bytes. Event streams are not bounded.
    pub body: u64,
    /// How many interim responses may come before a response.
    pub interim: usize,
    /// How many bytes of one event of an event stream are kept.
    pub event: usize,
    /// How many connections a server has at once; further ones wait until one ends.
    pub connections: usize,
    /// How long connecting may take.
    pub connect: Duration,
    /// How long a head may take: that of a response from the time of the request, that of a request from its first
    /// byte.
    pub head_within: Duration,
    /// How long a body other than an event stream may take.
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
            // A few plays go on side by side, and the trace of a play is kept in memory.
            body: 16 << 20,
            interim: 1000,
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

/// How many bytes are read at once.
pub const BUFFER: usize = 16 << 10;

/// Why a message was not received, or not sent, completely.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The counterpart ended the connection; `reused` where nothing came on one that had been kept alive, which is no
    /// fault of anybody (RFC 9112 section 9.5).
    #[error("the connection was {} before the whole message came", if *how == Closed::Eof { "closed" } else { "reset" })]
    Closed {
        /// By FIN or RST.
        how: Closed,
        /// Whether the connection had been kept alive, and was closed before anything came.
        reused: bool,
    },
    /// The received bytes cannot be decoded.
    #[error("{0}")]
    Fault(#[from] HttpError),
    /// The head or body did not come in time.
    #[error("the {part} did not come within {within:?}")]
    Late {
        /// The missing part: `head` or `body`.
        part: &'static str,
        /// The bound.
        within: Duration,
    },
    /// The counterpart does not read.
    #[error("the other side read nothing for {0:?}")]
    Stuck(Duration),
    /// Writing failed: the counterpart is gone.
    #[error("the connection broke while something was sent on it: {0}")]
    Gone(String),
    /// We ended the connection.
    #[error("we ended the connection")]
    Ours,
}

impl Broken {
    pub(super) fn gone(error: &io::Error) -> Self {
        Self::Gone(error.to_string())
    }
}

/// The writing half of a connection.
pub struct Writer {
    half: OwnedWriteHalf,
    within: Duration,
}

impl Writer {
    /// A writer whose writes may take as long as `within` each.
    pub fn new(half: OwnedWriteHalf, within: Duration) -> Self {
        Self { half, within }
    }

    /// Writes bytes that are recorded already.
    async fn write(&mut self, bytes: &[u8], split: Option<usize>) -> Result<(), Broken> {
        tcp::write(&mut self.half, bytes, split, self.within).await.map_err(|failure| match failure {
            WriteFailure::Stuck => Broken::Stuck(self.within),
            WriteFailure::Gone(error) => Broken::gone(&error),
        })
    }

    /// Records bytes, and then writes them to the connection.
    pub async fn send(
        &mut self,
        transcript: &mut Transcript,
        bytes: &[u8],
        deliberate: Option<&str>,
        split: Option<usize>,
    ) -> Result<(), Broken> {
        if bytes.is_empty() {
            return Ok(());
        }
        let taken = transcript.feed(bytes, deliberate, &mut |_| {});
        transcript.bytes(&bytes[taken..]);
        self.write(bytes, split).await
    }

    /// Sends a head and its content.
    pub async fn send_message(
        &mut self,
        transcript: &mut Transcript,
        head: Vec<u8>,
        content: &Content,
        options: &SendOptions,
    ) -> Result<(), Broken> {
        let mut left = options.cut.unwrap_or(usize::MAX);
        let mut pending = head;
        for (pause, bytes) in pieces(content) {
            if !pause.is_zero() && left > 0 {
                self.send_limited(transcript, std::mem::take(&mut pending), &mut left, options).await?;
                sleep(pause).await;
            }
            pending.extend(bytes);
        }
        self.send_limited(transcript, pending, &mut left, options).await
    }

    async fn send_limited(
        &mut self,
        transcript: &mut Transcript,
        mut bytes: Vec<u8>,
        left: &mut usize,
        options: &SendOptions,
    ) -> Result<(), Broken> {
        bytes.truncate(*left);
        *left -= bytes.len();
        self.send(transcript, &bytes, options.deliberate.as_deref(), options.split).await
    }

    /// Closes our side (FIN).
    pub async fn shutdown(&mut self) {
        // Fails only where the connection is gone already.
        let _ = self.half.shutdown().await;
    }

    /// Resets the connection (RST), once the reading half is dropped, too.
    pub fn reset(self) {
        let _ = self.half.as_ref().set_zero_linger();
        // Dropping it would send FIN first.
        self.half.forget();
    }

    /// The connection of both halves.
    pub fn reunite(self, read: OwnedReadHalf) -> Option<TcpStream> {
        self.half.reunite(read).ok()
    }
}

/// The pieces of a content, with the pause before each.
fn pieces(content: &Content) -> Vec<(Duration, Vec<u8>)> {
    let same = |pieces: &[Piece], of: fn(&[u8]) -> Vec<u8>| -> Vec<(Duration, Vec<u8>)> {
        pieces.iter().map(|piece| (piece.after, of(&piece.bytes))).collect()
    };
    match content {
        Content::None => vec![],
        Content::Whole(bytes) => vec![(Duration::ZERO, bytes.clone())],
        Content::Raw(raw) => same(raw, <[u8]>::to_vec),
        Content::Chunked { pieces, trailers } => {
            let mut chunks = same(pieces, chunk);
            chunks.push((Duration::ZERO, last_chunk(trailers)));
            chunks
        }
    }
}

/// How our side ends the connection, if it does.
pub fn closing(ending: Ending) -> Option<Closed> {
    match ending {
        Ending::Usual | Ending::Hold => None,
        Ending::Close => Some(Closed::Eof),
        Ending::Reset => Some(Closed::Reset),
    }
}
