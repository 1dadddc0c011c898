//! The state of a mock server, and the control messages, commands and requests that change it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::peer::deviation::Why;
use crate::protocol::amplifier::Endpoint;

use super::super::deviations::Deviations;
use super::super::script::{Script, ScriptedError};
use super::approvals::{self, ApprovalSwitch, run_guarded};
use super::endpoints::{self, LeakSwitch, PromptSwitch, SessionListSwitch};
use super::feed::{EventEmitter, FeedEnd};
use super::session::{FeedSwitch, Session, Status};
use super::work::{self, AgentContext, PromptWork, WorkSwitch};
use super::{EndpointRequest, Feed, NextAdvance, Refusal, Reply};

/// What a server can do otherwise where a session is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSwitch {
    /// All sessions end when one is stopped.
    StopsAll,
    /// A session that is stopped goes on.
    StaysAlive,
    /// A session that was stopped is there, as such.
    Shown,
    /// A session that was stopped does its last prompt again.
    WorksOn,
    /// A session that was stopped does its last prompt again, and uses tools.
    UsesTools,
    /// The action `stop` ends the prompt, and not the session.
    EndsPrompt,
}

/// What a server can do otherwise with messages that come by WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionSwitch {
    /// Messages with this action are ignored.
    Ignores(&'static str),
    /// An action that does not exist stops the session.
    UnknownStops,
    /// A message that is no JSON stops the session.
    BadMessageStops,
}

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
    /// The deviations of the server.
    pub deviations: Deviations,
    pub(super) script: Arc<Script>,
    pub(super) workspace: Box<dyn Workspace>,
    pub(super) started: Timestamp,
    /// The port that it says it has.
    pub(super) port: u16,
    /// In the order in which they were created.
    pub(super) sessions: BTreeMap<u64, Session>,
    pub(super) numbers: HashMap<String, u64>,
    pub(super) created: u64,
    pub(super) prompts: u64,
    approval_count: u64,
    /// Errors with which the next requests are refused, as whoever controls the mock wants it.
    refuse: VecDeque<(Option<Endpoint>, ScriptedError)>,
    /// Sessions that began to work.
    pub(super) begun: Vec<String>,
    /// Stopped sessions in which something was pending, and when its time is up, as a flaw has it.
    overdue: Vec<(Duration, Session)>,
    /// The last filter of a list of profiles or agents, which a flaw keeps.
    last_filter: Option<(String, String)>,
}

impl Model {
    /// One without sessions. `started` is the moment from which times are counted.
    pub fn new(
        script: Arc<Script>,
        deviations: Deviations,
        workspace: Box<dyn Workspace>,
        started: Timestamp,
        port: u16,
    ) -> Self {
        Self {
            deviations,
            script,
            workspace,
            started,
            port,
            sessions: BTreeMap::new(),
            numbers: HashMap::new(),
            created: 0,
            prompts: 0,
            approval_count: 0,
            refuse: VecDeque::new(),
            begun: vec![],
            overdue: vec![],
            last_filter: None,
        }
    }

    /// From now on the agent does this. Prompts in progress go on as they began.
    pub fn replace(&mut self, script: Script) {
        self.script = Arc::new(script);
    }

    /// The script.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// Refuses the next request with this error: any, or one for this endpoint.
    pub fn refuse_next(&mut self, endpoint: Option<Endpoint>, failure: ScriptedError) {
        self.refuse.push_back((endpoint, failure));
    }

