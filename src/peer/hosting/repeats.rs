//! Requests that a client sends again by itself, and that are treated as the first one was.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::protocol::http::repeats::{ALIKE, key};
use crate::trace::{EventKind, Mark, Recorder};
use crate::wire::http::{Received, Responder};

use super::{How, PendingRequest, Sending};

/// What became of a request.
#[derive(Clone, Debug)]
pub enum Treatment {
    /// It was answered.
    Answer(Sending),
    /// Its connection was ended without an answer, for this reason.
    HangUp(How, String),
}

/// What becomes of requests that come again.
#[derive(Default)]
pub struct Repeats(Mutex<HashMap<u64, Treatment>>);

impl Repeats {
    /// Has repeats of a request treated alike from now on, and says so in the trace.
    pub fn treat(&self, held: &PendingRequest, treatment: Treatment, recorder: &Recorder) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(held.key, treatment);
        let mark = Mark { mark: ALIKE.to_owned(), text: String::new() };
        recorder.record(Some(&held.conn), None, EventKind::Mark(mark));
    }

    /// What becomes of a request that has come, if it repeats such a one.
    pub fn of(&self, received: &Received) -> Option<Treatment> {
        let key = key(&received.head, &received.content);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }
}

impl Treatment {
    /// Does so with another request.
    pub async fn apply(self, answer: Responder) {
        match self {
            // Fails only where the client is gone, which is in the trace.
            Self::Answer(sending) => drop(sending.send(answer).await),
            Self::HangUp(How::Eof, why) => answer.close(Some(&why)),
            Self::HangUp(How::Reset, why) => answer.reset(Some(&why)),
        }
    }
}
