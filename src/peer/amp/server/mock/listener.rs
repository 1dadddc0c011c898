//! The mock editor on its socket: listening, and making the handshake with clients.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::peer::amp::editor::deviations::EditorDeviations;
use crate::peer::amp::frames::{SegmentFlaws, SegmentHazard};
use crate::peer::deviation::websocket::SocketSwitch;
use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::amp::lockfile::ports_from;
use crate::trace::End;
use crate::wire::tcp;
use crate::wire::websocket::{self, AcceptError};
use crate::wire::{Limits, Tap};

use super::super::handshake::{self, HandshakeDecision, Token};
use super::super::shared::{Phase, SharedServer, SharedSwitch, Trigger, reached};
use super::super::{Steering, accept_all};
use super::session::{self, EditorSession};

/// No message longer than this is taken, in bytes.
pub const MAX_MESSAGE: usize = 32 << 20;
/// How many connections there may be at a time, handshakes included.
const MAX_CONNECTIONS: usize = 4096;
/// How many connections a fragile server stands.
const FEW_CONNECTIONS: u64 = 30;
/// How long a flaw lets a client wait for the response to its handshake.
const WITHHELD_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the end may take.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1500);

const LIMITS: Limits = Limits {
    frame: MAX_MESSAGE,
    message: MAX_MESSAGE,
    backlog: 8 << 20,
    head: 16 << 10,
    body: 1 << 10,
    handshake: Duration::from_secs(5),
    write: Duration::from_secs(10),
};

/// What an editor can do otherwise where it listens and accepts connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenSwitch {
    /// The editor listens on 127.0.0.2 only.
    Elsewhere,
    /// The handshake must come in one TCP segment.
    OneSegmentHead,
    /// While one client makes its handshake no other can.
    HandshakeBlocksOthers,
}

/// Listens on a loopback address. The ports that clients of the edition scan are preferred.
pub fn listen(edition: &AmpEdition, port: Option<u16>, deviations: &EditorDeviations) -> io::Result<TcpListener> {
    let elsewhere = deviations.has(ListenSwitch::Elsewhere);
    let host = if elsewhere { Ipv4Addr::new(127, 0, 0, 2) } else { Ipv4Addr::LOCALHOST };
    // At the same port of 127.0.0.1 another editor may listen, which clients would take for this one.
    if let Some(ports) = edition.lockfile.ports.filter(|_| port.is_none() && !elsewhere) {
        // Beginning anywhere, so that one that has just gone is not taken for the next one.
        for port in ports_from(ports, std::process::id()) {
            if let Ok(listener) = tcp::listen((host, port)) {
                return Ok(listener);
            }
        }
    }
    tcp::listen((host, port.unwrap_or(0)))
}

/// Lets clients in until the server is to end, and then ends their connections.
pub async fn run(listener: TcpListener, shared: SharedServer) {
    let mut phase = shared.phase();
    let steering = MockSteering { shared, count: AtomicU64::new(0), handshake: Mutex::default() };
    let mut open = accept_all(listener, Arc::new(steering), reached(&mut phase, Phase::Closing)).await;
    let _ = timeout(SHUTDOWN_TIMEOUT, async { while open.join_next().await.is_some() {} }).await;
}

/// Serves the clients of a mock.
struct MockSteering {
    shared: SharedServer,
    /// How many connections there have been.
    count: AtomicU64,
    /// For a flaw that makes one handshake at a time.
    handshake: Mutex<()>,
}

impl Steering for MockSteering {
    const MAX_OPEN: usize = MAX_CONNECTIONS;
    const MAX_TOTAL: usize = usize::MAX;

    /// The number of the connection, and whether no other can make its handshake meanwhile.
    type Accepted = (u64, bool);

    fn accepted(&self) -> (u64, bool) {
        if self.count.fetch_add(1, Ordering::Relaxed) >= FEW_CONNECTIONS {
            self.shared.trigger(Trigger::Flood);
        }
        let deviations = self.shared.deviations();
        deviations.history().connection();
        (self.shared.count_connection(), deviations.has(ListenSwitch::HandshakeBlocksOthers))
    }

