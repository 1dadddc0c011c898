//! The server's response to a handshake: which clients are accepted.

use crate::trace::Head;
use crate::uri;
use crate::wire::http_head::has_token;
use crate::wire::websocket::{Reply, Request, SendOptions};

use super::deviations::{EditorDeviations, OverlookedFault, Switch, UpgradeFlaw};

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

/// Decides on a handshake request.
pub fn decide(
    mut request: Request,
    token: &str,
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
            match UpgradeFlaw::ALL.into_iter().find(|how| deviations.has(Switch::Upgrade(*how))) {
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
        if *method != "GET" && deviations.has(Switch::Overlooks(OverlookedFault::Method)) {
            "GET".clone_into(method);
        }
        if version.as_str() < "HTTP/1.1" && deviations.has(Switch::Overlooks(OverlookedFault::HttpVersion)) {
            "HTTP/1.1".clone_into(version);
        }
        head.start = words.join(" ");
    }
    let mut pretend = |name: &str, value: &str, wrong: bool, fault| {
        if wrong && deviations.has(Switch::Overlooks(fault)) {
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
        !(odd_case && deviations.has(Switch::HeadersByCase) || listed && deviations.has(Switch::ConnectionExact))
    });
}

fn refuse_fault(head: &Head, what: &str, deviations: &EditorDeviations) -> HandshakeDecision {
    let text = format!("{what}\n");
    if deviations.has(Switch::HangsUpOnBadHandshake) {
        return HandshakeDecision::HangUp(None);
    }
    if !has_token(head, "upgrade", "websocket") {
        if deviations.has(Switch::AnswersHttpWithPage) {
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
        if !deviations.has(Switch::VersionNotTold) {
            reply.head.headers.push(("Sec-WebSocket-Version".to_owned(), "13".to_owned()));
        }
        return HandshakeDecision::Refuse(reply);
    }
    HandshakeDecision::Refuse(Reply::refusing("400 Bad Request", &text))
}

fn admits(request: &Request, deviations: &EditorDeviations, connections: ConnectionCount) -> bool {
    let offers = |name| request.head.header(name).next().is_some();
    !(connections.now >= 1 && deviations.has(Switch::OneClient)
        || connections.before && deviations.has(Switch::OneConnection)
        || connections.now >= 8 && deviations.has(Switch::EightClients)
        || offers("sec-websocket-protocol") && deviations.has(Switch::RefusesSubprotocols)
        || offers("sec-websocket-extensions") && deviations.has(Switch::RefusesExtensions))
}

/// Whether the request shows the secret, in the query parameter `auth`, percent-encoded as much as its sender likes.
fn knows_token(request: &Request, token: &str, deviations: &EditorDeviations) -> bool {
    let shown = if deviations.has(Switch::WholeQueryIsToken) {
        request.target().split_once("?auth=").map(|(_, all)| all)
    } else {
        request.query("auth")
    };
    let decoded = shown.and_then(uri::decode_strictly);
    if decoded.as_deref() == Some(token) {
        let encoded = decoded.as_deref() != shown;
        let own = encoded && shown.is_some_and(|s| !s.eq_ignore_ascii_case(&uri::encode(token, uri::COMPONENT)));
        return !(deviations.has(Switch::RefusesRightToken)
            || encoded && deviations.has(Switch::TokenNotDecoded)
            || own && deviations.has(Switch::TokenOwnEncodingOnly));
    }
    match decoded.as_deref() {
        None => deviations.has(Switch::AcceptsMissingToken),
        Some("") => deviations.has(Switch::AcceptsEmptyToken),
        Some(_) if deviations.has(Switch::AcceptsWrongToken) => true,
        Some(prefix) => token.starts_with(prefix) && deviations.has(Switch::AcceptsTokenPrefix),
    }
}

fn refuse_token(accepting: Reply, deviations: &EditorDeviations) -> HandshakeDecision {
    if deviations.has(Switch::RefusesSilently) {
        return HandshakeDecision::HangUp(None);
    }
    if deviations.has(Switch::RefuseAfterAccept) {
        return HandshakeDecision::Close(accepting);
    }
    let status = if deviations.has(Switch::Refuse400) {
        "400 Bad Request"
    } else if deviations.has(Switch::Refuse403) {
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
            accepting.manner.cut = Some(crate::wire::http_head::encode(&accepting.head).len() / 2);
            HandshakeDecision::Refuse(accepting)
        }
        UpgradeFlaw::Nonsense => HandshakeDecision::Refuse(Reply::raw(b"HELO editor\r\n\r\n")),
    }
}

/// The acceptance with what deviations do to its head.
fn apply_head_flaws(mut reply: Reply, deviations: &EditorDeviations) -> Reply {
    if let Some(flaw) = deviations.accepting_head(&mut reply.head) {
        reply.manner = SendOptions::deliberate(Some(flaw));
    }
    reply
}

fn with_deliberate(mut reply: Reply, why: Option<&'static str>) -> Reply {
    if reply.manner.deliberate.is_none() {
        reply.manner = SendOptions { deliberate: why.map(str::to_owned), ..reply.manner };
    }
    reply
}
