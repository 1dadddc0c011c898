//! The subscriptions of a client, and ending them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::wire::http::Control;
use crate::wire::websocket::{FrameSpec, Sender};

/// How long the end of a WebSocket may take.
const GOODBYE: Duration = Duration::from_millis(500);

/// Every subscription that has not been ended, by its number.
#[derive(Default)]
pub struct Subscriptions(Mutex<State>);

#[derive(Default)]
struct State {
    last: u64,
    open: BTreeMap<u64, Subscription>,
}

/// One subscription.
pub struct Subscription {
    /// What it goes over.
    pub line: Line,
    /// Who follows it.
    pub task: AbortHandle,
}

/// What a subscription goes over at the moment. Clones share it.
#[derive(Clone, Default)]
pub struct Line(Arc<Mutex<Over>>);

/// What a subscription goes over.
#[derive(Clone, Default)]
pub enum Over {
    /// Nothing, for now or for ever.
    #[default]
    Nothing,
    /// An event stream.
    Stream(Control),
    /// A WebSocket.
    Socket(Sender),
}

impl Subscriptions {
    /// The number of a new subscription.
    pub fn number(&self) -> u64 {
        let mut state = self.lock();
        state.last += 1;
        state.last
    }

    /// Keeps a subscription.
    pub fn keep(&self, number: u64, subscription: Subscription) {
        self.lock().open.insert(number, subscription);
    }

    /// What one goes over; none where there is no such subscription.
    pub fn over(&self, number: u64) -> Option<Over> {
        self.lock().open.get(&number).map(|subscription| subscription.line.over())
    }

    /// Whether there are any.
    pub fn any(&self) -> bool {
        !self.lock().open.is_empty()
    }

    /// Takes one out, to end it.
    pub fn take(&self, number: u64) -> Option<Subscription> {
        self.lock().open.remove(&number)
    }

    /// Takes all of them.
    pub fn take_all(&self) -> Vec<Subscription> {
        std::mem::take(&mut self.lock().open).into_values().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    /// Ends it in an orderly way.
    pub async fn end(self) {
        self.task.abort();
        match self.line.over() {
            Over::Nothing => {}
            Over::Stream(control) => control.close(None).await,
            Over::Socket(sender) => close(&sender).await,
        }
    }
}

impl Line {
    /// It goes over this stream now.
    pub fn hold_stream(&self, control: Control) {
        *self.lock() = Over::Stream(control);
    }

    /// It goes over this WebSocket.
    pub fn hold_socket(&self, sender: Sender) {
        *self.lock() = Over::Socket(sender);
    }

    /// It goes over nothing any more.
    pub fn clear(&self) {
        *self.lock() = Over::Nothing;
    }

    fn over(&self) -> Over {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Over> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes a WebSocket as RFC 6455 section 7.1 has it, or without the server where it does not answer.
async fn close(sender: &Sender) {
    // A server that is gone needs no goodbye.
    let _ = sender.send_unless_closing(&FrameSpec::close(Some(1000), ""), None).await;
    if timeout(GOODBYE, sender.ended()).await.is_err() {
        sender.shutdown().await;
    }
}
