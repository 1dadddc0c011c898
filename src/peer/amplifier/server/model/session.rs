//! One session.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::super::quirks::Switch;
use super::super::script::Effect;
use super::Refusal;
use super::approvals::{Pending, Resolved};
use super::feed::{EventEmitter, Feed, FeedEnd, FeedMessage, FeedReceiver, feed};
use super::state::moment;
use super::work::Work;

/// How a session stands (section "Get Session Status").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is ready for prompts.
    Idle,
    /// It works on one.
    Processing,
    /// It waits for a decision.
    AwaitingApproval,
    /// Its last prompt failed.
    Error,
    /// It has ended.
    Stopped,
}

impl Status {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Processing => "processing",
            Self::AwaitingApproval => "awaiting_approval",
            Self::Error => "error",
            Self::Stopped => "stopped",
        }
    }
}

/// A session.
pub struct Session {
    /// Its id, a UUID.
    pub id: String,
    /// The profile that it was created with.
    pub profile: String,
    /// How it stands.
    pub status: Status,
    pub(super) key: String,
    pub(super) root: Option<String>,
    pub(super) created: Duration,
    pub(super) active: Duration,
    pub(super) messages: u64,
    pub(super) tokens: (u64, u64),
    pub(super) work: Option<Work>,
    pub(super) pending: Option<Pending>,
    /// The approval that came last, once it was decided.
    pub(super) resolved: Option<Resolved>,
    pub(super) wake: Arc<Notify>,
    pub(super) outlets: Vec<FeedReceiver>,
    /// Its last prompt.
    pub(super) prompt: Option<String>,
    /// What was guarded last, and the options that allow it.
    pub(super) guarded: Option<(Effect, Vec<String>)>,
    /// Why it takes no prompt, where that is told only then.
    pub(super) refusal: Option<Refusal>,
    /// It was stopped, and a flaw has it go on.
    pub(super) hidden: bool,
    /// How often it was subscribed to.
    pub(super) ever: u64,
    /// A delta that is held back from all but the first subscriber, as a flaw has it.
    held: Option<Value>,
}

impl Session {
    pub(super) fn new(profile: &str, key: String, root: Option<String>, now: Duration) -> Self {
        Self {
            id: uuid(),
            profile: profile.to_owned(),
            status: Status::Idle,
            key,
            root,
            created: now,
            active: now,
            messages: 0,
            tokens: (0, 0),
            work: None,
            pending: None,
            resolved: None,
            wake: Arc::default(),
            outlets: vec![],
            prompt: None,
            guarded: None,
            refusal: None,
            hidden: false,
            ever: 0,
            held: None,
        }
    }

    /// Whether it works on a prompt.
    pub fn is_busy(&self) -> bool {
        self.work.is_some()
    }

    /// How many messages there were.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// How many subscribers it has.
    pub fn subscribers(&self) -> usize {
        self.outlets.iter().filter(|outlet| outlet.is_live()).count()
    }

    /// As in a list, and in the answer to its creation.
    pub(super) fn brief(&self, started: Timestamp, status: &str) -> Value {
        json!({
            "session_id": self.id,
            "status": status,
            "profile": self.profile,
            "created_at": moment(started, self.created),
        })
    }

    /// All that the document has of its status.
    pub(super) fn describe(&self, started: Timestamp) -> Value {
        let mut told = self.brief(started, self.status.name());
        told["last_activity"] = moment(started, self.active).into();
        told["message_count"] = self.messages.into();
        told["token_usage"] = usage(self.tokens);
        told["pending_approval"] = self.pending.as_ref().map_or(Value::Null, Pending::describe);
        told
    }

    /// It works on nothing any more, and nobody is told.
    pub(super) fn give_up(&mut self) {
        self.work = None;
        self.pending = None;
        self.status = Status::Idle;
        self.wake.notify_one();
    }

    /// These are told of it, too.
    pub(super) fn join(&mut self, outlets: Vec<FeedReceiver>) {
        for outlet in outlets {
            if !self.outlets.iter().any(|known| known.is(&outlet)) {
                self.outlets.push(outlet);
            }
        }
    }

    pub(super) fn begin(&mut self, work: Work, now: Duration) {
        self.prompt = Some(work.prompt().to_owned());
        self.work = Some(work);
        self.status = Status::Processing;
        self.resolved = None;
        self.messages += 1;
        self.active = now;
    }

