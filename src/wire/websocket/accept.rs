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

/// Why no request came on a connection. It has been closed.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The client went away before it had sent a request head.
    #[error("the client closed the connection before a handshake request came")]
    Left,
    /// The head did not end within the bound.
    #[error("the head of the handshake request is too long")]
    TooLong,
    /// What came is no HTTP.
    #[error("what came is no HTTP request")]
    NotHttp,
    /// The client took too long.
    #[error("no whole handshake request came within {0:?}")]
    TimedOut(std::time::Duration),
    /// The connection broke.
    #[error("the connection broke before a handshake request came: {0}")]
    Broken(#[from] std::io::Error),
}

/// A handshake request that waits for a [`Reply`].
pub struct Request {
    /// Its head as sent.
    pub head: Head,
    stream: TcpStream,
    after: Vec<u8>,
    tap: Tap,
    limits: Limits,
}

/// An answer to a handshake request, right or wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The head; with [`Head::raw`] set, exactly that is sent.
    pub head: Head,
    /// The body.
    pub body: Vec<u8>,
    /// How it is sent, and why it is wrong on purpose, if it is.
    pub manner: SendOptions,
}

/// Reads the handshake request from a connection that was just accepted.
pub async fn accept(mut stream: TcpStream, tap: Tap, limits: &Limits) -> Result<Request, AcceptError> {
    let _ = stream.set_nodelay(true);
    tap.connected(stream.local_addr()?);
    let reading = http_head::read(&mut stream, limits.head, false);
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
    /// One that came on a connection that served HTTP before, `after` being what came along with it. Its head goes
    /// into the trace.
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

    /// What keeps this from being a right WebSocket request (RFC 6455 section 4.2.1): a phrase; none if nothing does.
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

    /// Closes the connection (FIN) without an answer; `deliberate` says why that is wrong on purpose, if it is.
    pub async fn hang_up(mut self, deliberate: Option<&str>) {
        self.tap.sent(deliberate, EventKind::Closed(Closed::Eof));
        // Fails only where the connection is gone already.
        let _ = self.stream.shutdown().await;
    }

    /// Sends the answer. After a 101 the socket carries frames, otherwise bytes; it is for the caller to close it.
    pub async fn reply(self, reply: &Reply) -> Result<Socket, AcceptError> {
        self.reply_with(reply, &[], Options::default()).await
    }

    /// The same with frames right behind the answer, in the same write, and with what the socket does by itself from
    /// its first moment on.
    pub async fn reply_with(
        self,
        reply: &Reply,
        frames: &[FrameSpec],
        options: Options,
    ) -> Result<Socket, AcceptError> {
        let deliberate = reply.manner.deliberate.as_deref();
        let mut bytes = http_head::encode(&reply.head);
        bytes.extend(&reply.body);
        match reply.manner.cut.filter(|cut| *cut < bytes.len()) {
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
        // A client that is gone already is found to be when it is read from.
        starting.send(bytes, frames, &reply.manner).await.map_err(|e| match e {
            SendError::Gone { source, .. } => AcceptError::Broken(source),
            SendError::Stuck { .. } | SendError::Ended { .. } => AcceptError::TimedOut(within),
        })?;
        let frames = reply.head.status() == Some(101);
        Ok(starting.start(if frames { ReadStart::Frames(self.after) } else { ReadStart::Bytes(self.after) }))
    }

    /// Leaves the request without an answer. The socket carries bytes; it is for the caller to close it.
    pub fn leave_unanswered(self, options: Options) -> Socket {
        PendingSocket::new(self.stream, self.tap, self.limits, options).start(ReadStart::Bytes(self.after))
    }
}

impl Reply {
    /// The right answer that accepts this request.
    pub fn accepting(request: &Request) -> Self {
        let key = request.head.header("sec-websocket-key").next().unwrap_or_default();
        let headers = [
            ("Upgrade", "websocket".to_owned()),
            ("Connection", "Upgrade".to_owned()),
            ("Sec-WebSocket-Accept", derive_accept_key(key.as_bytes())),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let head = Head { start: "HTTP/1.1 101 Switching Protocols".into(), headers, raw: None, body: None };
        Self { head, body: vec![], manner: SendOptions::default() }
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
        Self { head, body: text.into(), manner: SendOptions::default() }
    }

    /// These bytes as the whole answer.
    pub fn raw(bytes: &[u8]) -> Self {
        Self { head: http_head::parse(bytes), body: vec![], manner: SendOptions::default() }
    }
}

/// Whether it is the base64 form of 16 bytes.
fn is_key(key: &str) -> bool {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == 16)
}
