//! The client's side of the handshake (RFC 6455 section 4.1).

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::trace::{EventKind, Head};
use crate::wire::http_head::{self, has_token};
use crate::wire::tcp::{self, Address, ConnectError};
use crate::wire::{Limits, Tap};

use super::reader::{ReadStart, ResponseOutcome};
use super::sender::SendOptions;
use super::socket::{Options, Socket};

/// A handshake request, valid or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRequest {
    /// The method of the request; `GET`.
    pub method: String,
    /// The request target, as in the first line: `/?auth=…`.
    pub target: String,
    /// The version in the first line; `HTTP/1.1`.
    pub version: String,
    /// The subprotocols offered; without any, no header is sent.
    pub subprotocols: Vec<String>,
    /// Headers to add. The usual headers of a handshake are replaced by those of the same name, or left out where the
    /// value is none.
    pub headers: Vec<(String, Option<String>)>,
    /// The complete head with its empty line, instead of all the fields above.
    pub raw: Option<Vec<u8>>,
    /// How the request is sent, and the reason if it is wrong on purpose.
    pub send_options: SendOptions,
    /// What the connection does automatically, from the first frame on.
    pub options: Options,
}

impl ClientRequest {
    /// A valid request for this target.
    pub fn new(target: impl Into<String>) -> Self {
        Self {
            method: "GET".into(),
            target: target.into(),
            version: "HTTP/1.1".into(),
            subprotocols: vec![],
            headers: vec![],
            raw: None,
            send_options: SendOptions::default(),
            options: Options::default(),
        }
    }

