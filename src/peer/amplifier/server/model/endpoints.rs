//! The endpoints: sessions, prompts, catalogs, and the server itself.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::protocol::amplifier::{Endpoint, STATUSES};

use super::super::script::{ApiKeys, Script};
use super::feed::{EventEmitter, FeedSender};
use super::session::FeedSwitch;
use super::state::Model;
use super::work::PromptWork;
use super::{EndpointRequest, Refusal, Reply, Session, Status};

/// The most sessions that there can be at a time.
const MAX_SESSIONS: usize = 200_000;
/// How many sessions are listed where nobody says how many (section "List Sessions").
const DEFAULT_LIMIT: usize = 50;

/// What a server can do otherwise where it creates and lists sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionListSwitch {
    /// The filter of the last list of this endpoint holds for the next one without a filter.
    FilterSticks(Endpoint),
    /// A session that waits for a decision is listed as one that works.
    FiltersTogether,
    /// The ids of sessions are no UUIDs.
    ShortIds,
    /// The ids of sessions have characters that mean something in URLs.
    OddIds,
    /// There is only one session.
    SharesSession,
    /// API keys are looked at with the first prompt.
    KeysLate,
    /// The newest session is not in the list.
    ListsLate,
    /// The newest session that fits a filter is not in the list.
    FiltersTooMuch,
    /// The list has no limit by itself.
    ListsAll,
    /// A limit of zero or less gives an empty list.
    LimitOddEmpty,
    /// A status that does not exist gives an empty list.
    FilterUnknownEmpty,
}

/// What a server can do otherwise with prompts that come while it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptSwitch {
    /// All prompts have the same id.
    SameRequestId,
    /// A prompt for a session that works is accepted, and forgotten.
    AcceptsBusy,
    /// A prompt that comes at the same time as another one is accepted, and forgotten.
    AcceptsAtOnce,
    /// A prompt that is refused ends the one in progress.
    BusyReplaces,
    /// A prompt by WebSocket that is refused ends the current one.
    SocketBusyReplaces,
    /// A prompt that is refused has events as if it were not.
    WorksOnRefused,
    /// Only one session works at a time.
    OneAtATime,
    /// Sessions that work at the same time are confused.
    MixesSessions,
    /// What a `context_update` leaves out is forgotten.
    UpdateReplacesContext,
    /// A session that was stopped is there, and takes prompts.
    StoppedTakesPrompts,
}

/// Where a server shows API keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeakSwitch {
    /// API keys are in the status.
    Status,
    /// API keys are in events.
    Events,
    /// API keys are in errors.
    Errors,
    /// API keys are printed.
    Output,
}

impl Model {
    pub(super) fn create(&mut self, request: &EndpointRequest, now: Duration) -> Result<Reply, Refusal> {
        let body = request.body.as_ref().map_err(Clone::clone)?;
        let profile = request.text("profile");
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
        let (key, late) = match api_key(&self.script.keys, body) {
            Ok(key) => (key, None),
            Err(refusal) if self.deviations.has(SessionListSwitch::KeysLate) => (String::new(), Some(refusal)),
            Err(refusal) if self.deviations.has(LeakSwitch::Errors) => {
                let why = self.deviations.why(LeakSwitch::Errors);
                let given = body.get("credentials").cloned().unwrap_or_default();
                return Err(Refusal { why, ..refusal.about("credentials", given) });
            }
            Err(refusal) => return Err(refusal),
        };
        if let (true, Some(first)) =
            (self.deviations.has(SessionListSwitch::SharesSession), self.sessions.values().next())
        {
            return Ok(Reply::new(201, first.brief(self.started, "created")));
        }
        if self.sessions.len() >= MAX_SESSIONS {
            return Err(Refusal::new("SERVER_ERROR", "there are too many sessions"));
        }
        let root = body.get("context").and_then(|context| context["workspace_root"].as_str());
        self.created += 1;
        let mut session = Session::new(profile, key, root.map(str::to_owned), now);
        session.refusal = late;
        if self.deviations.has(SessionListSwitch::ShortIds) {
            session.id = format!("session-{}", self.created);
        }
        if self.deviations.has(SessionListSwitch::OddIds) {
            session.id = format!("dev/{}?#%", self.created);
        }
        let reply = session.brief(self.started, "created");
        self.numbers.insert(session.id.clone(), self.created);
        self.sessions.insert(self.created, session);
        Ok(Reply::new(201, reply))
    }

