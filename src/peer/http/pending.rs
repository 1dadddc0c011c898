//! Requests that arrive at a port of ours and wait until a step says what becomes of them; repeats that are treated as the
//! first request was.

use std::collections::{HashMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::peer::PeerError;
use crate::protocol::http::repeats::{ALIKE, key};
use crate::protocol::words::StreamEnd;
use crate::trace::{EventKind, HttpRequest, Mark, Recorder};
use crate::wire::http::{Received, Responder};
use crate::wire::tcp::BACKLOG;

use super::OutgoingResponse;

/// How long a request that a flaw confuses with the next one waits for that.
pub const CONFUSION: Duration = Duration::from_millis(250);

/// A port of the loopback address. While nobody listens there, who connects is refused.
pub struct Port(Result<(TcpSocket, SocketAddr), String>);

impl Port {
    /// Any port that is free.
    pub fn hold() -> Self {
        Self(bind(0).map_err(|e| e.to_string()))
    }

    /// The address of the port.
    ///
    /// # Errors
    /// That there was no port to be had.
    pub fn address(&self) -> Result<SocketAddr, PeerError> {
        let pending = self.0.as_ref();
        pending.map(|(_, address)| *address).map_err(|e| PeerError::Environment(format!("cannot get a port: {e}")))
    }

    /// Listens there.
    ///
    /// # Errors
    /// That the machine is in the way.
    pub fn listen(&self) -> Result<TcpListener, PeerError> {
        let address = self.address()?;
        let listener = bind(address.port()).and_then(|(socket, _)| socket.listen(BACKLOG));
        listener.map_err(|e| PeerError::Environment(format!("cannot listen on {address}: {e}")))
    }
}

/// A socket that is bound to this port of the loopback address, or to any free one. It does not listen.
fn bind(port: u16) -> std::io::Result<(TcpSocket, SocketAddr)> {
    let socket = TcpSocket::new_v4()?;
    // So that another socket can listen there while this one holds the port.
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
    let address = socket.local_addr()?;
    Ok((socket, address))
}

/// How many requests wait. Others are not answered.
const MAX_PENDING: usize = 10_000;

/// Requests that wait for steps, and answers that are on their way.
pub struct PendingRequests<T> {
    pending: Mutex<VecDeque<(String, T)>>,
    /// Counts what arrives.
    arrived: watch::Sender<u64>,
    /// How many answers are on their way.
    busy: watch::Sender<usize>,
    repeats: RepeatTreatments,
}

/// A request that waits for its answer.
pub struct PendingRequest {
    /// The name of its exchange.
    pub conn: String,
    /// The key of its content, by which repeats of it are recognised.
    pub key: u64,
    /// The head of the request.
    pub head: HttpRequest,
    /// The way back.
    pub answer: Responder,
}

/// An answer on its way; it has arrived when this is dropped.
pub struct ResponseGuard(watch::Sender<usize>);

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        self.0.send_modify(|busy| *busy = busy.saturating_sub(1));
    }
}

impl<T> Default for PendingRequests<T> {
    fn default() -> Self {
        Self {
            pending: Mutex::default(),
            arrived: watch::Sender::new(0),
            busy: watch::Sender::new(0),
            repeats: RepeatTreatments::default(),
        }
    }
}

impl<T> PendingRequests<T> {
    fn pending(&self) -> MutexGuard<'_, VecDeque<(String, T)>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request, under the name of its exchange.
    pub fn add(&self, conn: String, one: T) {
        let mut pending = self.pending();
        if pending.len() < MAX_PENDING {
            pending.push_back((conn, one));
        }
        drop(pending);
        self.arrived.send_modify(|arrived| *arrived += 1);
    }

    /// Takes the one of this exchange, or the oldest one, for which the client has so long.
    pub async fn take(&self, to: Option<&str>, within: Duration) -> Option<T> {
        let find = || {
            let mut pending = self.pending();
            let at = pending.iter().position(|(conn, _)| to.is_none_or(|name| name == conn))?;
            pending.remove(at).map(|(_, one)| one)
        };
        let mut arrived = self.arrived.subscribe();
        let waiting = async {
            loop {
                arrived.mark_unchanged();
                if let Some(one) = find() {
                    return Some(one);
                }
                // The sender lives as long as we do.
                arrived.changed().await.ok()?;
            }
        };
        timeout(within, waiting).await.ok().flatten()
    }

