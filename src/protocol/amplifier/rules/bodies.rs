//! The bodies of responses: the members of each, and what they have to be.

use serde_json::Value;

use super::members::{
    AMOUNT, ANY, BOOLEAN, BodyObject, COUNT, FILLED, MODULES, MOMENT, Member, OBJECT, OBJECTS, PORT, STATUS, STRING,
    STRING_OR_NULL, STRINGS, USAGE,
};
use super::traffic::Exchange;
use crate::protocol::ViolationDetail;
use crate::protocol::amplifier::words::{Endpoint, Route};
use crate::protocol::http::requirement_index::RuleContext;

const CREATE: &[Member] = &[
    ("session_id", FILLED, true, "create/session-id"),
    ("status", STRING, true, "create/session-status"),
    ("profile", STRING, true, "create/profile"),
    ("created_at", MOMENT, true, "create/created-at"),
];
const PROMPT: &[Member] = &[
    ("request_id", FILLED, true, "prompt/request-id"),
    ("status", STRING, true, "prompt/value"),
    ("message", STRING, true, "prompt/message"),
];
const SESSION: &[Member] = &[
    ("session_id", FILLED, true, "status/session-id"),
    ("status", STATUS, true, "status/value"),
    ("profile", STRING, true, "status/profile"),
    ("created_at", MOMENT, true, "status/created-at"),
    ("last_activity", MOMENT, true, "status/last-activity"),
    ("message_count", COUNT, true, "status/message-count"),
    ("token_usage", USAGE, true, "status/token-usage"),
    ("pending_approval", ANY, true, "status/pending-approval"),
];
const APPROVAL: &[Member] =
    &[("status", STRING, true, "approval/value"), ("message", STRING, true, "approval/message")];
const STOP: &[Member] = &[("status", STRING, true, "stop/value"), ("message", STRING, true, "stop/message")];
const LIST: &[Member] = &[("sessions", OBJECTS, true, "list/object"), ("total", COUNT, true, "list/total")];
const LISTED: &[Member] = &[
    ("session_id", FILLED, true, "list/session-id"),
    ("status", STATUS, true, "list/session-status"),
    ("profile", STRING, true, "list/profile"),
    ("created_at", MOMENT, true, "list/created-at"),
];
const PROFILE: &[Member] = &[
    ("name", STRING, true, "profiles/name"),
    ("collection", STRING_OR_NULL, true, "profiles/collection"),
    ("description", STRING, true, "profiles/description"),
    ("extends", STRING_OR_NULL, true, "profiles/extends"),
    ("providers", MODULES, false, "profiles/modules"),
    ("tools", MODULES, false, "profiles/modules"),
    ("hooks", MODULES, false, "profiles/modules"),
    ("agents", STRINGS, false, "profiles/agents"),
];
const MODULE: &[Member] =
    &[("source", STRING, false, "profiles/module-members"), ("config", OBJECT, false, "profiles/module-members")];
const DETAILS: &[Member] = &[
    ("providers", ANY, true, "profiles/detail-modules"),
    ("tools", ANY, true, "profiles/detail-modules"),
    ("hooks", ANY, true, "profiles/detail-modules"),
    ("agents", ANY, true, "profiles/detail-modules"),
];
const COLLECTION: &[Member] = &[
    ("name", STRING, true, "collections/name"),
    ("description", STRING, true, "collections/description"),
    ("version", STRING, true, "collections/version"),
    ("profiles", STRINGS, true, "collections/profiles"),
    ("agents", STRINGS, true, "collections/agents"),
];
const AGENT: &[Member] = &[
    ("name", STRING, true, "agents/name"),
    ("collection", STRING_OR_NULL, true, "agents/collection"),
    ("description", STRING, true, "agents/description"),
    ("providers", MODULES, false, "agents/providers"),
];
const HEALTH: &[Member] = &[
    ("status", STRING, true, "health/value"),
    ("version", STRING, true, "health/version"),
    ("uptime_seconds", AMOUNT, true, "health/uptime-seconds"),
    ("active_sessions", COUNT, true, "health/active-sessions"),
];
const INFO: &[Member] = &[
    ("version", STRING, true, "info/version"),
    ("amplifier_core_version", STRING, true, "info/core-version"),
    ("capabilities", OBJECT, true, "info/capabilities"),
    ("config", OBJECT, true, "info/config"),
];
const CAPABILITIES: &[Member] = &[
    ("streaming", BOOLEAN, true, "info/capabilities"),
    ("extended_thinking", BOOLEAN, true, "info/capabilities"),
    ("tool_use", BOOLEAN, true, "info/capabilities"),
];
const CONFIG: &[Member] = &[
    ("host", STRING, true, "info/host"),
    ("port", PORT, true, "info/port"),
    ("profiles_path", STRING, true, "info/profiles-path"),
    ("collections_path", STRING, true, "info/collections-path"),
];

