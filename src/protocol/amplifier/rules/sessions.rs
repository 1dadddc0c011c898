//! Sessions: what is known of them from requests and responses, over all connections.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::Exchange;
use crate::protocol::ViolationDetail;
use crate::protocol::amplifier::endpoints::{Endpoint, Route};
use crate::protocol::amplifier::members;
use crate::protocol::http::rule_context::{BodyObject, RuleContext};

/// So many sessions are remembered, and of each so many prompts, decisions and options.
const MAX_SESSIONS: usize = 20_000;
const MAX_REMEMBERED: usize = 64;

/// How many request ids of events are remembered of a session.
const MAX_REPORTED: usize = 1000;

/// Microseconds by which times of a server and of a trace may disagree.
const INEXACT: i64 = 100_000;

/// By how many milliseconds a tool may seem to have run for longer than its session exists.
const MAX_EXCESS_MS: f64 = 1_000.0;

/// Keys shorter than this are not looked for: they may come up by chance.
const MIN_KEY: usize = 8;

/// Every session that was created in a trace.
#[derive(Default)]
pub struct Sessions {
    all: HashMap<String, TracedSession>,
    /// The API keys that servers were given.
    pub keys: Vec<String>,
    /// The last uptime that the server reported, the event, and when the request was sent and answered.
    uptime: Option<(u64, f64, [u64; 2])>,
    /// The request ids that were given.
    /// The ids of requests that prompts had, each with the session.
    requests: HashSet<(String, String)>,
    /// Whether nobody but the client in the trace knows of sessions that it created: where a server is the subject, it
    /// is played by one. Between two real ends others may be there as well, whose requests are not in the trace.
    pub exclusive: bool,
}

/// A session.
#[derive(Default)]
pub struct TracedSession {
    profile: Option<String>,
    created_at: Option<i64>,
    /// When the response to its creation was whole.
    known: u64,
    /// Whether a client requested to stop it.
    pub stop_requested: bool,
    /// The event with which it was known to be stopped, and its time.
    pub stopped: Option<(u64, u64)>,
    /// Prompts that were posted: when, by which event, and their text.
    pub prompts: Vec<(u64, u64, String)>,
    /// Decisions that were posted.
    pub decisions: Vec<PostedDecision>,
    /// Options that were offered, of every approval.
    pub offered: Vec<String>,
    /// The request ids that were given for its prompts.
    pub requests: Vec<AcceptedPrompt>,
    /// The request ids that events had.
    reported_ids: HashSet<String>,
    /// Whether there were events of work while the response to a prompt had not come.
    pub worked_unanswered: bool,
    /// Whether prompts may have come by other ways than were seen.
    pub has_unseen_prompts: bool,
    /// Whether nobody but the client in the trace knows of it.
    pub exclusive: bool,
    tokens: Option<(u64, u64, u64)>,
    /// The event with which a response had the status `error` last.
    pub failed: Option<u64>,
    /// The event that reported each approval first, by its id.
    required: HashMap<String, u64>,
}

/// A decision that was posted.
pub struct PostedDecision {
    /// The event with which it was posted.
    pub posted: u64,
    /// The option.
    pub option: String,
    /// Whether the response to it was a success.
    pub accepted: bool,
}

/// A prompt that was accepted.
pub struct AcceptedPrompt {
    /// The id.
    pub id: String,
    /// The event with which the prompt was posted.
    pub posted: u64,
    /// The prompt.
    pub prompt: Option<String>,
}

impl TracedSession {
    /// Judges how long a tool ran, of which the event came at this time: it has begun when there was a session.
    pub fn judge_duration(&self, data: BodyObject<'_>, t: u64, ctx: &mut RuleContext<'_>) {
        let Some(duration) = data.members.get("duration_ms").and_then(Value::as_f64) else { return };
        let age = t.saturating_sub(self.known) as f64 / 1e3;
        let fault = || {
            ViolationDetail::new(format!("a tool has run for longer than its session exists, which is {age:.0} ms"))
                .at("/data/duration_ms")
                .actual(duration)
        };
        ctx.check("events/tool-post-duration-fits", (duration > age + MAX_EXCESS_MS).then(fault));
    }

    /// The prompt that was accepted with this request id.
    pub fn accepted(&self, request: &str) -> Option<&AcceptedPrompt> {
        self.requests.iter().find(|accepted| accepted.id == request)
    }

