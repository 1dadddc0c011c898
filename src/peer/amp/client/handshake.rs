//! The handshake with an editor.

use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::peer::amp::client::target;
use crate::peer::amp::frames::{SegmentFlaws, SegmentHazard};
use crate::peer::deviation::websocket::SocketSwitch;
use crate::protocol::Lock;
use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::amp::verbs::Encoding;
use crate::trace::{Clock, End, Head, Recorder};
use crate::wire::tcp::{self, Address};
use crate::wire::websocket::{self, ClientRequest, HandshakeError, HandshakeOutcome, Options, SendOptions, Socket};
use crate::wire::{Limits, Tap};

use super::deviations::Deviations;
use super::run::{AgentEvent, Trigger, TriggerSwitch};

/// How long the end of a connection may take that was only made to see whether it would be.
const PROBE_CLOSE_TIMEOUT: Duration = Duration::from_millis(30);
/// How long a flaw waits for the response to a handshake.
const UNBOUNDED: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(2);

/// What a client can do otherwise in its handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeSwitch {
    /// The token is not percent-encoded.
    TokenNotEncoded,
    /// It connects to 127.0.0.1 only.
    Ipv4Only,
    /// The response must have its headers in the usual case.
    HeadersByCase,
    /// The `Connection` of the response must be `Upgrade` and nothing else.
    ConnectionExact,
    /// The response must have no further headers.
    RefusesHeaders,
    /// The response must begin with `HTTP/1.1 101 Switching Protocols`.
    ReasonExact,
    /// The response must come in one TCP segment.
    OneSegmentHead,
    /// What comes in one TCP segment with the response is lost.
    LosesFramesAtOnce,
    /// A refused handshake makes it hang.
    HangsAtRefusal,
    /// The response to the handshake is waited for without end.
    Unbounded,
    /// A response to the handshake with this fault is taken.
    Unchecked(Unchecked),
    /// Before it connects, it looks whether the editor lets it in, and leaves.
    ProbesHandshake,
    /// Before it connects, it looks whether the port accepts.
    ProbesPort,
}

/// Faults of a response to the handshake that a lax client overlooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unchecked {
    /// A wrong `Sec-WebSocket-Accept`.
    Accept,
    /// A wrong `Upgrade`.
    Upgrade,
    /// A wrong `Connection`.
    Connection,
    /// An extension that was not offered.
    Extension,
    /// A subprotocol that was not offered.
    Subprotocol,
}

/// Bounds of a connection.
fn limits(deviations: &Deviations) -> Limits {
    let handshake = if deviations.has(HandshakeSwitch::Unbounded) { UNBOUNDED } else { HANDSHAKE_TIMEOUT };
    Limits { handshake, write: Duration::from_secs(5), ..Limits::default() }
}

/// Connects to the editor of a lockfile; none where nobody accepts, or the response is no right one.
pub async fn connect(
    edition: &AmpEdition,
    lock: &Lock,
    deviations: &Deviations,
    tap: Tap,
    events: &mpsc::Sender<AgentEvent>,
) -> Option<Socket> {
    let address = address(edition, lock, deviations);
    let limits = limits(deviations);
    if deviations.has(HandshakeSwitch::ProbesPort) {
        drop(tcp::open(&address, limits.handshake).await.ok()?);
    }
    if deviations.has(HandshakeSwitch::ProbesHandshake) {
        // What it finds out is what it finds out again. It is no connection of the trace's.
        let unrecorded = Tap::new(Recorder::new(Clock::start(), vec![]), "probe".to_owned(), End::Client);
        let probe =
            websocket::connect(&address, &request(&address, lock, deviations), unrecorded, &limits).await.ok()?;
        probe.socket.sender.shutdown().await;
        // An editor that does not answer its close holds nothing up.
        let _ = timeout(PROBE_CLOSE_TIMEOUT, probe.socket.sender.ended()).await;
    }
    let relay = flawed_relay(&address, deviations, events).await;
    let relay = relay.as_ref().unwrap_or(&address);
    let request = request(&address, lock, deviations);
    let opened = websocket::connect(relay, &request, tap, &limits).await.ok()?;
    if is_accepted(&opened, deviations) {
        return Some(opened.socket);
    }
    let hangs = match opened.why_not {
        Some(HandshakeError::Status(_)) => deviations.has(HandshakeSwitch::HangsAtRefusal),
        Some(HandshakeError::NoResponse(_)) => deviations.has(TriggerSwitch::Hangs(Trigger::HugeHead)),
        _ => false,
    };
    if hangs {
        let _ = events.send(AgentEvent::Hang).await;
    }
    opened.socket.sender.shutdown().await;
    None
}

