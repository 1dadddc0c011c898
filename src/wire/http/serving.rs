//! [`ServedConnection`]: one connection of a server, which reads its requests one after the other, and runs their
//! exchanges.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout, timeout_at};

use crate::trace::{Closed, Head, HttpRequest, Message};
use crate::wire::http_head::{self, has_token};
use crate::wire::{Tap, websocket};

use super::connection::{BUFFER, Writer};
use super::framing::{HttpError, is_token_byte, keeps_alive};
use super::outgoing::{Ending, Response};
use super::server::{ExchangeWriter, Handler, OnHead, ReceiveError, Received, Responder};
use super::transcript::{Transcript, TranscriptItem};
use super::{Exchanges, Limits};

/// How many bytes of later requests are kept, before reading stops.
const MAX_AHEAD: usize = 256 << 10;
/// How long a client may take to close a connection after us (RFC 9112 section 9.6).
const LINGER: Duration = Duration::from_secs(1);

/// A connection that is being served.
pub struct ServedConnection {
    incoming: RequestReader,
    writer: Option<Writer>,
    exchanges: Exchanges,
    limits: Limits,
    tcp: u64,
    local: SocketAddr,
    /// Whether the connection had an earlier exchange.
    reused: bool,
    gone: watch::Sender<Option<Closed>>,
}

/// The reading half.
struct RequestReader {
    /// None once the connection was upgraded.
    half: Option<OwnedReadHalf>,
    /// Received bytes that belong to no request yet.
    buffer: Vec<u8>,
    /// How the client ended the connection.
    ended: Option<Closed>,
    /// The number of reads since the last request was complete.
    reads: u64,
}

/// A request that is being received.
#[derive(Default)]
struct PartialRequest {
    head: Option<Head>,
    content: Vec<u8>,
    message: Option<Message>,
    trailers: Vec<(String, String)>,
}