    /// This prompt, as it was accepted with this request id; another one with that id where it was not.
    pub fn accepted_for(&self, request: &str, prompt: &str) -> Option<&AcceptedPrompt> {
        let mut accepted = self.requests.iter().filter(|accepted| accepted.id == request);
        accepted.clone().find(|accepted| accepted.prompt.as_deref() == Some(prompt)).or_else(|| accepted.next())
    }

    /// The event that reported this approval first, of all subscriptions; `now` where it is this one.
    pub fn first_required(&mut self, approval: &str, now: u64) -> u64 {
        match self.required.get(approval) {
            Some(first) => *first,
            None if self.required.len() < MAX_SESSIONS && !approval.is_empty() => {
                self.required.insert(approval.to_owned(), now);
                now
            }
            None => now,
        }
    }

    /// Whether this prompt was posted, and there are prompts whose responses have not come.
    pub fn awaits(&self, prompt: &str) -> bool {
        self.prompts.len() > self.requests.len() && self.prompts.iter().any(|(_, _, posted)| posted == prompt)
    }

    /// Notes that there is an event of work on a prompt.
    pub fn note_work(&mut self) {
        self.worked_unanswered |= !self.has_unseen_prompts && self.prompts.len() > self.requests.len();
    }

    /// Notes that an event has this request id.
    pub fn note_request_id(&mut self, request: &str) {
        if self.reported_ids.len() < MAX_REPORTED {
            self.reported_ids.insert(request.to_owned());
        }
    }

    /// Whether no event has this request id, as far as is remembered.
    pub fn is_unreported(&self, request: &str) -> bool {
        self.reported_ids.len() < MAX_REPORTED && !self.reported_ids.contains(request)
    }

    /// Judges what a status or a list says of it by what its creation said, at a place.
    fn judge_same(&self, shown: &Value, shorts: [&str; 2], place: &str, ctx: &mut RuleContext<'_>) {
        let text = |key: &str| shown.get(key).and_then(Value::as_str);
        if let (Some(wanted), Some(actual)) = (&self.profile, text("profile")) {
            let fault = ViolationDetail::new("a session has another profile than before")
                .at(place.to_owned() + "/profile")
                .expected(wanted.clone());
            ctx.check(shorts[0], (wanted != actual).then(|| fault.actual(actual)));
        }
        if let (Some(wanted), Some(actual)) = (self.created_at, text("created_at").and_then(members::moment)) {
            // Digits behind the second may be left out.
            let other = wanted.abs_diff(actual) >= 1_000_000;
            let fault = ViolationDetail::new("a session has another `created_at` than before")
                .at(place.to_owned() + "/created_at");
            ctx.check(shorts[1], other.then(|| fault.actual(text("created_at"))));
        }
    }

    /// Judges the `last_activity` of a session that is done with its last prompt. The server's clock is compared with
    /// itself: since its creation at least the time has passed that the client has seen pass.
    fn judge_activity(&self, active: &str, before: u64, ctx: &mut RuleContext<'_>) {
        let (Some(created), Some(moment)) = (self.created_at, members::moment(active)) else { return };
        let Some(accepted) = self.requests.last().filter(|accepted| accepted.posted < before) else { return };
        let Some((posted, ..)) = self.prompts.iter().find(|(_, index, _)| *index == accepted.posted) else { return };
        let passed = i64::try_from(posted.saturating_sub(self.known)).unwrap_or(0);
        let inexact = if active.contains('.') { INEXACT } else { 1_000_000 + INEXACT };
        let fault =
            ViolationDetail::new("the `last_activity` of a session is before its last prompt").at("/last_activity");
        ctx.check("status/last-activity-moves", (moment < created + passed - inexact).then(|| fault.actual(active)));
    }

    /// The profile with which it was created.
    pub fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }
}

impl Sessions {
    /// A session that was created in this trace.
    pub fn session(&mut self, id: &str) -> Option<&mut TracedSession> {
        self.all.get_mut(id)
    }

    /// Notes that the server has started again.
    pub fn restarted(&mut self) {
        self.uptime = None;
    }

    /// Notes the API keys for a session: they are in the body of its request, or in the parameters of the call.
    pub fn note_credentials(&mut self, body: Option<&Value>) {
        let keys = body.and_then(|body| body.get("credentials")).and_then(Value::as_object);
        for key in keys.into_iter().flat_map(|keys| keys.values()).filter_map(Value::as_str) {
            let varied = key.chars().any(|c| !key.starts_with(c));
            if key.len() >= MIN_KEY && varied && self.keys.len() < MAX_REMEMBERED && !self.keys.iter().any(|k| k == key)
            {
                self.keys.push(key.to_owned());
            }
        }
    }