/// Where the editor of a lockfile is (docs/amp.md, Connection; quick reference, section 2). `localhost` stands for both
/// loopback addresses.
fn address(edition: &AmpEdition, lock: &Lock, deviations: &Deviations) -> Address {
    Address::new(if deviations.has(HandshakeSwitch::Ipv4Only) { "127.0.0.1" } else { edition.host }, lock.port)
}

fn request(address: &Address, lock: &Lock, deviations: &Deviations) -> ClientRequest {
    let bare = deviations.has(HandshakeSwitch::TokenNotEncoded);
    let encoding = if bare { Encoding::None } else { Encoding::Component };
    let mut request = ClientRequest::new(target(Some(&lock.token), encoding));
    request.headers.push(("Host".to_owned(), Some(address.to_string())));
    // Judged by the session, so that what breaks the RFC is not answered as if it were sound.
    request.options = Options { pong: false, close: false, read: true };
    let why = deviations.handshake_request(&mut request).or(deviations.why(HandshakeSwitch::TokenNotEncoded));
    request.send_options = SendOptions { deliberate: why.map(str::to_owned), ..request.send_options };
    request
}

/// Whether a flaw or the RFC takes the response for one that accepts.
fn is_accepted(opened: &HandshakeOutcome, deviations: &Deviations) -> bool {
    let overlooked = opened.why_not.as_ref().is_some_and(|fault| {
        let unchecked = match fault {
            HandshakeError::Accept(_) => Unchecked::Accept,
            HandshakeError::Upgrade => Unchecked::Upgrade,
            HandshakeError::Connection => Unchecked::Connection,
            HandshakeError::Extension(_) => Unchecked::Extension,
            HandshakeError::Subprotocol(_) => Unchecked::Subprotocol,
            HandshakeError::NoResponse(_)
            | HandshakeError::TimedOut(_)
            | HandshakeError::NoStatus(_)
            | HandshakeError::Status(_) => return false,
        };
        deviations.has(HandshakeSwitch::Unchecked(unchecked))
    });
    let refused = opened.response.as_ref().is_some_and(|response| is_refused(response, deviations));
    (opened.accepted && !refused) || overlooked
}

/// Whether a flaw refuses a sound response.
fn is_refused(response: &Head, deviations: &Deviations) -> bool {
    let exactly = |name: &str, value: &str| response.headers.iter().any(|(n, v)| n == name && v == value);
    let connection: Vec<&str> = response.header("connection").collect();
    let known = ["upgrade", "connection", "sec-websocket-accept"];
    let has = |switch| deviations.has(switch);
    (has(HandshakeSwitch::HeadersByCase) && !(exactly("Upgrade", "websocket") && exactly("Connection", "Upgrade")))
        || (has(HandshakeSwitch::ConnectionExact) && !connection.iter().any(|c| c.eq_ignore_ascii_case("upgrade")))
        || (has(HandshakeSwitch::RefusesHeaders)
            && response.headers.iter().any(|(name, _)| !known.contains(&name.to_ascii_lowercase().as_str())))
        || (has(HandshakeSwitch::ReasonExact) && response.start != "HTTP/1.1 101 Switching Protocols")
}

/// Where to connect to instead, if a flaw puts a go-between before the editor.
async fn flawed_relay(
    address: &Address,
    deviations: &Deviations,
    events: &mpsc::Sender<AgentEvent>,
) -> Option<Address> {
    let hangs = |trigger| deviations.has(TriggerSwitch::Hangs(trigger));
    let watches = hangs(Trigger::HalfFrame) || hangs(Trigger::HugeLength);
    let segment_flaws = SegmentFlaws {
        needs_one_head_segment: deviations.has(HandshakeSwitch::OneSegmentHead),
        loses_behind_head: deviations.has(HandshakeSwitch::LosesFramesAtOnce),
        loses_split: deviations.has(SocketSwitch::LosesSplitFrames),
        loses_joined: deviations.has(SocketSwitch::LosesJoinedFrames),
        on_hazard: watches.then(|| {
            let (events, deviations) = (events.clone(), deviations.clone());
            let on_hazard = move |what| {
                let trigger = match what {
                    SegmentHazard::HalfFrame => Trigger::HalfFrame,
                    SegmentHazard::HugeLength => Trigger::HugeLength,
                };
                if deviations.has(TriggerSwitch::Hangs(trigger)) {
                    // Where there is no room, the client is busy hanging.
                    let _ = events.try_send(AgentEvent::Hang);
                }
            };
            Box::new(on_hazard) as Box<dyn Fn(SegmentHazard) + Send>
        }),
    };
    if !segment_flaws.is_any() {
        return None;
    }
    let editor: TcpStream = tcp::open(address, HANDSHAKE_TIMEOUT).await.ok()?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.ok()?;
    let relay = Address::new("127.0.0.1", listener.local_addr().ok()?.port());
    tokio::spawn(async move {
        if let Ok((stream, _)) = listener.accept().await {
            segment_flaws.relay(editor, stream);
        }
    });
    Some(relay)
}