    /// The sessions that have begun to work since the last call: [`Model::advance`] is to be called for each.
    pub fn started(&mut self) -> Vec<String> {
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

    /// Notified when a session shall be looked at before its time.
    pub fn wake(&self, id: &str) -> Option<Arc<Notify>> {
        self.session(id).map(|session| session.wake.clone())
    }

    /// Handles a request for one of the twelve endpoints. Its events go to the feeds at once, or when the
    /// session [advances](Self::advance).
    pub fn handle(&mut self, mut request: EndpointRequest, now: Duration) -> Reply {
        let overdue = self.overdue.extract_if(.., |(deadline, _)| *deadline <= now);
        overdue.for_each(|(_, mut session)| run_guarded(&mut session, &*self.workspace));
        let why = self.deviations.request(&mut request);
        let endpoint = request.route.endpoint;
        if self.deviations.has(SessionListSwitch::FilterSticks(endpoint)) {
            match request.route.query.iter().find(|(name, _)| name == "collection") {
                Some(filter) => self.last_filter = Some(filter.clone()),
                None => request.route.query.extend(self.last_filter.take()),
            }
        }
        let mut reply = self.dispatch(&request, now).unwrap_or_else(Reply::from);
        reply.why = reply.why.or(why);
        self.deviations.reply(Some(endpoint), &mut reply);
        reply
    }

    fn dispatch(&mut self, request: &EndpointRequest, now: Duration) -> Result<Reply, Refusal> {
        if let Some(refusal) = self.deviations.refuse(request, self) {
            return Err(refusal);
        }
        let wanted = self.refuse.iter().position(|(of, _)| of.is_none_or(|of| of == request.route.endpoint));
        if let Some((_, failure)) = wanted.and_then(|at| self.refuse.remove(at)) {
            return Err(failure.refusal());
        }
        match request.route.endpoint {
            Endpoint::CreateSession => self.create(request, now),
            Endpoint::SubmitPrompt => {
                let session = self.number(request)?;
                let body = request.body.clone()?;
                let replaced = body.get("context_update").is_some_and(|update| update.get("workspace_root").is_none());
                if replaced
                    && self.deviations.has(PromptSwitch::UpdateReplacesContext)
                    && let Some(session) = self.sessions.get_mut(&session)
                {
                    session.root = None;
                }
                self.submit(session, request.text("prompt"), now)
            }
            Endpoint::SubmitApproval => {
                let session = self.number(request)?;
                self.decide(session, &request.body, now)
            }
            Endpoint::GetSession => {
                let number = self.number(request)?;
                self.expire(number, now);
                let session = &self.sessions[&number];
                let mut body = session.describe(self.started);
                if self.deviations.has(LeakSwitch::Status) {
                    body["credentials"] = json!({"anthropic_api_key": session.key});
                }
                if self.deviations.has(WorkSwitch::CountsAll) {
                    body["message_count"] = self.prompts.into();
                }
                Ok(Reply::new(200, body))
            }
            Endpoint::DeleteSession => {
                let number = self.number(request)?;
                self.stop(number, "user_stopped", now);
                Ok(Reply::new(200, json!({"status": "stopped", "message": "Session stopped and cleaned up"})))
            }
            Endpoint::ListSessions => self.list(request),
            Endpoint::ListProfiles | Endpoint::GetProfile | Endpoint::ListCollections | Endpoint::ListAgents => {
                endpoints::catalog(&self.script, request)
            }
            Endpoint::Health => Ok(self.health(now)),
            Endpoint::Info => Ok(self.info()),
            Endpoint::Events | Endpoint::Socket => Err(Refusal::invalid("this is answered by a stream")),
        }
    }

    /// The number of the session that a path names.
    fn number(&self, request: &EndpointRequest) -> Result<u64, Refusal> {
        self.number_of(request.name()).ok_or_else(|| Refusal::no_session(request.name()))
    }

    pub(super) fn number_of(&self, id: &str) -> Option<u64> {
        let number = *self.numbers.get(id)?;
        (!self.sessions.get(&number)?.hidden).then_some(number)
    }

    /// Subscribes to the events of a session, which begin with `session:start`.
    ///
    /// # Errors
    /// Where there is no such session.
    pub fn subscribe(&mut self, id: &str, now: Duration) -> Result<Feed, Refusal> {
        let number = self.number_of(id).ok_or_else(|| Refusal::no_session(id))?;
        if self.deviations.has(FeedSwitch::FewStreams)
            && self.sessions.values().map(Session::subscribers).sum::<usize>() >= 49
        {
            return Err(Refusal::new("SERVER_ERROR", "too many streams"));
        }
        let Some(session) = self.sessions.get_mut(&number) else { return Err(Refusal::no_session(id)) };
        if session.status == Status::Stopped {
            return Err(Refusal::no_session(id));
        }
        if self.deviations.has(FeedSwitch::SubscribedOnce)
            && session.subscription_count > 0
            && session.subscribers() == 0
        {
            return Err(Refusal::new("SESSION_BUSY", "Session was subscribed to before"));
        }
        Ok(session.subscribe(&EventEmitter { deviations: &self.deviations, now }, self.started))
    }

    /// Subscribes to the events of a session by a WebSocket.
    ///
    /// # Errors
    /// Where there is no such session.
    pub fn follow(&mut self, id: &str, now: Duration) -> Result<Feed, Refusal> {
        let feed = self.subscribe(id, now)?;
        if let (true, Some(session)) = (self.deviations.has(FeedSwitch::SocketTakesOver), self.session_mut(id)) {
            session.senders.retain(|sender| sender.is_of(&feed));
        }
        Ok(feed)
    }

    /// Has the agent of a session do what is due; gives when there is something to do again. Not more than some hundred
    /// events come of one call.
    pub fn advance(&mut self, id: &str, now: Duration) -> NextAdvance {
        let Some(session) = self.numbers.get(id).and_then(|number| self.sessions.get_mut(number)) else {
            return NextAdvance::Done;
        };
        let emitter = EventEmitter { deviations: &self.deviations, now };
        work::advance(
            session,
            &mut AgentContext { emitter, workspace: &*self.workspace, approval_count: &mut self.approval_count },
        )
    }

    /// Lets an approval time out whose time is up.
    pub(super) fn expire(&mut self, number: u64, now: Duration) {
        let Some(session) = self.sessions.get_mut(&number) else { return };
        approvals::expire(session, &EventEmitter { deviations: &self.deviations, now });
    }

    /// The state of the server, for whoever controls the mock.
    pub fn describe(&self) -> Value {
        let sessions = self.sessions.values().map(|session| {
            let mut description = session.describe(self.started);
            description["subscribers"] = session.subscribers().into();
            description
        });
        json!({
            "sessions": sessions.collect::<Vec<_>>(),
            "created": self.created,
            "prompts": self.prompts,
            "switched_on": self.deviations.names(),
        })
    }
}

impl ScriptedError {
    /// The refusal with this error.
    pub fn refusal(&self) -> Refusal {
        Refusal::new(&self.code, self.text())
    }