    pub(super) fn list(&self, request: &EndpointRequest) -> Result<Reply, Refusal> {
        let limit = match request.route.param("limit").map(str::parse::<i64>) {
            None if self.deviations.has(SessionListSwitch::ListsAll) => usize::MAX,
            None => DEFAULT_LIMIT,
            Some(Ok(limit)) if limit > 0 => usize::try_from(limit).unwrap_or(usize::MAX),
            Some(Ok(_)) if self.deviations.has(SessionListSwitch::LimitOddEmpty) => 0,
            Some(_) => return Err(Refusal::invalid("`limit` must be a whole number from 1 on")),
        };
        let status = request.route.param("status");
        if let Some(status) = status
            && !STATUSES.contains(&status)
            && !self.deviations.has(SessionListSwitch::FilterUnknownEmpty)
        {
            return Err(Refusal::invalid(format!("`status` must be one of {}", STATUSES.join(", "))));
        }
        let together = status == Some("processing") && self.deviations.has(SessionListSwitch::FiltersTogether);
        let fits = |session: &Session| status.is_none_or(|status| session.status.name() == status);
        let wanted = |session: &&Session| {
            !session.hidden && (fits(session) || together && session.status == Status::AwaitingApproval)
        };
        let mut all: Vec<&Session> = self.sessions.values().filter(wanted).collect();
        if self.deviations.has(SessionListSwitch::ListsLate)
            || (status.is_some() && self.deviations.has(SessionListSwitch::FiltersTooMuch))
        {
            all.pop();
        }
        let listed = all.iter().take(limit).map(|session| session.brief(self.started, session.status.name()));
        Ok(Reply::new(200, json!({"sessions": listed.collect::<Vec<_>>(), "total": all.len()})))
    }

