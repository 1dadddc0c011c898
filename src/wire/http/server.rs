//! The server: accepts connections, and hands each request that comes to a [`Handler`], which answers through a [`Responder`]:
//! at once, bit by bit, wrongly, or never.

use std::io;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::trace::{Closed, Head, HttpRequest, Message, StreamEvent};
use crate::wire::tcp::{Address, accept_retrying};
use crate::wire::{http_head, websocket};

use super::connection::{Broken, Exchanges, Limits, Writer};
use super::event_stream::EventWriter;
use super::framing::{HttpError, chunk, keeps_alive, last_chunk};
use super::outgoing::{Content, Ending, Response};
use super::serving::ServedConnection;
use super::transcript::Transcript;

/// What a server does with what comes. What cannot be understood as a request is answered by the server itself.
pub trait Handler: Send + Sync + 'static {
    /// What to do with a request whose head is there, but not yet its content.
    fn on_head(&self, _request: &HttpRequest) -> OnHead {
        OnHead::Read
    }

    /// Told of what came and was not, or not to its end, a request that can be answered.
    fn on_receive_error(&self, _error: ReceiveError) {}

    /// Answers a request.
    fn handle(&self, request: Received, responder: Responder) -> impl Future<Output = ()> + Send;

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
    let permits = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
    // Dropped with this future, it ends all of them.
    let mut connections = JoinSet::new();
    loop {
        let (permit, stream) = tokio::select! {
            biased;
            () = closed(&mut closing) => break,
            Some(_) = connections.join_next() => continue,
            next = next_client(&permits, &listener) => next,
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
async fn next_client(permits: &Arc<Semaphore>, listener: &TcpListener) -> (Option<OwnedSemaphorePermit>, TcpStream) {
    // It is never closed, which would be the only error.
    let permit = permits.clone().acquire_owned().await.ok();
    let (stream, _) = accept_retrying(|context| listener.poll_accept(context)).await;
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
    let Some(mut connection) = ServedConnection::new(stream, exchanges, limits) else { return };
    loop {
        let begun = tokio::select! {
            biased;
            () = closed(&mut closing) => false,
            begun = connection.await_request(handler) => begun,
        };
        if !begun || !connection.exchange(handler).await {
            return;
        }
    }
}

/// A handler that answers each request with what a function makes of it.
impl<F: Fn(&Received) -> Response + Send + Sync + 'static> Handler for F {
    async fn handle(&self, request: Received, responder: Responder) {
        let response = self(&request);
        // Fails only where the client is gone.
        let _ = responder.send(&response).await;
    }
}

/// The way back to the client, while an exchange is under way.
pub(super) struct ExchangeWriter {
    pub writer: Writer,
    pub transcript: Transcript,
    /// The method of the request.
    pub method: String,
    /// Whether the connection may be kept after this.
    pub keep: bool,
    /// What is to become of the connection.
    pub ending: Ending,
    /// Why that is wrong on purpose, if it is.
    pub why: Option<String>,
}

/// Gives the way back to the connection when it is dropped.
struct ConnectionGuard {
    out: Option<ExchangeWriter>,
    return_channel: Option<oneshot::Sender<ExchangeWriter>>,
    gone: watch::Receiver<Option<Closed>>,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        if let (Some(out), Some(return_channel)) = (self.out.take(), self.return_channel.take()) {
            // Fails only where the connection is gone, and then there is nothing to give back to.
            let _ = return_channel.send(out);
        }
    }
}

impl ConnectionGuard {
    fn out(&mut self) -> Result<&mut ExchangeWriter, Broken> {
        self.out.as_mut().ok_or(Broken::Ours)
    }

    async fn gone(&self) -> Closed {
        let mut gone = self.gone.clone();
        // An error means that the connection is gone altogether.
        gone.wait_for(Option::is_some).await.ok().and_then(|gone| *gone).unwrap_or(Closed::Reset)
    }
}

/// Answers one request. It may be moved anywhere, and outlive the call that it came with: the exchange lasts until it,
/// or the [`BodyWriter`] that came of it, is gone. Dropped without an answer, it closes the connection.
pub struct Responder(ConnectionGuard);

/// Writes the body of a response bit by bit. Dropped before [`BodyWriter::finish`], it closes the connection, and the
/// response is not whole.
pub struct BodyWriter {
    guard: ConnectionGuard,
    chunked: bool,
    /// Whether the response has no body, whatever is written.
    without_body: bool,
}

impl Responder {
    pub(super) fn new(
        out: ExchangeWriter,
        return_channel: oneshot::Sender<ExchangeWriter>,
        gone: watch::Receiver<Option<Closed>>,
    ) -> Self {
        Self(ConnectionGuard { out: Some(out), return_channel: Some(return_channel), gone })
    }