    /// Takes all requests that wait.
    pub fn take_all(&self) -> Vec<T> {
        std::mem::take(&mut *self.pending()).into_iter().map(|(_, one)| one).collect()
    }

    /// What becomes of a request that has come, if it only repeats one whose repeats are treated alike.
    pub fn repeats(&self, received: &Received) -> Option<Treatment> {
        self.repeats.of(received)
    }

    /// Has repeats of a request treated alike from now on, and says so in the trace.
    pub fn treat_repeats(&self, pending: &PendingRequest, treatment: Treatment, recorder: &Recorder) {
        self.repeats.treat(pending, treatment, recorder);
    }

    /// Registers a response that begins.
    pub fn begin(&self) -> ResponseGuard {
        self.busy.send_modify(|busy| *busy += 1);
        ResponseGuard(self.busy.clone())
    }

    /// Waits for what is on its way, but no longer than this.
    pub async fn settle(&self, within: Duration) {
        let mut busy = self.busy.subscribe();
        // What takes too long is cut.
        let _ = timeout(within, busy.wait_for(|busy| *busy == 0)).await;
    }

    /// Sends an answer: before the next step, unless that takes its time.
    pub async fn send(&self, pending: PendingRequest, sending: OutgoingResponse) {
        let guard = self.begin();
        let slow = sending.is_slow();
        let sent = async move {
            // Fails only where the client is gone, which is in the trace.
            let _ = sending.send(pending.answer).await;
            drop(guard);
        };
        if slow {
            tokio::spawn(sent);
        } else {
            sent.await;
        }
    }
}

impl PendingRequests<PendingRequest> {
    /// Adds a request that waits for a step.
    pub fn hold(&self, received: Received, answer: Responder) {
        self.add(received.conn.clone(), PendingRequest::new(received, answer));
    }
}

impl PendingRequest {
    /// A request that has come.
    pub fn new(received: Received, answer: Responder) -> Self {
        let key = key(&received.head, &received.content);
        Self { conn: received.conn, key, head: received.head, answer }
    }

    /// Ends its connection without an answer; `why` says why that is wrong on purpose.
    pub fn hang_up(self, how: StreamEnd, why: &str) {
        match how {
            StreamEnd::Eof => self.answer.close(Some(why)),
            StreamEnd::Reset => self.answer.reset(Some(why)),
        }
    }
}

/// How a request was treated.
#[derive(Clone, Debug)]
pub enum Treatment {
    /// The request was answered.
    Answer(OutgoingResponse),
    /// The connection was ended without a response, for this reason.
    HangUp(StreamEnd, String),
}

/// The treatment of repeated requests.
#[derive(Default)]
pub struct RepeatTreatments(Mutex<HashMap<u64, Treatment>>);

impl RepeatTreatments {
    /// Has repeats of a request treated alike from now on, and says so in the trace.
    pub fn treat(&self, pending: &PendingRequest, treatment: Treatment, recorder: &Recorder) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(pending.key, treatment);
        let mark = Mark { mark: ALIKE.to_owned(), text: String::new() };
        recorder.record(Some(&pending.conn), None, EventKind::Mark(mark));
    }

    /// The treatment of a request that repeats an earlier one, if it does.
    pub fn of(&self, received: &Received) -> Option<Treatment> {
        let key = key(&received.head, &received.content);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }
}

impl Treatment {
    /// Treats another request in the same way.
    pub async fn apply(self, answer: Responder) {
        match self {
            // Fails only where the client is gone, which is in the trace.
            Self::Answer(sending) => drop(sending.send(answer).await),
            Self::HangUp(StreamEnd::Eof, why) => answer.close(Some(&why)),
            Self::HangUp(StreamEnd::Reset, why) => answer.reset(Some(&why)),
        }
    }
}
