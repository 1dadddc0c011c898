//! The server's response to a handshake: which clients are accepted.

use crate::peer::amp::editor::deviations::EditorDeviations;
use crate::protocol::amp::editions::AmpEdition;
use crate::trace::Head;
use crate::uri;
use crate::wire::http_head::{self, has_token};
use crate::wire::websocket::{Reply, Request, SendOptions};

/// What an editor can do otherwise with the token of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSwitch {
    /// No token is accepted.
    RefusesRightToken,
    /// The token is compared as it stands in the URL.
    NotDecoded,
    /// The token is compared with the one way in which the editor would encode it.
    OwnEncodingOnly,
    /// All that follows `?auth=` is taken for the token.
    WholeQuery,
    /// Any token that is not empty is accepted.
    AcceptsWrongToken,
    /// The beginning of the token is accepted.
    AcceptsPrefix,
    /// The token is compared without regard to the case of its letters.
    AcceptsAnyCase,
    /// A client without a token is accepted.
    AcceptsMissingToken,
    /// An empty token is accepted.
    AcceptsEmptyToken,
    /// A client with a wrong token is cut off without a response.
    RefusesSilently,
    /// A wrong token is refused with the status 400.
    RefusesWith400,
    /// A wrong token is refused with the status 403.
    RefusesWith403,
    /// A wrong token is refused by a close frame after the handshake.
    RefusesAfterAccept,
}

/// What an editor can do otherwise with the rest of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeSwitch {
    /// A handshake with the right token is answered in this way.
    Upgrade(UpgradeFlaw),
    /// When the connection of a client has ended, no other is accepted.
    OneConnection,
    /// A second client is refused while one is connected.
    OneClient,
    /// A ninth client is refused.
    EightClients,
    /// A handshake that offers subprotocols is refused.
    RefusesSubprotocols,
    /// A handshake that offers extensions is refused.
    RefusesExtensions,
    /// Header names are compared letter by letter.
    HeadersByCase,
    /// The `Connection` header must be `Upgrade` alone.
    ConnectionExact,
    /// A handshake with this fault is accepted.
    Overlooks(OverlookedFault),
    /// A plain HTTP request is answered with a page.
    AnswersHttpWithPage,
    /// A handshake that is no right one is cut off without a response.
    HangsUp,
    /// The refusal of a version does not tell the right one.
    VersionNotTold,
    /// An interim response comes before the one that accepts.
    Interim,
}

/// Faults of a handshake request that a lax server overlooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlookedFault {
    /// Another method than `GET`.
    Method,
    /// A version of HTTP before 1.1.
    HttpVersion,
    /// No `Sec-WebSocket-Key`.
    Key,
    /// Another `Sec-WebSocket-Version` than 13.
    Version,
}

/// How a handshake request with the right token is answered where it is not accepted as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeFlaw {
    /// With the status 500.
    ServerError,
    /// With a redirect to another place.
    Redirect,
    /// With the status 200 and a page.
    Page,
    /// Not at all; the connection stays open.
    Nothing,
    /// Not at all; the connection ends.
    HangUp,
    /// With half of the head, after which the connection ends.
    HalfHead,
    /// With what is no HTTP.
    Nonsense,
}

impl UpgradeFlaw {
    /// Every way.
    pub const ALL: [Self; 7] =
        [Self::ServerError, Self::Redirect, Self::Page, Self::Nothing, Self::HangUp, Self::HalfHead, Self::Nonsense];
}

/// The decision on a handshake request.
#[derive(Debug)]
pub enum HandshakeDecision {
    /// The request is accepted with 101, and the client is served.
    Serve(Reply),
    /// The request is accepted with 101, and the connection is closed at once.
    Close(Reply),
    /// The request is refused with a response.
    Refuse(Reply),
    /// The connection is ended without a response. The flaw is the reason.
    HangUp(Option<&'static str>),
    /// The request gets no response, and the connection stays open. The flaw is the reason.
    Withhold(Option<&'static str>),
}

/// How many clients are connected, or were, when another one comes.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionCount {
    /// How many clients are served.
    pub now: usize,
    /// Whether one that was served is gone.
    pub before: bool,
}

/// The secret of an editor.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    /// The secret.
    pub text: &'a str,
    /// Whether it may be shown as the field of a form has it: with a plus sign for a space.
    pub of_form: bool,
}

impl<'a> Token<'a> {
    /// The secret of an editor of this edition.
    pub fn new(text: &'a str, edition: &AmpEdition) -> Self {
        Self { text, of_form: edition.open_token_encoding }
    }
}

