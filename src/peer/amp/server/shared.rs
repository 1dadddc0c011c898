//! What the connections of an editor share: the editor itself, its clients, and what is to be sent to them ([`SharedServer`]).

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, broadcast, mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use crate::peer::amp::editor::deviations::EditorDeviations;
use crate::peer::amp::editor::model::{Editor, Notification};
use crate::peer::amp::editor::outgoing::Outgoing;
use crate::peer::amp::editor::request::HandledMessage;
use crate::peer::{Latency, MockEvent};
use crate::protocol::amp::editions::AmpEdition;
use crate::trace::Recorder;

use super::handshake::ConnectionCount;

/// How many messages may wait for a client that does not read. One with more is cut off.
const MAX_QUEUED: usize = 256;
/// How many bytes of messages may. A longer message waits alone.
const MAX_QUEUED_BYTES: u32 = 64 << 20;
/// How long a command waits for clients that do not read.
const STEER_TIMEOUT: Duration = Duration::from_secs(2);
/// How many events may wait for a subscriber.
const MAX_EVENTS: usize = 1024;
/// How many ids of a client a flaw remembers.
const MAX_IDS: usize = 10_000;

/// What an editor can do otherwise that concerns all of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedSwitch {
    /// Answers go to every client.
    AnswersEverybody,
    /// An id is taken for unique: the response goes to the client that used it first.
    IdsAcrossConnections,
    /// Notifications are sent twice.
    RepeatsNotifications,
    /// A message that is no JSON makes the editor exit.
    Dies,
    /// After this trigger nobody is served any more.
    HangsAfter(Trigger),
}

/// A trigger that makes a fragile server stop serving everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A message that is no JSON.
    BadJson,
    /// JSON that is no request.
    BadEnvelope,
    /// A request with bad parameters.
    BadParams,
    /// A binary message.
    Binary,
    /// JSON that is nested deeply.
    DeepJson,
    /// A huge message.
    HugeMessage,
    /// A frame that breaks the RFC.
    BadFrame,
    /// A frame that announces an absurd length.
    HugeLength,
    /// A frame that is not whole.
    HalfFrame,
    /// A connection that is reset.
    Reset,
    /// A handshake that is no right one.
    BadHandshake,
    /// An endless handshake.
    HugeHead,
    /// Very many requests.
    Flood,
}

/// The editor, its clients, and whether it goes on. Cheap to clone.
#[derive(Clone)]
pub struct SharedServer {
    server: Arc<ServerState>,
    /// The phase of the server between one start and the next.
    phase: Arc<watch::Sender<Phase>>,
}

/// The state that outlives a restart.
struct ServerState {
    state: Mutex<EditorState>,
    recorder: Recorder,
    /// For a flaw that answers one client at a time.
    turn: Arc<Turn<()>>,
    latency: Option<Latency>,
    /// How many connections there have been.
    connections: AtomicU64,
    happenings: broadcast::Sender<MockEvent>,
    /// Receives every event from the beginning on, until the first subscriber takes it.
    first: Mutex<Option<broadcast::Receiver<MockEvent>>>,
}

/// Whether the server goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The server serves.
    Serving,
    /// A flaw made it stop serving; it does not know.
    Hung,
    /// The server has received the command to quit.
    Quit,
    /// A flaw made it die.
    Died,
    /// Connections are to be ended.
    Closing,
}

/// Returns once this phase, or a later one, is reached.
pub async fn reached(phase: &mut watch::Receiver<Phase>, wanted: Phase) {
    // The sender lives as long as anybody who waits. What is given would hold a lock.
    let _ = phase.wait_for(|now| *now >= wanted).await;
}

struct EditorState {
    editor: Editor,
    clients: Vec<ConnectedClient>,
    next: u64,
    /// Whether a client that was served is gone.
    had_client: bool,
}

struct ConnectedClient {
    number: u64,
    outbox: Outbox,
    /// Ids of requests, for a flaw that mixes up connections.
    ids: HashSet<String>,
}

/// A message for a connection to send.
pub struct SendOrder {
    /// The message.
    pub message: Outgoing,
    /// Notified when the message is sent.
    pub done: Option<oneshot::Sender<()>>,
    /// Its share of what may wait, until it is sent.
    pub share: OwnedSemaphorePermit,
}

/// Where what is to be sent to a client waits, bounded in number and bytes.
struct Outbox {
    orders: mpsc::Sender<SendOrder>,
    room: Arc<Semaphore>,
}

impl Outbox {
    fn new() -> (Self, mpsc::Receiver<SendOrder>) {
        let (orders, receiver) = mpsc::channel(MAX_QUEUED);
        (Self { orders, room: Arc::new(Semaphore::new(MAX_QUEUED_BYTES as usize)) }, receiver)
    }

