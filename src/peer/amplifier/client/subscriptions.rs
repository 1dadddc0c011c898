//! The subscriptions of a client: what each one goes over, and how its events reach the caller.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use crate::peer::deviation::Includes;
use crate::peer::deviation::websocket::FrameKind;
use crate::peer::driven::{ClientOutput, OutputWriter};
use crate::wire::http::Control;
use crate::wire::websocket::{FrameSpec, Sender};

use super::deviations::{AmplifierClientEffect, Deviations};
use super::request_client::RequestClient;

/// How long the end of a WebSocket may take.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// What a client can do otherwise where it reports events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionSwitch {
    /// The first option is taken without asking anybody.
    DecidesAlone,
    /// After many events no more are reported.
    StopsAfterMany,
    /// Of two events the later one is reported first.
    Swaps,
    /// Events are reported once the prompt is complete.
    HoldsUntilComplete,
    /// Before a `session:start` nothing is reported.
    NeedsStart,
    /// Events are reported once a prompt was answered.
    DeafBeforeAnswer,
    /// The events of the newest subscription alone are reported.
    OneStream,
    /// A prompt is posted again when its stream stands again.
    PromptsAgain,
    /// The last event is reported again when the stream stands again.
    TellsLastAgain,
    /// It does not tell how it stands.
    NoStates,
    /// Subscriptions have names.
    Named,
}

/// Every subscription that has not been ended, by its number.
#[derive(Default)]
pub struct Subscriptions(Mutex<SubscriptionTable>);

#[derive(Default)]
struct SubscriptionTable {
    last: u64,
    open: BTreeMap<u64, Subscription>,
}

/// A subscription: its connection, and the task that follows it.
pub struct Subscription {
    /// What it goes over.
    pub slot: ConnectionSlot,
    /// Who follows it.
    pub task: AbortHandle,
}

/// What a subscription goes over at the moment. Clones share it.
#[derive(Clone, Default)]
pub struct ConnectionSlot(Arc<Mutex<Connection>>);

/// What a subscription goes over.
#[derive(Clone, Default)]
pub enum Connection {
    /// Nothing, for now or for ever.
    #[default]
    None,
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
    pub fn connection(&self, number: u64) -> Option<Connection> {
        self.lock().open.get(&number).map(|subscription| subscription.slot.connection())
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

    fn lock(&self) -> MutexGuard<'_, SubscriptionTable> {
        self.0.lock()
    }
}

impl Subscription {
    /// Ends it in an orderly way, but for what deviations do to a close frame.
    pub async fn end(self, requester: Arc<RequestClient>) {
        self.task.abort();
        match self.slot.connection() {
            Connection::None => {}
            Connection::Stream(control) => control.close(None).await,
            Connection::Socket(sender) => close(&requester, &sender).await,
        }
    }
}

impl ConnectionSlot {
    /// Notes that the subscription goes over this event stream now.
    pub fn set_stream(&self, control: Control) {
        *self.lock() = Connection::Stream(control);
    }

    /// Notes that the subscription goes over this WebSocket.
    pub fn set_socket(&self, sender: Sender) {
        *self.lock() = Connection::Socket(sender);
    }

    /// Notes that the subscription has no connection any more.
    pub fn clear(&self) {
        *self.lock() = Connection::None;
    }

    fn connection(&self) -> Connection {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock()
    }
}

/// Closes a WebSocket as RFC 6455 section 7.1 has it, or without the server where it does not answer.
async fn close(requester: &RequestClient, sender: &Sender) {
    for (frame, flaw) in requester.deviations.frames(FrameKind::Close, FrameSpec::close(Some(1000), "")) {
        // A server that is gone needs no goodbye.
        let _ = sender.send_unless_closing(&frame, flaw).await;
    }
    if timeout(CLOSE_TIMEOUT, sender.ended()).await.is_err() {
        sender.shutdown().await;
    }
}

/// How long a flaw holds an event back, hoping for the next one.
const SWAP_WINDOW: Duration = Duration::from_millis(50);
/// How many events a flaw reports before it has no room.
const MAX_EVENTS: u64 = 10_000;

/// Reports the events of one subscription to the caller.
pub struct EventReporter {
    requester: Arc<RequestClient>,
    output: OutputWriter,
    session: String,
    number: u64,
    /// What is held back by a flaw, and since when.
    pending: Vec<Value>,
    pending_since: Option<Instant>,
    last: Option<Value>,
    count: u64,
    started: bool,
    /// The session has ended.
    ended: bool,
    /// A flaw has given it up.
    given_up: bool,
}

impl EventReporter {
    /// For a subscription of this number to a session.
    pub fn new(requester: Arc<RequestClient>, output: OutputWriter, session: String, number: u64) -> Self {
        let (pending, pending_since, last, count) = (vec![], None, None, 0);
        let (started, ended, given_up) = (false, false, false);
        Self { requester, output, session, number, pending, pending_since, last, count, started, ended, given_up }
    }