/// Decides on a handshake request.
pub fn decide(
    mut request: Request,
    token: Token<'_>,
    deviations: &EditorDeviations,
    connections: ConnectionCount,
) -> (Request, HandshakeDecision) {
    deviations.reset_last_flaw();
    let accepting = Reply::accepting(&request);
    let original = request.head.clone();
    apply_reading_flaws(&mut request.head, deviations);
    let fault = request.fault();
    request.head = original;
    let decision = match fault {
        Some(what) => refuse_fault(&request.head, what, deviations),
        None if !admits(&request, deviations, connections) => {
            HandshakeDecision::Refuse(Reply::refusing("503 Service Unavailable", "no more clients are served\n"))
        }
        None if knows_token(&request, token, deviations) => {
            match UpgradeFlaw::ALL.into_iter().find(|how| deviations.has(HandshakeSwitch::Upgrade(*how))) {
                Some(how) => not_upgraded(accepting, how),
                None => HandshakeDecision::Serve(apply_head_flaws(accepting, deviations)),
            }
        }
        None => refuse_token(accepting, deviations),
    };
    let why = deviations.last_flaw();
    let decision = match decision {
        HandshakeDecision::Serve(reply) => HandshakeDecision::Serve(with_deliberate(reply, why)),
        HandshakeDecision::Close(reply) => HandshakeDecision::Close(with_deliberate(reply, why)),
        HandshakeDecision::Refuse(reply) => HandshakeDecision::Refuse(with_deliberate(reply, why)),
        HandshakeDecision::HangUp(_) => HandshakeDecision::HangUp(why),
        HandshakeDecision::Withhold(_) => HandshakeDecision::Withhold(why),
    };
    (request, decision)
}

/// Changes the head to what a flawed server reads: a lax one overlooks faults, a strict one overlooks headers.
fn apply_reading_flaws(head: &mut Head, deviations: &EditorDeviations) {
    let mut words: Vec<String> = head.start.split(' ').map(str::to_owned).collect();
    if let [method, _, version] = words.as_mut_slice() {
        if *method != "GET" && deviations.has(HandshakeSwitch::Overlooks(OverlookedFault::Method)) {
            "GET".clone_into(method);
        }
        if version.as_str() < "HTTP/1.1" && deviations.has(HandshakeSwitch::Overlooks(OverlookedFault::HttpVersion)) {
            "HTTP/1.1".clone_into(version);
        }
        head.start = words.join(" ");
    }
    let mut pretend = |name: &str, value: &str, wrong: bool, fault| {
        if wrong && deviations.has(HandshakeSwitch::Overlooks(fault)) {
            head.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
            head.headers.push((name.to_owned(), value.to_owned()));
        }
    };
    pretend("Sec-WebSocket-Version", "13", true, OverlookedFault::Version);
    pretend("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==", true, OverlookedFault::Key);
    const NAMES: [&str; 5] = ["Host", "Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version"];
    head.headers.retain(|(name, value)| {
        let odd_case = NAMES.iter().any(|n| n.eq_ignore_ascii_case(name) && n != name)
            || name == "Upgrade" && value.eq_ignore_ascii_case("websocket") && value != "websocket";
        let listed = name.eq_ignore_ascii_case("connection") && !value.eq_ignore_ascii_case("upgrade");
        !(odd_case && deviations.has(HandshakeSwitch::HeadersByCase)
            || listed && deviations.has(HandshakeSwitch::ConnectionExact))
    });
}

fn refuse_fault(head: &Head, what: &str, deviations: &EditorDeviations) -> HandshakeDecision {
    let text = format!("{what}\n");
    if deviations.has(HandshakeSwitch::HangsUp) {
        return HandshakeDecision::HangUp(None);
    }
    if !has_token(head, "upgrade", "websocket") {
        if deviations.has(HandshakeSwitch::AnswersHttpWithPage) {
            return HandshakeDecision::Refuse(Reply::refusing("200 OK", "an editor\n"));
        }
        let mut reply = Reply::refusing("426 Upgrade Required", &text);
        reply.head.headers.push(("Upgrade".to_owned(), "websocket".to_owned()));
        return HandshakeDecision::Refuse(reply);
    }
    if !head.start.starts_with("GET ") {
        let mut reply = Reply::refusing("405 Method Not Allowed", &text);
        reply.head.headers.push(("Allow".to_owned(), "GET".to_owned()));
        return HandshakeDecision::Refuse(reply);
    }
    if head.header("sec-websocket-version").any(|version| version != "13") {
        let mut reply = Reply::refusing("426 Upgrade Required", &text);
        reply.head.headers.push(("Upgrade".to_owned(), "websocket".to_owned()));
        if !deviations.has(HandshakeSwitch::VersionNotTold) {
            reply.head.headers.push(("Sec-WebSocket-Version".to_owned(), "13".to_owned()));
        }
        return HandshakeDecision::Refuse(reply);
    }
    HandshakeDecision::Refuse(Reply::refusing("400 Bad Request", &text))
}

