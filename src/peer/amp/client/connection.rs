//! Connections of the client: the verbs `connect` and `send`, from parameters to a handshake with its token and to frames
//! and bytes; and [`AmpConnection`], which serves one that is open.

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
use crate::protocol::amp::verbs::{Bytes, Connect, Content, Encoding, Frame, Handshake, Host, Opcode, Token};
use crate::protocol::words::AutomaticResponse;
use crate::trace::opcode;
use crate::uri;
use crate::wire::tcp::Address;
use crate::wire::websocket::{
    ClientRequest, FrameSpec, HandshakeError, HandshakeOutcome, LengthForm, Mask, Options, Piece, Receiver, SendError,
    SendOptions, Sender, Socket,
};

use super::MAIN;

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
            Token::Beginning => {
                let mut token = lock.token.clone();
                token.pop();
                Some(token)
            }
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

/// The request target with which a client shows its token.
pub fn target(token: Option<&str>, encoding: Encoding) -> String {
    match token {
        None => "/".to_owned(),
        Some(token) => format!("/?auth={}", encode(token, encoding)),
    }
}

/// A token percent-encoded.
pub fn encode(token: &str, encoding: Encoding) -> String {
    match encoding {
        Encoding::Component => uri::encode(token, uri::COMPONENT),
        Encoding::All => uri::encode_all(token),
        Encoding::None => token.to_owned(),
    }
}

impl Content {
    /// The pieces to send, once.
    ///
    /// # Errors
    /// The fault of the parameters, for the scenario's author.
    pub fn pieces(&self) -> Result<Vec<Piece>, String> {
        let one_frame = |spec| Ok(vec![Piece::Frame { spec, cut: None }]);
        match self {
            Self::Text(text) => one_frame(FrameSpec::text(text.clone())),
            Self::Json(json) => one_frame(FrameSpec::text(json.to_string())),
            Self::Binary(bytes) => one_frame(FrameSpec::binary(bytes.0.clone())),
            Self::Frames(frames) => frames.iter().map(Frame::piece).collect(),
            Self::Bytes(Bytes::Text(text)) => Ok(vec![Piece::Bytes(text.clone().into_bytes())]),
            Self::Bytes(Bytes::Hex(bytes)) => Ok(vec![Piece::Bytes(bytes.0.clone())]),
        }
    }
}

impl Frame {
    /// The piece to send for the frame.
    ///
    /// # Errors
    /// The fault of the frame, for the scenario's author.
    pub fn piece(&self) -> Result<Piece, String> {
        let opcode = self.opcode.number();
        let payload = match (&self.text, &self.hex, self.code, &self.reason) {
            (None, None, None, None) => vec![],
            (Some(text), None, None, None) => text.clone().into_bytes(),
            (None, Some(bytes), None, None) => bytes.0.clone(),
            (None, None, Some(code), reason) => FrameSpec::close(Some(code), reason.as_deref().unwrap_or("")).payload,
            (None, None, None, Some(_)) => return Err("a `reason` needs a `code` before it".into()),
            _ => return Err("a frame takes one of `text`, `hex`, and `code` with `reason`".into()),
        };
        let true_length = payload.len() as u64;
        let length = match (self.length.bits, self.length.says) {
            (None, None) => LengthForm::Shortest,
            (Some(bits), _) if ![7, 16, 64].contains(&bits) => {
                return Err(format!("a length takes 7, 16 or 64 bits, not {bits}"));
            }
            (Some(bits), says) => LengthForm::Says { bits, length: says.unwrap_or(true_length) },
            (None, Some(says)) => LengthForm::Says { bits: fewest_bits(says), length: says },
        };
        let mask = match self.masked {
            Some(false) => Mask::Off,
            Some(true) => Mask::Fresh,
            None => Mask::ByRole,
        };
        let spec = FrameSpec { fin: self.fin.unwrap_or(true), rsv: self.rsv, opcode, mask, payload, length };
        Ok(Piece::Frame { spec, cut: self.cut })
    }
}

impl Opcode {
    fn number(self) -> u8 {
        match self {
            Self::Continuation => opcode::CONTINUATION,
            Self::Text => opcode::TEXT,
            Self::Binary => opcode::BINARY,
            Self::Close => opcode::CLOSE,
            Self::Ping => opcode::PING,
            Self::Pong => opcode::PONG,
            Self::Number(number) => number,
        }
    }
}

