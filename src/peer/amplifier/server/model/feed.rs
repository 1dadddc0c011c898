//! Feeds: the events of a session, in order, in a queue for each subscriber, and the emitter that puts them in.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::peer::deviation::Why;

use super::super::deviations::Deviations;
use super::state::marked;

/// So many events may wait for a subscriber before the agent waits for it, too.
pub const HIGH: usize = 4096;

/// A message for subscribers.
#[derive(Debug, PartialEq, Eq)]
pub struct FeedMessage {
    /// The name of the event; empty where it is none.
    pub event: String,
    /// The message as JSON.
    pub json: String,
    /// When it was emitted.
    pub at: Duration,
    /// The flaw that made it wrong, if one did.
    pub why: Why,
}

/// How a feed ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedEnd {
    /// The session ended.
    Over,
    /// The subscriber did not keep up.
    Slow,
    /// Somebody who steers the mock wants the stream ended: with its end, or cut in the middle.
    Cut { reset: bool },
}

/// The subscriber's end. Dropped, nothing more is put into it.
#[derive(Debug)]
pub struct Feed(Arc<Queue>);

/// The session's end, of which there may be several.
#[derive(Clone, Debug)]
pub struct FeedSender(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<QueueState>,
    /// Something came, or the end.
    available: Notify,
    /// Something was taken, or the subscriber left.
    room: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<Arc<FeedMessage>>,
    end: Option<FeedEnd>,
    left: bool,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }
}

/// A queue that is empty.
pub fn feed() -> (FeedSender, Feed) {
    let queue = Arc::<Queue>::default();
    (FeedSender(queue.clone()), Feed(queue))
}

impl FeedSender {
    /// Puts a message in, unless the feed has ended.
    pub fn send(&self, message: Arc<FeedMessage>) {
        let mut state = self.0.state();
        if state.end.is_none() && !state.left {
            state.waiting.push_back(message);
            drop(state);
            self.0.available.notify_one();
        }
    }

    /// Ends it; what waits in it is still sent. The first end counts.
    pub fn end(&self, how: FeedEnd) {
        let mut state = self.0.state();
        if state.end.is_none() {
            state.end = Some(how);
        }
        if how == FeedEnd::Slow {
            state.waiting.clear();
        }
        drop(state);
        self.0.available.notify_one();
        self.0.room.notify_one();
    }

    /// Whether anybody takes something out.
    pub fn is_live(&self) -> bool {
        let state = self.0.state();
        state.end.is_none() && !state.left
    }

    /// Whether so much waits in it that the agent should wait, too.
    pub fn is_full(&self) -> bool {
        self.0.state().waiting.len() >= HIGH
    }

    /// Returns once there is room, or nobody is there who could make any. One at a time may wait.
    pub async fn room(&self) {
        while self.is_live() && self.is_full() {
            self.0.room.notified().await;
        }
    }

    /// Whether it is the same as this one.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether it belongs to this feed.
    pub fn is_of(&self, feed: &Feed) -> bool {
        Arc::ptr_eq(&self.0, &feed.0)
    }
}

impl Feed {
    /// What waits, at most so many, once there is anything; how it ended, once there is nothing more.
    pub async fn next(&mut self, most: usize) -> Result<Vec<Arc<FeedMessage>>, FeedEnd> {
        loop {
            if let Some(next) = self.try_next(most) {
                return next;
            }
            self.0.available.notified().await;
        }
    }

    /// Messages or the end of the feed, without waiting.
    pub fn try_next(&mut self, most: usize) -> Option<Result<Vec<Arc<FeedMessage>>, FeedEnd>> {
        let mut state = self.0.state();
        if !state.waiting.is_empty() {
            let full = state.waiting.len() >= HIGH;
            let count = state.waiting.len().min(most.max(1));
            let messages = state.waiting.drain(..count).collect();
            drop(state);
            if full {
                self.0.room.notify_one();
            }
            return Some(Ok(messages));
        }
        state.end.map(Err)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.left = true;
        state.waiting.clear();
        drop(state);
        self.0.room.notify_one();
    }
}

/// Emits events at a moment.
#[derive(Clone, Copy)]
pub struct EventEmitter<'a> {
    /// The deviations that are on.
    pub deviations: &'a Deviations,
    /// The present time of the model.
    pub now: Duration,
}

impl EventEmitter<'_> {
    /// Tells these subscribers of an event of a session. `session_id` is added where it is not there.
    pub fn emit(&self, session: &str, senders: &[FeedSender], event: &str, data: Value) {
        self.emit_marked(session, senders, event, data, None);
    }

    /// Emits an event that a flaw made wrong: `why` is the flaw.
    pub fn emit_marked(&self, session: &str, senders: &[FeedSender], event: &str, data: Value, why: Why) {
        if senders.is_empty() {
            return;
        }
        let mut members = serde_json::Map::new();
        if data.get("session_id").is_none() {
            members.insert("session_id".to_owned(), session.into());
        }
        if let Value::Object(data) = data {
            members.extend(data);
        }
        let mut messages = vec![json!({"event": event, "data": members})];
        let changed = if self.deviations.is_empty() { None } else { self.deviations.messages(event, &mut messages) };
        for message in messages {
            let message = Arc::new(FeedMessage {
                event: message["event"].as_str().unwrap_or_default().to_owned(),
                json: message.to_string(),
                at: self.now,
                why: marked(changed, why),
            });
            senders.iter().for_each(|sender| sender.send(message.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(n: usize) -> Arc<FeedMessage> {
        Arc::new(FeedMessage { event: String::new(), json: n.to_string(), at: Duration::ZERO, why: None })
    }

    fn numbers(messages: &[Arc<FeedMessage>]) -> Vec<usize> {
        messages.iter().map(|message| message.json.parse().unwrap()).collect()
    }

    #[tokio::test]
    async fn what_was_put_in_comes_out_in_order_and_then_the_end() {
        let (sender, mut feed) = feed();
        (0..5).for_each(|n| sender.send(numbered(n)));
        sender.end(FeedEnd::Over);
        sender.send(numbered(9));
        assert_eq!(numbers(&feed.next(3).await.unwrap()), [0, 1, 2]);
        assert_eq!(numbers(&feed.next(3).await.unwrap()), [3, 4]);
        assert_eq!(feed.next(3).await, Err(FeedEnd::Over));
    }

    #[tokio::test]
    async fn a_full_queue_has_room_again_when_something_is_taken_or_nobody_is_there() {
        let (sender, mut taken) = feed();
        (0..HIGH).for_each(|n| sender.send(numbered(n)));
        assert!(sender.is_full());
        tokio::join!(sender.room(), async { taken.next(1).await.unwrap() });
        assert!(!sender.is_full() && sender.is_live());
        drop(taken);
        sender.room().await;
        assert!(!sender.is_live());
    }

    #[test]
    fn a_slow_one_gets_nothing_more() {
        let (sender, mut slow) = feed();
        sender.send(numbered(1));
        sender.end(FeedEnd::Slow);
        assert_eq!(slow.try_next(1), Some(Err(FeedEnd::Slow)));
    }
}
