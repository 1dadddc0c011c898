//! One session.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::super::script::FileEffect;
use super::Refusal;
use super::approvals::{ApprovalResolution, PendingApproval};
use super::endpoints::LeakSwitch;
use super::feed::{EventEmitter, Feed, FeedEnd, FeedMessage, FeedSender, feed};
use super::state::{StopSwitch, moment};
use super::work::PromptWork;

/// What a server can do otherwise with the subscribers of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedSwitch {
    /// Each event goes to one of the subscribers.
    OneQueue,
    /// Each event goes to the newest subscriber.
    NewestOnly,
    /// All but the first subscriber get deltas in another order.
    Shuffles,
    /// Subscribers get the events of all sessions.
    EventsToAll,
    /// A subscriber that leaves ends the streams of others.
    LeavingEndsOthers,
    /// A subscriber that leaves ends the prompt.
    LeavingEndsPrompt,
    /// A session can be subscribed to once.
    SubscribedOnce,
    /// There are not many streams at a time.
    FewStreams,
    /// A WebSocket takes the events from event streams.
    SocketTakesOver,
}

/// The status of a session (section "Get Session Status").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The session is ready for prompts.
    Idle,
    /// The session works on a prompt.
    Processing,
    /// The session waits for a decision.
    AwaitingApproval,
    /// The last prompt of the session failed.
    Error,
    /// The session has ended.
    Stopped,
}

