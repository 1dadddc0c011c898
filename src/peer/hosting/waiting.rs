//! Requests that wait until a step says what becomes of them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::protocol::http::repeats::key;
use crate::trace::{HttpRequest, Recorder};
use crate::wire::http::{Received, Responder};

use super::repeats::{Repeats, Treatment};
use super::{How, Sending};

/// How many requests wait. Others are not answered.
const MOST: usize = 10_000;

/// Requests that wait for steps, and answers that are on their way.
pub struct Waiting<T> {
    held: Mutex<VecDeque<(String, T)>>,
    /// Counts what arrives.
    arrived: watch::Sender<u64>,
    /// How many answers are on their way.
    busy: watch::Sender<usize>,
    repeats: Repeats,
}

/// A request that waits for its answer.
pub struct PendingRequest {
    /// The name of its exchange.
    pub conn: String,
    /// What it asks for, by which repeats of it are known.
    pub key: u64,
    /// Its head.
    pub head: HttpRequest,
    /// The way back.
    pub answer: Responder,
}

/// An answer on its way; it has arrived when this is dropped.
pub struct Busy(watch::Sender<usize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.send_modify(|busy| *busy = busy.saturating_sub(1));
    }
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self {
            held: Mutex::default(),
            arrived: watch::Sender::new(0),
            busy: watch::Sender::new(0),
            repeats: Repeats::default(),
        }
    }
}

impl<T> Waiting<T> {
    fn held(&self) -> MutexGuard<'_, VecDeque<(String, T)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more waits, under the name of its exchange.
    pub fn add(&self, conn: String, one: T) {
        let mut held = self.held();
        if held.len() < MOST {
            held.push_back((conn, one));
        }
        drop(held);
        self.arrived.send_modify(|arrived| *arrived += 1);
    }

    /// Takes the one of this exchange, or the oldest one, for which the client has so long.
    pub async fn take(&self, to: Option<&str>, within: Duration) -> Option<T> {
        let find = || {
            let mut held = self.held();
            let at = held.iter().position(|(conn, _)| to.is_none_or(|name| name == conn))?;
            held.remove(at).map(|(_, one)| one)
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

    /// All that wait.
    pub fn take_all(&self) -> Vec<T> {
        std::mem::take(&mut *self.held()).into_iter().map(|(_, one)| one).collect()
    }

    /// What becomes of a request that has come, if it only repeats one whose repeats are treated alike.
    pub fn repeats(&self, received: &Received) -> Option<Treatment> {
        self.repeats.of(received)
    }

    /// Has repeats of a request treated alike from now on, and says so in the trace.
    pub fn treat_repeats(&self, held: &PendingRequest, treatment: Treatment, recorder: &Recorder) {
        self.repeats.treat(held, treatment, recorder);
    }

    /// An answer begins.
    pub fn begin(&self) -> Busy {
        self.busy.send_modify(|busy| *busy += 1);
        Busy(self.busy.clone())
    }

    /// Waits for what is on its way, but no longer than this.
    pub async fn settle(&self, within: Duration) {
        let mut busy = self.busy.subscribe();
        // What takes too long is cut.
        let _ = timeout(within, busy.wait_for(|busy| *busy == 0)).await;
    }

    /// Sends an answer: before the next step, unless that takes its time.
    pub async fn send(&self, held: PendingRequest, sending: Sending) {
        let guard = self.begin();
        let slow = sending.is_slow();
        let sent = async move {
            // Fails only where the client is gone, which is in the trace.
            let _ = sending.send(held.answer).await;
            drop(guard);
        };
        if slow {
            tokio::spawn(sent);
        } else {
            sent.await;
        }
    }
}

impl Waiting<PendingRequest> {
    /// A request waits.
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
    pub fn hang_up(self, how: How, why: &str) {
        match how {
            How::Eof => self.answer.close(Some(why)),
            How::Reset => self.answer.reset(Some(why)),
        }
    }
}