/// The response of the server itself to an invalid request: status and text.
type Refusal = (&'static str, String);

impl ServedConnection {
    /// Takes a connection over; none where it is gone already.
    pub fn new(stream: TcpStream, exchanges: Exchanges, limits: Limits) -> Option<Self> {
        let local = stream.local_addr().ok()?;
        let (half, write) = stream.into_split();
        let tcp = exchanges.next_connection();
        let incoming = RequestReader { half: Some(half), buffer: vec![], ended: None, reads: 0 };
        let writer = Some(Writer::new(write, limits.write));
        Some(Self { incoming, writer, exchanges, limits, tcp, local, reused: false, gone: watch::Sender::new(None) })
    }

    /// Waits until bytes of a request have come; false where the client is gone instead. Cancel safe.
    pub async fn await_request<H: Handler>(&mut self, handler: &H) -> bool {
        while self.incoming.buffer.is_empty() {
            if let Err(how) = self.incoming.fill().await {
                // A reset discards what was sent before, which may have been a request.
                if how == Closed::Reset {
                    handler.on_receive_error(ReceiveError::Left(how));
                }
                return false;
            }
        }
        true
    }

    /// Serves the exchange that has begun; returns whether another one may follow.
    pub async fn exchange<H: Handler>(&mut self, handler: &H) -> bool {
        let tap = self.exchanges.tap(None);
        if !std::mem::replace(&mut self.reused, true) {
            tap.connected(self.local);
        }
        let deadline = Instant::now() + self.limits.head_within;
        let late = timeout_at(deadline, self.incoming.await_head(self.limits.head)).await.is_err();
        if let Some(head) = self.incoming.upgrade()
            && handler.on_head(&HttpRequest::new(head.clone(), self.tcp)) == OnHead::Upgrade
        {
            // Rare and large: every exchange would carry room for it.
            Box::pin(self.upgrade(head, tap, handler)).await;
            return false;
        }
        self.http_exchange(tap, handler, late).await
    }

    async fn upgrade<H: Handler>(&mut self, head: Head, tap: Tap, handler: &H) {
        let end = http_head::end_of_head(&self.incoming.buffer, 0).unwrap_or_default();
        let after = self.incoming.buffer.split_off(end);
        let (Some(writer), Some(half)) = (self.writer.take(), self.incoming.half.take()) else { return };
        if let Some(stream) = writer.reunite(half) {
            let limits = crate::wire::Limits { head: self.limits.head, write: self.limits.write, ..Default::default() };
            handler.upgrade(websocket::Request::taken_over(head, stream, after, tap, limits)).await;
        }
    }

    /// Serves an HTTP exchange; returns whether another one may follow.
    async fn http_exchange<H: Handler>(&mut self, tap: Tap, handler: &H, late: bool) -> bool {
        let Some(mut writer) = self.writer.take() else { return false };
        let limits = self.limits;
        let mut request = Transcript::request(tap.clone(), false, self.tcp, &limits);
        let mut arriving = PartialRequest::default();
        let mut refusal: Option<Refusal> =
            late.then(|| ("408 Request Timeout", format!("no whole head within {:?}", limits.head_within)));
        let mut response = None;
        let mut answer_at_once = false;
        let mut deadline = None;
        if late {
            handler.on_receive_error(ReceiveError::Late);
            self.incoming.feed(&mut request, &mut arriving, limits.message);
        }
        while refusal.is_none() {
            self.incoming.feed(&mut request, &mut arriving, limits.message);
            if let Some(fault) = request.fault() {
                handler.on_receive_error(ReceiveError::Fault(fault.clone()));
                refusal = Some(refusal_of(fault));
                break;
            }
            let (Some(head), None) = (&arriving.head, &response) else {
                if request.is_complete() {
                    break;
                }
                if let Err(how) = self.incoming.fill_before(deadline).await {
                    let Some(how) = how else {
                        handler.on_receive_error(ReceiveError::Late);
                        refusal =
                            Some(("408 Request Timeout", format!("no whole content within {:?}", limits.body_within)));
                        break;
                    };
                    handler.on_receive_error(ReceiveError::Left(how));
                    request.record_close_if_incomplete(how, None);
                    self.writer = Some(writer);
                    return self.close_connection(None).await;
                }
                continue;
            };
            // The head has just come.
            let http = HttpRequest::new(head.clone(), self.tcp);
            let mut transcript = Transcript::response(tap.clone(), true, http.method(), &limits);
            let decision = handler.on_head(&http);
            answer_at_once = decision == OnHead::Answer;
            if answer_at_once {
                response = Some(transcript);
                break;
            }
            let send_continue = decision != OnHead::ReadSilently;
            if send_continue && !request.is_complete() && has_token(head, "expect", "100-continue") {
                let sent = writer.send(&mut transcript, b"HTTP/1.1 100 Continue\r\n\r\n", None, None).await;
                if sent.is_err() {
                    request.record_close(Closed::Reset, None);
                    self.writer = Some(writer);
                    return self.close_connection(Some(Closed::Reset)).await;
                }
            }
            deadline = Some(Instant::now() + limits.body_within);
            response = Some(transcript);
        }
        let head = arriving.head.take();
        let method = head.as_ref().and_then(|head| head.start.split(' ').next()).unwrap_or_default().to_owned();
        let transcript = response.unwrap_or_else(|| Transcript::response(tap.clone(), true, &method, &limits));
        let is_http_1_0 = head.as_ref().is_some_and(|head| head.start.ends_with(" HTTP/1.0"));
        let keep = refusal.is_none() && !answer_at_once && head.as_ref().is_some_and(keeps_alive);
        let out = ExchangeWriter { writer, transcript, method, is_http_1_0, keep, ending: Ending::Usual, why: None };
        let (return_channel, returned) = oneshot::channel();
        let responder = Responder::new(Box::new(out), return_channel, self.gone.subscribe());
        let out = match (refusal, head) {
            (None, Some(head)) => {
                let received = Received {
                    conn: tap.conn().to_owned(),
                    head: HttpRequest::new(head, self.tcp),
                    content: std::mem::take(&mut arriving.content),
                    message: arriving.message.take(),
                    trailers: std::mem::take(&mut arriving.trailers),
                    reads: std::mem::take(&mut self.incoming.reads),
                };
                self.watch(handler, handler.handle(received, responder), returned, &mut request).await
            }
            (refusal, _) => {
                request.record_rest();
                let (status, text) = refusal.unwrap_or(("400 Bad Request", "no request came".into()));
                let response = Response::new(status).text(text);
                let refusing = async {
                    // Fails only where the client is gone.
                    let _ = responder.send(&response).await;
                };
                self.watch(handler, refusing, returned, &mut request).await
            }
        };
        match out {
            Some(out) => self.end_exchange(*out, &mut request).await,
            None => false,
        }
    }

    /// Waits until the handler has responded, and meanwhile for the end of the client's stream.
    async fn watch<H: Handler>(
        &mut self,
        handler: &H,
        handling: impl Future<Output = ()>,
        mut returned: oneshot::Receiver<Box<ExchangeWriter>>,
        request: &mut Transcript,
    ) -> Option<Box<ExchangeWriter>> {
        tokio::pin!(handling);
        let mut handled = false;
        let mut out: Option<Option<Box<ExchangeWriter>>> = None;
        while !handled || out.is_none() {
            tokio::select! {
                biased;
                () = &mut handling, if !handled => handled = true,
                given = &mut returned, if out.is_none() => out = Some(given.ok()),
                ended = self.incoming.fill(), if self.incoming.has_room() => {
                    if let Err(how) = ended {
                        handler.on_receive_error(ReceiveError::Left(how));
                        request.record_close(how, None);
                        self.gone.send_replace(Some(how));
                    }
                }
            }
        }
        out.flatten()
    }

    /// Ends an exchange by its [`Ending`]; returns whether another one may follow.
    async fn end_exchange(&mut self, mut out: ExchangeWriter, request: &mut Transcript) -> bool {
        let why = out.why.take();
        let complete = out.transcript.is_complete();
        self.writer = Some(out.writer);
        match out.ending {
            Ending::Usual if complete && out.keep && request.is_complete() => return self.incoming.ended.is_none(),
            Ending::Usual | Ending::Close => {
                // A body without a length is complete with the end of the connection.
                out.transcript.end(&mut |_| {});
                if self.incoming.ended != Some(Closed::Reset) {
                    out.transcript.record_close_if_incomplete(Closed::Eof, why.as_deref());
                }
            }
            Ending::Reset => {
                if self.incoming.ended.is_none() {
                    out.transcript.record_close(Closed::Reset, why.as_deref());
                }
                return self.close_connection(Some(Closed::Reset)).await;
            }
            Ending::Hold => {
                while self.incoming.ended.is_none() {
                    self.incoming.buffer.clear();
                    if let Err(how) = self.incoming.fill().await {
                        request.record_close(how, None);
                    }
                }
            }
        }
        self.close_connection(None).await
    }

    /// Ends the connection: by RST, or by FIN, after which the client gets time to read and close.
    async fn close_connection(&mut self, how: Option<Closed>) -> bool {
        let Some(mut writer) = self.writer.take() else { return false };
        if how == Some(Closed::Reset) {
            writer.reset();
            return false;
        }
        writer.shutdown().await;
        // Closing with unread bytes would reset the connection before the client has read the response.
        let incoming = &mut self.incoming;
        let reading = async {
            while incoming.ended.is_none() {
                incoming.buffer.clear();
                let _ = incoming.fill().await;
            }
        };
        // The connection is dropped in any case.
        let _ = timeout(LINGER, reading).await;
        false
    }
}

impl RequestReader {
    /// Reads some bytes, or returns how the client ended the connection.
    async fn fill(&mut self) -> Result<(), Closed> {
        if let Some(how) = self.ended {
            return Err(how);
        }
        self.buffer.reserve(BUFFER);
        let Some(half) = &mut self.half else { return Err(Closed::Eof) };
        let how = match half.read_buf(&mut self.buffer).await {
            Ok(0) => Closed::Eof,
            Ok(_) => {
                self.reads += 1;
                return Ok(());
            }
            Err(_) => Closed::Reset,
        };
        self.ended = Some(how);
        Err(how)
    }

    /// Like [`RequestReader::fill`], but returns no end where the deadline passes first.
    async fn fill_before(&mut self, deadline: Option<Instant>) -> Result<(), Option<Closed>> {
        match deadline {
            None => self.fill().await.map_err(Some),
            Some(deadline) => match timeout_at(deadline, self.fill()).await {
                Ok(filled) => filled.map_err(Some),
                Err(_) => Err(None),
            },
        }
    }

    /// Whether more bytes of later requests may be read.
    fn has_room(&self) -> bool {
        self.ended.is_none() && self.buffer.len() < MAX_AHEAD
    }

    /// Reads until a complete head has come, or bytes that cannot become one.
    async fn await_head(&mut self, max_len: usize) {
        let mut searched = 0;
        loop {
            let start = self.buffer.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
            let impossible = start.is_some_and(|at| !is_token_byte(self.buffer[at]));
            let found = start.is_some_and(|at| http_head::end_of_head(&self.buffer, searched.max(at)).is_some());
            if found || impossible || self.buffer.len() > max_len {
                return;
            }
            searched = self.buffer.len().saturating_sub(3);
            if self.fill().await.is_err() {
                return;
            }
        }
    }

    /// The head at the beginning of the buffer, if it is a request for a WebSocket.
    fn upgrade(&self) -> Option<Head> {
        let end = http_head::end_of_head(&self.buffer, 0)?;
        let upgrade = b"upgrade:";
        let mut lines = memchr::memchr_iter(b'\n', &self.buffer[..end]).map(|at| &self.buffer[at + 1..end]);
        let has_header =
            lines.any(|line| line.get(..upgrade.len()).is_some_and(|name| name.eq_ignore_ascii_case(upgrade)));
        let head = has_header.then(|| http_head::parse(&self.buffer[..end]))?;
        has_token(&head, "upgrade", "websocket").then_some(head)
    }

    /// Feeds the bytes that belong to a request to it.
    fn feed(&mut self, request: &mut Transcript, arriving: &mut PartialRequest, max_len: usize) {
        let taken = request.feed(&self.buffer, None, &mut |item| match item {
            TranscriptItem::Head(head) => arriving.head = Some(head),
            TranscriptItem::Body(body) => {
                let room = max_len.saturating_sub(arriving.content.len());
                let bytes = body.bytes.as_bytes();
                arriving.content.extend_from_slice(&bytes[..bytes.len().min(room)]);
                arriving.trailers = body.trailers;
            }
            TranscriptItem::Message(message) => arriving.message = Some(message),
            TranscriptItem::Interim(_) | TranscriptItem::Event(_) => {}
        });
        self.buffer.drain(..taken);
    }
}

/// The response to bytes that cannot be decoded.
fn refusal_of(fault: &HttpError) -> Refusal {
    let status = match fault {
        HttpError::HeadTooLong(_) => "431 Request Header Fields Too Large",
        HttpError::BodyTooLong(_) => "413 Content Too Large",
        HttpError::Coding(_) => "501 Not Implemented",
        _ => "400 Bad Request",
    };
    (status, fault.to_string())
}