    /// The head as it will be sent to this address.
    fn head(&self, address: &Address) -> Head {
        if let Some(raw) = &self.raw {
            return http_head::parse(raw);
        }
        let mut headers: Vec<(String, String)> = [
            ("Host", address.to_string()),
            ("Upgrade", "websocket".into()),
            ("Connection", "Upgrade".into()),
            ("Sec-WebSocket-Key", generate_key()),
            ("Sec-WebSocket-Version", "13".into()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        if !self.subprotocols.is_empty() {
            headers.push(("Sec-WebSocket-Protocol".into(), self.subprotocols.join(", ")));
        }
        for (name, value) in &self.headers {
            let at = headers.iter().position(|(n, _)| n.eq_ignore_ascii_case(name));
            match (at, value) {
                (Some(at), Some(value)) => headers[at] = (name.clone(), value.clone()),
                (Some(at), None) => drop(headers.remove(at)),
                (None, Some(value)) => headers.push((name.clone(), value.clone())),
                (None, None) => {}
            }
        }
        Head { start: format!("{} {} {}", self.method, self.target, self.version), headers, raw: None, body: None }
    }
}

/// The outcome of a handshake.
pub struct HandshakeOutcome {
    /// The response, with the body of a refusal; none if none came in time.
    pub response: Option<Head>,
    /// Whether the response accepts the connection as RFC 6455 section 4.1 demands.
    pub accepted: bool,
    /// The error, if it does not.
    pub why_not: Option<HandshakeError>,
    /// The connection, whatever the response. After a 101 it carries frames, otherwise bytes.
    pub socket: Socket,
}

/// Why a response does not accept a connection (RFC 6455 section 4.1, the client's checks).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// No response, or none that is HTTP.
    #[error("{0}")]
    NoResponse(String),
    /// No response in time.
    #[error("no response within {0:?}")]
    TimedOut(Duration),
    /// The first line is no status line.
    #[error("`{0}` is no status line")]
    NoStatus(String),
    /// A status other than 101.
    #[error("the status is {0}, not 101")]
    Status(u16),
    /// The header `Upgrade` is missing or has another value.
    #[error("no header `Upgrade: websocket`")]
    Upgrade,
    /// The header `Connection` is missing or has another value.
    #[error("no header `Connection: Upgrade`")]
    Connection,
    /// The header `Sec-WebSocket-Accept` is missing, repeated, or not made from the request's key.
    #[error("{0}")]
    Accept(String),
    /// An extension that was not offered.
    #[error("the extension `{0}` was not offered")]
    Extension(String),
    /// A subprotocol that was not offered.
    #[error("the subprotocol `{0}` was not offered")]
    Subprotocol(String),
}

/// Opens a TCP connection, sends the request and waits for the response.
///
/// Whatever the server does once the TCP connection is made is reported in [`HandshakeOutcome`].
pub async fn connect(
    address: &Address,
    request: &ClientRequest,
    tap: Tap,
    limits: &Limits,
) -> Result<HandshakeOutcome, ConnectError> {
    let deadline = Instant::now() + limits.handshake;
    let stream = tcp::open(address, limits.handshake).await?;
    let broken = |source| ConnectError::Broken { address: address.clone(), source };
    tap.connected(stream.peer_addr().map_err(broken)?);
    let head = request.head(address);
    let bytes = http_head::encode(&head);
    let cut = request.send_options.cut.is_some_and(|cut| cut < bytes.len());
    if !cut {
        tap.sent(request.send_options.deliberate.as_deref(), EventKind::Handshake(head.clone()));
    }
    let (response_sender, response_receiver) = oneshot::channel();
    let socket = Socket::start(stream, tap, *limits, ReadStart::Response { deadline, response_sender });
    socket.sender.set_options(request.options);
    let sent = if cut {
        socket.sender.send_raw_in(&bytes, &request.send_options).await
    } else {
        socket.sender.send_recorded(&bytes, request.send_options.split).await
    };
    // A server may respond and close before it has read everything: its response counts.
    let outcome = timeout_at(deadline, response_receiver).await;
    let (response, why_not) = match (outcome, sent) {
        (Ok(Ok(ResponseOutcome::Head(response))), _) => {
            let fault = check(&head, &response).err();
            (Some(response), fault)
        }
        (Ok(Ok(ResponseOutcome::NoHead(what))), _) => (None, Some(HandshakeError::NoResponse(what))),
        (_, Err(e)) => (None, Some(HandshakeError::NoResponse(e.to_string()))),
        (_, Ok(())) => (None, Some(HandshakeError::TimedOut(limits.handshake))),
    };
    Ok(HandshakeOutcome { response, accepted: why_not.is_none(), why_not, socket })
}

/// Opens a TCP connection only. An HTTP response that comes on it is read as one, and frames after a 101.
pub async fn open(address: &Address, tap: Tap, limits: &Limits) -> Result<Socket, ConnectError> {
    let stream = tcp::open(address, limits.handshake).await?;
    tap.connected(stream.peer_addr().map_err(|source| ConnectError::Broken { address: address.clone(), source })?);
    let (response_sender, _) = oneshot::channel();
    let deadline = Instant::now() + limits.handshake;
    Ok(Socket::start(stream, tap, *limits, ReadStart::Response { deadline, response_sender }))
}

/// Checks whether a response accepts a request; the error is its first fault.
fn check(request: &Head, response: &Head) -> Result<(), HandshakeError> {
    match response.status() {
        Some(101) => {}
        Some(status) => return Err(HandshakeError::Status(status)),
        None => return Err(HandshakeError::NoStatus(response.start.clone())),
    }
    if !has_token(response, "upgrade", "websocket") {
        return Err(HandshakeError::Upgrade);
    }
    if !has_token(response, "connection", "upgrade") {
        return Err(HandshakeError::Connection);
    }
    check_key(request, response)?;
    let offered: Vec<&str> = extensions(request).collect();
    if let Some(extension) = extensions(response).find(|extension| !offered.contains(extension)) {
        return Err(HandshakeError::Extension(extension.to_owned()));
    }
    if let Some(protocol) = response.header("sec-websocket-protocol").next()
        && !request.header("sec-websocket-protocol").flat_map(|v| v.split(',')).any(|p| p.trim() == protocol)
    {
        return Err(HandshakeError::Subprotocol(protocol.to_owned()));
    }
    Ok(())
}

/// The names of the extensions in a head, without their parameters (RFC 6455 section 9.1).
fn extensions(head: &Head) -> impl Iterator<Item = &str> {
    let all = head.header("sec-websocket-extensions").flat_map(|value| value.split(','));
    all.map(|extension| extension.split(';').next().unwrap_or_default().trim()).filter(|name| !name.is_empty())
}

/// Checks the header Sec-WebSocket-Accept of a response (RFC 6455 section 4.2.2, item 5.4).
fn check_key(request: &Head, response: &Head) -> Result<(), HandshakeError> {
    let Some(key) = request.header("sec-websocket-key").next() else {
        return Err(HandshakeError::Accept("the request had no Sec-WebSocket-Key".into()));
    };
    let expected = derive_accept_key(key.as_bytes());
    let accepts: Vec<&str> = response.header("sec-websocket-accept").collect();
    match accepts[..] {
        [accept] if accept == expected => Ok(()),
        [] => Err(HandshakeError::Accept("no header Sec-WebSocket-Accept".into())),
        [accept] => Err(HandshakeError::Accept(format!("Sec-WebSocket-Accept is `{accept}`, not `{expected}`"))),
        _ => Err(HandshakeError::Accept("several headers Sec-WebSocket-Accept".into())),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::trace::End;
    use crate::wire::testing::{MemoryTrace, limits, listen};
    use crate::wire::websocket::{FrameSpec, Reply, Request, accept};

    /// What our client makes of the reply that our server gives to its request, and both traces.
    async fn exchange(
        request: ClientRequest,
        reply: impl FnOnce(&Request) -> Reply,
    ) -> (HandshakeOutcome, MemoryTrace, MemoryTrace) {
        let limits = Limits { handshake: Duration::from_secs(2), ..limits() };
        let (client, server) = (MemoryTrace::default(), MemoryTrace::default());
        let (listener, address) = listen().await;
        let serving = async {
            let (stream, _) = listener.accept().await.expect("the listener works");
            let request = accept(stream, server.tap(End::Server), &limits).await.expect("a request comes");
            let reply = reply(&request);
            let socket = request.reply(&reply).await.expect("the reply is sent");
            socket.sender.shutdown().await;
        };
        let connecting = connect(&address, &request, client.tap(End::Client), &limits);
        let ((), opened) = tokio::join!(serving, connecting);
        (opened.expect("the server is there"), client, server)
    }

    async fn why_not(request: ClientRequest, reply: impl FnOnce(&Request) -> Reply) -> String {
        exchange(request, reply).await.0.why_not.map_or_else(|| "accepted".into(), |fault| fault.to_string())
    }

    fn with_header(request: &Request, name: &str, value: &str) -> Reply {
        let mut reply = Reply::accepting(request);
        reply.head.headers.retain(|(n, _)| n != name);
        reply.head.headers.push((name.into(), value.into()));
        reply
    }

    #[tokio::test]
    async fn a_right_answer_is_accepted_and_both_heads_are_recorded_as_sent() {
        let request = ClientRequest::new("/?auth=a%20b");
        let (opened, client, server) = exchange(request, |request| {
            assert_eq!(request.fault(), None);
            assert_eq!(request.query("auth"), Some("a%20b"));
            assert_eq!(request.query("other"), None);
            Reply::accepting(request)
        })
        .await;
        assert!(opened.accepted);
        let words = ["→ connected", "→ GET /?auth=a%20b HTTP/1.1", "← HTTP/1.1 101 Switching Protocols"];
        assert_eq!(client.words()[..3], words);
        assert_eq!(server.words()[..3], words);
        assert_eq!(client.events()[1].kind, server.events()[1].kind);
    }

    #[tokio::test]
    async fn each_fault_of_an_answer_is_named() {
        let plain = || ClientRequest::new("/");
        assert_eq!(why_not(plain(), |r| with_header(r, "Upgrade", "h2c")).await, "no header `Upgrade: websocket`");
        assert_eq!(
            why_not(plain(), |r| with_header(r, "Connection", "close")).await,
            "no header `Connection: Upgrade`"
        );
        let wrong = why_not(plain(), |r| with_header(r, "Sec-WebSocket-Accept", "abc")).await;
        assert!(wrong.starts_with("Sec-WebSocket-Accept is `abc`, not `"), "{wrong}");
        assert_eq!(
            why_not(plain(), |r| with_header(r, "Sec-WebSocket-Protocol", "chat")).await,
            "the subprotocol `chat` was not offered"
        );
        assert_eq!(why_not(plain(), |_| Reply::raw(b"HTTP/1.1 200 OK\r\n\r\n")).await, "the status is 200, not 101");
        assert_eq!(why_not(plain(), |_| Reply::raw(b"hello")).await, "the response is no HTTP response");
        assert_eq!(
            why_not(plain(), |_| Reply::raw(b"HTTP/1.1 101")).await,
            "the connection was closed before a whole response came"
        );
        let deflate =
            ("Sec-WebSocket-Extensions".to_owned(), Some("permessage-deflate; client_max_window_bits".to_owned()));
        let offers = || ClientRequest { headers: vec![deflate.clone()], ..plain() };
        let with_extensions =
            |by: &'static str| why_not(offers(), move |r| with_header(r, "Sec-WebSocket-Extensions", by));
        assert_eq!(with_extensions("permessage-deflate; server_no_context_takeover").await, "accepted");
        assert_eq!(with_extensions("permessage-deflate, x-more").await, "the extension `x-more` was not offered");
        let chat = ClientRequest { subprotocols: vec!["chat".into()], ..plain() };
        assert_eq!(why_not(chat, |r| with_header(r, "Sec-WebSocket-Protocol", "chat")).await, "accepted");
    }

    #[tokio::test]
    async fn a_message_is_inflated_where_the_handshake_agreed_on_compression() {
        // `{"a":1}`, compressed without the tail of RFC 7692 section 7.2.1.
        let compressed = b"\xaa\x56\x4a\x54\xb2\x32\xac\x05\x00";
        let compressed = FrameSpec { rsv: 4, ..FrameSpec::new(crate::trace::opcode::TEXT, &compressed[..]) };
        for (agreed, read) in [(true, Some(serde_json::json!({"a": 1}))), (false, None)] {
            let (trace, limits) = (MemoryTrace::default(), limits());
            let (listener, address) = listen().await;
            let serving = async {
                let (stream, _) = listener.accept().await.expect("the listener works");
                let request =
                    accept(stream, MemoryTrace::default().tap(End::Server), &limits).await.expect("a request");
                let reply = match agreed {
                    true => with_header(&request, "Sec-WebSocket-Extensions", "permessage-deflate"),
                    false => Reply::accepting(&request),
                };
                let socket = request.reply(&reply).await.expect("the reply is sent");
                socket.sender.send(&compressed, None).await.expect("sent");
                socket.sender.send(&FrameSpec::close(Some(1000), ""), None).await.expect("sent");
                socket.sender.ended().await;
            };
            let offer = ("Sec-WebSocket-Extensions".to_owned(), Some("permessage-deflate".to_owned()));
            let request = ClientRequest { headers: vec![offer], ..ClientRequest::new("/") };
            let reading = async {
                let mut opened =
                    connect(&address, &request, trace.tap(End::Client), &limits).await.expect("it is there");
                let message = opened.socket.incoming.message().await;
                opened.socket.sender.shutdown().await;
                message
            };
            let ((), message) = tokio::join!(serving, reading);
            assert_eq!(message.and_then(|message| message.json), read);
        }
    }

    #[tokio::test]
    async fn interim_answers_are_passed_over_and_recorded() {
        let interim = |status| http_head::parse(format!("HTTP/1.1 {status}\r\nLink: x\r\n\r\n").as_bytes());
        let both = vec![interim("100 Continue"), interim("103 Early Hints")];
        let (outcome, client, _server) =
            exchange(ClientRequest::new("/"), |request| Reply { interim: both, ..Reply::accepting(request) }).await;
        assert!(outcome.accepted, "{:?}", outcome.why_not);
        let received = ["← HTTP/1.1 100 Continue", "← HTTP/1.1 103 Early Hints", "← HTTP/1.1 101 Switching Protocols"];
        assert_eq!(client.words()[2..5], received);
    }

    #[tokio::test]
    async fn the_body_of_a_refusal_is_kept() {
        let (opened, client, _) =
            exchange(ClientRequest::new("/"), |_| Reply::refusing("401 Unauthorized", "who are you?")).await;
        let response = opened.response.expect("there was one");
        assert_eq!(response.status(), Some(401));
        assert_eq!(response.body.as_ref().and_then(|b| b.as_text()), Some("who are you?"));
        opened.socket.sender.ended().await;
        assert_eq!(client.words()[2..4], ["← HTTP/1.1 401 Unauthorized", "← Eof"]);
    }

    #[tokio::test]
    async fn headers_can_be_added_overridden_and_left_out() {
        let headers = [("host", Some("evil.example")), ("X-More", Some("1")), ("Upgrade", None)];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.map(str::to_owned))).to_vec();
        let request = ClientRequest { headers, method: "PUT".into(), ..ClientRequest::new("/") };
        let (_, client, _) = exchange(request, |request| {
            assert_eq!(request.head.header("Host").collect::<Vec<_>>(), ["evil.example"]);
            assert_eq!(request.head.header("X-More").collect::<Vec<_>>(), ["1"]);
            assert_eq!(request.head.header("Upgrade").count(), 0);
            assert_eq!(request.fault(), Some("the method must be GET"));
            Reply::refusing("400 Bad Request", "")
        })
        .await;
        assert_eq!(client.words()[1], "→ PUT / HTTP/1.1");
    }

