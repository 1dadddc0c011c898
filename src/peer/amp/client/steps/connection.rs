//! Connections of the client: the verb `connect`, from parameters to a handshake with its token; and [`AmpConnection`], which serves
//! one that is open.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use crate::peer::PeerError;
use crate::peer::params::headers;
use crate::protocol::Lock;
use crate::protocol::amp::PROBE;
use crate::protocol::amp::editions::{AmpEdition, Method};
use crate::protocol::amp::envelope::response_id;
use crate::protocol::amp::verbs::{Connect, Encoding, Handshake, Host, Token};
use crate::protocol::words::AutomaticResponse;
use crate::wire::tcp::Address;
use crate::wire::websocket::{
    ClientRequest, FrameSpec, HandshakeError, HandshakeOutcome, Options, Piece, Receiver, SendError, SendOptions,
    Sender, Socket,
};

use super::super::{MAIN, target};

/// A connection, and what the client knows of it.
pub struct AmpConnection {
    /// The sending half of the socket.
    pub sender: Sender,
    /// Whether there is a WebSocket session on it, as far as we know: not after a refusal.
    pub session: bool,
    /// Whether a step ended it without a closing handshake.
    pub dropped: bool,
    /// Whether a step has sent a close frame.
    pub close_sent: bool,
    /// The reason why everything on the connection is wrong on purpose, if it is.
    pub deliberate: Option<String>,
    /// The id of the next request.
    next: u64,
    /// The number of the last barrier.
    barriers: u64,
    /// The id of the barrier that was answered last.
    answered: watch::Receiver<String>,
}

impl AmpConnection {
    /// Takes a socket over; whether there is a session on it is for the caller to know.
    pub fn start(socket: Socket, session: bool) -> Self {
        let (answered_ids, answered) = watch::channel(String::new());
        tokio::spawn(watch_for_barriers(socket.incoming, answered_ids));
        Self {
            sender: socket.sender,
            session,
            dropped: false,
            close_sent: false,
            deliberate: None,
            next: 1,
            barriers: 0,
            answered,
        }
    }

    /// The next id, counted from "1" on each connection as Amp's CLI does (docs/amp.md, Messages).
    pub fn next_id(&mut self) -> Value {
        let id = self.next.to_string();
        self.next += 1;
        json!(id)
    }

    /// Whether nothing more is to be expected of it.
    pub fn is_over(&self) -> bool {
        self.dropped || self.close_sent || !self.session || self.sender.has_ended()
    }

    /// Sends all of it at once; gives whether the subject is still there to send more to.
    pub async fn transmit(&self, pieces: &[Piece], options: &SendOptions) -> Result<bool, PeerError> {
        match self.sender.send_all(pieces, options).await {
            Ok(()) => Ok(true),
            Err(SendError::Ended { .. } | SendError::Gone { .. }) => Ok(false),
            // While we read nothing, a subject that waits for us to read is in its right.
            Err(SendError::Stuck { .. }) if !self.sender.options().read => Ok(false),
            Err(e @ SendError::Stuck { .. }) => {
                Err(PeerError::Subject { message: e.to_string(), proves: None, expected: None, actual: None })
            }
        }
    }

    /// Returns once a request that was sent after everything else is answered, or nothing more can come.
    ///
    /// That is `ping`. Where the edition has no such thing, it is a `readFile` of a path that is not there and, for a
    /// server that has no response to that, `getDiagnostics`. A WebSocket ping would be
    /// cheaper, but libraries answer those before the editor has seen what came ahead of them.
    pub async fn barrier(&mut self, edition: &AmpEdition, within: Duration) -> Result<(), PeerError> {
        let deadline = Instant::now() + within;
        let message = json!({"message": format!("{PROBE}barrier")});
        let path = json!({"path": format!("/{PROBE}barrier/not-there")});
        let probes: &[_] = match edition.methods.ping {
            Some(_) => &[(Method::Ping, message, deadline)],
            None => {
                &[(Method::ReadFile, path, Instant::now() + within / 2), (Method::GetDiagnostics, json!({}), deadline)]
            }
        };
        for (method, params, until) in probes {
            if self.send_probe(edition, *method, params, *until).await? {
                return Ok(());
            }
        }
        let name = self.sender.conn();
        Err(PeerError::Subject {
            message: format!(
                "a request that was sent on connection `{name}` to see whether the server has handled \
                everything before it was not answered within {within:?}"
            ),
            proves: Some("envelope/answered".to_owned()),
            expected: None,
            actual: None,
        })
    }

    /// Sends a request of our own; gives whether a response came, or the connection ended.
    async fn send_probe(
        &mut self,
        edition: &AmpEdition,
        method: Method,
        params: &Value,
        until: Instant,
    ) -> Result<bool, PeerError> {
        if !self.session || self.dropped || self.sender.has_ended() {
            return Ok(true);
        }
        self.barriers += 1;
        // A server that mixes up the ids of its connections fails where that is asked, and not at barriers.
        let of = if self.sender.conn() == MAIN { String::new() } else { format!("{}-", self.sender.conn()) };
        let id = format!("{PROBE}barrier-{of}{}", self.barriers);
        let message = edition.envelope.request(&json!(id), edition.methods.of(method).unwrap_or_default(), params);
        let piece = Piece::Frame { spec: FrameSpec::text(message.to_string()), cut: None };
        if !self.transmit(&[piece], &SendOptions::default()).await? {
            return Ok(true);
        }
        let answered = self.answered.wait_for(|answered| *answered == id);
        tokio::select! {
            answered = timeout_at(until, answered) => Ok(answered.is_ok()),
            () = self.sender.ended() => Ok(true),
        }
    }