    /// Notes a request that is complete.
    pub fn note_request(&mut self, route: &Route, exchange: &Exchange, ctx: &mut RuleContext<'_>) {
        if route.endpoint == Endpoint::CreateSession {
            self.note_credentials(exchange.own.body.as_ref());
        }
        let Some(session) = route.name.as_ref().and_then(|id| self.all.get_mut(id)) else { return };
        match (route.endpoint, exchange.own.posted("prompt"), exchange.own.posted("decision")) {
            (Endpoint::DeleteSession, ..) => session.stop_requested = true,
            (Endpoint::SubmitPrompt, Some(prompt), _) => {
                let at = (exchange.sent.unwrap_or_default(), exchange.index, prompt.to_owned());
                remember(&mut session.prompts, at);
            }
            (Endpoint::SubmitApproval, _, Some(decision)) => {
                if !session.offered.is_empty() && !exchange.client_is_odd {
                    let offered = session.offered.iter().any(|option| option == decision);
                    let fault = ViolationDetail::new("a decision was not offered").at("/decision").actual(decision);
                    let fault = fault.expected(session.offered.clone());
                    ctx.check("approval/client-offered", (!offered).then_some(fault));
                }
                let option = decision.to_owned();
                remember(&mut session.decisions, PostedDecision { posted: exchange.index, option, accepted: false });
            }
            _ => {}
        }
    }

    /// Notes a successful response that is complete.
    pub fn note_response(
        &mut self,
        route: &Route,
        exchange: &Exchange,
        body: &Map<String, Value>,
        ctx: &mut RuleContext<'_>,
    ) {
        let text = |key: &str| body.get(key).and_then(Value::as_str);
        match route.endpoint {
            Endpoint::CreateSession => self.created(exchange, body, ctx),
            Endpoint::SubmitPrompt => {
                let id = route.name.as_deref().unwrap_or_default();
                self.judge_gone(
                    id,
                    exchange,
                    "stop/prompt-refused",
                    "a session that was stopped accepts a prompt",
                    ctx,
                );
                if let Some(request) = text("request_id").filter(|request| !request.is_empty()) {
                    if self.requests.len() < MAX_SESSIONS * 4 {
                        let duplicate = !self.requests.insert((id.to_owned(), request.to_owned()));
                        let fault = ViolationDetail::new("two prompts of a session have the same `request_id`")
                            .at("/request_id")
                            .actual(request);
                        ctx.check("prompt/request-id-unique", duplicate.then_some(fault));
                    }
                    if let Some(session) = self.all.get_mut(id) {
                        let prompt = exchange.own.posted("prompt").map(str::to_owned);
                        let accepted = AcceptedPrompt { id: request.to_owned(), posted: exchange.index, prompt };
                        remember(&mut session.requests, accepted);
                    }
                }
            }
            Endpoint::SubmitApproval => {
                let session = route.name.as_ref().and_then(|id| self.all.get_mut(id));
                let decisions = session.into_iter().flat_map(|session| &mut session.decisions);
                decisions
                    .filter(|decision| decision.posted == exchange.index)
                    .for_each(|decision| decision.accepted = true);
            }
            Endpoint::GetSession => {
                let session = route.name.as_ref().and_then(|id| self.all.get_mut(id));
                if let Some(session) = session.filter(|_| text("status") == Some("error")) {
                    session.failed = Some(ctx.index);
                }
                self.judge_status(route, exchange, body, ctx);
            }
            Endpoint::DeleteSession => {
                let now = (ctx.index, exchange.answered);
                if let Some(session) = route.name.as_ref().and_then(|id| self.all.get_mut(id)) {
                    session.stopped.get_or_insert(now);
                }
            }
            Endpoint::ListSessions => {
                for entry in body.get("sessions").and_then(Value::as_array).into_iter().flatten() {
                    if let Some(session) =
                        entry.get("session_id").and_then(Value::as_str).and_then(|id| self.all.get(id))
                    {
                        session.judge_same(entry, ["list/profile-same", "list/created-at-same"], "/sessions", ctx);
                    }
                    let (Some(id), Some(status)) = (entry.get("session_id"), entry.get("status")) else { continue };
                    let Some(id) = id.as_str().filter(|_| status != "stopped") else { continue };
                    self.judge_gone(id, exchange, "list/stopped", "a session that was stopped is in the list", ctx);
                }
            }
            Endpoint::Health => {
                let Some(uptime) = body.get("uptime_seconds").and_then(Value::as_f64) else { return };
                let times = [exchange.sent.unwrap_or(exchange.touched), exchange.answered];
                if let Some((_, before, then)) = self.uptime.filter(|(index, ..)| *index < exchange.index) {
                    let fault = ViolationDetail::new("the uptime has become less").at("/uptime_seconds").actual(uptime);
                    ctx.check("health/uptime-grows", (uptime < before).then(|| fault.expected(before)));
                    // Whole seconds may be rounded.
                    let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e6;
                    let (least, most) = (seconds(then[1], times[0]) - 2.0, seconds(then[0], times[1]) + 2.0);
                    let grown = uptime - before;
                    let fault =
                        ViolationDetail::new("the uptime grows otherwise than time passes").at("/uptime_seconds");
                    let fault = || fault.expected(format!("{least:.1} to {most:.1} more")).actual(grown);
                    ctx.check("health/uptime-rate", (grown > most || (0.0..least).contains(&grown)).then(fault));
                }
                self.uptime = Some((ctx.index, uptime, times));
            }
            _ => {}
        }
    }