    /// What is wrong, for humans.
    pub fn text(&self) -> String {
        self.message.clone().unwrap_or_else(|| format!("{} (as the script has it)", self.code))
    }
}

/// A moment as the document writes it, with an offset from UTC.
pub(super) fn moment(started: Timestamp, at: Duration) -> String {
    let at = jiff::SignedDuration::try_from(at).ok().and_then(|at| started.checked_add(at).ok()).unwrap_or(started);
    let unit = jiff::TimestampRound::new().smallest(jiff::Unit::Millisecond).mode(jiff::RoundMode::Trunc);
    at.round(unit).unwrap_or(at).to_string()
}

/// The mark of a flaw, for what it made wrong.
pub(super) fn marked(flaw: Why, also: Why) -> Why {
    flaw.or(also)
}

/// How long after a stop a flaw has a session work again: longer than what is in progress may take to end.
const RESTART_DELAY: Duration = Duration::from_millis(2200);

impl Model {
    /// Ends a session.
    pub(super) fn stop(&mut self, number: u64, reason: &str, now: Duration) {
        if self.deviations.is_empty() {
            return self.remove(number, reason, now);
        }
        if self.deviations.has(StopSwitch::StaysAlive) {
            return;
        }
        let Some(session) = self.sessions.get_mut(&number) else { return };
        if self.deviations.has(ApprovalSwitch::RunsOnStop) {
            run_guarded(session, &*self.workspace);
        }
        let works_on = self.deviations.has(StopSwitch::WorksOn) || self.deviations.has(StopSwitch::UsesTools);
        if let (true, Some(prompt)) = (works_on, session.prompt.clone()) {
            let case = self.script.case(&prompt);
            let later = now + RESTART_DELAY;
            session.abandon();
            session.hidden = true;
            session.begin(PromptWork::new(self.script.clone(), case, "req-0".to_owned(), &prompt, later), now);
            self.begun.push(session.id.clone());
            return;
        }
        if self.deviations.has(StopSwitch::Shown) || self.deviations.has(PromptSwitch::StoppedTakesPrompts) {
            if session.status != Status::Stopped {
                session.end(&EventEmitter { deviations: &self.deviations, now }, reason);
            }
            return;
        }
        self.remove(number, reason, now);
        if self.deviations.has(StopSwitch::StopsAll) {
            let others: Vec<u64> = self.sessions.keys().copied().collect();
            others.into_iter().for_each(|other| self.remove(other, reason, now));
        }
    }

