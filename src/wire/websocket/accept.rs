//! The server's side of the handshake (RFC 6455 section 4.2).

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::trace::{Closed, EventKind, Head, Payload};
use crate::wire::http_head::{self, HeadOutcome, NoHeadReason, has_token};
use crate::wire::{Limits, Tap};

use super::frame::FrameSpec;
use super::reader::ReadStart;
use super::sender::{SendError, SendOptions};
use super::socket::{Options, PendingSocket, Socket};

/// Why no request came on a connection, which has been closed.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The client closed the connection before it had sent a complete head.
    #[error("the client closed the connection before a handshake request came")]
    Left,
    /// The head did not end within the bound.
    #[error("the head of the handshake request is too long")]
    TooLong,
    /// The bytes are no HTTP.
    #[error("what came is no HTTP request")]
    NotHttp,
    /// The client took too long.
    #[error("no whole handshake request came within {0:?}")]
    TimedOut(std::time::Duration),
    /// The connection broke.
    #[error("the connection broke before a handshake request came: {0}")]
    Broken(#[from] std::io::Error),
}

/// A received handshake request, which waits for a [`Reply`].
pub struct Request {
    /// The head as sent.
    pub head: Head,
    stream: TcpStream,
    after: Vec<u8>,
    tap: Tap,
    limits: Limits,
}

/// A response to a handshake request, valid or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The heads of interim responses (1xx) that are sent before it.
    pub interim: Vec<Head>,
    /// The head; with [`Head::raw`] set, exactly that is sent.
    pub head: Head,
    /// The body.
    pub body: Vec<u8>,
    /// How the response is sent, and the reason if it is wrong on purpose.
    pub send_options: SendOptions,
}

/// Reads the handshake request from a connection that was just accepted.
pub async fn accept(mut stream: TcpStream, tap: Tap, limits: &Limits) -> Result<Request, AcceptError> {
    let _ = stream.set_nodelay(true);
    tap.connected(stream.local_addr()?);
    let reading = http_head::read(&mut stream, vec![], limits.head, false);
    let Ok(outcome) = timeout(limits.handshake, reading).await else {
        tap.sent(None, EventKind::Closed(Closed::Eof));
        return Err(AcceptError::TimedOut(limits.handshake));
    };
    match outcome {
        HeadOutcome::Head(head, after) => {
            tap.received(EventKind::Handshake(head.clone()));
            Ok(Request { head, stream, after, tap, limits: *limits })
        }
        HeadOutcome::NoHead(bytes, why) => {
            tap.received_bytes(&bytes);
            let error = match why {
                NoHeadReason::Closed(how) => {
                    tap.ended(how);
                    AcceptError::Left
                }
                NoHeadReason::TooLong => AcceptError::TooLong,
                NoHeadReason::NotHttp => AcceptError::NotHttp,
            };
            tap.sent(None, EventKind::Closed(Closed::Eof));
            Err(error)
        }
    }
}

impl Request {
    /// A request on a connection that served HTTP before; `after` are the bytes after its head. Records the head.
    pub(in crate::wire) fn taken_over(head: Head, stream: TcpStream, after: Vec<u8>, tap: Tap, limits: Limits) -> Self {
        tap.received(EventKind::Handshake(head.clone()));
        Self { head, stream, after, tap, limits }
    }

    /// The name of its connection in the trace.
    pub fn conn(&self) -> &str {
        self.tap.conn()
    }

    /// The request target: `/?auth=…`; empty where the first line has none.
    pub fn target(&self) -> &str {
        self.head.start.split(' ').nth(1).unwrap_or_default()
    }

