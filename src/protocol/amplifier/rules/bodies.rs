//! The bodies of responses: the members of each, and what they have to be.

use serde_json::Value;

use super::members::{
    AMOUNT, ANY, BOOLEAN, BodyObject, COUNT, FILLED, MODULES, MOMENT, Member, OBJECT, OBJECTS, PORT, STATUS, STRING,
    STRING_OR_NULL, STRINGS, USAGE,
};
use super::traffic::Exchange;
use crate::protocol::ViolationDetail;
use crate::protocol::amplifier::words::{Endpoint, Route};
use crate::protocol::http::rule_context::RuleContext;

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

/// Judges the body of a response by itself and by its request.
pub fn judge(route: &Route, exchange: &Exchange, body: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    match route.endpoint {
        Endpoint::CreateSession => {
            body.check(ctx, CREATE);
            let requested = exchange.own.body.as_ref().and_then(|body| body.get("profile")).and_then(Value::as_str);
            judge_text(body, "profile", requested, "create/profile", ctx);
            judge_created(body, ctx);
        }
        Endpoint::SubmitPrompt => {
            body.check(ctx, PROMPT);
            judge_text(body, "status", Some("processing"), "prompt/value", ctx);
        }
        Endpoint::GetSession => {
            body.check(ctx, SESSION);
            judge_text(body, "session_id", route.name.as_deref(), "status/session-id", ctx);
        }
        Endpoint::SubmitApproval => body.check(ctx, APPROVAL),
        Endpoint::DeleteSession => {
            body.check(ctx, STOP);
            judge_text(body, "status", Some("stopped"), "stop/value", ctx);
        }
        Endpoint::ListSessions => judge_session_list(route, body, ctx),
        Endpoint::ListProfiles => {
            judge_list(body, "profiles", "profiles/list", ctx);
            let modules = |ctx: &mut RuleContext<'_>, profile: BodyObject<'_>| judge_profile(profile, ctx);
            judge_entries(route, body, "profiles", ["profiles/name-unique", "profiles/filter"], modules, ctx);
        }
        Endpoint::GetProfile => {
            judge_profile(body, ctx);
            body.check(ctx, DETAILS);
            judge_text(body, "name", route.name.as_deref(), "profiles/detail-name", ctx);
        }
        Endpoint::ListCollections => {
            judge_list(body, "collections", "collections/list", ctx);
            body.each("collections", |collection| collection.check(ctx, COLLECTION));
        }
        Endpoint::ListAgents => {
            judge_list(body, "agents", "agents/list", ctx);
            let agent = |ctx: &mut RuleContext<'_>, agent: BodyObject<'_>| agent.check(ctx, AGENT);
            judge_entries(route, body, "agents", ["", "agents/filter"], agent, ctx);
        }
        Endpoint::Health => {
            body.check(ctx, HEALTH);
            if let Some(status) = body.text("status") {
                let fault =
                    ViolationDetail::new("a server that is ready does not say `healthy`").at("/status").actual(status);
                ctx.check("health/healthy", (status != "healthy").then_some(fault));
            }
        }
        Endpoint::Info => {
            body.check(ctx, INFO);
            body.inner("capabilities", |place| place.check(ctx, CAPABILITIES));
            body.inner("config", |place| place.check(ctx, CONFIG));
        }
        Endpoint::Events | Endpoint::Socket => {}
    }
}

/// Judges a member that has to have an expected text.
fn judge_text(body: BodyObject<'_>, key: &str, expected: Option<&str>, short: &str, ctx: &mut RuleContext<'_>) {
    let (Some(expected), Some(actual)) = (expected, body.text(key)) else { return };
    let fault =
        ViolationDetail::new(format!("`{key}` is another one")).at(body.at(key)).expected(expected).actual(actual);
    ctx.check(short, (expected != actual).then_some(fault));
}

fn judge_created(body: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    if let Some(id) = body.text("session_id") {
        let fault = ViolationDetail::new("a `session_id` is no UUID").at("/session_id").actual(id);
        ctx.check("create/session-id-uuid", (!is_uuid(id)).then_some(fault));
    }
    if let Some(status) = body.text("status") {
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

fn judge_session_list(route: &Route, body: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    body.check(ctx, LIST);
    body.each("sessions", |session| session.check(ctx, LISTED));
    let Some(list) = body.members.get("sessions").and_then(Value::as_array) else { return };
    judge_unique(list, "session_id", "list/unique", ctx);
    if let Some(total) = body.members.get("total").and_then(Value::as_u64) {
        let fault = ViolationDetail::new("`total` is less than the sessions in the list").at("/total");
        ctx.check("list/total", ((total as usize) < list.len()).then(|| fault.expected(list.len()).actual(total)));
        if total as usize > list.len() {
            ctx.note("list/total", "The `total` of the list counts more than the list");
        }
    }
    if let Some(expected) = route.param("status") {
        let other = list.iter().find(|session| session.get("status").and_then(Value::as_str) != Some(expected));
        let fault =
            || ViolationDetail::new("the list has a session with another status").at("/sessions").expected(expected);
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
    // What is not full has all that the filter allows; a server may have a limit of its own above the default.
    let filtered = route.param("status").is_some() && list.len() < limit.min(50);
    let total = body.members.get("total").and_then(Value::as_u64).filter(|_| filtered);
    let fault =
        ViolationDetail::new("`total` is more than what the filter allows, all of which the list has").at("/total");
    let more = total.filter(|total| *total as usize > list.len());
    ctx.check("list/total-count", more.map(|total| fault.expected(list.len()).actual(total)));
}

/// Judges the list that a response has to have.
fn judge_list(body: BodyObject<'_>, key: &'static str, short: &'static str, ctx: &mut RuleContext<'_>) {
    body.check(ctx, &[(key, OBJECTS, true, short)]);
}

/// Judges the entries of a list that can be filtered by collection.
fn judge_entries(
    route: &Route,
    body: BodyObject<'_>,
    key: &str,
    shorts: [&str; 2],
    each: impl Fn(&mut RuleContext<'_>, BodyObject<'_>),
    ctx: &mut RuleContext<'_>,
) {
    body.each(key, |entry| each(ctx, entry));
    let Some(list) = body.members.get(key).and_then(Value::as_array) else { return };
    if !shorts[0].is_empty() {
        judge_unique(list, "name", shorts[0], ctx);
    }
    if let Some(expected) = route.param("collection").filter(|expected| !expected.is_empty()) {
        let other = list.iter().find(|entry| entry.get("collection").and_then(Value::as_str) != Some(expected));
        let fault =
            || ViolationDetail::new("the list has an entry of another collection").at(body.at(key)).expected(expected);
        ctx.check(shorts[1], other.map(|other| fault().actual(other.clone())));
    }
}

fn judge_unique(list: &[Value], key: &str, short: &str, ctx: &mut RuleContext<'_>) {
    let mut names: Vec<&str> = list.iter().filter_map(|entry| entry.get(key)?.as_str()).collect();
    names.sort_unstable();
    let duplicate = names.windows(2).find(|pair| pair[0] == pair[1]);
    ctx.check(
        short,
        duplicate.map(|pair| ViolationDetail::new(format!("the same `{key}` is there twice")).actual(pair[0])),
    );
}

fn judge_profile(profile: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    profile.check(ctx, PROFILE);
    for key in ["providers", "tools", "hooks"] {
        profile.each(key, |module| module.check(ctx, MODULE));
    }
}
