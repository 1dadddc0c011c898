//! The client: requests to one address, each an exchange of its own, over connections that are kept alive.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::trace::{Body, HttpResponse, Message, StreamEvent};
use crate::wire::tcp::{self, Address, ConnectError};

use super::client_exchange::ClientExchange;
use super::connection::{Broken, Writer};
use super::outgoing::Request;
use super::{Exchanges, Limits};

/// How many idle connections are kept.
const MAX_IDLE: usize = 16;
/// How many items of an exchange may wait for its user, before reading stops.
const QUEUE: usize = 64;

/// Sends requests to one address. It follows no redirects and repeats no requests. Clones share their connections.
#[derive(Clone)]
pub struct Client(Arc<ClientInner>);

struct ClientInner {
    address: Address,
    exchanges: Exchanges,
    limits: Limits,
    idle: Mutex<Vec<(Connection, Instant)>>,
}

/// A TCP connection between two exchanges.
pub(super) struct Connection {
    pub read: OwnedReadHalf,
    pub write: Writer,
    /// The number of the connection.
    pub tcp: u64,
    /// Whether the connection was used by an earlier exchange.
    pub reused: bool,
}

/// A running exchange. The receiver may be dropped at any time: the response is still read and recorded. Otherwise it
/// must be read: when too much waits in it, reading stops.
pub struct Exchange {
    /// Ends the exchange.
    pub control: Control,
    /// Receives the response.
    pub incoming: Receiver,
}

/// Ends an exchange. Clones share it; when the last one is dropped before the exchange is over, its connection is
/// closed (FIN).
#[derive(Clone)]
pub struct Control {
    conn: Arc<str>,
    tcp: u64,
    command: Arc<watch::Sender<ExchangeCommand>>,
    over: watch::Receiver<bool>,
}

/// A command to a running exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExchangeCommand {
    /// Continue.
    None,
    /// Continue, but read nothing for now.
    Pause,
    /// End the connection; the text is the reason if that is wrong on purpose.
    End(crate::trace::Closed, Option<String>),
}

/// Receives the parts of a response, in order.
pub struct Receiver(mpsc::Receiver<Incoming>);

/// A received part of a response. It is in the trace already.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// The head of an interim response (1xx); others follow.
    Interim(HttpResponse),
    /// The head of the response.
    Head(HttpResponse),
    /// A piece of the body; the response is complete with the last one.
    Body(Body),
    /// An event, or other fields, of an event stream.
    Event(StreamEvent),
    /// The complete body; comes after its last piece.
    Message(Message),
    /// The response will not be complete.
    Broken(Broken),
}

/// A complete response.
#[derive(Clone, Debug, PartialEq)]
pub struct Whole {
    /// The interim responses before it.
    pub interim: Vec<HttpResponse>,
    /// The head.
    pub head: HttpResponse,
    /// The body, not decoded from its content coding.
    pub body: Vec<u8>,
    /// The decoded body; none where there is none, it is an event stream, or it is too long.
    pub message: Option<Message>,
    /// The events of its event stream.
    pub events: Vec<StreamEvent>,
    /// The trailer fields.
    pub trailers: Vec<(String, String)>,
}

impl Client {
    /// A client for requests to this address.
    pub fn new(address: Address, exchanges: Exchanges, limits: Limits) -> Self {
        Self(Arc::new(ClientInner { address, exchanges, limits, idle: Mutex::default() }))
    }

    /// A client for requests to another address, with the same exchanges and bounds.
    pub fn to(&self, address: Address) -> Self {
        Self::new(address, self.0.exchanges.clone(), self.0.limits)
    }

    /// The address to which it sends requests.
    pub fn address(&self) -> &Address {
        &self.0.address
    }

    /// Sends a request, as an exchange of this name in the trace, or with the next generated name. Sending continues
    /// after this returns; the exchange reports the outcome.
    ///
    /// # Errors
    /// No connection can be made. Nothing is in the trace then.
    pub async fn send(&self, name: Option<&str>, request: &Request) -> Result<Exchange, ConnectError> {
        let ClientInner { address, exchanges, limits, .. } = &*self.0;
        let idle = if request.fresh { None } else { self.idle_connection() };
        let (connection, tap) = match idle {
            Some(connection) => (connection, exchanges.tap(name)),
            None => {
                let stream = tcp::open(address, limits.connect).await?;
                let broken = |source| ConnectError::Broken { address: address.clone(), source };
                let peer = stream.peer_addr().map_err(broken)?;
                let tap = exchanges.tap(name);
                tap.connected(peer);
                let (read, write) = stream.into_split();
                let write = Writer::new(write, limits.write);
                (Connection { read, write, tcp: exchanges.next_connection(), reused: false }, tap)
            }
        };
        let (queue, incoming) = mpsc::channel(QUEUE);
        let (command, commands) = watch::channel(ExchangeCommand::None);
        let (over_sender, over) = watch::channel(false);
        let conn = tap.conn().into();
        let control = Control { conn, tcp: connection.tcp, command: Arc::new(command), over };
        let head = request.head(&address.to_string());
        let exchange = ClientExchange::new(connection, tap, *limits, queue, commands);
        let (client, request) = (self.clone(), request.clone());
        tokio::spawn(async move {
            let reusable = exchange.run(head, request).await;
            // Before the end of the exchange is announced, so that the next request finds the connection.
            if let Some(connection) = reusable {
                client.keep(connection);
            }
            over_sender.send_replace(true);
        });
        Ok(Exchange { control, incoming: Receiver(incoming) })
    }