    /// The value of a query parameter of the target, as sent, still percent-encoded. The first one counts.
    pub fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.target().split_once('?')?;
        query.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key == name).then_some(value)
        })
    }

    /// Why this is no valid WebSocket request (RFC 6455 section 4.2.1); none if it is.
    pub fn fault(&self) -> Option<&'static str> {
        let head = &self.head;
        let words: Vec<&str> = head.start.split(' ').collect();
        let one = |name| {
            let mut values = head.header(name);
            values.next().filter(|_| values.next().is_none())
        };
        match words[..] {
            ["GET", _, version] if version.starts_with("HTTP/1.") && version != "HTTP/1.0" => {}
            ["GET", _, _] => return Some("the HTTP version must be 1.1"),
            [_, _, _] => return Some("the method must be GET"),
            _ => return Some("the request line is malformed"),
        }
        if one("host").is_none() {
            return Some("there must be one Host header");
        }
        if !has_token(head, "upgrade", "websocket") {
            return Some("there must be a header `Upgrade: websocket`");
        }
        if !has_token(head, "connection", "upgrade") {
            return Some("there must be a header `Connection: Upgrade`");
        }
        if one("sec-websocket-version") != Some("13") {
            return Some("Sec-WebSocket-Version must be 13");
        }
        match one("sec-websocket-key") {
            Some(key) if is_key(key) => None,
            _ => Some("Sec-WebSocket-Key must be 16 bytes in base64"),
        }
    }

    /// Closes the connection (FIN) without a response; `deliberate` is the reason if that is wrong on purpose.
    pub async fn hang_up(mut self, deliberate: Option<&str>) {
        self.tap.sent(deliberate, EventKind::Closed(Closed::Eof));
        // Fails only where the connection is gone already.
        let _ = self.stream.shutdown().await;
    }

    /// Sends the response. After a 101 the socket carries frames, otherwise bytes; the caller has to close it.
    pub async fn reply(self, reply: &Reply) -> Result<Socket, AcceptError> {
        self.reply_with(reply, &[], Options::default()).await
    }

    /// Like [`Request::reply`], with frames right after the response, in the same write, and with the options of the
    /// socket.
    pub async fn reply_with(
        self,
        reply: &Reply,
        frames: &[FrameSpec],
        options: Options,
    ) -> Result<Socket, AcceptError> {
        let deliberate = reply.send_options.deliberate.as_deref();
        let mut bytes = vec![];
        for head in &reply.interim {
            bytes.extend(http_head::encode(head));
            self.tap.sent(deliberate, EventKind::HttpResponse(head.clone().into()));
        }
        bytes.extend(http_head::encode(&reply.head));
        bytes.extend(&reply.body);
        match reply.send_options.cut.filter(|cut| *cut < bytes.len()) {
            Some(cut) => {
                bytes.truncate(cut);
                self.tap.sent_bytes(deliberate, &bytes);
            }
            None => {
                let body = (!reply.body.is_empty()).then(|| Payload::from(reply.body.as_slice()));
                self.tap.sent(deliberate, EventKind::Handshake(Head { body, ..reply.head.clone() }));
            }
        }
        let within = self.limits.write;
        let starting = PendingSocket::new(self.stream, self.tap, self.limits, options);
        // That a client is gone already is found by reading.
        starting.send(bytes, frames, &reply.send_options).await.map_err(|e| match e {
            SendError::Gone { source, .. } => AcceptError::Broken(source),
            SendError::Stuck { .. } | SendError::Ended { .. } => AcceptError::TimedOut(within),
        })?;
        let frames = reply.head.status() == Some(101);
        Ok(starting.start(if frames { ReadStart::Frames(self.after) } else { ReadStart::Bytes(self.after) }))
    }

    /// Sends no response. The socket carries bytes; the caller has to close it.
    pub fn leave_unanswered(self, options: Options) -> Socket {
        PendingSocket::new(self.stream, self.tap, self.limits, options).start(ReadStart::Bytes(self.after))
    }
}

impl Reply {
    /// The valid response that accepts this request.
    pub fn accepting(request: &Request) -> Self {
        let key = request.head.header("sec-websocket-key").next().unwrap_or_default();
        let headers = [
            ("Upgrade", "websocket".to_owned()),
            ("Connection", "Upgrade".to_owned()),
            ("Sec-WebSocket-Accept", derive_accept_key(key.as_bytes())),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let head = Head { start: "HTTP/1.1 101 Switching Protocols".into(), headers, raw: None, body: None };
        Self { interim: vec![], head, body: vec![], send_options: SendOptions::default() }
    }

    /// A refusal with a status (such as `401 Unauthorized`), and a plain text as its body.
    pub fn refusing(status: &str, text: &str) -> Self {
        let headers = [
            ("Content-Type", "text/plain; charset=utf-8".to_owned()),
            ("Content-Length", text.len().to_string()),
            ("Connection", "close".to_owned()),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let head = Head { start: format!("HTTP/1.1 {status}"), headers, raw: None, body: None };
        Self { interim: vec![], head, body: text.into(), send_options: SendOptions::default() }
    }

    /// A response of exactly these bytes.
    pub fn raw(bytes: &[u8]) -> Self {
        Self { interim: vec![], head: http_head::parse(bytes), body: vec![], send_options: SendOptions::default() }
    }
}

/// Whether the key is the base64 form of 16 bytes.
fn is_key(key: &str) -> bool {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == 16)
}
