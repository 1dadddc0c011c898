//! Telling the caller what a subscription brings, whichever way it came.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::peer::driven::{ClientOutput, OutputWriter};

use super::ask::RequestClient;
use super::quirks::{Effect, Quirks, Switch};

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
