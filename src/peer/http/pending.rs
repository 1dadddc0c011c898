//! What becomes of a request ([`Decision`]), and requests that wait until a step decides it ([`PendingRequests`]). A decision may
//! hold for repeats of the request, too.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::protocol::http::repeats::{ALIKE, key};
use crate::protocol::words::StreamEnd;
use crate::trace::{EventKind, HttpRequest, Mark, Recorder};
use crate::wire::http::{Received, Responder};

use super::OutgoingResponse;

/// How long a request that a flaw confuses with the next one waits for that.
pub const CONFUSION: Duration = Duration::from_millis(250);

/// The most requests that wait. Others get no response.
const MAX_PENDING: usize = 10_000;

/// Requests that wait for steps, and responses that are on their way.
pub struct PendingRequests<T> {
    pending: Mutex<VecDeque<(String, T)>>,
    /// Counts what arrives.
    arrived: watch::Sender<u64>,
    /// How many responses are on their way.
    busy: watch::Sender<usize>,
    repeats: RepeatDecisions,
}

/// A request that waits for its response.
pub struct PendingRequest {
    /// The name of its exchange.
    pub conn: String,
    /// The key of its content, by which repeats of it are recognised.
    pub key: u64,
    /// The head of the request.
    pub head: HttpRequest,
    /// The way back.
    pub responder: Responder,
}

/// A response on its way; it has arrived when this is dropped.
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
            repeats: RepeatDecisions::default(),
        }
    }
}

impl<T> PendingRequests<T> {
    fn pending(&self) -> MutexGuard<'_, VecDeque<(String, T)>> {
        self.pending.lock()
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
    pub fn repeats(&self, received: &Received) -> Option<Decision> {
        self.repeats.of(received)
    }

    /// Has repeats of a request treated alike from now on, and says so in the trace.
    pub fn decide_repeats(&self, pending: &PendingRequest, decision: Decision, recorder: &Recorder) {
        self.repeats.decide(pending, decision, recorder);
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

    /// Sends a response: before the next step, unless that takes its time.
    pub async fn send(&self, pending: PendingRequest, sending: OutgoingResponse) {
        let guard = self.begin();
        let slow = sending.is_slow();
        let sent = async move {
            // Fails only where the client is gone, which is in the trace.
            let _ = sending.send(pending.responder).await;
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
    pub fn hold(&self, received: Received, responder: Responder) {
        self.add(received.conn.clone(), PendingRequest::new(received, responder));
    }
}

impl PendingRequest {
    /// A request that has come.
    pub fn new(received: Received, responder: Responder) -> Self {
        let key = key(&received.head, &received.content);
        Self { conn: received.conn, key, head: received.head, responder }
    }
}

/// What becomes of a request, whoever decides it.
#[derive(Clone, Debug)]
pub enum Decision {
    /// It is answered with this response.
    Respond(Box<OutgoingResponse>),
    /// Its connection is ended without a response; the reason is that why it is wrong on purpose, if it is.
    HangUp(StreamEnd, Option<String>),
    /// It gets no response, and its connection is kept.
    Never(Option<String>),
}

impl Decision {
    /// Carries it out. Returns once the response has been sent, or the client is gone, which is in the trace.
    pub async fn carry_out(self, responder: Responder) {
        match self {
            Self::Respond(sending) => drop(sending.send(responder).await),
            Self::HangUp(StreamEnd::Eof, why) => responder.close(why.as_deref()),
            Self::HangUp(StreamEnd::Reset, why) => responder.reset(why.as_deref()),
            Self::Never(why) => responder.never(why.as_deref()),
        }
    }
}

/// The decisions on repeated requests.
#[derive(Default)]
pub struct RepeatDecisions(Mutex<HashMap<u64, Decision>>);

impl RepeatDecisions {
    /// Has repeats of a request treated alike from now on, and says so in the trace.
    pub fn decide(&self, pending: &PendingRequest, decision: Decision, recorder: &Recorder) {
        self.0.lock().insert(pending.key, decision);
        let mark = Mark { mark: ALIKE.to_owned(), text: String::new() };
        recorder.record(Some(&pending.conn), None, EventKind::Mark(mark));
    }

    /// The decision on a request that repeats an earlier one, if it does.
    pub fn of(&self, received: &Received) -> Option<Decision> {
        let key = key(&received.head, &received.content);
        self.0.lock().get(&key).cloned()
    }
}
