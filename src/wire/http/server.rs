//! The server: accepts connections, and hands each request that comes to a [`Handler`], which responds through a
//! [`Responder`]: at once, bit by bit, wrongly, or never.

use std::borrow::Cow;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::trace::{Closed, Head, HttpRequest, Message, StreamEvent};
use crate::wire::tcp::{Address, accept_retrying, stop_listening};
use crate::wire::{http_head, websocket};

use super::connection::{Broken, Exchanges, Limits, Writer};
use super::event_stream::EventWriter;
use super::framing::{HttpError, chunk, keeps_alive, last_chunk};
use super::outgoing::{Content, Ending, Response};
use super::serving::ServedConnection;
use super::transcript::Transcript;

/// Handles the requests of a server. The server itself responds to what cannot be decoded as a request.
pub trait Handler: Send + Sync + 'static {
    /// Decides what to do with a request whose head has come, but not yet its content.
    fn on_head(&self, _request: &HttpRequest) -> OnHead {
        OnHead::Read
    }

    /// Called for a request that could not be received, or whose client left.
    fn on_receive_error(&self, _error: ReceiveError) {}

    /// Responds to a request.
    fn handle(&self, request: Received, responder: Responder) -> impl Future<Output = ()> + Send;

    /// Handles a request for a WebSocket, after [`Handler::on_head`] returned [`OnHead::Upgrade`]. It is recorded as a
    /// handshake. By default it is refused.
    fn upgrade(&self, request: websocket::Request) -> impl Future<Output = ()> + Send {
        async {
            let refusal = websocket::Reply::refusing("404 Not Found", "there is no WebSocket here");
            if let Ok(socket) = request.reply(&refusal).await {
                socket.sender.shutdown().await;
            }
        }
    }
}

/// What to do with a request whose head has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnHead {
    /// Read its content first; send `100 Continue` if the client expects it (RFC 9110 section 10.1.1).
    Read,
    /// Read its content first, but never send `100 Continue`.
    ReadSilently,
    /// Respond at once, without its content, and close the connection after that.
    Answer,
    /// Handle it as a request for a WebSocket. Only for a request with a header `Upgrade`.
    Upgrade,
}

/// Why a request was not received, or not responded to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiveError {
    /// The bytes cannot be decoded as HTTP/1.1.
    Fault(HttpError),
    /// The request did not come in time.
    Late,
    /// The client closed the connection before the request was complete, or before the response.
    Left(Closed),
}

/// A received request. It is in the trace already.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// The name of the exchange in the trace.
    pub conn: String,
    /// The head.
    pub head: HttpRequest,
    /// The content, not decoded from its content coding, up to the bound of messages.
    pub content: Vec<u8>,
    /// The decoded content; none where there is none.
    pub message: Option<Message>,
    /// The trailer fields.
    pub trailers: Vec<(String, String)>,
    /// The number of reads until it was complete.
    pub reads: u64,
}

/// A server. Dropped, it stops at once.
pub struct Server {
    address: Address,
    /// A copy of the listener.
    listening: OwnedFd,
    accepting: JoinHandle<()>,
    /// Whether the server accepts nothing new any more.
    closing: watch::Sender<bool>,
}

impl Server {
    /// Serves the connections of a listener.
    ///
    /// # Errors
    /// The listener has no address, or there are no file descriptors left.
    pub fn start<H: Handler>(
        listener: TcpListener,
        handler: Arc<H>,
        exchanges: Exchanges,
        limits: Limits,
    ) -> io::Result<Self> {
        let local = listener.local_addr()?;
        let address = Address::new(local.ip().to_string(), local.port());
        let listening = listener.as_fd().try_clone_to_owned()?;
        let closing = watch::Sender::new(false);
        let accepting = tokio::spawn(accept(listener, handler, exchanges, limits, closing.subscribe()));
        Ok(Self { address, listening, accepting, closing })
    }

    /// The address at which it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Accepts nothing new from now on: no connection, and no request on existing ones. Running exchanges continue.
    pub fn close(&self) {
        self.closing.send_replace(true);
        stop_listening(&self.listening);
    }

