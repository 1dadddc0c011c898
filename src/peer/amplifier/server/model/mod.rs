//! The state of a mock server, and what happens in it: sessions, prompts, approvals, events.
//!
//! A [`Model`] has no sockets and no clock: it is given requests and the time since it began, and gives answers. What
//! the agent does is told to the [`Feed`]s of those who subscribed, in order. Somebody has to call [`Model::advance`]
//! for each session that works, at the times that it says; [`super::stage::Stage`] does.

mod ask;
mod catalog;
mod decide;
mod feed;
mod reply;
mod session;
mod tell;
#[cfg(test)]
mod tests;
mod work;

pub use ask::Ask;
pub use feed::{Feed, FeedEnd, HIGH, Outlet, Told, feed};
pub use reply::{Refusal, Reply};
pub use session::{Session, Status};
pub use work::Next;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::protocol::amplifier::{Endpoint, STATUSES};

use super::quirks::{Quirks, Switch, Why};
use super::script::{Failure, Script};
use tell::Teller;
use work::{Context, Work};

/// The most sessions that there can be at a time.
const MOST_SESSIONS: usize = 200_000;
/// How many sessions are listed where nobody says how many (section "List Sessions").
const LISTED: usize = 50;

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

    fn create(&mut self, ask: &Ask, now: Duration) -> Result<Reply, Refusal> {
        let body = ask.body.as_ref().map_err(Clone::clone)?;
        let profile = ask.text("profile");
        if !self.script.profiles.iter().any(|known| known.get("name").and_then(Value::as_str) == Some(profile)) {
            let shown: String = profile.chars().take(64).collect();
            return Err(
                Refusal::new("PROFILE_NOT_FOUND", format!("Profile '{shown}' not found")).about("profile", shown)
            );
        }
        if let (Some(models), Some(model)) = (&self.script.models, body.get("model").and_then(Value::as_str))
            && !models.iter().any(|known| known == model)
        {
            return Err(Refusal::invalid("there is no such model").about("models", json!(models)));
        }
        let (key, late) = match catalog::key(&self.script.keys, body) {
            Ok(key) => (key, None),
            Err(refusal) if self.quirks.on(Switch::KeysLate) => (String::new(), Some(refusal)),
            Err(refusal) if self.quirks.on(Switch::LeaksInErrors) => {
                let why = self.quirks.why(Switch::LeaksInErrors);
                let given = body.get("credentials").cloned().unwrap_or_default();
                return Err(Refusal { why, ..refusal.about("credentials", given) });
            }
            Err(refusal) => return Err(refusal),
        };
        if let (true, Some(first)) = (self.quirks.on(Switch::SharesSession), self.sessions.values().next()) {
            return Ok(Reply::new(201, first.brief(self.started, "created")));
        }
        if self.sessions.len() >= MOST_SESSIONS {
            return Err(Refusal::new("SERVER_ERROR", "there are too many sessions"));
        }
        let root = body.get("context").and_then(|context| context["workspace_root"].as_str());
        self.created += 1;
        let mut session = Session::new(profile, key, root.map(str::to_owned), now);
        session.refusal = late;
        if self.quirks.on(Switch::ShortIds) {
            session.id = format!("session-{}", self.created);
        }
        let reply = session.brief(self.started, "created");
        self.numbers.insert(session.id.clone(), self.created);
        self.sessions.insert(self.created, session);
        Ok(Reply::new(201, reply))
    }

    /// Gives a session a prompt.
    fn submit(&mut self, number: u64, prompt: &str, now: Duration) -> Result<Reply, Refusal> {
        self.expire(number, now);
        let elsewhere = self.elsewhere(number);
        let everybody = self.everybody();
        let request_id = match self.quirks.on(Switch::SameRequestId) {
            true => "req-1".to_owned(),
            false => format!("req-{}", self.prompts + 1),
        };
        let teller = Teller { quirks: &self.quirks, now };
        let Some(session) = self.sessions.get_mut(&number) else { return Err(Refusal::no_session("")) };
        if session.status == Status::Stopped && !self.quirks.on(Switch::StoppedTakesPrompts) {
            return Err(Refusal::no_session(&session.id));
        }
        if let Some(refusal) = &session.refusal {
            return Err(refusal.clone());
        }
        let data = json!({"request_id": request_id, "prompt": prompt});
        if session.is_busy() || (elsewhere.is_some() && self.quirks.on(Switch::OneAtATime)) {
            if self.quirks.on(Switch::AcceptsBusy) {
                return Ok(accepted(&request_id));
            }
            if self.quirks.on(Switch::BusyReplaces) {
                session.give_up();
            }
            if self.quirks.on(Switch::WorksOnRefused) {
                session.tell(&teller, "prompt:submit", data);
            }
            let refusal = Refusal::new("SESSION_BUSY", "Session is processing another request");
            return Err(refusal.about("session_id", session.id.as_str()));
        }
        let case = self.script.case(prompt);
        if let Some(failure) = case.and_then(|case| self.script.cases[case].refuse.as_ref()) {
            return Err(failure.refusal());
        }
        self.prompts += 1;
        let done = elsewhere.filter(|_| self.quirks.on(Switch::MixesSessions)).unwrap_or_else(|| prompt.to_owned());
        let case = self.script.case(&done);
        session.begin(Work::new(self.script.clone(), case, request_id.clone(), &done, now), now);
        session.join(everybody);
        session.tell(&teller, "prompt:submit", data);
        self.begun.push(session.id.clone());
        Ok(accepted(&request_id))
    }

    /// What a session other than this one works on, where a flaw wants to know.
    fn elsewhere(&self, number: u64) -> Option<String> {
        if !self.quirks.on(Switch::OneAtATime) && !self.quirks.on(Switch::MixesSessions) {
            return None;
        }
        let others = self.sessions.iter().filter(|(other, session)| **other != number && session.is_busy());
        others.filter_map(|(_, session)| session.prompt.clone()).next()
    }

    /// All subscribers, where a flaw has them told of everything.
    fn everybody(&self) -> Vec<Outlet> {
        match self.quirks.on(Switch::LeaksEvents) {
            true => self.sessions.values().flat_map(|session| session.outlets.clone()).collect(),
            false => vec![],
        }
    }

    /// Ends a session.
    fn stop(&mut self, number: u64, reason: &str, now: Duration) {
        if self.quirks.is_empty() {
            return self.remove(number, reason, now);
        }
        if self.quirks.on(Switch::StaysAlive) {
            return;
        }
        let Some(session) = self.sessions.get_mut(&number) else { return };
        if self.quirks.on(Switch::RunsOnStop) {
            work::run_guarded(session, &*self.place);
        }
        if let (true, Some(prompt)) = (self.quirks.on(Switch::WorksOn), session.prompt.clone()) {
            let case = self.script.case(&prompt);
            let later = now + Duration::from_millis(20);
            session.give_up();
            session.hidden = true;
            session.begin(Work::new(self.script.clone(), case, "req-0".to_owned(), &prompt, later), now);
            self.begun.push(session.id.clone());
            return;
        }
        if self.quirks.on(Switch::StoppedShown) || self.quirks.on(Switch::StoppedTakesPrompts) {
            if session.status != Status::Stopped {
                session.end(&Teller { quirks: &self.quirks, now }, reason);
            }
            return;
        }
        self.remove(number, reason, now);
        if self.quirks.on(Switch::StopsAll) {
            let others: Vec<u64> = self.sessions.keys().copied().collect();
            others.into_iter().for_each(|other| self.remove(other, reason, now));
        }
    }

    fn remove(&mut self, number: u64, reason: &str, now: Duration) {
        let Some(mut session) = self.sessions.remove(&number) else { return };
        self.numbers.remove(&session.id);
        session.end(&Teller { quirks: &self.quirks, now }, reason);
    }

    /// Does what a message of a client over a WebSocket says. A refusal is for that client alone.
    ///
    /// # Errors
    /// Why it is not done.
    pub fn control(&mut self, id: &str, message: &str, now: Duration) -> Result<(), Refusal> {
        let number = self.known(id).ok_or_else(|| Refusal::no_session(id))?;
        let Ok(message) = serde_json::from_str::<Value>(message) else {
            if self.quirks.on(Switch::BadMessageStops) {
                self.stop(number, "error", now);
            }
            return Err(Refusal::invalid("the message is not JSON"));
        };
        match message["action"].as_str() {
            Some(action @ ("submit_prompt" | "submit_approval" | "stop")) if self.ignores(action) => Ok(()),
            Some("submit_prompt") => match message["prompt"].as_str() {
                Some(prompt) => {
                    if let (true, Some(session)) =
                        (self.quirks.on(Switch::SocketBusyReplaces), self.sessions.get_mut(&number))
                    {
                        session.give_up();
                    }
                    self.submit(number, prompt, now).map(drop)
                }
                None => Err(Refusal::invalid("`prompt` must be a string")),
            },
            Some("submit_approval") => {
                if let (true, Some(session)) = (self.quirks.on(Switch::RunsBySocket), self.sessions.get_mut(&number)) {
                    work::run_guarded(session, &*self.place);
                }
                let body = message.as_object().cloned().unwrap_or_default();
                let body = match body.get("decision") {
                    Some(Value::String(_)) => Ok(body),
                    _ => Err(Refusal::invalid("`decision` must be a string")),
                };
                self.decide(number, &body, now).map(drop)
            }
            Some("stop") => {
                match (self.quirks.on(Switch::StopEndsPrompt), self.sessions.get_mut(&number)) {
                    (true, Some(session)) => work::end_early(session, &Teller { quirks: &self.quirks, now }),
                    _ => self.stop(number, "user_stopped", now),
                }
                Ok(())
            }
            _ if self.quirks.on(Switch::UnknownActionStops) => {
                self.stop(number, "error", now);
                Ok(())
            }
            _ => Err(Refusal::invalid("there is no such action; there are submit_prompt, submit_approval and stop")),
        }
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
        Ok(session.subscribe(&Teller { quirks: &self.quirks, now }, self.started))
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

    /// Whether a message with this action is ignored.
    fn ignores(&self, action: &str) -> bool {
        ["submit_prompt", "submit_approval", "stop"]
            .into_iter()
            .any(|known| known == action && self.quirks.on(Switch::Ignores(known)))
    }

    /// Has the agent of a session do what is due; gives when there is something to do again. Not more than some hundred
    /// events come of one call.
    pub fn advance(&mut self, id: &str, now: Duration) -> Next {
        let Some(session) = self.numbers.get(id).and_then(|number| self.sessions.get_mut(number)) else {
            return Next::Done;
        };
        let teller = Teller { quirks: &self.quirks, now };
        work::advance(session, &mut Context { teller, place: &*self.place, gates: &mut self.gates })
    }

    /// Lets an approval time out whose time is up.
    fn expire(&mut self, number: u64, now: Duration) {
        let Some(session) = self.sessions.get_mut(&number) else { return };
        decide::expire(session, &Teller { quirks: &self.quirks, now });
    }

    /// Tells the subscribers of a session, or of all, what somebody who steers the mock wants. Gives how many sessions
    /// there were.
    pub fn tell(&mut self, id: Option<&str>, event: &str, data: &Value, now: Duration) -> usize {
        let mut told = 0;
        for session in self.sessions.values_mut().filter(|session| id.is_none_or(|id| id == session.id)) {
            session.tell(&Teller { quirks: &Quirks::default(), now }, event, data.clone());
            told += 1;
        }
        told
    }

    /// Ends the streams of a session, or of all; the sessions go on. Gives how many streams there were.
    pub fn cut(&mut self, id: Option<&str>, reset: bool) -> usize {
        let sessions = self.sessions.values_mut().filter(|session| id.is_none_or(|id| id == session.id));
        sessions.map(|session| session.cut(FeedEnd::Cut { reset })).sum()
    }

    /// Ends all sessions: the server quits.
    pub fn end(&mut self, now: Duration) {
        let numbers: Vec<u64> = self.sessions.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.stop(number, "server_stopped", now));
    }

    fn list(&self, ask: &Ask) -> Result<Reply, Refusal> {
        let limit = match ask.route.param("limit").map(str::parse::<i64>) {
            None if self.quirks.on(Switch::ListsAll) => usize::MAX,
            None => LISTED,
            Some(Ok(limit)) if limit > 0 => usize::try_from(limit).unwrap_or(usize::MAX),
            Some(Ok(_)) if self.quirks.on(Switch::LimitOddEmpty) => 0,
            Some(_) => return Err(Refusal::invalid("`limit` must be a whole number from 1 on")),
        };
        let status = ask.route.param("status");
        if let Some(status) = status
            && !STATUSES.contains(&status)
            && !self.quirks.on(Switch::FilterUnknownEmpty)
        {
            return Err(Refusal::invalid(format!("`status` must be one of {}", STATUSES.join(", "))));
        }
        let wanted =
            |session: &&Session| !session.hidden && status.is_none_or(|status| session.status.name() == status);
        let mut all: Vec<&Session> = self.sessions.values().filter(wanted).collect();
        if self.quirks.on(Switch::ListsLate) || (status.is_some() && self.quirks.on(Switch::FiltersTooMuch)) {
            all.pop();
        }
        let listed = all.iter().take(limit).map(|session| session.brief(self.started, session.status.name()));
        Ok(Reply::new(200, json!({"sessions": listed.collect::<Vec<_>>(), "total": all.len()})))
    }

    fn health(&self, now: Duration) -> Reply {
        Reply::new(
            200,
            json!({
                "status": "healthy",
                "version": self.version(),
                "uptime_seconds": now.as_secs(),
                "active_sessions": self.sessions.values().filter(|s| s.status != Status::Stopped).count(),
            }),
        )
    }

    fn version(&self) -> Value {
        self.script.info.get("version").cloned().unwrap_or_else(|| env!("CARGO_PKG_VERSION").into())
    }

    fn info(&self) -> Reply {
        let mut info = Map::new();
        info.insert("version".to_owned(), self.version());
        info.insert("amplifier_core_version".to_owned(), "0.5.0".into());
        let capabilities = json!({"streaming": true, "extended_thinking": true, "tool_use": true});
        info.insert("capabilities".to_owned(), capabilities);
        info.extend(self.script.info.clone());
        let mut config = json!({
            "host": "127.0.0.1",
            "port": self.port,
            "profiles_path": "~/.amplifier/profiles",
            "collections_path": "~/.amplifier/collections",
        });
        if let (Some(Value::Object(more)), Value::Object(config)) = (info.get("config"), &mut config) {
            config.extend(more.clone());
        }
        info.insert("config".to_owned(), config);
        Reply::new(200, info.into())
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

/// The answer to a prompt that is accepted.
fn accepted(request_id: &str) -> Reply {
    let message = "Prompt submitted, subscribe to events for response";
    Reply::new(202, json!({"request_id": request_id, "status": "processing", "message": message}))
}

/// The mark of a flaw, for what it made wrong.
fn marked(told: Why, also: Why) -> Why {
    told.or(also)
}