    pub(super) fn subscribe(&mut self, teller: &EventEmitter<'_>, started: Timestamp) -> Feed {
        let (outlet, feed) = feed();
        self.ever += 1;
        self.clear(teller);
        let mut data = json!({"profile": self.profile, "timestamp": moment(started, self.created)});
        if teller.quirks.on(Switch::LeaksInEvents) {
            data["api_key"] = self.key.as_str().into();
        }
        teller.to(&self.id, std::slice::from_ref(&outlet), "session:start", data);
        self.outlets.push(outlet);
        feed
    }

    /// Tells the subscribers of an event.
    pub(super) fn tell(&mut self, teller: &EventEmitter<'_>, event: &str, data: Value) {
        if teller.quirks.is_empty() {
            self.outlets.retain(FeedReceiver::is_live);
            return teller.to(&self.id, &self.outlets, event, data);
        }
        self.clear(teller);
        self.tell_wrongly(teller, event, data);
    }

    /// Tells the subscribers a message as it is.
    pub(super) fn say(&mut self, teller: &EventEmitter<'_>, message: &Value) {
        self.outlets.retain(FeedReceiver::is_live);
        let told = Arc::new(FeedMessage { event: String::new(), json: message.to_string(), at: teller.now, why: None });
        self.outlets.iter().for_each(|outlet| outlet.put(told.clone()));
    }

    /// Forgets subscribers that have left.
    fn clear(&mut self, teller: &EventEmitter<'_>) {
        let before = self.outlets.len();
        self.outlets.retain(FeedReceiver::is_live);
        if self.outlets.len() == before {
            return;
        }
        if teller.quirks.on(Switch::LeavingEndsOthers) {
            self.cut(FeedEnd::Over);
        }
        if teller.quirks.on(Switch::LeavingEndsPrompt) && self.is_busy() {
            self.give_up();
        }
    }

    /// Tells as flaws have it: who is told, and when.
    fn tell_wrongly(&mut self, teller: &EventEmitter<'_>, event: &str, mut data: Value) {
        let on = |switch| teller.quirks.on(switch);
        if on(Switch::LeaksInEvents) && event == "prompt:complete" {
            data["api_key"] = self.key.as_str().into();
        }
        let outlets = &self.outlets;
        if self.hidden && on(Switch::WorksOn) && event.starts_with("tool:") {
            return;
        }
        if self.hidden && on(Switch::ToolsAfterStop) && event == "content_block:delta" {
            let tool = json!({"tool_name": "filesystem", "operation": "read_file", "input": {}});
            teller.to(&self.id, outlets, "tool:pre", tool);
        }
        if on(Switch::NewestOnly) {
            return teller.to(&self.id, &outlets[outlets.len().saturating_sub(1)..], event, data);
        }
        if on(Switch::OneQueue) && !outlets.is_empty() {
            self.ever += 1;
            let turn = usize::try_from(self.ever).unwrap_or_default() % outlets.len();
            return teller.to(&self.id, &outlets[turn..=turn], event, data);
        }
        if on(Switch::Shuffles) && outlets.len() > 1 {
            let (first, others) = outlets.split_at(1);
            teller.to(&self.id, first, event, data.clone());
            let held = self.held.take();
            match held {
                None if event == "content_block:delta" => self.held = Some(data),
                Some(held) if event == "content_block:delta" => {
                    teller.to(&self.id, others, event, data);
                    teller.to(&self.id, others, event, held);
                }
                held => {
                    held.into_iter().for_each(|held| teller.to(&self.id, others, "content_block:delta", held));
                    teller.to(&self.id, others, event, data);
                }
            }
            return;
        }
        teller.to(&self.id, outlets, event, data);
    }

    /// It ends: nothing more is done or told.
    pub(super) fn end(&mut self, teller: &EventEmitter<'_>, reason: &str) {
        self.work = None;
        self.pending = None;
        self.status = Status::Stopped;
        self.active = teller.now;
        self.tell(teller, "session:end", json!({"reason": reason, "token_usage": usage(self.tokens)}));
        self.cut(FeedEnd::Over);
        self.wake.notify_one();
    }

    /// Ends its streams; gives how many there were.
    pub(super) fn cut(&mut self, how: FeedEnd) -> usize {
        let live = self.subscribers();
        self.outlets.drain(..).for_each(|outlet| outlet.end(how));
        live
    }
}

/// Tokens as the document has them.
pub fn usage((input, output): (u64, u64)) -> Value {
    json!({"input_tokens": input, "output_tokens": output})
}

/// A random UUID (RFC 9562, section 5.4).
fn uuid() -> String {
    let random = || std::hash::RandomState::new().build_hasher().finish();
    let (high, low) = (random(), random());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
}