    #[tokio::test]
    async fn a_raw_head_goes_out_as_it_is() {
        let raw = b"GET / HTTP/1.1\nhost:x\r\n\r\n".to_vec();
        let sent = raw.clone();
        let request = ClientRequest { raw: Some(raw), ..ClientRequest::new("/") };
        exchange(request, |request| {
            assert_eq!(http_head::encode(&request.head), sent);
            Reply::refusing("400 Bad Request", "")
        })
        .await;
    }

    #[tokio::test]
    async fn a_server_that_says_nothing_is_told_from_one_that_is_not_there() {
        let limits = Limits { handshake: Duration::from_millis(50), ..limits() };
        let (listener, address) = listen().await;
        let request = ClientRequest::new("/");
        let opened = connect(&address, &request, MemoryTrace::default().tap(End::Client), &limits).await;
        let why_not = opened.expect("TCP connects").why_not;
        assert_eq!(why_not.map(|fault| fault.to_string()).as_deref(), Some("no response within 50ms"));
        drop(listener);
        let refused = connect(&address, &request, MemoryTrace::default().tap(End::Client), &limits).await;
        assert!(matches!(refused, Err(ConnectError::Unreachable { .. })));
    }

    #[tokio::test]
    async fn localhost_stands_for_the_loopback_address_that_listens() {
        let (listener, address) = listen().await;
        assert!(tcp::open(&Address::new("localhost", address.port), Duration::from_secs(5)).await.is_ok());
        drop(listener);
        let Ok(listener) = tokio::net::TcpListener::bind(("::1", 0)).await else { return };
        let port = listener.local_addr().expect("a bound socket has an address").port();
        assert!(tcp::open(&Address::new("localhost", port), Duration::from_secs(5)).await.is_ok());
        assert_eq!(Address::new("::1", 80).to_string(), "[::1]:80");
    }

    #[tokio::test]
    async fn on_a_plain_connection_a_handshake_by_hand_leads_to_frames() {
        let limits = limits();
        let (listener, address) = listen().await;
        let (client, server) = (MemoryTrace::default(), MemoryTrace::default());
        let serving = async {
            let (stream, _) = listener.accept().await.expect("the listener works");
            let request = accept(stream, server.tap(End::Server), &limits).await.expect("a request comes");
            let socket = request.reply(&Reply::raw(b"HTTP/1.1 101 Yes\r\n\r\n")).await.expect("the reply is sent");
            socket.sender.send(&super::super::FrameSpec::text("1"), None).await.expect("sent");
            socket
        };
        let socket = open(&address, client.tap(End::Client), &limits).await.expect("the server is there");
        socket.sender.send_raw(b"GET / HTTP/1.1\r\n\r\n", None).await.expect("sent");
        let _server = serving.await;
        let mut socket = socket;
        assert!(socket.incoming.message().await.is_some());
        assert_eq!(client.words()[2..], ["← HTTP/1.1 101 Yes", "← frame 1 1", "← json 1"]);
    }
}