    /// Sends an interim response (1xx), such as `103 Early Hints`; the answer is still to come.
    ///
    /// # Errors
    /// Where the client does not read, or is gone.
    pub async fn interim(&mut self, response: &Response) -> Result<(), Broken> {
        let Head { start, mut headers, raw, .. } = response.head(false);
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("date"));
        let head = Head { start, headers, raw, body: None };
        let ExchangeWriter { writer, transcript, .. } = self.0.out()?;
        let manner = &response.manner;
        writer.send(transcript, &http_head::encode(&head), manner.deliberate.as_deref(), manner.split).await
    }

    /// Sends the answer, and ends the connection if the answer says so.
    ///
    /// # Errors
    /// Where the client does not read, or is gone.
    pub async fn send(mut self, response: &Response) -> Result<(), Broken> {
        let out = self.0.out()?;
        let head = out.begin(response);
        let without_body = out.method == "HEAD" && !matches!(response.content, Content::Raw(_));
        let content = if without_body { &Content::None } else { &response.content };
        out.writer.send_message(&mut out.transcript, http_head::encode(&head), content, &response.manner).await
    }

    /// Sends the head of a response. Its body is chunked where the content is [`Content::Chunked`], as it is written
    /// otherwise; what the content holds is sent first.
    ///
    /// # Errors
    /// Where the client does not read, or is gone.
    pub async fn start(mut self, response: &Response) -> Result<BodyWriter, Broken> {
        let out = self.0.out()?;
        let head = out.begin(response);
        let manner = &response.manner;
        let why = manner.deliberate.as_deref();
        out.writer.send(&mut out.transcript, &http_head::encode(&head), why, manner.split).await?;
        let (chunked, first) = match &response.content {
            Content::None => (false, vec![]),
            Content::Whole(bytes) => (false, bytes.clone()),
            Content::Raw(pieces) => (false, pieces.iter().flat_map(|piece| piece.bytes.clone()).collect()),
            Content::Chunked { pieces, .. } => (true, pieces.iter().flat_map(|piece| piece.bytes.clone()).collect()),
        };
        let without_body = out.method == "HEAD";
        let mut body = BodyWriter { guard: self.0, chunked, without_body };
        body.write(&first, why).await?;
        Ok(body)
    }

    /// Answers nothing, and holds the connection until the client leaves; `why` says why that is wrong on purpose.
    pub fn never(mut self, why: Option<&str>) {
        self.0.end(Ending::Hold, why);
    }

    /// Closes the connection (FIN) without an answer.
    pub fn close(mut self, why: Option<&str>) {
        self.0.end(Ending::Close, why);
    }

    /// Cuts the connection (RST) without an answer.
    pub fn reset(mut self, why: Option<&str>) {
        self.0.end(Ending::Reset, why);
    }

    /// Returns once the client has closed or cut the connection. One that has closed its side only may still read.
    pub async fn gone(&self) -> Closed {
        self.0.gone().await
    }
}

impl ConnectionGuard {
    fn end(&mut self, ending: Ending, why: Option<&str>) {
        if let Some(out) = &mut self.out {
            out.ending = ending;
            out.why = why.map(str::to_owned);
        }
    }
}

impl ExchangeWriter {
    /// The head to be sent; what it says of the connection is noted.
    fn begin(&mut self, response: &Response) -> Head {
        let close = !self.keep || response.ending == Ending::Close;
        let head = response.head(close);
        self.keep &= keeps_alive(&head) && response.manner.cut.is_none();
        self.ending = response.ending;
        self.why.clone_from(&response.manner.deliberate);
        head
    }
}

impl BodyWriter {
    /// Sends a piece, as a chunk of its own where the body is chunked; `deliberate` says why it is wrong on purpose, if
    /// it is.
    ///
    /// # Errors
    /// Where the client does not read, or is gone.
    pub async fn write(&mut self, bytes: &[u8], deliberate: Option<&str>) -> Result<(), Broken> {
        if self.without_body {
            return Ok(());
        }
        let chunked = self.chunked.then(|| chunk(bytes));
        self.write_raw(chunked.as_deref().unwrap_or(bytes), deliberate).await
    }

    /// The same, as a single chunk where the body is chunked, but in TCP segments of so many bytes, one after the other.
    ///
    /// # Errors
    /// Where the client does not read, or is gone.
    pub async fn write_split(&mut self, bytes: &[u8], split: usize, deliberate: Option<&str>) -> Result<(), Broken> {
        if self.without_body || bytes.is_empty() {
            return Ok(());
        }
        let chunked = self.chunked.then(|| chunk(bytes));
        let out = self.guard.out()?;
        out.writer.send(&mut out.transcript, chunked.as_deref().unwrap_or(bytes), deliberate, Some(split)).await
    }

    /// Sends an event, written in the usual way.
    ///
    /// # Errors
    /// Where the client does not read, or is gone.
    pub async fn event(&mut self, event: &StreamEvent) -> Result<(), Broken> {
        self.write(&EventWriter::default().write(event), None).await
    }

    /// Sends exactly these bytes.
    ///
    /// # Errors
    /// Where the client does not read, or is gone.
    pub async fn write_raw(&mut self, bytes: &[u8], deliberate: Option<&str>) -> Result<(), Broken> {
        let out = self.guard.out()?;
        out.writer.send(&mut out.transcript, bytes, deliberate, None).await
    }

    /// Ends the body.
    ///
    /// # Errors
    /// Where the client does not read, or is gone.
    pub async fn finish(self) -> Result<(), Broken> {
        self.finish_with(&[]).await
    }

    /// Ends the body with these trailers, where it is chunked.
    ///
    /// # Errors
    /// Where the client does not read, or is gone.
    pub async fn finish_with(mut self, trailers: &[(String, String)]) -> Result<(), Broken> {
        if self.chunked && !self.without_body {
            self.write_raw(&last_chunk(trailers), None).await?;
        }
        Ok(())
    }

    /// Closes the connection (FIN) in the middle of the body.
    pub fn close(mut self, why: Option<&str>) {
        self.guard.end(Ending::Close, why);
    }

    /// Cuts the connection (RST) in the middle of the body.
    pub fn reset(mut self, why: Option<&str>) {
        self.guard.end(Ending::Reset, why);
    }

    /// Sends nothing more, and holds the connection until the client leaves.
    pub fn never(mut self, why: Option<&str>) {
        self.guard.end(Ending::Hold, why);
    }

    /// Returns once the client has closed or cut the connection. One that has closed its side only may still read.
    pub async fn gone(&self) -> Closed {
        self.guard.gone().await
    }
}