    /// Closes the idle connections.
    pub fn close_idle(&self) {
        self.idle().clear();
    }

    /// An idle connection that is still usable, if there is one.
    fn idle_connection(&self) -> Option<Connection> {
        loop {
            let (connection, since) = self.idle().pop()?;
            // A connection that the server closed, or on which it sent unsolicited bytes, is not usable.
            let silent = connection.read.try_read(&mut [0]).is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock);
            if silent && since.elapsed() < self.0.limits.idle {
                return Some(connection);
            }
        }
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() == MAX_IDLE {
            idle.remove(0);
        }
        idle.push((connection, Instant::now()));
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(Connection, Instant)>> {
        self.0.idle.lock()
    }
}

impl Control {
    /// The name of the exchange in the trace.
    pub fn conn(&self) -> &str {
        &self.conn
    }

    /// The number of its TCP connection.
    pub fn tcp(&self) -> u64 {
        self.tcp
    }

    /// Closes the connection (FIN), even in the middle of the exchange; `deliberate` is the reason if that is wrong on
    /// purpose. Returns when it is closed.
    pub async fn close(&self, deliberate: Option<&str>) {
        self.end(crate::trace::Closed::Eof, deliberate).await;
    }

    /// Resets the connection (RST), like [`Control::close`].
    pub async fn reset(&self, deliberate: Option<&str>) {
        self.end(crate::trace::Closed::Reset, deliberate).await;
    }

    /// Pauses or resumes reading from the connection.
    pub fn set_reading(&self, reading: bool) {
        let command = if reading { ExchangeCommand::None } else { ExchangeCommand::Pause };
        self.command.send_if_modified(|now| {
            let goes_on = !matches!(now, ExchangeCommand::End(..));
            if goes_on {
                *now = command;
            }
            goes_on
        });
    }

    /// Returns once the exchange is over: the response is complete, or never will be.
    pub async fn over(&self) {
        let mut over = self.over.clone();
        // An error means that the exchange is gone, that is, over.
        let _ = over.wait_for(|over| *over).await;
    }

    /// Whether the exchange is over.
    pub fn is_over(&self) -> bool {
        *self.over.borrow() || self.over.has_changed().is_err()
    }

    async fn end(&self, how: crate::trace::Closed, deliberate: Option<&str>) {
        self.command.send_replace(ExchangeCommand::End(how, deliberate.map(str::to_owned)));
        self.over().await;
    }
}

impl Receiver {
    /// The next part of the response; none once it is complete or [`Incoming::Broken`] came.
    pub async fn recv(&mut self) -> Option<Incoming> {
        self.0.recv().await
    }
}

impl Exchange {
    /// The next part of the response; none once it is complete or [`Incoming::Broken`] came.
    pub async fn recv(&mut self) -> Option<Incoming> {
        self.incoming.recv().await
    }

    /// Waits for the head of the response, skipping interim responses.
    ///
    /// # Errors
    /// No head comes.
    pub async fn head(&mut self) -> Result<HttpResponse, Broken> {
        loop {
            match self.recv().await {
                Some(Incoming::Head(head)) => return Ok(head),
                Some(Incoming::Broken(broken)) => return Err(broken),
                Some(_) => {}
                None => return Err(Broken::Ours),
            }
        }
    }

    /// Waits for the complete response. Not for endless responses: it keeps all of it.
    ///
    /// # Errors
    /// No complete response comes.
    pub async fn whole(mut self) -> Result<Whole, Broken> {
        let (mut interim, mut found) = (vec![], None);
        while let Some(incoming) = self.recv().await {
            match (incoming, &mut found) {
                (Incoming::Interim(head), _) => interim.push(head),
                (Incoming::Head(head), _) => {
                    let (interim, body) = (std::mem::take(&mut interim), vec![]);
                    found = Some(Whole { interim, head, body, message: None, events: vec![], trailers: vec![] });
                }
                (Incoming::Broken(broken), _) => return Err(broken),
                (Incoming::Body(body), Some(whole)) => {
                    whole.body.extend_from_slice(body.bytes.as_bytes());
                    whole.trailers = body.trailers;
                }
                (Incoming::Event(event), Some(whole)) => whole.events.push(event),
                (Incoming::Message(message), Some(whole)) => whole.message = Some(message),
                (_, None) => {}
            }
        }
        found.ok_or(Broken::Ours)
    }
}
