//! The state of a mock server, and what happens in it: sessions, prompts, approvals, events.
//!
//! A [`Model`] has no sockets and no clock: it is given requests and the time since it began, and gives answers. What
//! the agent does is told to the [`Feed`]s of those who subscribed, in order. Somebody has to call [`Model::advance`]
//! for each session that works, at the times that it says; [`super::stage::ServerContext`] does.

mod ask;
mod catalog;
mod control;
mod decide;
mod endpoints;
mod feed;
mod prompts;
mod reply;
mod session;
mod tell;
#[cfg(test)]
mod tests;
mod tools;
mod work;

pub use ask::Ask;
pub use feed::{Feed, FeedEnd, FeedMessage, FeedReceiver, HIGH, feed};
pub use reply::{Refusal, Reply};
pub use session::{Session, Status};
pub use work::Next;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::protocol::amplifier::Endpoint;

use super::quirks::{Quirks, Switch, Why};
use super::script::{Failure, Script};
use tell::EventEmitter;
use work::Context;

/// Where guarded actions leave something behind.
pub trait Workspace: Send {
    /// Adds a text to a file. `root` is the `workspace_root` that the session was created with.
    ///
    /// # Errors
    /// Why it could not be, for humans.
    fn append(&self, root: Option<&str>, file: &str, text: &str) -> Result<(), String>;
}

/// The state of a server.
pub struct Model {
    /// What is different about it.
    pub quirks: Quirks,
    script: Arc<Script>,
    place: Box<dyn Workspace>,
    started: Timestamp,
    /// The port that it says it has.
    port: u16,
    /// In the order in which they were created.
    sessions: BTreeMap<u64, Session>,
    numbers: HashMap<String, u64>,
    created: u64,
    prompts: u64,
    gates: u64,
    /// Errors with which the next requests are refused, as somebody who steers the mock wants it.
    refuse: VecDeque<(Option<Endpoint>, Failure)>,
    /// Sessions that began to work.
    begun: Vec<String>,
}

impl Model {
    /// One without sessions. `started` is the moment from which times are counted.
    pub fn new(script: Arc<Script>, quirks: Quirks, place: Box<dyn Workspace>, started: Timestamp, port: u16) -> Self {
        Self {
            quirks,
            script,
            place,
            started,
            port,
            sessions: BTreeMap::new(),
            numbers: HashMap::new(),
            created: 0,
            prompts: 0,
            gates: 0,
            refuse: VecDeque::new(),
            begun: vec![],
        }
    }

    /// From now on the agent does this. Prompts under way go on as they began.
    pub fn replace(&mut self, script: Script) {
        self.script = Arc::new(script);
    }

    /// The script.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// Refuses the next request with this error: any, or one for this endpoint.
    pub fn refuse_next(&mut self, endpoint: Option<Endpoint>, failure: Failure) {
        self.refuse.push_back((endpoint, failure));
    }

    /// The sessions that have begun to work since this was asked last: [`Model::advance`] is to be called for each.
    pub fn begun(&mut self) -> Vec<String> {
        std::mem::take(&mut self.begun)
    }