fn admits(request: &Request, deviations: &EditorDeviations, connections: ConnectionCount) -> bool {
    let offers = |name| request.head.header(name).next().is_some();
    !(connections.now >= 1 && deviations.has(HandshakeSwitch::OneClient)
        || connections.before && deviations.has(HandshakeSwitch::OneConnection)
        || connections.now >= 8 && deviations.has(HandshakeSwitch::EightClients)
        || offers("sec-websocket-protocol") && deviations.has(HandshakeSwitch::RefusesSubprotocols)
        || offers("sec-websocket-extensions") && deviations.has(HandshakeSwitch::RefusesExtensions))
}

/// Whether the request shows the secret, in the query parameter `auth`, percent-encoded as much as its sender likes.
fn knows_token(request: &Request, token: Token<'_>, deviations: &EditorDeviations) -> bool {
    let Token { text: token, of_form } = token;
    let shown = if deviations.has(TokenSwitch::WholeQuery) {
        request.target().split_once("?auth=").map(|(_, all)| all)
    } else {
        request.query("auth")
    };
    let decoded = shown.and_then(uri::decode_strictly);
    let as_field = || shown.and_then(|shown| uri::decode_strictly(&shown.replace('+', " ")));
    let decoded = if of_form && as_field().as_deref() == Some(token) { as_field() } else { decoded };
    if decoded.as_deref() == Some(token) {
        let encoded = decoded.as_deref() != shown;
        let own = encoded && shown.is_some_and(|s| !s.eq_ignore_ascii_case(&uri::encode(token, uri::COMPONENT)));
        return !(deviations.has(TokenSwitch::RefusesRightToken)
            || encoded && deviations.has(TokenSwitch::NotDecoded)
            || own && deviations.has(TokenSwitch::OwnEncodingOnly));
    }
    match decoded.as_deref() {
        None => deviations.has(TokenSwitch::AcceptsMissingToken),
        Some("") => deviations.has(TokenSwitch::AcceptsEmptyToken),
        Some(_) if deviations.has(TokenSwitch::AcceptsWrongToken) => true,
        Some(other) => {
            token.starts_with(other) && deviations.has(TokenSwitch::AcceptsPrefix)
                || token.eq_ignore_ascii_case(other) && deviations.has(TokenSwitch::AcceptsAnyCase)
        }
    }
}

fn refuse_token(accepting: Reply, deviations: &EditorDeviations) -> HandshakeDecision {
    if deviations.has(TokenSwitch::RefusesSilently) {
        return HandshakeDecision::HangUp(None);
    }
    if deviations.has(TokenSwitch::RefusesAfterAccept) {
        return HandshakeDecision::Close(accepting);
    }
    let status = if deviations.has(TokenSwitch::RefusesWith400) {
        "400 Bad Request"
    } else if deviations.has(TokenSwitch::RefusesWith403) {
        "403 Forbidden"
    } else {
        "401 Unauthorized"
    };
    HandshakeDecision::Refuse(Reply::refusing(status, "Authentication failed\n"))
}

/// The decision of a flawed server on a request that it should accept.
fn not_upgraded(mut accepting: Reply, how: UpgradeFlaw) -> HandshakeDecision {
    match how {
        UpgradeFlaw::ServerError => {
            HandshakeDecision::Refuse(Reply::refusing("500 Internal Server Error", "something went wrong\n"))
        }
        UpgradeFlaw::Redirect => {
            let mut reply = Reply::refusing("307 Temporary Redirect", "the editor is elsewhere\n");
            reply.head.headers.push(("Location".to_owned(), "http://127.0.0.1:1/".to_owned()));
            HandshakeDecision::Refuse(reply)
        }
        UpgradeFlaw::Page => HandshakeDecision::Refuse(Reply::refusing("200 OK", "an editor\n")),
        UpgradeFlaw::Nothing => HandshakeDecision::Withhold(None),
        UpgradeFlaw::HangUp => HandshakeDecision::HangUp(None),
        UpgradeFlaw::HalfHead => {
            accepting.send_options.cut = Some(crate::wire::http_head::encode(&accepting.head).len() / 2);
            HandshakeDecision::Refuse(accepting)
        }
        UpgradeFlaw::Nonsense => HandshakeDecision::Refuse(Reply::raw(b"HELO editor\r\n\r\n")),
    }
}

/// The acceptance with what deviations do to its head.
fn apply_head_flaws(mut reply: Reply, deviations: &EditorDeviations) -> Reply {
    if let Some(flaw) = deviations.accepting_head(&mut reply.head) {
        reply.send_options = SendOptions::deliberate(Some(flaw));
    }
    if deviations.has(HandshakeSwitch::Interim) {
        reply.interim.push(http_head::parse(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"));
    }
    reply
}

fn with_deliberate(mut reply: Reply, why: Option<&'static str>) -> Reply {
    if reply.send_options.deliberate.is_none() {
        reply.send_options = SendOptions { deliberate: why.map(str::to_owned), ..reply.send_options };
    }
    reply
}