    /// Lets a message wait to be sent. Gives whether there was room.
    fn put(&self, message: Outgoing, done: Option<oneshot::Sender<()>>) -> bool {
        let share = u32::try_from(message.bytes.len()).unwrap_or(MAX_QUEUED_BYTES).min(MAX_QUEUED_BYTES);
        let Ok(share) = Arc::clone(&self.room).try_acquire_many_owned(share) else { return false };
        self.orders.try_send(SendOrder { message, done, share }).is_ok()
    }
}

impl SharedServer {
    pub fn new(editor: Editor, recorder: Recorder, latency: Option<Latency>) -> Self {
        let state = EditorState { editor, clients: vec![], next: 0, had_client: false };
        let (happenings, first) = broadcast::channel(MAX_EVENTS);
        let server = ServerState {
            state: Mutex::new(state),
            recorder,
            turn: Arc::default(),
            latency,
            connections: AtomicU64::new(0),
            happenings,
            first: Mutex::new(Some(first)),
        };
        Self { server: Arc::new(server), phase: Arc::new(watch::Sender::new(Phase::Serving)) }
    }

    /// The same editor for a server that starts anew, with another secret.
    pub fn renewed(&self, token: String) -> Self {
        let mut state = self.state();
        state.editor.token = token;
        state.had_client = false;
        Self { server: self.server.clone(), phase: Arc::new(watch::Sender::new(Phase::Serving)) }
    }

    pub fn recorder(&self) -> &Recorder {
        &self.server.recorder
    }

    /// How messages to clients are held up.
    pub fn latency(&self) -> Option<Latency> {
        self.server.latency
    }

    /// The number of a new connection, from 1.
    pub fn count_connection(&self) -> u64 {
        self.server.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Subscribes to the events of clients: the first subscriber gets them from the beginning on, others from now on.
    pub fn happenings(&self) -> broadcast::Receiver<MockEvent> {
        let first = self.server.first.lock().take();
        first.unwrap_or_else(|| self.server.happenings.subscribe())
    }

    /// Publishes what a client did.
    pub fn publish(&self, event: MockEvent) {
        // There may be no subscriber.
        let _ = self.server.happenings.send(event);
    }

    /// The deviations as they are now.
    pub fn deviations(&self) -> EditorDeviations {
        self.state().editor.deviations.clone()
    }

    /// The edition that the editor speaks.
    pub fn edition(&self) -> &'static AmpEdition {
        self.state().editor.edition
    }

    /// The secret that clients have to show.
    pub fn token(&self) -> String {
        self.state().editor.token.clone()
    }

    /// Waits until no other client is being answered.
    pub async fn turn(&self) -> OwnedMutexGuard<()> {
        self.server.turn.clone().lock_owned().await
    }

    /// How many clients are served.
    pub fn clients(&self) -> usize {
        self.state().clients.len()
    }

    /// The number of clients when another one comes.
    pub fn connection_count(&self) -> ConnectionCount {
        let state = self.state();
        ConnectionCount { now: state.clients.len(), before: state.had_client }
    }

    /// Watches whether the server goes on.
    pub fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Goes on to a later phase; there is no way back.
    pub fn enter(&self, phase: Phase) {
        self.phase.send_if_modified(|now| {
            let later = phase > *now;
            if later {
                *now = phase;
            }
            later
        });
    }

    /// Reports a trigger that a fragile server does not survive.
    pub fn trigger(&self, trigger: Trigger) {
        let (hangs, dies) = {
            let state = self.state();
            let deviations = &state.editor.deviations;
            (
                deviations.has(SharedSwitch::HangsAfter(trigger)),
                trigger == Trigger::BadJson && deviations.has(SharedSwitch::Dies),
            )
        };
        if dies {
            self.enter(Phase::Died);
        } else if hangs {
            self.enter(Phase::Hung);
        }
    }

    /// Adds a client that was accepted: from now on it gets all notifications. The first messages have the present
    /// state.
    pub fn join(&self) -> (u64, mpsc::Receiver<SendOrder>) {
        let mut state = self.state();
        let (outbox, orders) = Outbox::new();
        state.next += 1;
        let number = state.next;
        for notification in state.editor.initial_notifications() {
            if let Some(message) = state.editor.notification(&notification) {
                outbox.put(message, None);
            }
        }
        state.clients.push(ConnectedClient { number, outbox, ids: HashSet::new() });
        drop(state);
        self.publish(MockEvent::Connected);
        (number, orders)
    }

