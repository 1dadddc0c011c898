//! A connection after its handshake.

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use crate::trace::{Closed, Frame, Message};
use crate::wire::{Limits, Tap};

use super::reader::{Begin, Reader};
use super::sender::{Sender, Shared};

/// A connection, either end of it.
///
/// When the last clone of its [`Sender`] is dropped, the connection is closed (FIN). The [`Receiver`]
/// may be dropped at any time: what comes is still read and written into the trace.
pub struct Socket {
    /// Sends.
    pub sender: Sender,
    /// Receives.
    pub incoming: Receiver,
}

/// What a socket does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether each ping is answered with a pong (RFC 6455 section 5.5.3).
    pub pong: bool,
    /// Whether a close frame is answered with one (section 5.5.1), and the stream is then closed: by a server
    /// at once, by a client when the server has (section 7.1.1).
    pub close: bool,
    /// Whether anything is read.
    pub read: bool,
}

impl Default for Options {
    /// As a well-behaved end.
    fn default() -> Self {
        Self { pong: true, close: true, read: true }
    }
}

/// Something that came. All of it is in the trace already.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// A frame. A frame that completes a message comes right before that message.
    Frame(Frame),
    /// A message, joined from its frames.
    Message(Message),
    /// Bytes that belong to no frame.
    Bytes(Vec<u8>),
    /// The counterpart's stream ended; the last thing that comes.
    Closed(Closed),
}

/// What comes, in order. When too much of it waits here, no more is read from the connection.
pub struct Receiver {
    queue: mpsc::Receiver<(Incoming, OwnedSemaphorePermit)>,
}

impl Receiver {
    /// The next thing that comes; none after [`Incoming::Closed`], or once our own end let go of the connection.
    pub async fn recv(&mut self) -> Option<Incoming> {
        self.queue.recv().await.map(|(incoming, _)| incoming)
    }

    /// The next message; none once no more can come. Everything else that comes before it is passed over.
    pub async fn message(&mut self) -> Option<Message> {
        loop {
            if let Incoming::Message(message) = self.recv().await? {
                return Some(message);
            }
        }
    }
}

impl Socket {
    /// Takes a stream over; `begin` says what is to be read first.
    pub(super) fn start(stream: TcpStream, tap: Tap, limits: Limits, begin: Begin) -> Self {
        let (read, write) = stream.into_split();
        let (ended, has_ended) = watch::channel(false);
        let shared = Arc::new(Shared::new(write, tap, limits));
        let (queue, incoming) = mpsc::channel(256);
        tokio::spawn(Reader::new(read, shared.clone(), queue, ended).run(begin));
        Self { sender: Sender::new(shared, has_ended), incoming: Receiver { queue: incoming } }
    }
}