/// Judges the body of an answer by itself and by its request.
pub fn judge(route: &Route, exchange: &Exchange, answer: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    match route.endpoint {
        Endpoint::CreateSession => {
            answer.check(ctx, CREATE);
            let asked = exchange.own.body.as_ref().and_then(|body| body.get("profile")).and_then(Value::as_str);
            same(answer, "profile", asked, "create/profile", ctx);
            created(answer, ctx);
        }
        Endpoint::SubmitPrompt => {
            answer.check(ctx, PROMPT);
            same(answer, "status", Some("processing"), "prompt/value", ctx);
        }
        Endpoint::GetSession => {
            answer.check(ctx, SESSION);
            same(answer, "session_id", route.name.as_deref(), "status/session-id", ctx);
        }
        Endpoint::SubmitApproval => answer.check(ctx, APPROVAL),
        Endpoint::DeleteSession => {
            answer.check(ctx, STOP);
            same(answer, "status", Some("stopped"), "stop/value", ctx);
        }
        Endpoint::ListSessions => sessions(route, answer, ctx),
        Endpoint::ListProfiles => {
            listed(answer, "profiles", "profiles/list", ctx);
            let modules = |ctx: &mut RuleContext<'_>, profile: BodyObject<'_>| profile_of(profile, ctx);
            entries(route, answer, "profiles", ["profiles/name-unique", "profiles/filter"], modules, ctx);
        }
        Endpoint::GetProfile => {
            profile_of(answer, ctx);
            answer.check(ctx, DETAILS);
            same(answer, "name", route.name.as_deref(), "profiles/detail-name", ctx);
        }
        Endpoint::ListCollections => {
            listed(answer, "collections", "collections/list", ctx);
            answer.each("collections", |collection| collection.check(ctx, COLLECTION));
        }
        Endpoint::ListAgents => {
            listed(answer, "agents", "agents/list", ctx);
            let agent = |ctx: &mut RuleContext<'_>, agent: BodyObject<'_>| agent.check(ctx, AGENT);
            entries(route, answer, "agents", ["", "agents/filter"], agent, ctx);
        }
        Endpoint::Health => {
            answer.check(ctx, HEALTH);
            if let Some(status) = answer.text("status") {
                let fault =
                    ViolationDetail::new("a server that is ready does not say `healthy`").at("/status").actual(status);
                ctx.check("health/healthy", (status != "healthy").then_some(fault));
            }
        }
        Endpoint::Info => {
            answer.check(ctx, INFO);
            answer.inner("capabilities", |place| place.check(ctx, CAPABILITIES));
            answer.inner("config", |place| place.check(ctx, CONFIG));
        }
        Endpoint::Events | Endpoint::Socket => {}
    }
}

/// A member that has to be what somebody said.
fn same(answer: BodyObject<'_>, key: &str, wanted: Option<&str>, short: &str, ctx: &mut RuleContext<'_>) {
    let (Some(wanted), Some(actual)) = (wanted, answer.text(key)) else { return };
    let fault =
        ViolationDetail::new(format!("`{key}` is another one")).at(answer.at(key)).expected(wanted).actual(actual);
    ctx.check(short, (wanted != actual).then_some(fault));
}