    /// Ends it in an orderly way: a closing handshake, for which the server has so long, then FIN. Where no handshake was
    /// accepted, there is nothing to close but the stream.
    pub async fn shut_down(self, within: Duration) {
        let open = self.sender.is_framed() && self.session && !self.dropped && !self.sender.has_ended();
        if open && self.sender.options().read {
            if !self.close_sent {
                // Where it cannot be sent any more, the connection is as good as ended.
                let _ = self.sender.send(&FrameSpec::close(Some(1000), ""), None).await;
            }
            let _ = timeout(within, self.sender.ended()).await;
        }
        self.sender.shutdown().await;
        if self.dropped {
            // What the server sent before it saw the end belongs to this connection, not to the next one of its name.
            let _ = timeout(within.min(LATE_DATA_TIMEOUT), self.sender.ended()).await;
        }
    }
}

/// How long what a server sent before it saw the end of a connection is waited for.
const LATE_DATA_TIMEOUT: Duration = Duration::from_millis(200);

/// Reads incoming messages, and publishes the ids of answered barriers. Everything else is in the trace.
async fn watch_for_barriers(mut incoming: Receiver, answered_ids: watch::Sender<String>) {
    while let Some(message) = incoming.message().await {
        let id = message.json.as_ref().and_then(response_id).and_then(Value::as_str);
        if let Some(id) = id.filter(|id| id.starts_with(PROBE)) {
            answered_ids.send_replace(id.to_owned());
        }
    }
}

impl Connect {
    /// Where to connect to: what the edition's clients use unless the scenario says otherwise
    /// (docs/amp.md, Connection; quick reference, section 2).
    pub fn address(&self, edition: &AmpEdition, lock: &Lock) -> Address {
        let host = match self.host {
            None => edition.host,
            Some(Host::V4) => "127.0.0.1",
            Some(Host::Localhost) => "localhost",
            Some(Host::V6) => "::1",
        };
        Address::new(host, lock.port)
    }

    /// The handshake request; `deliberate` is the trace's mark where it is wrong on purpose.
    pub fn request(&self, lock: &Lock, deliberate: Option<String>) -> ClientRequest {
        let made = || target(self.token(lock).as_deref(), self.encode);
        let plain = ClientRequest::new(self.target.clone().unwrap_or_else(made));
        ClientRequest {
            method: self.method.clone().unwrap_or(plain.method),
            version: self.version.clone().unwrap_or(plain.version),
            subprotocols: self.subprotocols.clone(),
            headers: headers(&self.headers),
            raw: self.raw.clone().map(String::into_bytes),
            send_options: SendOptions { deliberate, ..SendOptions::default() },
            options: self.options(),
            target: plain.target,
        }
    }

    fn token(&self, lock: &Lock) -> Option<String> {
        match &self.token {
            Token::Right => Some(lock.token.clone()),
            Token::Absent => None,
            Token::Empty => Some(String::new()),
            Token::Beginning => Some(lock.token_beginning()),
            Token::Miscased => Some(lock.token_miscased()),
            Token::Other { value } => Some(value.clone()),
        }
    }

    /// The automatic behaviour of the connection once it is established.
    pub fn options(&self) -> Options {
        Options {
            pong: self.pings == AutomaticResponse::Answer,
            close: self.close == AutomaticResponse::Answer,
            read: self.read.unwrap_or(true),
        }
    }

    /// Whether the step fails unless the server accepts.
    pub fn must_open(&self) -> bool {
        self.handshake == Handshake::Open
    }

    /// The requirement that a server breaks which does not accept this request; `ordinary` is that of one which every
    /// server has to accept.
    pub fn proves(&self, opened: &HandshakeOutcome, ordinary: &'static str) -> Option<String> {
        let slug = match opened.why_not.as_ref()? {
            HandshakeError::Accept(_) => "accept-key",
            HandshakeError::Upgrade => "upgrade-header",
            HandshakeError::Connection => "connection-header",
            HandshakeError::Extension(_) => "extension-not-offered",
            HandshakeError::Subprotocol(_) => "subprotocol-not-offered",
            _ if self.is_ordinary() => ordinary,
            _ => return None,
        };
        Some(format!("connection/{slug}"))
    }

    /// Whether it is what every server must accept.
    fn is_ordinary(&self) -> bool {
        let right = self.token == Token::Right;
        let plain = self.target.is_none() && self.method.is_none() && self.version.is_none() && self.raw.is_none();
        right && plain && self.encode == Encoding::Component && self.headers.is_empty() && self.subprotocols.is_empty()
    }
}