    fn deviations(&self) -> &Deviations {
        &self.requester.deviations
    }

    fn has<K: PartialEq>(&self, switch: K) -> bool
    where
        AmplifierClientEffect: Includes<K>,
    {
        self.deviations().has(switch)
    }

    /// The session that is followed.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Whether the session has ended.
    pub fn session_ended(&self) -> bool {
        self.ended
    }

    /// Gives the subscription up: no more events are reported.
    pub fn give_up(&mut self) {
        self.given_up = true;
    }

    /// When events that are held back are due at the latest.
    pub fn release_at(&self) -> Option<Instant> {
        self.pending_since
            .filter(|_| self.has(SubscriptionSwitch::Swaps))
            .map(|pending_since| pending_since + SWAP_WINDOW)
    }

    /// Reports the state of the subscription.
    pub async fn report_state(&self, state: &str) {
        if !self.has(SubscriptionSwitch::NoStates) {
            self.output.line(json!({"state": state})).await;
        }
    }

    /// A message came: an event, where it is one.
    pub async fn receive(&mut self, mut message: Value) {
        if self
            .deviations()
            .any(|effect| matches!(effect, AmplifierClientEffect::EndsAtMessage(ends) if ends(&message)))
        {
            self.given_up = true;
        }
        let Some(name) = name(&message) else { return };
        self.started |= name == "session:start";
        self.ended |= name == "session:end";
        if name == "approval:required" && self.has(SubscriptionSwitch::DecidesAlone) {
            let (requester, session, approval) = (self.requester.clone(), self.session.clone(), message.clone());
            tokio::spawn(async move { requester.decide_alone(&session, &approval).await });
        }
        let drops =
            self.deviations().any(|effect| matches!(effect, AmplifierClientEffect::Drops(drops) if drops(&message)));
        let other =
            self.has(SubscriptionSwitch::OneStream) && self.requester.memory.lock().newest_subscription != self.number;
        let early = self.has(SubscriptionSwitch::NeedsStart) && !self.started;
        let unanswered =
            self.has(SubscriptionSwitch::DeafBeforeAnswer) && self.requester.memory.lock().pending_prompts > 0;
        if self.given_up || drops || other || early || unanswered {
            return;
        }
        self.count += 1;
        if self.has(SubscriptionSwitch::StopsAfterMany) && self.count > MAX_EVENTS {
            return;
        }
        let change = |effect| if let AmplifierClientEffect::Message(change) = effect { Some(change) } else { None };
        self.deviations().rewrite(&mut message, change);
        let complete = matches!(self::name(&message), Some("prompt:complete" | "session:end"));
        if self.has(SubscriptionSwitch::Swaps) {
            self.pending.insert(0, message);
            self.pending_since.get_or_insert_with(Instant::now);
            if self.pending.len() == 2 {
                self.release().await;
            }
        } else if self.has(SubscriptionSwitch::HoldsUntilComplete) {
            self.pending.push(message);
            if complete {
                self.release().await;
            }
        } else {
            self.report(message).await;
        }
    }

    /// Reports the events that are held back.
    pub async fn release(&mut self) {
        self.pending_since = None;
        for message in std::mem::take(&mut self.pending) {
            self.report(message).await;
        }
    }

    /// The stream is connected again.
    pub async fn reconnected(&mut self) {
        if self.has(SubscriptionSwitch::TellsLastAgain)
            && let Some(message) = self.last.clone()
        {
            self.report(message).await;
        }
        if self.has(SubscriptionSwitch::PromptsAgain) {
            let (requester, session) = (self.requester.clone(), self.session.clone());
            tokio::spawn(async move { requester.prompt_again(&session).await });
        }
    }

    /// A flaw makes the client respond to no calls any more.
    pub fn stop_responding(&self) {
        self.requester.memory.calls.stop_responding();
    }

    /// A flaw makes the client die.
    pub async fn exit(&self) {
        self.output.say(ClientOutput::Died).await;
    }

    async fn report(&mut self, message: Value) {
        if self.has(SubscriptionSwitch::TellsLastAgain) {
            self.last = Some(message.clone());
        }
        let subscription = subscription(self.deviations(), self.number);
        let line = match message {
            Value::Object(mut members) => {
                let (event, data) = (members.remove("event"), members.remove("data"));
                json!({"event": event, "data": data, "subscription": subscription})
            }
            _ => return,
        };
        self.output.line(line).await;
    }
}

/// The name of an event; none where it is no event.
fn name(message: &Value) -> Option<&str> {
    message.get("event").and_then(Value::as_str)
}

/// How the caller names a subscription.
pub fn subscription(deviations: &Deviations, number: u64) -> Value {
    if deviations.has(SubscriptionSwitch::Named) { format!("subscription-{number}").into() } else { number.into() }
}