fn fewest_bits(length: u64) -> u8 {
    match length {
        0..=125 => 7,
        126..=0xffff => 16,
        _ => 64,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::protocol::amp::verbs::EditorVerb;

    use super::*;

    #[test]
    fn a_token_is_encoded_as_javascript_does() {
        assert_eq!(target(Some("aZ9-_.!~*'()"), Encoding::Component), "/?auth=aZ9-_.!~*'()");
        assert_eq!(target(Some("a b&c=%+/é"), Encoding::Component), "/?auth=a%20b%26c%3D%25%2B%2F%C3%A9");
        assert_eq!(target(Some("ab"), Encoding::All), "/?auth=%61%62");
        assert_eq!(target(Some("a+b"), Encoding::None), "/?auth=a+b");
        assert_eq!(target(Some(""), Encoding::Component), "/?auth=");
        assert_eq!(target(None, Encoding::Component), "/");
    }

    fn pieces(params: Value) -> Result<Vec<Piece>, String> {
        match crate::format::variant("send", params)? {
            EditorVerb::Send(send) => send.content.pieces(),
            other => Err(format!("{other:?}")),
        }
    }

    fn frame(params: Value) -> Result<(FrameSpec, Option<usize>), String> {
        match pieces(json!({ "frames": [params] }))?.pop() {
            Some(Piece::Frame { spec, cut }) => Ok((spec, cut)),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_message_is_one_frame() {
        let text = |text: &str| Ok(vec![Piece::Frame { spec: FrameSpec::text(text), cut: None }]);
        assert_eq!(pieces(json!({"text": "{"})), text("{"));
        assert_eq!(pieces(json!({"json": {"b": [1], "a": null}})), text(r#"{"b":[1],"a":null}"#));
        assert_eq!(pieces(json!({"json": null})), text("null"));
        assert!(pieces(json!({"json": null, "text": ""})).is_err(), "null is a message like any other");
        assert_eq!(
            pieces(json!({"binary": "00ff"})),
            Ok(vec![Piece::Frame { spec: FrameSpec::binary([0, 255]), cut: None }])
        );
        assert_eq!(pieces(json!({"bytes": {"hex": "81"}})), Ok(vec![Piece::Bytes(vec![0x81])]));
    }

    #[test]
    fn every_part_of_a_frame_can_be_said() {
        let (spec, cut) = frame(json!({"opcode": 11, "fin": false, "rsv": 4, "masked": false, "hex": "ff", "cut": 2,
            "length": {"bits": 16, "says": 9}}))
        .expect("it is a frame");
        let length = LengthForm::Says { bits: 16, length: 9 };
        assert_eq!(spec, FrameSpec { fin: false, rsv: 4, opcode: 11, mask: Mask::Off, payload: vec![255], length });
        assert_eq!(cut, Some(2));
        let close = frame(json!({"opcode": "close", "code": 4000, "reason": "x"})).expect("it is a frame").0;
        assert_eq!(close, FrameSpec::close(Some(4000), "x"));
        let lie = frame(json!({"opcode": "text", "length": {"says": 70_000}})).expect("it is a frame").0;
        assert_eq!(lie.length, LengthForm::Says { bits: 64, length: 70_000 });
    }

    #[test]
    fn what_cannot_be_is_explained() {
        assert!(pieces(json!({})).is_err_and(|e| e.contains("exactly one")));
        assert!(pieces(json!({"text": "", "json": 1})).is_err_and(|e| e.contains("exactly one")));
        assert!(pieces(json!({"bytes": {}})).is_err_and(|e| e.contains("one of")));
        assert!(
            frame(json!({"opcode": "txt"}))
                .is_err_and(|e| e.contains("`opcode` of an item of `frames` must be one of"))
        );
        assert!(frame(json!({"opcode": 16})).is_err_and(|e| e.contains("from 0 to 15, not 16")));
        assert!(frame(json!({"opcode": 8, "reason": "x"})).is_err_and(|e| e.contains("needs a `code`")));
        assert!(frame(json!({"opcode": 1, "length": {"bits": 8}})).is_err_and(|e| e.contains("7, 16 or 64")));
    }
}