fn created(answer: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    if let Some(id) = answer.text("session_id") {
        let fault = ViolationDetail::new("a `session_id` is no UUID").at("/session_id").actual(id);
        ctx.check("create/session-id-uuid", (!is_uuid(id)).then_some(fault));
    }
    if let Some(status) = answer.text("status") {
        let known = status == "created" || crate::protocol::amplifier::STATUSES.contains(&status);
        let fault = ViolationDetail::new("a new session has a status that the document does not know")
            .at("/status")
            .actual(status);
        ctx.check("create/session-status-known", (!known).then_some(fault));
        if status != "created" {
            ctx.note("create/session-status", format!("New sessions have the status `{status}`"));
        }
    }
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    lengths == [8, 4, 4, 4, 12] && groups.iter().all(|group| group.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn sessions(route: &Route, answer: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    answer.check(ctx, LIST);
    answer.each("sessions", |session| session.check(ctx, LISTED));
    let Some(list) = answer.members.get("sessions").and_then(Value::as_array) else { return };
    unique(list, "session_id", "list/unique", ctx);
    if let Some(total) = answer.members.get("total").and_then(Value::as_u64) {
        let fault = ViolationDetail::new("`total` is less than the sessions in the list").at("/total");
        ctx.check("list/total", ((total as usize) < list.len()).then(|| fault.expected(list.len()).actual(total)));
        if total as usize > list.len() {
            ctx.note("list/total", "The `total` of the list counts more than the list");
        }
    }
    if let Some(wanted) = route.param("status") {
        let other = list.iter().find(|session| session.get("status").and_then(Value::as_str) != Some(wanted));
        let fault =
            || ViolationDetail::new("the list has a session with another status").at("/sessions").expected(wanted);
        ctx.check("list/filter", other.map(|other| fault().actual(other.clone())));
    }
    let (limit, short) = match route.param("limit").map(str::parse::<usize>) {
        Some(Ok(limit)) if limit > 0 => (limit, "list/limit"),
        Some(Ok(_)) => (0, "list/limit-odd"),
        Some(Err(_)) if route.param("limit").is_some_and(|limit| limit.parse::<i64>().is_ok()) => (0, "list/limit-odd"),
        Some(Err(_)) => {
            let fault = ViolationDetail::new("a `limit` that is no integer is not refused").expected(400).actual(200);
            ctx.check("list/limit-invalid", Some(fault));
            return;
        }
        None => (50, "list/limit-default"),
    };
    let fault =
        ViolationDetail::new("the list is longer than its limit").at("/sessions").expected(limit).actual(list.len());
    ctx.check(short, (list.len() > limit).then_some(fault));
}

/// The list that an answer has to have.
fn listed(answer: BodyObject<'_>, key: &'static str, short: &'static str, ctx: &mut RuleContext<'_>) {
    answer.check(ctx, &[(key, OBJECTS, true, short)]);
}

/// Judges the entries of a list that can be filtered by collection.
fn entries(
    route: &Route,
    answer: BodyObject<'_>,
    key: &str,
    shorts: [&str; 2],
    each: impl Fn(&mut RuleContext<'_>, BodyObject<'_>),
    ctx: &mut RuleContext<'_>,
) {
    answer.each(key, |entry| each(ctx, entry));
    let Some(list) = answer.members.get(key).and_then(Value::as_array) else { return };
    if !shorts[0].is_empty() {
        unique(list, "name", shorts[0], ctx);
    }
    if let Some(wanted) = route.param("collection").filter(|wanted| !wanted.is_empty()) {
        let other = list.iter().find(|entry| entry.get("collection").and_then(Value::as_str) != Some(wanted));
        let fault =
            || ViolationDetail::new("the list has an entry of another collection").at(answer.at(key)).expected(wanted);
        ctx.check(shorts[1], other.map(|other| fault().actual(other.clone())));
    }
}

fn unique(list: &[Value], key: &str, short: &str, ctx: &mut RuleContext<'_>) {
    let mut names: Vec<&str> = list.iter().filter_map(|entry| entry.get(key)?.as_str()).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    ctx.check(
        short,
        twice.map(|pair| ViolationDetail::new(format!("the same `{key}` is there twice")).actual(pair[0])),
    );
}

fn profile_of(profile: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    profile.check(ctx, PROFILE);
    for key in ["providers", "tools", "hooks"] {
        profile.each(key, |module| module.check(ctx, MODULE));
    }
}
