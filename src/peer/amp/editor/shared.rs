//! What the connections of a mock editor share.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use crate::trace::Recorder;

use super::edition::Topic;
use super::model::{Editor, Notice};
use super::outgoing::Outgoing;
use super::quirks::{Quirks, Switch, Trigger};
use super::service::Handled;

/// How many messages may wait for a client that does not read. One with more is cut off.
const WAITING: usize = 256;
/// How long a command waits for clients that do not read.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many ids of a client a flaw remembers.
const IDS: usize = 10_000;

/// The editor, its clients, and whether it goes on. Cheap to clone.
#[derive(Clone)]
pub struct Shared(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    phase: watch::Sender<Phase>,
    recorder: Recorder,
}

/// Whether the server goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It serves.
    Serving,
    /// A flaw made it stop serving; it does not know.
    Hung,
    /// It was told to quit.
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

struct State {
    editor: Editor,
    clients: Vec<Client>,
    next: u64,
    notices: Vec<(Topic, u64)>,
}

struct Client {
    number: u64,
    outbox: mpsc::Sender<Order>,
    /// Ids of requests, for a flaw that mixes up connections.
    ids: HashSet<String>,
}

/// Something for a connection to send.
pub struct Order {
    /// What.
    pub message: Outgoing,
    /// Whom to tell when it is sent.
    pub done: Option<oneshot::Sender<()>>,
}

impl Shared {
    pub fn new(editor: Editor, recorder: Recorder) -> Self {
        let state = State { editor, clients: vec![], next: 0, notices: vec![] };
        Self(Arc::new(Inner { state: Mutex::new(state), phase: watch::Sender::new(Phase::Serving), recorder }))
    }

    pub fn recorder(&self) -> &Recorder {
        &self.0.recorder
    }

    /// The quirks as they are now.
    pub fn quirks(&self) -> Quirks {
        self.state().editor.quirks.clone()
    }

    pub fn token(&self) -> String {
        self.state().editor.token.clone()
    }

    /// How many clients are served.
    pub fn clients(&self) -> usize {
        self.state().clients.len()
    }

    /// Watches whether the server goes on.
    pub fn phase(&self) -> watch::Receiver<Phase> {
        self.0.phase.subscribe()
    }

    /// Goes on to a later phase; there is no way back.
    pub fn enter(&self, phase: Phase) {
        self.0.phase.send_if_modified(|now| {
            let later = phase > *now;
            if later {
                *now = phase;
            }
            later
        });
    }

    /// Something happened that a fragile server does not survive.
    pub fn trigger(&self, trigger: Trigger) {
        let (hangs, dies) = {
            let state = self.state();
            let quirks = &state.editor.quirks;
            (quirks.has(Switch::HangsAfter(trigger)), trigger == Trigger::BadJson && quirks.has(Switch::Dies))
        };
        if dies {
            self.enter(Phase::Died);
        } else if hangs {
            self.enter(Phase::Hung);
        }
    }

    /// A client was let in: from now on it gets what all get. The first messages are those that tell it how things are.
    pub fn join(&self) -> (u64, mpsc::Receiver<Order>) {
        let mut state = self.state();
        let (outbox, orders) = mpsc::channel(WAITING);
        state.next += 1;
        let number = state.next;
        for notice in state.editor.greeting() {
            if let Some(message) = state.editor.notification(&notice) {
                let _ = outbox.try_send(Order { message, done: None });
            }
        }
        state.clients.push(Client { number, outbox, ids: HashSet::new() });
        (number, orders)
    }

    /// A client is gone.
    pub fn leave(&self, number: u64) {
        self.state().clients.retain(|c| c.number != number);
    }

    /// Serves a message of a client. What it brings about for others is on its way then.
    pub fn serve(&self, number: u64, bytes: &[u8]) -> Handled {
        let mut state = self.state();
        let mut handled = state.editor.handle(bytes);
        for notice in &handled.notices {
            state.notify(notice);
        }
        if state.editor.quirks.has(Switch::AnswersEverybody) {
            for client in state.clients.iter().filter(|c| c.number != number) {
                for message in &handled.answers {
                    let _ = client.outbox.try_send(Order { message: message.clone(), done: None });
                }
            }
        }
        if state.editor.quirks.has(Switch::IdsAcrossConnections) {
            state.misroute(number, &mut handled);
        }
        handled
    }

    /// Changes the editor, and notifies clients of what the change gives. Returns once they have been sent that, or it
    /// is clear that they do not read.
    pub async fn steer<T>(
        &self,
        change: impl FnOnce(&mut Editor) -> Result<(T, Vec<Notice>), String>,
    ) -> Result<T, String> {
        let (given, waits) = {
            let mut state = self.state();
            let (given, notices) = change(&mut state.editor)?;
            let repeats = state.editor.quirks.has(Switch::RepeatsNotifications);
            let mut waits = vec![];
            for notice in &notices {
                for _ in 0..if repeats { 2 } else { 1 } {
                    waits.extend(state.notify(notice));
                }
            }
            (given, waits)
        };
        let deadline = Instant::now() + PATIENCE;
        for wait in waits {
            // A client that went away in the meantime drops its end, which is as good.
            if timeout_at(deadline, wait).await.is_err() {
                self.trigger(Trigger::SilentClient);
            }
        }
        Ok(given)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Sends a notice to every client; gives what tells when it is sent.
    fn notify(&mut self, notice: &Notice) -> Vec<oneshot::Receiver<()>> {
        let topic = notice.topic();
        let count = match self.notices.iter_mut().find(|(t, _)| *t == topic) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                self.notices.push((topic, 0));
                0
            }
        };
        let Some(message) = self.editor.notification(notice) else { return vec![] };
        let mut waits = vec![];
        let editor = &self.editor;
        let mut place = 0;
        self.clients.retain(|client| {
            let reached = editor.reaches(topic, place, count);
            place += 1;
            if !reached {
                return true;
            }
            let (done, wait) = oneshot::channel();
            let sent = client.outbox.try_send(Order { message: message.clone(), done: Some(done) });
            if sent.is_ok() {
                waits.push(wait);
            }
            // Dropping the outbox of one that does not read ends its connection.
            sent.is_ok()
        });
        waits
    }

    /// The flaw that takes ids for unique among all clients: the answer goes to whoever used the id first.
    fn misroute(&mut self, number: u64, handled: &mut Handled) {
        let Value::String(id) = &handled.id else { return };
        let other = self.clients.iter().find(|c| c.number != number && c.ids.contains(id));
        if let Some(other) = other {
            for message in handled.answers.drain(..) {
                let _ = other.outbox.try_send(Order { message, done: None });
            }
        } else if let Some(own) = self.clients.iter_mut().find(|c| c.number == number)
            && own.ids.len() < IDS
        {
            own.ids.insert(id.clone());
        }
    }
}