    /// Closes the listener and every connection. Returns when that is done.
    pub async fn stop(mut self) {
        self.accepting.abort();
        // The error of an aborted task.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
        stop_listening(&self.listening);
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
    // Dropping the set with this future ends all connections.
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

/// Accepts the next connection, once there is room for one.
async fn next_client(permits: &Arc<Semaphore>, listener: &TcpListener) -> (Option<OwnedSemaphorePermit>, TcpStream) {
    // Fails only for a closed semaphore, which this never is.
    let permit = permits.clone().acquire_owned().await.ok();
    let (stream, _) = accept_retrying(|context| listener.poll_accept(context)).await;
    (permit, stream)
}

/// Returns once nothing new is accepted; never if the server is dropped, which aborts this task.
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
    // Otherwise the system would join what is sent in pieces on purpose.
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

/// A handler that responds to each request with the result of a function.
impl<F: Fn(&Received) -> Response + Send + Sync + 'static> Handler for F {
    async fn handle(&self, request: Received, responder: Responder) {
        let response = self(&request);
        // Fails only where the client is gone.
        let _ = responder.send(&response).await;
    }
}

/// The writing side of a connection during one exchange.
pub(super) struct ExchangeWriter {
    pub writer: Writer,
    pub transcript: Transcript,
    /// The method of the request.
    pub method: String,
    /// Whether the request is of HTTP/1.0, whose clients know neither chunks nor interim responses.
    pub is_http_1_0: bool,
    /// Whether the connection may be kept after this.
    pub keep: bool,
    /// How the connection ends.
    pub ending: Ending,
    /// The reason, if that is wrong on purpose.
    pub why: Option<String>,
}

/// Returns the writing side to the connection when it is dropped. What responds is moved often: so the writing side is boxed.
struct ConnectionGuard {
    out: Option<Box<ExchangeWriter>>,
    return_channel: Option<oneshot::Sender<Box<ExchangeWriter>>>,
    gone: watch::Receiver<Option<Closed>>,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        if let (Some(out), Some(return_channel)) = (self.out.take(), self.return_channel.take()) {
            // Fails only where the connection is gone.
            let _ = return_channel.send(out);
        }
    }
}

impl ConnectionGuard {
    fn out(&mut self) -> Result<&mut ExchangeWriter, Broken> {
        self.out.as_deref_mut().ok_or(Broken::Ours)
    }

    async fn gone(&self) -> Closed {
        let mut gone = self.gone.clone();
        // An error means that the connection is gone altogether.
        gone.wait_for(Option::is_some).await.ok().and_then(|gone| *gone).unwrap_or(Closed::Reset)
    }
}

/// Responds to one request. It may outlive the call of the handler: the exchange lasts until it, or the [`BodyWriter`]
/// made from it, is dropped. Dropped without a response, it closes the connection.
pub struct Responder(ConnectionGuard);

/// Writes the body of a response piece by piece. Dropped before [`BodyWriter::finish`], it closes the connection, and
/// the response is incomplete.
pub struct BodyWriter {
    guard: ConnectionGuard,
    chunked: bool,
    /// Whether nothing is sent, because the response has no body.
    without_body: bool,
}

impl Responder {
    pub(super) fn new(
        out: Box<ExchangeWriter>,
        return_channel: oneshot::Sender<Box<ExchangeWriter>>,
        gone: watch::Receiver<Option<Closed>>,
    ) -> Self {
        Self(ConnectionGuard { out: Some(out), return_channel: Some(return_channel), gone })
    }