    /// The sessions, in the order in which they were created.
    pub fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.sessions.values()
    }

    /// A session.
    pub fn session(&self, id: &str) -> Option<&Session> {
        self.sessions.get(self.numbers.get(id)?)
    }

    fn session_mut(&mut self, id: &str) -> Option<&mut Session> {
        self.sessions.get_mut(self.numbers.get(id)?)
    }

    /// Is told when a session shall be looked at before its time.
    pub fn wake(&self, id: &str) -> Option<Arc<Notify>> {
        self.session(id).map(|session| session.wake.clone())
    }

    /// Answers a request for one of the twelve endpoints. What follows of it is told to the feeds at once, or when the
    /// session [advances](Self::advance).
    pub fn ask(&mut self, mut ask: Ask, now: Duration) -> Reply {
        let why = self.quirks.ask(&mut ask);
        let endpoint = ask.route.endpoint;
        let mut reply = self.answer(&ask, now).unwrap_or_else(Reply::from);
        reply.why = reply.why.or(why);
        self.quirks.reply(Some(endpoint), &mut reply);
        reply
    }

    fn answer(&mut self, ask: &Ask, now: Duration) -> Result<Reply, Refusal> {
        if let Some(refusal) = self.quirks.refuse(ask, self) {
            return Err(refusal);
        }
        let wanted = self.refuse.iter().position(|(of, _)| of.is_none_or(|of| of == ask.route.endpoint));
        if let Some((_, failure)) = wanted.and_then(|at| self.refuse.remove(at)) {
            return Err(failure.refusal());
        }
        match ask.route.endpoint {
            Endpoint::CreateSession => self.create(ask, now),
            Endpoint::SubmitPrompt => {
                let session = self.number(ask)?;
                ask.body.clone()?;
                self.submit(session, ask.text("prompt"), now)
            }
            Endpoint::SubmitApproval => {
                let session = self.number(ask)?;
                self.decide(session, &ask.body, now)
            }
            Endpoint::GetSession => {
                let number = self.number(ask)?;
                self.expire(number, now);
                let session = &self.sessions[&number];
                let mut told = session.describe(self.started);
                if self.quirks.on(Switch::LeaksInStatus) {
                    told["credentials"] = json!({"anthropic_api_key": session.key});
                }
                Ok(Reply::new(200, told))
            }
            Endpoint::DeleteSession => {
                let number = self.number(ask)?;
                self.stop(number, "user_stopped", now);
                Ok(Reply::new(200, json!({"status": "stopped", "message": "Session stopped and cleaned up"})))
            }
            Endpoint::ListSessions => self.list(ask),
            Endpoint::ListProfiles | Endpoint::GetProfile | Endpoint::ListCollections | Endpoint::ListAgents => {
                catalog::answer(&self.script, ask)
            }
            Endpoint::Health => Ok(self.health(now)),
            Endpoint::Info => Ok(self.info()),
            Endpoint::Events | Endpoint::Socket => Err(Refusal::invalid("this is answered by a stream")),
        }
    }

    /// The number of the session that a path names.
    fn number(&self, ask: &Ask) -> Result<u64, Refusal> {
        self.known(ask.name()).ok_or_else(|| Refusal::no_session(ask.name()))
    }

    fn known(&self, id: &str) -> Option<u64> {
        let number = *self.numbers.get(id)?;
        (!self.sessions.get(&number)?.hidden).then_some(number)
    }

    /// Subscribes to the events of a session, which begin with `session:start`.
    ///
    /// # Errors
    /// Where there is no such session.
    pub fn subscribe(&mut self, id: &str, now: Duration) -> Result<Feed, Refusal> {
        let number = self.known(id).ok_or_else(|| Refusal::no_session(id))?;
        if self.quirks.on(Switch::FewStreams) && self.sessions.values().map(Session::subscribers).sum::<usize>() >= 49 {
            return Err(Refusal::new("SERVER_ERROR", "too many streams"));
        }
        let Some(session) = self.sessions.get_mut(&number) else { return Err(Refusal::no_session(id)) };
        if session.status == Status::Stopped {
            return Err(Refusal::no_session(id));
        }
        if self.quirks.on(Switch::SubscribedOnce) && session.ever > 0 && session.subscribers() == 0 {
            return Err(Refusal::new("SESSION_BUSY", "Session was subscribed to before"));
        }
        Ok(session.subscribe(&EventEmitter { quirks: &self.quirks, now }, self.started))
    }

    /// The same by a WebSocket.
    ///
    /// # Errors
    /// Where there is no such session.
    pub fn follow(&mut self, id: &str, now: Duration) -> Result<Feed, Refusal> {
        let feed = self.subscribe(id, now)?;
        if let (true, Some(session)) = (self.quirks.on(Switch::SocketTakesOver), self.session_mut(id)) {
            session.outlets.retain(|outlet| outlet.is_of(&feed));
        }
        Ok(feed)
    }

    /// Has the agent of a session do what is due; gives when there is something to do again. Not more than some hundred
    /// events come of one call.
    pub fn advance(&mut self, id: &str, now: Duration) -> Next {
        let Some(session) = self.numbers.get(id).and_then(|number| self.sessions.get_mut(number)) else {
            return Next::Done;
        };
        let teller = EventEmitter { quirks: &self.quirks, now };
        work::advance(session, &mut Context { teller, place: &*self.place, gates: &mut self.gates })
    }

    /// Lets an approval time out whose time is up.
    fn expire(&mut self, number: u64, now: Duration) {
        let Some(session) = self.sessions.get_mut(&number) else { return };
        decide::expire(session, &EventEmitter { quirks: &self.quirks, now });
    }

    /// How it stands, for whoever steers it.
    pub fn describe(&self) -> Value {
        let sessions = self.sessions.values().map(|session| {
            let mut told = session.describe(self.started);
            told["subscribers"] = session.subscribers().into();
            told
        });
        json!({
            "sessions": sessions.collect::<Vec<_>>(),
            "created": self.created,
            "prompts": self.prompts,
            "switched_on": self.quirks.names(),
        })
    }
}

impl Failure {
    /// The refusal that tells it.
    pub fn refusal(&self) -> Refusal {
        Refusal::new(&self.code, self.text())
    }

    /// What is wrong, for humans.
    pub fn text(&self) -> String {
        self.message.clone().unwrap_or_else(|| format!("{} (as the script has it)", self.code))
    }
}

/// A moment as the document writes it, with an offset from UTC.
fn moment(started: Timestamp, at: Duration) -> String {
    let at = jiff::SignedDuration::try_from(at).ok().and_then(|at| started.checked_add(at).ok()).unwrap_or(started);
    let unit = jiff::TimestampRound::new().smallest(jiff::Unit::Millisecond).mode(jiff::RoundMode::Trunc);
    at.round(unit).unwrap_or(at).to_string()
}

/// The mark of a flaw, for what it made wrong.
fn marked(told: Why, also: Why) -> Why {
    told.or(also)
}
