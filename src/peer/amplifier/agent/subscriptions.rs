//! The subscriptions of a client: what each one goes over, and how its events reach the caller.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use crate::peer::driven::{ClientOutput, OutputWriter};
use crate::wire::http::Control;
use crate::wire::websocket::{FrameSpec, Sender};

use super::quirks::{Effect, Quirks, Switch};
use super::request::RequestClient;

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

/// How long a flaw holds an event back, hoping for the next one.
const HOLD: Duration = Duration::from_millis(50);
/// How many events a flaw tells before it has no room.
const MANY: u64 = 20_000;

/// Tells of one subscription.
pub struct Ears {
    asker: Arc<RequestClient>,
    teller: OutputWriter,
    session: String,
    number: u64,
    /// What is held back by a flaw, and since when.
    held: Vec<Value>,
    since: Option<Instant>,
    last: Option<Value>,
    count: u64,
    started: bool,
    /// The session has ended.
    ended: bool,
    /// A flaw has given it up.
    given_up: bool,
}

impl Ears {
    /// For a subscription of this number to a session.
    pub fn new(asker: Arc<RequestClient>, teller: OutputWriter, session: String, number: u64) -> Self {
        let (held, since, last, count) = (vec![], None, None, 0);
        let (started, ended, given_up) = (false, false, false);
        Self { asker, teller, session, number, held, since, last, count, started, ended, given_up }
    }

    fn quirks(&self) -> &Quirks {
        &self.asker.quirks
    }

    fn has(&self, switch: Switch) -> bool {
        self.quirks().has(switch)
    }

    /// The session that is followed.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Whether the session has ended.
    pub fn session_ended(&self) -> bool {
        self.ended
    }

    /// Gives the subscription up: nothing more is told.
    pub fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Until when something is held back at most.
    pub fn wake(&self) -> Option<Instant> {
        self.since.filter(|_| self.has(Switch::Swaps)).map(|since| since + HOLD)
    }

    /// How the subscription stands.
    pub async fn state(&self, state: &str) {
        if !self.has(Switch::NoStates) {
            self.teller.line(json!({"state": state})).await;
        }
    }

    /// A message came: an event, where it is one.
    pub async fn hear(&mut self, mut message: Value) {
        if self.quirks().any(|effect| matches!(effect, Effect::EndsAtMessage(ends) if ends(&message))) {
            self.given_up = true;
        }
        let Some(name) = name(&message) else { return };
        self.started |= name == "session:start";
        self.ended |= name == "session:end";
        if name == "approval:required" && self.has(Switch::DecidesAlone) {
            let (asker, session, approval) = (self.asker.clone(), self.session.clone(), message.clone());
            tokio::spawn(async move { asker.decide_alone(&session, &approval).await });
        }
        let drops = self.quirks().any(|effect| matches!(effect, Effect::Drops(drops) if drops(&message)));
        let other = self.has(Switch::OneStream) && self.asker.memory.lock().newest != self.number;
        let early = self.has(Switch::NeedsStart) && !self.started;
        let unanswered = self.has(Switch::DeafBeforeAnswer) && self.asker.memory.lock().posting > 0;
        if self.given_up || drops || other || early || unanswered {
            return;
        }
        self.count += 1;
        if self.has(Switch::StopsAfterMany) && self.count > MANY {
            return;
        }
        let change = |effect| if let Effect::Message(change) = effect { Some(change) } else { None };
        self.quirks().rewrite(&mut message, change);
        let complete = matches!(self::name(&message), Some("prompt:complete" | "session:end"));
        if self.has(Switch::Swaps) {
            self.held.insert(0, message);
            self.since.get_or_insert_with(Instant::now);
            if self.held.len() == 2 {
                self.release().await;
            }
        } else if self.has(Switch::HoldsUntilComplete) {
            self.held.push(message);
            if complete {
                self.release().await;
            }
        } else {
            self.tell(message).await;
        }
    }

    /// Tells what is held back.
    pub async fn release(&mut self) {
        self.since = None;
        for message in std::mem::take(&mut self.held) {
            self.tell(message).await;
        }
    }

    /// The stream stands again.
    pub async fn again(&mut self) {
        if self.has(Switch::TellsLastAgain)
            && let Some(message) = self.last.clone()
        {
            self.tell(message).await;
        }
        if self.has(Switch::PromptsAgain) {
            let (asker, session) = (self.asker.clone(), self.session.clone());
            tokio::spawn(async move { asker.prompt_again(&session).await });
        }
    }

    /// A flaw makes the client answer nothing any more.
    pub fn deafen(&self) {
        self.asker.memory.lock().deaf = true;
    }

    /// A flaw makes the client die.
    pub async fn die(&self) {
        self.teller.say(ClientOutput::Died).await;
    }

    async fn tell(&mut self, message: Value) {
        if self.has(Switch::TellsLastAgain) {
            self.last = Some(message.clone());
        }
        let subscription = subscription(self.quirks(), self.number);
        let line = match message {
            Value::Object(mut members) => {
                let (event, data) = (members.remove("event"), members.remove("data"));
                json!({"event": event, "data": data, "subscription": subscription})
            }
            _ => return,
        };
        self.teller.line(line).await;
    }
}

/// The name of an event; none where it is no event.
fn name(message: &Value) -> Option<&str> {
    message.get("event").and_then(Value::as_str)
}

/// How the caller names a subscription.
pub fn subscription(quirks: &Quirks, number: u64) -> Value {
    if quirks.has(Switch::NamedSubscriptions) { format!("subscription-{number}").into() } else { number.into() }
}