    /// Sends an interim response (1xx), such as `103 Early Hints`, before the response. A client of HTTP/1.0 gets none (RFC
    /// 9110 section 15.2), unless that is wrong on purpose.
    ///
    /// # Errors
    /// The client does not read, or is gone.
    pub async fn interim(&mut self, response: &Response) -> Result<(), Broken> {
        let Head { start, mut headers, raw, .. } = response.head(false);
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("date"));
        let head = Head { start, headers, raw, body: None };
        let ExchangeWriter { writer, transcript, is_http_1_0, .. } = self.0.out()?;
        let options = &response.send_options;
        if *is_http_1_0 && options.deliberate.is_none() {
            return Ok(());
        }
        writer.send(transcript, &http_head::encode(&head), options.deliberate.as_deref(), options.split).await
    }

    /// Sends the response, and ends the connection by its [`Ending`]. What is chunked goes without chunks, up to the end of the
    /// connection, to a client of HTTP/1.0 (RFC 9112 section 6.1), unless the response is wrong on purpose.
    ///
    /// # Errors
    /// The client does not read, or is gone.
    pub async fn send(mut self, response: &Response) -> Result<(), Broken> {
        let out = self.0.out()?;
        let response = &*out.readable(response);
        let head = out.begin(response);
        let without_body = out.method == "HEAD" && !matches!(response.content, Content::Raw(_));
        let content = if without_body { &Content::None } else { &response.content };
        out.writer.send_message(&mut out.transcript, http_head::encode(&head), content, &response.send_options).await
    }

    /// Sends the head of a response and the content that it has. The rest of the body is written by the [`BodyWriter`],
    /// in chunks if the content is [`Content::Chunked`], as for [`Responder::send`].
    ///
    /// # Errors
    /// The client does not read, or is gone.
    pub async fn start(mut self, response: &Response) -> Result<BodyWriter, Broken> {
        let out = self.0.out()?;
        let response = &*out.readable(response);
        let head = out.begin(response);
        let options = &response.send_options;
        let why = options.deliberate.as_deref();
        out.writer.send(&mut out.transcript, &http_head::encode(&head), why, options.split).await?;
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

    /// Sends no response, and holds the connection until the client leaves; `why` is the reason if that is wrong on
    /// purpose.
    pub fn never(mut self, why: Option<&str>) {
        self.0.end(Ending::Hold, why);
    }

    /// Closes the connection (FIN) without a response.
    pub fn close(mut self, why: Option<&str>) {
        self.0.end(Ending::Close, why);
    }

    /// Resets the connection (RST) without a response.
    pub fn reset(mut self, why: Option<&str>) {
        self.0.end(Ending::Reset, why);
    }

    /// Returns once the client has closed or reset the connection. A client that has sent FIN may still read.
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
    /// The response as the client can read it: without chunks, if it is of HTTP/1.0.
    fn readable<'r>(&self, response: &'r Response) -> Cow<'r, Response> {
        match &response.content {
            Content::Chunked { pieces, .. }
                if self.is_http_1_0 && response.raw.is_none() && response.send_options.deliberate.is_none() =>
            {
                let content = Content::Raw(pieces.clone());
                let mut headers = response.headers.clone();
                headers.retain(|(name, _)| !name.eq_ignore_ascii_case("transfer-encoding"));
                Cow::Owned(Response { headers, content, ending: Ending::Close, ..response.clone() })
            }
            _ => Cow::Borrowed(response),
        }
    }

    /// The head to be sent. Stores how the connection ends after the response.
    fn begin(&mut self, response: &Response) -> Head {
        let close = !self.keep || response.ending == Ending::Close;
        let head = response.head(close);
        self.keep &= keeps_alive(&head) && response.send_options.cut.is_none();
        self.ending = response.ending;
        self.why.clone_from(&response.send_options.deliberate);
        head
    }
}

impl BodyWriter {
    /// Sends a piece, as one chunk if the body is chunked; `deliberate` is the reason if it is wrong on purpose.
    ///
    /// # Errors
    /// The client does not read, or is gone.
    pub async fn write(&mut self, bytes: &[u8], deliberate: Option<&str>) -> Result<(), Broken> {
        if self.without_body {
            return Ok(());
        }
        let chunked = self.chunked.then(|| chunk(bytes));
        self.write_raw(chunked.as_deref().unwrap_or(bytes), deliberate).await
    }

    /// Like [`BodyWriter::write`], but in TCP segments of at most `split` bytes.
    ///
    /// # Errors
    /// The client does not read, or is gone.
    pub async fn write_split(&mut self, bytes: &[u8], split: usize, deliberate: Option<&str>) -> Result<(), Broken> {
        if self.without_body || bytes.is_empty() {
            return Ok(());
        }
        let chunked = self.chunked.then(|| chunk(bytes));
        let out = self.guard.out()?;
        out.writer.send(&mut out.transcript, chunked.as_deref().unwrap_or(bytes), deliberate, Some(split)).await
    }

    /// Sends an event, in the usual form.
    ///
    /// # Errors
    /// The client does not read, or is gone.
    pub async fn event(&mut self, event: &StreamEvent) -> Result<(), Broken> {
        self.write(&EventWriter::default().write(event), None).await
    }

    /// Sends exactly these bytes.
    ///
    /// # Errors
    /// The client does not read, or is gone.
    pub async fn write_raw(&mut self, bytes: &[u8], deliberate: Option<&str>) -> Result<(), Broken> {
        let out = self.guard.out()?;
        out.writer.send(&mut out.transcript, bytes, deliberate, None).await
    }

    /// Ends the body.
    ///
    /// # Errors
    /// The client does not read, or is gone.
    pub async fn finish(self) -> Result<(), Broken> {
        self.finish_with(&[]).await
    }

    /// Ends the body, with these trailers if it is chunked.
    ///
    /// # Errors
    /// The client does not read, or is gone.
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

    /// Resets the connection (RST) in the middle of the body.
    pub fn reset(mut self, why: Option<&str>) {
        self.guard.end(Ending::Reset, why);
    }

    /// Sends nothing more, and holds the connection until the client leaves.
    pub fn never(mut self, why: Option<&str>) {
        self.guard.end(Ending::Hold, why);
    }

    /// Returns once the client has closed or reset the connection. A client that has sent FIN may still read.
    pub async fn gone(&self) -> Closed {
        self.guard.gone().await
    }
}