    fn remove(&mut self, number: u64, reason: &str, now: Duration) {
        let Some(mut session) = self.sessions.remove(&number) else { return };
        self.numbers.remove(&session.id);
        let deadline = session.pending.as_ref().map(|pending| pending.deadline);
        session.end(&EventEmitter { deviations: &self.deviations, now }, reason);
        if self.deviations.has(ApprovalSwitch::RunsAfterStop) {
            self.overdue.extend(deadline.map(|deadline| (deadline, session)));
        }
    }

    /// Does what a message of a client over a WebSocket says. A refusal is for that client alone.
    ///
    /// # Errors
    /// Why it is not done.
    pub fn control(&mut self, id: &str, message: &str, now: Duration) -> Result<(), Refusal> {
        let number = self.number_of(id).ok_or_else(|| Refusal::no_session(id))?;
        let Ok(message) = serde_json::from_str::<Value>(message) else {
            if self.deviations.has(ActionSwitch::BadMessageStops) {
                self.stop(number, "error", now);
            }
            return Err(Refusal::invalid("the message is not JSON"));
        };
        match message["action"].as_str() {
            Some(action @ ("submit_prompt" | "submit_approval" | "stop")) if self.ignores(action) => Ok(()),
            Some("submit_prompt") => match message["prompt"].as_str() {
                Some(prompt) => {
                    if let (true, Some(session)) =
                        (self.deviations.has(PromptSwitch::SocketBusyReplaces), self.sessions.get_mut(&number))
                    {
                        session.abandon();
                    }
                    self.submit(number, prompt, now).map(drop)
                }
                None => Err(Refusal::invalid("`prompt` must be a string")),
            },
            Some("submit_approval") => {
                let offered = |session: &Session| {
                    let options = session.pending.iter().flat_map(|pending| &pending.spec.options);
                    options.into_iter().any(|option| message["decision"] == *option)
                };
                if let (true, Some(session)) =
                    (self.deviations.has(ApprovalSwitch::RunsBySocket), self.sessions.get_mut(&number))
                    && !offered(session)
                {
                    run_guarded(session, &*self.workspace);
                }
                let body = message.as_object().cloned().unwrap_or_default();
                let body = match body.get("decision") {
                    Some(Value::String(_)) => Ok(body),
                    _ => Err(Refusal::invalid("`decision` must be a string")),
                };
                self.decide(number, &body, now).map(drop)
            }
            Some("stop") => {
                match (self.deviations.has(StopSwitch::EndsPrompt), self.sessions.get_mut(&number)) {
                    (true, Some(session)) => {
                        work::end_early(session, &EventEmitter { deviations: &self.deviations, now })
                    }
                    _ => self.stop(number, "user_stopped", now),
                }
                Ok(())
            }
            _ if self.deviations.has(ActionSwitch::UnknownStops) => {
                self.stop(number, "error", now);
                Ok(())
            }
            _ => Err(Refusal::invalid("there is no such action; there are submit_prompt, submit_approval and stop")),
        }
    }

    /// Whether a message with this action is ignored.
    fn ignores(&self, action: &str) -> bool {
        ["submit_prompt", "submit_approval", "stop"]
            .into_iter()
            .any(|known| known == action && self.deviations.has(ActionSwitch::Ignores(known)))
    }

    /// Emits an event that whoever controls the mock wants, to the subscribers of a session, or of all. Gives how many
    /// sessions there were.
    pub fn emit(&mut self, id: Option<&str>, event: &str, data: &Value, now: Duration) -> usize {
        let mut count = 0;
        for session in self.sessions.values_mut().filter(|session| id.is_none_or(|id| id == session.id)) {
            session.emit(&EventEmitter { deviations: &Deviations::default(), now }, event, data.clone());
            count += 1;
        }
        count
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
}