    pub(super) fn health(&self, now: Duration) -> Reply {
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

    pub(super) fn info(&self) -> Reply {
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
}

impl Model {
    /// Gives a session a prompt.
    pub(super) fn submit(&mut self, number: u64, prompt: &str, now: Duration) -> Result<Reply, Refusal> {
        self.expire(number, now);
        let busy_elsewhere = self.busy_elsewhere(number);
        let all_senders = self.all_senders();
        let other_senders = self.senders_of_busy_session(number);
        let request_id = match self.deviations.has(PromptSwitch::SameRequestId) {
            true => "req-1".to_owned(),
            false => format!("req-{}", self.prompts + 1),
        };
        let emitter = EventEmitter { deviations: &self.deviations, now };
        let Some(session) = self.sessions.get_mut(&number) else { return Err(Refusal::no_session("")) };
        if session.status == Status::Stopped && !self.deviations.has(PromptSwitch::StoppedTakesPrompts) {
            return Err(Refusal::no_session(&session.id));
        }
        if let Some(refusal) = &session.refusal {
            return Err(refusal.clone());
        }
        let data = json!({"request_id": request_id, "prompt": prompt});
        if session.is_busy() || busy_elsewhere.is_some() {
            let at_once = now.saturating_sub(session.active) < Duration::from_millis(20);
            if self.deviations.has(PromptSwitch::AcceptsBusy)
                || at_once && self.deviations.has(PromptSwitch::AcceptsAtOnce)
            {
                return Ok(accepted_reply(&request_id));
            }
            if self.deviations.has(PromptSwitch::BusyReplaces) {
                session.abandon();
            }
            if self.deviations.has(PromptSwitch::WorksOnRefused) {
                session.emit(&emitter, "prompt:submit", data);
            }
            let refusal = Refusal::new("SESSION_BUSY", "Session is processing another request");
            return Err(refusal.about("session_id", session.id.as_str()));
        }
        let case = self.script.case(prompt);
        if let Some(failure) = case.and_then(|case| self.script.cases[case].refuse()) {
            return Err(failure.refusal());
        }
        self.prompts += 1;
        session.begin(PromptWork::new(self.script.clone(), case, request_id.clone(), prompt, now), now);
        session.add_senders(all_senders);
        if let Some(other_senders) = other_senders {
            session.senders = other_senders;
        }
        session.emit(&emitter, "prompt:submit", data);
        self.begun.push(session.id.clone());
        Ok(accepted_reply(&request_id))
    }

    /// What a session other than this one works on, where a flaw wants to know.
    fn busy_elsewhere(&self, number: u64) -> Option<String> {
        if !self.deviations.has(PromptSwitch::OneAtATime) {
            return None;
        }
        let others = self.sessions.iter().filter(|(other, session)| **other != number && session.is_busy());
        others.filter_map(|(_, session)| session.prompt.clone()).next()
    }

    /// The subscribers of another session that works, where a flaw sends them the events of this one.
    fn senders_of_busy_session(&self, number: u64) -> Option<Vec<FeedSender>> {
        if !self.deviations.has(PromptSwitch::MixesSessions) {
            return None;
        }
        let mut others = self.sessions.iter().filter(|(other, session)| **other != number && session.is_busy());
        others.next().map(|(_, session)| session.senders.clone())
    }

    /// All subscribers, where a flaw sends them all events.
    fn all_senders(&self) -> Vec<FeedSender> {
        match self.deviations.has(FeedSwitch::EventsToAll) {
            true => self.sessions.values().flat_map(|session| session.senders.clone()).collect(),
            false => vec![],
        }
    }
}

/// The response to a prompt that is accepted.
fn accepted_reply(request_id: &str) -> Reply {
    let message = "Prompt submitted, subscribe to events for response";
    Reply::new(202, json!({"request_id": request_id, "status": "processing", "message": message}))
}

/// Answers a request for one of the lists, or for a profile.
pub fn catalog(script: &Script, request: &EndpointRequest) -> Result<Reply, Refusal> {
    let listed = |entries: &[Map<String, Value>], brief: bool| -> Value {
        let wanted = request.route.param("collection");
        let of = |entry: &&Map<String, Value>| {
            wanted.is_none_or(|wanted| entry.get("collection").and_then(Value::as_str) == Some(wanted))
        };
        entries.iter().filter(of).map(|entry| if brief { summary(entry) } else { entry.clone().into() }).collect()
    };
    match request.route.endpoint {
        Endpoint::ListProfiles => Ok(Reply::new(200, json!({"profiles": listed(&script.profiles, true)}))),
        Endpoint::ListAgents => Ok(Reply::new(200, json!({"agents": listed(&script.agents, false)}))),
        Endpoint::ListCollections => Ok(Reply::new(200, json!({"collections": script.collections}))),
        _ => {
            let named =
                |profile: &&Map<String, Value>| profile.get("name").and_then(Value::as_str) == Some(request.name());
            let profile = script.profiles.iter().find(named).ok_or_else(|| {
                let shown: String = request.name().chars().take(64).collect();
                Refusal::new("PROFILE_NOT_FOUND", format!("Profile '{shown}' not found")).about("profile", shown)
            })?;
            Ok(Reply::new(200, profile.clone().into()))
        }
    }
}

/// What a list has of a profile.
fn summary(profile: &Map<String, Value>) -> Value {
    let members = ["name", "collection", "description", "extends"].into_iter();
    members.map(|key| (key.to_owned(), profile.get(key).cloned().unwrap_or_default())).collect::<Map<_, _>>().into()
}

/// The API key with which a session is to be created.
fn api_key(keys: &ApiKeys, body: &Map<String, Value>) -> Result<String, Refusal> {
    let credentials = body.get("credentials").and_then(Value::as_object);
    let given = credentials.and_then(|all| all.values().find_map(Value::as_str)).unwrap_or_default();
    if given.is_empty() {
        return Err(Refusal::new("MISSING_CREDENTIALS", "No API key provided in credentials"));
    }
    let is_in = |list: &[String]| list.iter().any(|key| key == given);
    if is_in(&keys.unauthorized) {
        return Err(Refusal::new("API_KEY_UNAUTHORIZED", "API key lacks required permissions"));
    }
    if is_in(&keys.invalid) || keys.valid.as_ref().is_some_and(|valid| !is_in(valid)) {
        return Err(Refusal::new("INVALID_API_KEY", "API key is invalid or malformed"));
    }
    Ok(given.to_owned())
}