    /// Removes a client that has gone.
    pub fn leave(&self, number: u64) {
        let mut state = self.state();
        state.clients.retain(|c| c.number != number);
        state.had_client = true;
        drop(state);
        self.publish(MockEvent::Disconnected);
    }

    /// Serves a message of a client, and queues the notifications that it causes for others.
    pub fn serve(&self, number: u64, bytes: &[u8]) -> HandledMessage {
        let mut state = self.state();
        let mut handled = state.editor.handle(bytes);
        for notification in &handled.notifications {
            state.notify(notification);
        }
        if state.editor.deviations.has(SharedSwitch::AnswersEverybody) {
            for client in state.clients.iter().filter(|c| c.number != number) {
                for message in &handled.responses {
                    client.outbox.put(message.clone(), None);
                }
            }
        }
        if state.editor.deviations.has(SharedSwitch::IdsAcrossConnections) {
            state.misroute(number, &mut handled);
        }
        handled
    }

    /// Changes the editor, and notifies clients of what the change gives. Returns once they have been sent that, or it
    /// is clear that they do not read.
    pub async fn steer<T>(
        &self,
        change: impl FnOnce(&mut Editor) -> Result<(T, Vec<Notification>), String>,
    ) -> Result<T, String> {
        let (given, waits) = {
            let mut state = self.state();
            let (given, notifications) = change(&mut state.editor)?;
            let repeats = state.editor.deviations.has(SharedSwitch::RepeatsNotifications);
            let mut waits = vec![];
            for notification in &notifications {
                for _ in 0..if repeats { 2 } else { 1 } {
                    waits.extend(state.notify(notification));
                }
            }
            (given, waits)
        };
        let deadline = Instant::now() + STEER_TIMEOUT;
        for wait in waits {
            // A client that went away in the meantime drops its end, which is as good.
            let _ = timeout_at(deadline, wait).await;
        }
        Ok(given)
    }

    fn state(&self) -> MutexGuard<'_, EditorState> {
        self.server.state.lock()
    }
}

impl EditorState {
    /// Sends a notification to every client; gives receivers that resolve when it is sent.
    fn notify(&mut self, notification: &Notification) -> Vec<oneshot::Receiver<()>> {
        let topic = notification.topic();
        let Some(message) = self.editor.notification(notification) else { return vec![] };
        let mut waits = vec![];
        let editor = &self.editor;
        let mut place = 0;
        self.clients.retain(|client| {
            let reached = editor.reaches(topic, place);
            place += 1;
            if !reached {
                return true;
            }
            let (done, wait) = oneshot::channel();
            let sent = client.outbox.put(message.clone(), Some(done));
            if sent {
                waits.push(wait);
            }
            // Dropping the outbox of one that does not read ends its connection.
            sent
        });
        waits
    }

    /// The flaw that takes ids for unique among all clients: the response goes to whoever used the id first.
    fn misroute(&mut self, number: u64, handled: &mut HandledMessage) {
        let Value::String(id) = &handled.id else { return };
        let other = self.clients.iter().find(|c| c.number != number && c.ids.contains(id));
        if let Some(other) = other {
            for message in handled.responses.drain(..) {
                other.outbox.put(message, None);
            }
        } else if let Some(own) = self.clients.iter_mut().find(|c| c.number == number)
            && own.ids.len() < MAX_IDS
        {
            own.ids.insert(id.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(length: usize) -> Outgoing {
        Outgoing { bytes: vec![b' '; length], deliberate: None }
    }

    #[test]
    fn what_waits_for_a_client_that_does_not_read_is_bounded_in_bytes() {
        let (outbox, mut orders) = Outbox::new();
        let half = (MAX_QUEUED_BYTES / 2) as usize;
        assert!(outbox.put(message(half), None) && outbox.put(message(half), None));
        assert!(!outbox.put(message(1), None));
        drop(orders.try_recv());
        assert!(outbox.put(message(half), None));
    }

    #[test]
    fn a_message_that_is_longer_than_what_may_wait_can_be_sent_alone() {
        let (outbox, mut orders) = Outbox::new();
        let long = MAX_QUEUED_BYTES as usize + 1;
        assert!(outbox.put(message(long), None) && !outbox.put(message(long), None));
        drop(orders.try_recv());
        assert!(outbox.put(message(long), None));
    }

    #[test]
    fn what_waits_for_a_client_that_does_not_read_is_bounded_in_number() {
        let (outbox, _orders) = Outbox::new();
        assert!((0..MAX_QUEUED).all(|_| outbox.put(message(1), None)));
        assert!(!outbox.put(message(1), None));
    }
}
