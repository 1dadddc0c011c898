//! The server: accepts connections, and hands each request that comes to a [`Handler`].

use std::io;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::trace::{Closed, HttpRequest, Message};
use crate::wire::tcp::{Address, accepted};
use crate::wire::websocket;

use super::framing::HttpError;
use super::responder::Responder;
use super::serving::Serving;
use super::{Exchanges, Limits, Response};

/// What a server does with what comes. What cannot be understood as a request is answered by the server itself.
pub trait Handler: Send + Sync + 'static {
    /// What to do with a request whose head is there, but not yet its content.
    fn on_head(&self, _request: &HttpRequest) -> OnHead {
        OnHead::Read
    }

    /// Told of what came and was not, or not to its end, a request that can be answered.
    fn on_mishap(&self, _mishap: ReceiveError) {}

    /// Answers a request.
    fn handle(&self, request: Received, answer: Responder) -> impl Future<Output = ()> + Send;

    /// Goes on with a request for a WebSocket, where [`Handler::on_head`] said so. It stands in the trace as a
    /// handshake. Refuses it unless there is something better to do.
    fn upgrade(&self, request: websocket::Request) -> impl Future<Output = ()> + Send {
        async {
            let refusal = websocket::Reply::refusing("404 Not Found", "there is no WebSocket here");
            if let Ok(socket) = request.reply(&refusal).await {
                socket.sender.shutdown().await;
            }
        }
    }
}

/// What to do with a request whose head is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnHead {
    /// Its content is read first; one that waits for `100 Continue` gets it (RFC 9110 section 10.1.1).
    Read,
    /// The same, but nobody is told to go on: one that waits for `100 Continue` waits in vain.
    ReadSilently,
    /// It is answered at once, without its content, and the connection is closed after that.
    Answer,
    /// It is a request for a WebSocket. Only what has a header `Upgrade` can be.
    Upgrade,
}

/// What kept a request from being answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiveError {
    /// It cannot be understood as HTTP/1.1.
    Fault(HttpError),
    /// It did not come in time.
    Late,
    /// The client left before it was whole, or before it was answered.
    Left(Closed),
}

/// A request that came. All of it is in the trace already.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// The name of the exchange in the trace.
    pub conn: String,
    /// Its head.
    pub head: HttpRequest,
    /// Its content, its content coding not undone; as much of it as the bound on messages allows.
    pub content: Vec<u8>,
    /// What the content says; none where there is none.
    pub message: Option<Message>,
    /// The fields after its content.
    pub trailers: Vec<(String, String)>,
    /// How often something was read until it was whole.
    pub reads: u64,
}

/// A server. Dropped, it stops at once.
pub struct Server {
    address: Address,
    accepting: JoinHandle<()>,
    /// Whether nothing new is taken any more.
    closing: watch::Sender<bool>,
}

impl Server {
    /// Serves what comes on a listener.
    ///
    /// # Errors
    /// Where the listener has no address.
    pub fn start<H: Handler>(
        listener: TcpListener,
        handler: Arc<H>,
        exchanges: Exchanges,
        limits: Limits,
    ) -> io::Result<Self> {
        let local = listener.local_addr()?;
        let address = Address::new(local.ip().to_string(), local.port());
        let closing = watch::Sender::new(false);
        let accepting = tokio::spawn(accept(listener, handler, exchanges, limits, closing.subscribe()));
        Ok(Self { address, accepting, closing })
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Takes nothing new from here on: no connection, and no request on those that there are. What has begun goes on.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Stops: closes the listener and every connection. Returns when that is done.
    pub async fn stop(mut self) {
        self.accepting.abort();
        // An error is what was asked for.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept<H: Handler>(
    listener: TcpListener,
    handler: Arc<H>,
    exchanges: Exchanges,
    limits: Limits,
    mut closing: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
    // Dropped with this future, it ends all of them.
    let mut connections = JoinSet::new();
    loop {
        let (permit, stream) = tokio::select! {
            biased;
            () = closed(&mut closing) => break,
            Some(_) = connections.join_next() => continue,
            came = guest(&room, &listener) => came,
        };
        let (handler, exchanges, closing) = (handler.clone(), exchanges.clone(), closing.clone());
        connections.spawn(async move {
            serve(stream, &*handler, exchanges, limits, closing).await;
            drop(permit);
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// The next connection, once there is room for one.
async fn guest(room: &Arc<Semaphore>, listener: &TcpListener) -> (Option<OwnedSemaphorePermit>, TcpStream) {
    // It is never closed, which would be the only error.
    let permit = room.clone().acquire_owned().await.ok();
    let (stream, _) = accepted(|context| listener.poll_accept(context)).await;
    (permit, stream)
}

/// Returns once nothing new is to be taken; never where the server is dropped, which ends all in another way.
async fn closed(closing: &mut watch::Receiver<bool>) {
    if closing.wait_for(|closing| *closing).await.is_err() {
        std::future::pending().await
    }
}

async fn serve<H: Handler>(
    stream: TcpStream,
    handler: &H,
    exchanges: Exchanges,
    limits: Limits,
    mut closing: watch::Receiver<bool>,
) {
    // Without this, what is sent in pieces on purpose would be put together again.
    let _ = stream.set_nodelay(true);
    let Some(mut serving) = Serving::new(stream, exchanges, limits) else { return };
    loop {
        let begun = tokio::select! {
            biased;
            () = closed(&mut closing) => false,
            begun = serving.begun(handler) => begun,
        };
        if !begun || !serving.exchange(handler).await {
            return;
        }
    }
}

/// A handler that answers each request with what a function makes of it.
impl<F: Fn(&Received) -> Response + Send + Sync + 'static> Handler for F {
    async fn handle(&self, request: Received, answer: Responder) {
        let response = self(&request);
        // Fails only where the client is gone.
        let _ = answer.send(&response).await;
    }
}
