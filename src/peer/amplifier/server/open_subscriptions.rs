//! The subscriptions of a play that steps can write into ([`OpenSubscriptions`]), and how: by orders to whoever serves an event stream
//! ([`StreamOrder`]), or as another sender of a WebSocket.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};

use crate::protocol::amplifier::verbs::CutHow;
use crate::wire::http::{BodyWriter, Broken};
use crate::wire::websocket::{FrameSpec, SendOptions, Sender};

/// All subscriptions of a play, those that are over among them.
pub struct OpenSubscriptions {
    list: Mutex<Vec<OpenSubscription>>,
    /// How many were opened.
    opened: watch::Sender<usize>,
}

/// A subscription.
#[derive(Clone)]
pub struct OpenSubscription {
    conn: String,
    /// The session whose events it is for.
    pub session: String,
    /// The sink for its events.
    pub sink: StreamSink,
}

impl Default for OpenSubscriptions {
    fn default() -> Self {
        Self { list: Mutex::default(), opened: watch::Sender::new(0) }
    }
}

impl OpenSubscriptions {
    fn list(&self) -> MutexGuard<'_, Vec<OpenSubscription>> {
        self.list.lock()
    }

    /// A subscription is open.
    pub fn add(&self, conn: &str, session: &str, sink: StreamSink) {
        self.list().push(OpenSubscription { conn: conn.to_owned(), session: session.to_owned(), sink });
        self.opened.send_modify(|opened| *opened += 1);
    }

    /// How many subscriptions there have been.
    pub fn count(&self) -> usize {
        self.list().len()
    }

    /// The subscription of this exchange, or the newest one that is not over, for which the client has so long. Where all stay
    /// over, the newest.
    pub async fn find(&self, of: Option<&str>, within: Duration) -> Option<OpenSubscription> {
        let mut opened = self.opened.subscribe();
        let is_meant = |stream: &&OpenSubscription| match of {
            Some(name) => name == stream.conn,
            // A client that subscribes again is seen to do so before its subscription is open.
            None => !stream.sink.is_over(),
        };
        let waiting = async {
            loop {
                opened.mark_unchanged();
                let found = self.list().iter().rfind(is_meant).cloned();
                if found.is_some() {
                    return found;
                }
                // The sender lives as long as we do.
                opened.changed().await.ok()?;
            }
        };
        let found = timeout(within, waiting).await.ok().flatten();
        found.or_else(|| self.list().last().filter(|_| of.is_none()).cloned())
    }

    /// Ends all subscriptions.
    pub async fn end_all(&self, how: CutHow, why: Option<&str>, within: Duration) {
        let all = self.list().clone();
        for stream in all {
            // What takes too long is cut with the server.
            let _ = timeout(within, stream.sink.end(how, why)).await;
        }
    }
}

/// How many orders wait for a stream that is slow.
const MAX_ORDERS: usize = 64;

/// How large chunks are.
const CHUNK: usize = 64 << 10;

/// How long the other end of a WebSocket has for its close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// A sink for the events of a subscription.
#[derive(Clone)]
pub enum StreamSink {
    /// An event stream.
    Events(mpsc::Sender<StreamOrder>),
    /// A WebSocket.
    Socket(Sender),
}

/// Something to be done with an event stream.
pub struct StreamOrder {
    command: StreamCommand,
    why: Option<String>,
    /// Notified once it is done.
    done: oneshot::Sender<()>,
}

enum StreamCommand {
    Write(PacedBytes),
    End(CutHow),
}

/// Bytes, and how they are cut.
#[derive(Clone, Debug, Default)]
pub struct PacedBytes {
    pub bytes: Vec<u8>,
    pub split: Option<usize>,
    /// The time between the pieces; with it, each is a chunk of its own.
    pub pace: Duration,
}

impl StreamOrder {
    /// Carries it out. Gives the stream back, unless it is over.
    pub async fn carry_out(self, mut body: BodyWriter) -> Option<BodyWriter> {
        let why = self.why.as_deref();
        // Fails only where the client is gone, which is in the trace.
        let rest = match self.command {
            StreamCommand::Write(bytes) => bytes.write(&mut body, why).await.is_ok().then_some(body),
            StreamCommand::End(how) => {
                end(body, how, why).await;
                None
            }
        };
        let _ = self.done.send(());
        rest
    }
}

impl StreamSink {
    /// A sink for an event stream, and the orders that come by it.
    pub fn events() -> (Self, mpsc::Receiver<StreamOrder>) {
        let (orders, receiver) = mpsc::channel(MAX_ORDERS);
        (Self::Events(orders), receiver)
    }

    /// Whether it is a WebSocket.
    pub fn is_socket(&self) -> bool {
        matches!(self, Self::Socket(_))
    }

    /// Whether nothing can be written into it any more.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Events(orders) => orders.is_closed(),
            Self::Socket(sender) => sender.has_ended(),
        }
    }

    /// Writes into an event stream; returns when it is done, or the client is gone.
    pub async fn write(&self, bytes: PacedBytes, why: Option<&str>) {
        self.order(StreamCommand::Write(bytes), why).await;
    }

    /// Sends a frame over a WebSocket.
    pub async fn frame(&self, frame: &FrameSpec, options: &SendOptions) {
        if let Self::Socket(sender) = self {
            // Fails only where the client is gone, which is in the trace.
            let _ = sender.send_in(frame, options).await;
        }
    }

    /// Ends the subscription.
    pub async fn end(&self, how: CutHow, why: Option<&str>) {
        let Self::Socket(sender) = self else { return self.order(StreamCommand::End(how), why).await };
        match (how, why) {
            (CutHow::End, why) => {
                let sent = sender.send_unless_closing(&FrameSpec::close(Some(1000), ""), why).await;
                if sent.is_ok() {
                    // One that does not answer is left alone.
                    let _ = timeout(CLOSE_TIMEOUT, sender.ended()).await;
                }
            }
            (CutHow::Eof, Some(why)) => sender.shutdown_deliberately(why).await,
            (CutHow::Eof, None) => sender.shutdown().await,
            (CutHow::Reset, why) => sender.reset(why).await,
        }
    }

    async fn order(&self, command: StreamCommand, why: Option<&str>) {
        let Self::Events(orders) = self else { return };
        let (done, is_done) = oneshot::channel();
        let ends = matches!(command, StreamCommand::End(_));
        // Fails only where the client is gone, which is in the trace.
        if orders.send(StreamOrder { command, why: why.map(str::to_owned), done }).await.is_ok() {
            tokio::select! {
                // Once it is over, no step finds it open.
                _ = is_done, if !ends => {}
                // What is sent just when the other end goes may stay in between, and is never done.
                () = orders.closed() => {}
            }
        }
    }
}

async fn end(body: BodyWriter, how: CutHow, why: Option<&str>) {
    match how {
        // Fails only where the client is gone, which is in the trace.
        CutHow::End => drop(body.finish().await),
        CutHow::Eof => body.close(why),
        CutHow::Reset => body.reset(why),
    }
}

impl PacedBytes {
    async fn write(&self, body: &mut BodyWriter, why: Option<&str>) -> Result<(), Broken> {
        match self.split {
            Some(split) if self.pace.is_zero() => body.write_split(&self.bytes, split, why).await,
            split => {
                for piece in self.bytes.chunks(split.unwrap_or(CHUNK)) {
                    sleep(self.pace).await;
                    body.write(piece, why).await?;
                }
                Ok(())
            }
        }
    }
}