    /// Judges whether a session that was stopped before this request is gone.
    fn judge_gone(&self, id: &str, exchange: &Exchange, short: &str, what: &str, ctx: &mut RuleContext<'_>) {
        let Some((stopped, _)) = self.all.get(id).and_then(|session| session.stopped) else { return };
        let started = exchange.request.is_some() && exchange.index > stopped;
        if started {
            ctx.check(short, Some(ViolationDetail::new(what)));
        }
    }

    fn created(&mut self, exchange: &Exchange, body: &Map<String, Value>, ctx: &mut RuleContext<'_>) {
        let text = |key: &str| body.get(key).and_then(Value::as_str);
        let Some(id) = text("session_id").filter(|id| !id.is_empty()) else { return };
        let fault = ViolationDetail::new("two sessions have the same `session_id`").at("/session_id").actual(id);
        ctx.check("create/session-id-unique", self.all.contains_key(id).then_some(fault));
        if self.all.len() < MAX_SESSIONS {
            let profile = text("profile").map(str::to_owned);
            let created_at = text("created_at").and_then(members::moment);
            let (known, exclusive) = (exchange.answered, self.exclusive);
            let fresh = TracedSession { profile, created_at, known, exclusive, ..TracedSession::default() };
            self.all.insert(id.to_owned(), fresh);
        }
    }

    /// Judges the status of a session by what is known of it.
    fn judge_status(
        &mut self,
        route: &Route,
        exchange: &Exchange,
        body: &Map<String, Value>,
        ctx: &mut RuleContext<'_>,
    ) {
        let text = |key: &str| body.get(key).and_then(Value::as_str);
        let moment = |key: &str| text(key).and_then(members::moment);
        if let (Some(created), Some(active)) = (moment("created_at"), moment("last_activity")) {
            let fault = ViolationDetail::new("`last_activity` is before `created_at`").at("/last_activity");
            ctx.check("status/last-activity-after", (active < created).then(|| fault.actual(text("last_activity"))));
        }
        let id = route.name.as_deref().unwrap_or_default();
        if text("status") != Some("stopped") {
            self.judge_gone(id, exchange, "stop/gone", "a session that was stopped is shown as if it were not", ctx);
        }
        let Some(session) = self.all.get_mut(id) else { return };
        session.judge_same(&body.clone().into(), ["status/profile", "status/created-at-same"], "", ctx);
        if text("status") == Some("idle") {
            session.judge_activity(text("last_activity").unwrap_or_default(), exchange.index, ctx);
        }
        let tokens = |key: &str| body.get("token_usage")?.get(key).and_then(members::as_count);
        if let (Some(input), Some(output)) = (tokens("input_tokens"), tokens("output_tokens")) {
            if let Some((_, i, o)) = session.tokens.filter(|(index, ..)| *index < exchange.index) {
                let fault = ViolationDetail::new("the `token_usage` of a session has become less").at("/token_usage");
                ctx.check("status/token-usage-grows", (input < i || output < o).then_some(fault));
            }
            session.tokens = Some((ctx.index, input, output));
        }
    }

    /// Whether a text has one of the API keys.
    pub fn leaked(&self, text: &str) -> bool {
        self.keys.iter().any(|key| text.contains(key.as_str()))
    }
}

/// Keeps the newest of them.
pub fn remember<T>(list: &mut Vec<T>, value: T) {
    if list.len() == MAX_REMEMBERED {
        list.remove(0);
    }
    list.push(value);
}