impl Status {
    /// The name of the status on the wire.
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
    /// The `session_id`, a UUID.
    pub id: String,
    /// The profile that it was created with.
    pub profile: String,
    /// The status of the session.
    pub status: Status,
    pub(super) key: String,
    pub(super) root: Option<String>,
    pub(super) created: Duration,
    pub(super) active: Duration,
    pub(super) messages: u64,
    pub(super) tokens: (u64, u64),
    pub(super) work: Option<PromptWork>,
    pub(super) pending: Option<PendingApproval>,
    /// The approval that came last, once it was decided.
    pub(super) resolved: Option<ApprovalResolution>,
    pub(super) wake: Arc<Notify>,
    pub(super) senders: Vec<FeedSender>,
    /// The last prompt of the session.
    pub(super) prompt: Option<String>,
    /// What was guarded last, and the options that allow it.
    pub(super) guarded: Option<(FileEffect, Vec<String>)>,
    /// Whether a decision allowed something.
    pub(super) allowed_once: bool,
    /// Why it takes no prompt, where only a prompt shows that.
    pub(super) refusal: Option<Refusal>,
    /// Whether it was stopped, and a flaw has it go on.
    pub(super) hidden: bool,
    /// How often it was subscribed to.
    pub(super) subscription_count: u64,
    /// A delta that is held back from all but the first subscriber, as a flaw has it.
    delayed_delta: Option<Value>,
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
            senders: vec![],
            prompt: None,
            guarded: None,
            allowed_once: false,
            refusal: None,
            hidden: false,
            subscription_count: 0,
            delayed_delta: None,
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
        self.senders.iter().filter(|sender| sender.is_live()).count()
    }

    /// As in a list, and in the response to its creation.
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
        let mut description = self.brief(started, self.status.name());
        description["last_activity"] = moment(started, self.active).into();
        description["message_count"] = self.messages.into();
        description["token_usage"] = usage(self.tokens);
        description["pending_approval"] = self.pending.as_ref().map_or(Value::Null, PendingApproval::describe);
        description
    }

    /// Gives the current prompt up, without an event.
    pub(super) fn abandon(&mut self) {
        self.work = None;
        self.pending = None;
        self.status = Status::Idle;
        self.wake.notify_one();
    }

    /// Adds feeds of other sessions, which get the events of this one, too.
    pub(super) fn add_senders(&mut self, senders: Vec<FeedSender>) {
        for sender in senders {
            if !self.senders.iter().any(|known| known.is_same(&sender)) {
                self.senders.push(sender);
            }
        }
    }

    pub(super) fn begin(&mut self, work: PromptWork, now: Duration) {
        self.prompt = Some(work.prompt().to_owned());
        self.work = Some(work);
        self.status = Status::Processing;
        self.resolved = None;
        self.messages += 1;
        self.active = now;
    }

    pub(super) fn subscribe(&mut self, emitter: &EventEmitter<'_>, started: Timestamp) -> Feed {
        let (sender, feed) = feed();
        self.subscription_count += 1;
        self.remove_left(emitter);
        let mut data = json!({"profile": self.profile, "timestamp": moment(started, self.created)});
        if emitter.deviations.has(LeakSwitch::Events) {
            data["api_key"] = self.key.as_str().into();
        }
        emitter.emit(&self.id, std::slice::from_ref(&sender), "session:start", data);
        self.senders.push(sender);
        feed
    }

    /// Emits an event to the subscribers.
    pub(super) fn emit(&mut self, emitter: &EventEmitter<'_>, event: &str, data: Value) {
        if emitter.deviations.is_empty() {
            self.senders.retain(FeedSender::is_live);
            return emitter.emit(&self.id, &self.senders, event, data);
        }
        self.remove_left(emitter);
        self.emit_with_deviations(emitter, event, data);
    }

    /// Sends the subscribers a message as it is.
    pub(super) fn emit_raw(&mut self, emitter: &EventEmitter<'_>, message: &Value) {
        self.senders.retain(FeedSender::is_live);
        let description =
            Arc::new(FeedMessage { event: String::new(), json: message.to_string(), at: emitter.now, why: None });
        self.senders.iter().for_each(|sender| sender.send(description.clone()));
    }

    /// Forgets subscribers that have left.
    fn remove_left(&mut self, emitter: &EventEmitter<'_>) {
        let before = self.senders.len();
        self.senders.retain(FeedSender::is_live);
        if self.senders.len() == before {
            return;
        }
        if emitter.deviations.has(FeedSwitch::LeavingEndsOthers) {
            self.cut(FeedEnd::Over);
        }
        if emitter.deviations.has(FeedSwitch::LeavingEndsPrompt) && self.is_busy() {
            self.abandon();
        }
    }

    /// Emits an event as flaws have it: to other subscribers, or at another time.
    fn emit_with_deviations(&mut self, emitter: &EventEmitter<'_>, event: &str, mut data: Value) {
        let deviations = emitter.deviations;
        if deviations.has(LeakSwitch::Events) && event == "prompt:complete" {
            data["api_key"] = self.key.as_str().into();
        }
        let senders = &self.senders;
        if self.hidden && deviations.has(StopSwitch::WorksOn) && event.starts_with("tool:") {
            return;
        }
        if self.hidden && deviations.has(StopSwitch::UsesTools) && event == "content_block:delta" {
            let tool = json!({"tool_name": "filesystem", "operation": "read_file", "input": {}});
            emitter.emit(&self.id, senders, "tool:pre", tool);
        }
        if deviations.has(FeedSwitch::NewestOnly) {
            return emitter.emit(&self.id, &senders[senders.len().saturating_sub(1)..], event, data);
        }
        if deviations.has(FeedSwitch::OneQueue) && !senders.is_empty() {
            self.subscription_count += 1;
            let turn = usize::try_from(self.subscription_count).unwrap_or_default() % senders.len();
            return emitter.emit(&self.id, &senders[turn..=turn], event, data);
        }
        if deviations.has(FeedSwitch::Shuffles) && senders.len() > 1 {
            let (first, others) = senders.split_at(1);
            emitter.emit(&self.id, first, event, data.clone());
            let delayed = self.delayed_delta.take();
            match delayed {
                None if event == "content_block:delta" => self.delayed_delta = Some(data),
                Some(delayed) if event == "content_block:delta" => {
                    emitter.emit(&self.id, others, event, data);
                    emitter.emit(&self.id, others, event, delayed);
                }
                delayed => {
                    delayed
                        .into_iter()
                        .for_each(|delayed| emitter.emit(&self.id, others, "content_block:delta", delayed));
                    emitter.emit(&self.id, others, event, data);
                }
            }
            return;
        }
        emitter.emit(&self.id, senders, event, data);
    }

    /// Ends the session: no more work and no more events.
    pub(super) fn end(&mut self, emitter: &EventEmitter<'_>, reason: &str) {
        self.work = None;
        self.pending = None;
        self.status = Status::Stopped;
        self.active = emitter.now;
        self.emit(emitter, "session:end", json!({"reason": reason, "token_usage": usage(self.tokens)}));
        self.cut(FeedEnd::Over);
        self.wake.notify_one();
    }

    /// Ends its streams; gives how many there were.
    pub(super) fn cut(&mut self, how: FeedEnd) -> usize {
        let live = self.subscribers();
        self.senders.drain(..).for_each(|sender| sender.end(how));
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
