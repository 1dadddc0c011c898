//! The client's side of the handshake (RFC 6455 section 4.1).

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::trace::{Head, What};
use crate::wire::http_head::{self, has_token};
use crate::wire::tcp::{self, Address, ConnectError};
use crate::wire::{Limits, Tap};

use super::reader::{Answer, Begin};
use super::sender::Manner;
use super::socket::Socket;

/// A handshake request, right or wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRequest {
    /// The request's method; `GET`.
    pub method: String,
    /// The request target, as it stands in the first line: `/?auth=…`.
    pub target: String,
    /// The version in the first line; `HTTP/1.1`.
    pub version: String,
    /// The subprotocols offered; without any, no header is sent.
    pub subprotocols: Vec<String>,
    /// Headers to add; those that a handshake has anyway are overridden, or left out where the value is none.
    pub headers: Vec<(String, Option<String>)>,
    /// The whole head with its empty line, instead of all the above.
    pub raw: Option<Vec<u8>>,
    /// How it is sent, and why it is wrong on purpose, if it is.
    pub manner: Manner,
}

impl ClientRequest {
    /// A right request for this target.
    pub fn new(target: impl Into<String>) -> Self {
        Self {
            method: "GET".into(),
            target: target.into(),
            version: "HTTP/1.1".into(),
            subprotocols: vec![],
            headers: vec![],
            raw: None,
            manner: Manner::default(),
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

/// What came of a handshake.
pub struct Opened {
    /// The server's answer, with the body of a refusal; none if none came in time.
    pub response: Option<Head>,
    /// Whether it accepts the connection in the way that RFC 6455 section 4.1 demands.
    pub accepted: bool,
    /// What is wrong with it, where it does not: a phrase.
    pub why_not: Option<String>,
    /// The connection, whatever the answer. After a 101 it carries frames, otherwise bytes.
    pub socket: Socket,
}

/// Opens a TCP connection, sends the request and waits for the answer.
///
/// Anything that the server does or fails to do once the TCP connection stands is told in [`Opened`].
pub async fn connect(
    address: &Address,
    request: &ClientRequest,
    tap: Tap,
    limits: &Limits,
) -> Result<Opened, ConnectError> {
    let deadline = Instant::now() + limits.handshake;
    let stream = tcp::open(address, limits.handshake).await?;
    let broken = |source| ConnectError::Broken { address: address.clone(), source };
    tap.connected(stream.peer_addr().map_err(broken)?);
    let head = request.head(address);
    let bytes = http_head::encode(&head);
    let cut = request.manner.cut.is_some_and(|cut| cut < bytes.len());
    if !cut {
        tap.sent(request.manner.deliberate.as_deref(), What::Handshake(head.clone()));
    }
    let (tell, told) = oneshot::channel();
    let socket = Socket::start(stream, tap, *limits, Begin::Response { deadline, tell });
    let sent = if cut {
        socket.sender.send_raw_in(&bytes, &request.manner).await
    } else {
        socket.sender.send_recorded(&bytes, request.manner.split).await
    };
    // A server may answer and hang up before it has read everything: its answer counts.
    let answer = timeout_at(deadline, told).await;
    let (response, why_not) = match (answer, sent) {
        (Ok(Ok(Answer::Head(response))), _) => {
            let fault = fault(&head, &response).err();
            (Some(response), fault)
        }
        (Ok(Ok(Answer::Nothing(what))), _) => (None, Some(what)),
        (_, Err(e)) => (None, Some(e.to_string())),
        (_, Ok(())) => (None, Some(format!("no response within {:?}", limits.handshake))),
    };
    Ok(Opened { response, accepted: why_not.is_none(), why_not, socket })
}

/// Opens a TCP connection only. If an HTTP response comes on it, it is read as one, and frames after a 101.
pub async fn open(address: &Address, tap: Tap, limits: &Limits) -> Result<Socket, ConnectError> {
    let stream = tcp::open(address, limits.handshake).await?;
    tap.connected(stream.peer_addr().map_err(|source| ConnectError::Broken { address: address.clone(), source })?);
    let (tell, _) = oneshot::channel();
    let deadline = Instant::now() + limits.handshake;
    Ok(Socket::start(stream, tap, *limits, Begin::Response { deadline, tell }))
}

/// What keeps a response from accepting a request (RFC 6455 section 4.1, the client's checks).
fn fault(request: &Head, response: &Head) -> Result<(), String> {
    match response.status() {
        Some(101) => {}
        Some(status) => return Err(format!("the status is {status}, not 101")),
        None => return Err(format!("`{}` is no status line", response.start)),
    }
    if !has_token(response, "upgrade", "websocket") {
        return Err("no header `Upgrade: websocket`".into());
    }
    if !has_token(response, "connection", "upgrade") {
        return Err("no header `Connection: Upgrade`".into());
    }
    let key = request.header("sec-websocket-key").next().ok_or("the request had no Sec-WebSocket-Key")?;
    let expected = derive_accept_key(key.as_bytes());
    let accepts: Vec<&str> = response.header("sec-websocket-accept").collect();
    match accepts[..] {
        [accept] if accept == expected => {}
        [] => return Err("no header Sec-WebSocket-Accept".into()),
        [accept] => return Err(format!("Sec-WebSocket-Accept is `{accept}`, not `{expected}`")),
        _ => return Err("several headers Sec-WebSocket-Accept".into()),
    }
    if let Some(extension) = response.header("sec-websocket-extensions").next()
        && request.header("sec-websocket-extensions").next().is_none()
    {
        return Err(format!("the extension `{extension}` was not offered"));
    }
    if let Some(protocol) = response.header("sec-websocket-protocol").next()
        && !request.header("sec-websocket-protocol").flat_map(|v| v.split(',')).any(|p| p.trim() == protocol)
    {
        return Err(format!("the subprotocol `{protocol}` was not offered"));
    }
    Ok(())
}