    async fn serve(&self, stream: TcpStream, (number, blocks): (u64, bool)) {
        // The flaw: a handshake at a time.
        let turn = if blocks { Some(self.handshake.lock().await) } else { None };
        let session = accept_client(stream, number, self.shared.clone()).await;
        drop(turn);
        if let Some(session) = session {
            session.run().await;
        }
    }
}

/// Makes the handshake with a client. Gives its session if it is let in.
async fn accept_client(stream: TcpStream, number: u64, shared: SharedServer) -> Option<EditorSession> {
    let deviations = shared.deviations();
    let stream = behind_relay(stream, &deviations, &shared).await?;
    let tap = Tap::new(shared.recorder().clone(), format!("c{number}"), End::Server);
    let limits = match deviations.has(ListenSwitch::HandshakeBlocksOthers) {
        true => Limits { handshake: Duration::from_secs(3600), ..LIMITS },
        false => LIMITS,
    };
    let mut phase = shared.phase();
    let accepted = tokio::select! {
        accepted = websocket::accept(stream, tap, &limits) => accepted,
        () = reached(&mut phase, Phase::Closing) => return None,
    };
    let request = match accepted {
        Ok(request) => request,
        Err(error) => {
            match error {
                AcceptError::TooLong => shared.trigger(Trigger::HugeHead),
                AcceptError::NotHttp => shared.trigger(Trigger::BadHandshake),
                // Whoever looks whether the port accepts does no more than that.
                AcceptError::Left | AcceptError::TimedOut(_) | AcceptError::Broken(_) => {}
            }
            return None;
        }
    };
    if *phase.borrow() != Phase::Serving {
        reached(&mut phase, Phase::Closing).await;
        return None;
    }
    if request.fault().is_some() {
        shared.trigger(Trigger::BadHandshake);
    }
    let text = shared.token();
    let token = Token::new(&text, shared.edition());
    let (request, decision) = handshake::decide(request, token, &deviations, shared.connection_count());
    match decision {
        HandshakeDecision::Serve(reply) => {
            let socket = request.reply(&reply).await.ok()?;
            Some(EditorSession::new(shared, socket).await)
        }
        HandshakeDecision::Close(reply) => {
            session::reject(request.reply(&reply).await.ok()?).await;
            None
        }
        HandshakeDecision::Refuse(reply) => {
            session::refuse(request.reply(&reply).await.ok()?).await;
            None
        }
        HandshakeDecision::HangUp(why) => {
            request.hang_up(why).await;
            None
        }
        HandshakeDecision::Withhold(why) => {
            let _ = timeout(WITHHELD_TIMEOUT, reached(&mut phase, Phase::Closing)).await;
            request.hang_up(why).await;
            None
        }
    }
}

/// The stream to serve: this one, or the other end of a go-between. None where the client has been given up.
async fn behind_relay(stream: TcpStream, deviations: &EditorDeviations, shared: &SharedServer) -> Option<TcpStream> {
    if deviations.has(ListenSwitch::OneSegmentHead) {
        let mut first = [0; 4096];
        let n = stream.peek(&mut first).await.ok()?;
        if !first[..n].windows(4).any(|w| w == b"\r\n\r\n") {
            return None;
        }
    }
    let hangs = |t| deviations.has(SharedSwitch::HangsAfter(t));
    let watches = hangs(Trigger::HalfFrame) || hangs(Trigger::HugeLength);
    let segment_flaws = SegmentFlaws {
        loses_split: deviations.has(SocketSwitch::LosesSplitFrames),
        loses_joined: deviations.has(SocketSwitch::LosesJoinedFrames),
        on_hazard: watches.then(|| {
            let shared = shared.clone();
            let on_hazard = move |what| {
                shared.trigger(match what {
                    SegmentHazard::HalfFrame => Trigger::HalfFrame,
                    SegmentHazard::HugeLength => Trigger::HugeLength,
                });
            };
            Box::new(on_hazard) as Box<dyn Fn(SegmentHazard) + Send>
        }),
        ..SegmentFlaws::default()
    };
    if !segment_flaws.is_any() {
        return Some(stream);
    }
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.ok()?;
    let relay = TcpStream::connect(listener.local_addr().ok()?).await.ok()?;
    let (relayed, _) = listener.accept().await.ok()?;
    segment_flaws.relay(stream, relay);
    Some(relayed)
}
