//! Flaws of sessions and of the lists of what the server has.

use serde_json::{Map, Value, json};

use crate::peer::amplifier::server::model::{PromptSwitch, SessionListSwitch, StopSwitch, WorkSwitch};
use crate::peer::deviation::http_server::Instead;
use crate::peer::deviation::value::{naive, remove, rename, set};
use crate::peer::deviation::{FlawRow, flaw};
use crate::protocol::amplifier::Endpoint::{
    self, CreateSession, DeleteSession, GetProfile, GetSession, Health, Info, ListAgents, ListCollections,
    ListProfiles, ListSessions,
};
use crate::wire::http::Response;

use super::super::model::{EndpointRequest, Refusal, Reply};
use super::{AmplifierServerEffect, lenient, pretend, refuse, reply, result, status};

pub const SESSIONS: &[FlawRow<AmplifierServerEffect>] = &[
    flaw!("created-200" "create/status" "A new session is answered with the status 200." status(CreateSession, 200)),
    flaw!("created-in-list" "create/object" "The response to a new session is a list." result(CreateSession, |b| *b = json!([b.clone()]))),
    flaw!("created-without-id" "create/session-id" "The id of a new session is its `id`."
        result(CreateSession, |b| rename(b, "session_id", "id"))),
    flaw!("created-id-as-number" "create/session-id" "The id of a new session is a number."
        result(CreateSession, |b| set(b, "session_id", 1))),
    flaw!("ids-short" "create/session-id-uuid" "The ids of sessions are words with a number." SessionListSwitch::ShortIds.on()),
    flaw!("sessions-shared" "create/session-id-unique" "A new session is the one that is there already." SessionListSwitch::SharesSession.on()),
    flaw!("created-without-status" "create/session-status" "A new session has no `status`."
        result(CreateSession, |b| drop(remove(b, "status")))),
    flaw!("created-status-active" "create/session-status-known" "The status of a new session is `active`."
        result(CreateSession, |b| set(b, "status", "active"))),
    flaw!("created-without-profile" "create/profile" "The response to a new session has no profile."
        result(CreateSession, |b| drop(remove(b, "profile")))),
    flaw!("created-profile-other" "create/profile" "The response to a new session has the profile `default`."
        result(CreateSession, |b| set(b, "profile", "default"))),
    flaw!("created-profile-shortened" "create/profile" "The response to a new session has its profile without the collection."
    result(CreateSession, |b| {
        let profile = b["profile"].as_str().unwrap_or_default().rsplit(':').next().unwrap_or_default().to_owned();
        set(b, "profile", profile);
    })),
    flaw!("created-at-naive" "create/created-at" "The time of creation has no offset from UTC."
        result(CreateSession, |b| naive(b, "created_at"))),
    flaw!("created-at-as-number" "create/created-at" "The time of creation is a number of seconds."
        result(CreateSession, |b| set(b, "created_at", 1_765_276_200))),
    flaw!("created-long-ago" "create/created-at-now" "Every session has the `created_at` of the example."
        result(CreateSession, |b| set(b, "created_at", "2025-12-09T10:30:00Z"))),
    flaw!("created-in-local-time" "create/created-at-now"
        "The `created_at` is the local time, with the letter of UTC." result(CreateSession, |b| {
        let local = jiff::Timestamp::now().checked_add(jiff::SignedDuration::from_hours(2)).unwrap_or_default();
        set(b, "created_at", local.to_string());
    })),
    flaw!("context-needed" "create/minimal" "Without a context no session is created."
        AmplifierServerEffect::Refuse(|request, _| refuse(request, CreateSession, |body| !body.contains_key("context")))),
    flaw!("model-refused" "create/model" "With a model no session is created."
        AmplifierServerEffect::Refuse(|request, _| refuse(request, CreateSession, |body| body.contains_key("model")))),
    flaw!("git-state-refused" "create/context" "With the state of git no session is created."
        AmplifierServerEffect::Refuse(|request, _| refuse(request, CreateSession, |body| has(body, "git_state")))),
    flaw!("open-files-needed" "create/context-minimal" "With a context without open files no session is created."
        AmplifierServerEffect::Refuse(|request, _| refuse(request, CreateSession, |body| body.contains_key("context") && !has(body, "open_files")))),
    flaw!("context-unchecked" "create/context-invalid" "A context of any format is accepted."
        AmplifierServerEffect::Request(|request| lenient(request, CreateSession, "/context"))),
    flaw!("profile-optional" "create/profile-missing" "Without a profile one is taken."
        AmplifierServerEffect::Request(|request| lenient(request, CreateSession, "`/profile`, which is needed"))),
    flaw!("profile-unchecked" "create/profile-type" "A profile that is no string is accepted."
        AmplifierServerEffect::Request(|request| lenient(request, CreateSession, "`/profile` is"))),
    flaw!("unknown-profile-accepted" "create/profile-unknown" "A profile that does not exist is taken for another one."
    AmplifierServerEffect::Request(|request| if let (CreateSession, Ok(body)) = (request.route.endpoint, &mut request.body)
        && body.get("profile").and_then(Value::as_str).is_some_and(|name| !KNOWN.contains(&name)) {
        body.insert("profile".to_owned(), "dev".into());
    })),
    flaw!("unknown-profile-500" "create/profile-unknown" "A profile that does not exist is answered with the status 500."
    reply(CreateSession, |r| if r.code() == "PROFILE_NOT_FOUND" {
        *r = Reply { why: r.why, ..Refusal::new("SERVER_ERROR", "KeyError").into() };
    })),
    flaw!("create-bad-json-500" "create/bad-json" "A body that is no JSON is answered with the status 500."
        reply(CreateSession, |r| fails(r, "not JSON"))),
    flaw!("create-any-json" "create/bad-body" "A body that is a list creates a session."
        AmplifierServerEffect::Request(|request| lenient(request, CreateSession, "the body is not as"))),
    flaw!("create-extra-refused" "create/extra-members" "Members that are not known are refused."
    AmplifierServerEffect::Refuse(|request, _| refuse(request, CreateSession, |body| {
        body.keys().any(|key| !["profile", "model", "credentials", "context"].contains(&key.as_str()))
    }))),
    flaw!("create-ascii-only" "create/unicode" "Text beyond ASCII is refused."
        AmplifierServerEffect::Refuse(|request, _| refuse(request, CreateSession, |body| !Value::from(body.clone()).to_string().is_ascii()))),
    flaw!("credentials-optional" "create/credentials-missing" "Without an API key a session is created."
    AmplifierServerEffect::Request(|request| if let (CreateSession, Ok(body)) = (request.route.endpoint, &mut request.body)
        && body.get("credentials").is_none_or(|all| all["anthropic_api_key"].as_str().unwrap_or_default().is_empty()) {
        body.insert("credentials".to_owned(), json!({"anthropic_api_key": "any"}));
    })),
    flaw!("permissions-unchecked" "create/credentials-unauthorized" "An API key that may not do enough will do."
    AmplifierServerEffect::Request(|request| if let (CreateSession, Ok(body)) = (request.route.endpoint, &mut request.body)
        && body.get("credentials").is_some_and(|all| all.to_string().contains("unauthorized")) {
        body.insert("credentials".to_owned(), json!({"anthropic_api_key": "any"}));
    })),
    flaw!("keys-unchecked" "create/credentials-invalid" "Any API key will do."
    AmplifierServerEffect::Request(|request| if let (CreateSession, Ok(body)) = (request.route.endpoint, &mut request.body)
        && body.get("credentials").is_some_and(|all| all["anthropic_api_key"].as_str().is_some_and(|key| !key.is_empty())) {
        body.insert("credentials".to_owned(), json!({"anthropic_api_key": "any"}));
    })),
    flaw!("status-203" "status/status" "The status of a session is answered with the status 203." status(GetSession, 203)),
    flaw!("status-in-list" "status/object" "The status of a session is a list." result(GetSession, |b| *b = json!([b.clone()]))),
    flaw!("status-without-id" "status/session-id" "The status has no `session_id`." result(GetSession, |b| drop(remove(b, "session_id")))),
    flaw!("status-id-in-upper-case" "status/session-id" "The `session_id` of the status is in upper case."
    result(GetSession, |b| {
        let id = b["session_id"].as_str().unwrap_or_default().to_uppercase();
        set(b, "session_id", id + "-");
    })),
    flaw!("status-running" "status/value" "A session that works is `running`, and otherwise `ready`."
    result(GetSession, |b| {
        let status = if b["status"] == "idle" { "ready" } else { "running" };
        set(b, "status", status);
    })),
    flaw!("status-without-profile" "status/profile" "The status has no profile." result(GetSession, |b| drop(remove(b, "profile")))),
    flaw!("status-profile-other" "status/profile" "The status has the profile `default`."
        result(GetSession, |b| set(b, "profile", "default"))),
    flaw!("status-created-naive" "status/created-at" "The `created_at` of the status has no offset from UTC."
        result(GetSession, |b| naive(b, "created_at"))),
    flaw!("status-created-moves" "status/created-at-same" "The `created_at` of the status is of another year."
        result(GetSession, |b| set(b, "created_at", "2020-01-01T00:00:00Z"))),
    flaw!("status-active-naive" "status/last-activity" "The `last_activity` has no offset from UTC."
        result(GetSession, |b| naive(b, "last_activity"))),
    flaw!("status-without-activity" "status/last-activity" "There is no `last_activity`."
        result(GetSession, |b| drop(remove(b, "last_activity")))),
    flaw!("status-active-before" "status/last-activity-after" "The `last_activity` is of the year before."
        result(GetSession, |b| set(b, "last_activity", "2020-01-01T00:00:00Z"))),
    flaw!("status-active-still" "status/last-activity-moves" "The `last_activity` stays the time of creation."
    result(GetSession, |b| {
        let created = b["created_at"].clone();
        set(b, "last_activity", created);
    })),
    flaw!("message-count-of-all" "status/counts-own" "The `message_count` counts the prompts of all sessions." WorkSwitch::CountsAll.on()),
    flaw!("tokens-of-last" "status/token-usage-added" "The `token_usage` of a session is that of its last prompt." WorkSwitch::CountsLast.on()),
    flaw!("failed-processing" "status/failed" "A session whose prompt has failed stays `processing`."
        result(GetSession, |b| if b["status"] == "error" { set(b, "status", "processing") })),
    flaw!("message-count-as-text" "status/message-count" "The `message_count` is a text."
    result(GetSession, |b| {
        let count = b["message_count"].to_string();
        set(b, "message_count", count);
    })),
    flaw!("message-count-stays" "status/message-count-grows" "The `message_count` stays 0."
        result(GetSession, |b| set(b, "message_count", 0))),
    flaw!("tokens-as-number" "status/token-usage" "The `token_usage` is one number."
        result(GetSession, |b| set(b, "token_usage", 7))),
    flaw!("tokens-null" "status/token-usage" "The `token_usage` is null before there is a prompt."
    result(GetSession, |b| if b["message_count"] == 0 { set(b, "token_usage", Value::Null) })),
    flaw!("tokens-fall" "status/token-usage-grows" "The `token_usage` counts down."
    result(GetSession, |b| {
        let left = 4_000_000_000_000_i64.saturating_sub(jiff::Timestamp::now().as_millisecond());
        set(b, "token_usage", json!({"input_tokens": left, "output_tokens": left}));
    })),
    flaw!("pending-left-out" "status/pending-approval" "There is no `pending_approval` where nothing is pending."
        result(GetSession, |b| if b["pending_approval"].is_null() { drop(remove(b, "pending_approval")) })),
    flaw!("pending-false" "status/pending-approval" "The `pending_approval` is false where nothing is pending."
        result(GetSession, |b| if b["pending_approval"].is_null() { set(b, "pending_approval", false) })),
    flaw!("stays-processing" "status/idle" "A session that had a prompt stays `processing`."
        result(GetSession, |b| if b["message_count"] != 0 && b["status"] == "idle" { set(b, "status", "processing") })),
    flaw!("new-session-stopped" "status/idle" "A new session is `stopped`."
        result(GetSession, |b| if b["message_count"] == 0 { set(b, "status", "stopped") })),
    flaw!("works-idle" "status/processing" "A session that works is `idle`."
        result(GetSession, |b| if b["status"] == "processing" { set(b, "status", "idle") })),
    flaw!("status-unknown-200" "status/not-found" "A session that never existed is `stopped`."
    reply(GetSession, |r| pretend(r, 404, 200, json!({"session_id": r.body["error"]["details"]["session_id"], "status": "stopped",
        "profile": "dev", "created_at": "2025-12-09T10:30:00Z", "last_activity": "2025-12-09T10:30:00Z", "message_count": 0,
        "token_usage": {"input_tokens": 0, "output_tokens": 0}, "pending_approval": null})))),
    flaw!("awaits-as-processing" "status/awaiting-approval" "A session that waits for a decision is `processing`."
        result(GetSession, |b| if b["status"] == "awaiting_approval" { set(b, "status", "processing") })),
    flaw!("pending-hidden" "status/pending-approval-shown" "The pending approval is not shown."
        result(GetSession, |b| set(b, "pending_approval", Value::Null))),
    flaw!("pending-without-id" "status/pending-approval-id" "The pending approval is shown as true."
        result(GetSession, |b| if b["pending_approval"].is_object() { set(b, "pending_approval", true) })),
    flaw!("stopped-202" "stop/status" "A session that was stopped is answered with the status 202." status(DeleteSession, 202)),
    flaw!("stopped-as-list" "stop/object" "The response to a stop is a list." result(DeleteSession, |b| *b = json!([]))),
    flaw!("stopped-deleted" "stop/value" "The status of the response to a stop is `deleted`." result(DeleteSession, |b| set(b, "status", "deleted"))),
    flaw!("stopped-without-message" "stop/message" "The response to a stop has no message." result(DeleteSession, |b| drop(remove(b, "message")))),
    flaw!("stop-unknown-200" "stop/not-found" "A session that never existed is stopped."
        reply(DeleteSession, |r| pretend(r, 404, 200, json!({"status": "stopped", "message": "ok"})))),
    flaw!("stop-stops-all" "stop/others" "All sessions end when one is stopped." StopSwitch::StopsAll.on()),
    flaw!("stop-forgotten" "stop/gone" ["safety/deleted": "What waited for an approval is allowed after the stop, and runs."]
        "A session that was stopped goes on as before." StopSwitch::StaysAlive.on()),
    flaw!("stopped-takes-prompts" "stop/prompt-refused" "A session that was stopped takes prompts." PromptSwitch::StoppedTakesPrompts.on()),
    flaw!("stop-refused-busy" "stop/busy" "A session that works is not stopped."
    AmplifierServerEffect::Refuse(|request, model| {
        let busy = request.route.endpoint == DeleteSession && model.session(request.name()).is_some_and(|session| session.is_busy());
        busy.then(|| Refusal::new("SESSION_BUSY", "Session is processing another request"))
    })),
    flaw!("list-206" "list/status" "The list is answered with the status 206." status(ListSessions, 206)),
    flaw!("list-bare" "list/object" "The list of sessions is not in an object." result(ListSessions, |b| *b = b["sessions"].clone())),
    flaw!("list-by-id" "list/object" "The sessions are an object by their ids."
    result(ListSessions, |b| {
        let by_id = b["sessions"].as_array().into_iter().flatten();
        let by_id: Map<_, _> = by_id.map(|one| (one["session_id"].as_str().unwrap_or_default().to_owned(), one.clone())).collect();
        set(b, "sessions", by_id);
    })),
    flaw!("list-without-total" "list/total" "The list has no `total`." result(ListSessions, |b| drop(remove(b, "total")))),
    flaw!("list-total-less" "list/total" "The `total` is one less."
    result(ListSessions, |b| {
        let total = b["sessions"].as_array().map_or(0, Vec::len).saturating_sub(1);
        set(b, "total", total);
    })),
    flaw!("list-total-more" "list/total-count" "The `total` is a thousand more than there are in the response."
    result(ListSessions, |b| {
        let total = b["sessions"].as_array().map_or(0, Vec::len) + 1000;
        set(b, "total", total);
    })),
    flaw!("list-without-id" "list/session-id" "Sessions in the list have an `id`." of_list(|one| rename(one, "session_id", "id"))),
    flaw!("list-status-created" "list/session-status" "Sessions in the list are `created`." of_list(|one| set(one, "status", "created"))),
    flaw!("list-without-profile" "list/profile" "Sessions in the list have no profile." of_list(|one| drop(remove(one, "profile")))),
    flaw!("list-profile-other" "list/profile-same" "Sessions in the list have the profile `default`." of_list(|one| set(one, "profile", "default"))),
    flaw!("list-created-other" "list/created-at-same" "Sessions in the list are of another year." of_list(|one| set(one, "created_at", "2020-01-01T00:00:00Z"))),
    flaw!("list-of-twenty" "list/limit-reached" "The list has no more than twenty sessions."
    result(ListSessions, |b| if let Some(list) = b["sessions"].as_array_mut() {
        list.truncate(20);
        let total = list.len();
        set(b, "total", total);
    })),
    flaw!("filter-lumps-together" "list/filter" "A session that waits for a decision is listed as one that works." SessionListSwitch::FiltersTogether.on()),
    flaw!("list-created-naive" "list/created-at" "Times in the list have no offset from UTC." of_list(|one| naive(one, "created_at"))),
    flaw!("list-twice" "list/unique" "The newest session is in the list twice."
    result(ListSessions, |b| if let Some(list) = b["sessions"].as_array_mut() {
        list.extend(list.last().cloned());
    })),
    flaw!("list-without-newest" "list/active" "The newest session is not in the list." SessionListSwitch::ListsLate.on()),
    flaw!("list-stopped-idle" "list/stopped" "Sessions that were stopped are in the list as `idle`."
        StopSwitch::Shown.on(), of_list(|one| if one["status"] == "stopped" { set(one, "status", "idle") })),
    flaw!("list-filter-ignored" "list/filter" "The filter of the list is ignored." AmplifierServerEffect::Request(|request| forget(request, ListSessions, "status"))),
    flaw!("list-filter-too-strict" "list/filter-all" "With a filter the newest session that fits is left out." SessionListSwitch::FiltersTooMuch.on()),
    flaw!("list-filter-500" "list/filter-unknown" "A filter with a status that does not exist fails."
        reply(ListSessions, |r| fails(r, "`status`"))),
    flaw!("list-limit-ignored" "list/limit" "The limit of the list is ignored." AmplifierServerEffect::Request(|request| if request.route.param("limit").is_some_and(|limit| limit.parse::<i64>().is_ok_and(|limit| limit > 0)) {
        forget(request, ListSessions, "limit");
    })),
    flaw!("list-unlimited" "list/limit-default" "Without a limit the list has all sessions." SessionListSwitch::ListsAll.on()),
    flaw!("list-limit-unchecked" "list/limit-invalid" "A limit that is no number is ignored."
    AmplifierServerEffect::Request(|request| if request.route.param("limit").is_some_and(|limit| limit.parse::<i64>().is_err()) {
        forget(request, ListSessions, "limit");
    })),
    flaw!("list-limit-odd-ignored" "list/limit-odd" "A limit of zero or less is ignored."
    AmplifierServerEffect::Request(|request| if request.route.param("limit").is_some_and(|limit| limit.parse::<i64>().is_ok_and(|limit| limit <= 0)) {
        forget(request, ListSessions, "limit");
    })),
];

/// The profiles of the example.
const KNOWN: [&str; 4] = ["foundation", "dev", "design-intelligence:architect", "design-intelligence:reviewer"];

/// Changes each session in the list.
const fn of_list(change: fn(&mut Value)) -> AmplifierServerEffect {
    AmplifierServerEffect::EachOf(ListSessions, "sessions", change)
}

fn has(body: &Map<String, Value>, member: &str) -> bool {
    body.get("context").is_some_and(|context| context.get(member).is_some())
}

/// Forgets a query parameter.
pub fn forget(request: &mut EndpointRequest, endpoint: Endpoint, param: &str) {
    if request.route.endpoint == endpoint {
        request.route.query.retain(|(key, _)| key != param);
    }
}

/// Makes a failure of the server of a refusal with these words.
pub fn fails(reply: &mut Reply, words: &str) {
    if reply.body["error"]["message"].as_str().is_some_and(|message| message.contains(words)) {
        *reply = Reply { why: reply.why, ..Refusal::new("SERVER_ERROR", "Internal Server Error").into() };
    }
}

pub const CATALOGS: &[FlawRow<AmplifierServerEffect>] = &[
    flaw!("profiles-206" "profiles/status" "The list of profiles has the status 206." status(ListProfiles, 206)),
    flaw!("profiles-bare" "profiles/list" "The list of profiles is not in an object." result(ListProfiles, |b| *b = b["profiles"].clone())),
    flaw!("profiles-as-names" "profiles/list" "The profiles are their names."
        AmplifierServerEffect::EachOf(ListProfiles, "profiles", |one| *one = one["name"].clone())),
    flaw!("profiles-without-name" "profiles/name" "Profiles have an `id`." each_profile(|one| rename(one, "name", "id"))),
    flaw!("profiles-same-name" "profiles/name-unique" "All profiles have the same name." each_profile(|one| set(one, "name", "dev"))),
    flaw!("profiles-without-collection" "profiles/collection" "Profiles without a collection have no such member."
        each_profile(|one| if one["collection"].is_null() { drop(remove(one, "collection")) })),
    flaw!("profiles-description-null" "profiles/description" "The description of a profile is null." each_profile(|one| set(one, "description", Value::Null))),
    flaw!("profiles-extends-in-list" "profiles/extends" "`extends` is a list." each_profile(|one| set(one, "extends", json!([])))),
    flaw!("profile-modules-as-names" "profiles/modules" "The modules of a profile are their names." result(GetProfile, |b| {
        for list in ["providers", "tools", "hooks"] {
            set(b, list, json!(["module-a"]));
        }
    })),
    flaw!("profile-module-config-as-text" "profiles/module-members" "The `config` of a module is a text."
        AmplifierServerEffect::EachOf(GetProfile, "providers", |one| set(one, "config", "default_model: x"))),
    flaw!("profile-agents-as-objects" "profiles/agents" "The agents of a profile are objects."
        result(GetProfile, |b| set(b, "agents", json!([{"name": "zen-architect"}])))),
    flaw!("profiles-filter-ignored" "profiles/filter" "The filter of profiles is ignored." AmplifierServerEffect::Request(|request| forget(request, ListProfiles, "collection"))),
    flaw!("profiles-filter-sticks" "profiles/unfiltered" "After a list with a filter, one without has the same."
        SessionListSwitch::FilterSticks(ListProfiles).on()),
    flaw!("profiles-filter-empty" "profiles/filter-all" "With a filter the list of profiles is empty." AmplifierServerEffect::Request(|request| nothing(request, ListProfiles))),
    flaw!("profiles-filter-500" "profiles/filter-unknown" "A filter for a collection that does not exist fails."
        AmplifierServerEffect::Refuse(|request, _| unknown(request, ListProfiles))),
    flaw!("profile-203" "profiles/detail-status" "A profile has the status 203." status(GetProfile, 203)),
    flaw!("profile-in-list" "profiles/detail-object" "A profile is in a list." result(GetProfile, |b| *b = json!([b.clone()]))),
    flaw!("profile-name-other" "profiles/detail-name" "A profile has another name." result(GetProfile, |b| set(b, "name", "default"))),
    flaw!("profile-description-other" "profiles/detail-same" "The description of a profile is not that of the list."
        result(GetProfile, |b| set(b, "description", "something else"))),
    flaw!("profile-without-tools" "profiles/detail-modules" "A profile has no list of tools." result(GetProfile, |b| drop(remove(b, "tools")))),
    flaw!("profile-unknown-200" "profiles/not-found" "A profile that does not exist is shown."
        reply(GetProfile, |r| pretend(r, 404, 200, json!({"name": r.body["error"]["details"]["profile"], "collection": null, "description": "",
            "extends": null, "providers": [], "tools": [], "hooks": [], "agents": []})))),
    flaw!("collections-206" "collections/status" "The list of collections has the status 206." status(ListCollections, 206)),
    flaw!("collections-once" "collections/again" "The list of collections is empty when it is asked for again."
    AmplifierServerEffect::Instead(|s| {
        let again = s.is(ListCollections) && s.memory.was(ListCollections);
        again.then(|| Instead::respond(Response::new("200 OK").json(&json!({"collections": []}))))
    })),
    flaw!("collections-renamed" "collections/complete" "A collection is listed under another name than its profiles have."
        each_collection(|one| set(one, "name", format!("{} collection", one["name"].as_str().unwrap_or_default())))),
    flaw!("collections-bare" "collections/list" "The list of collections is not in an object." result(ListCollections, |b| *b = b["collections"].clone())),
    flaw!("collections-without-name" "collections/name" "Collections have an `id`." each_collection(|one| rename(one, "name", "id"))),
    flaw!("collections-description-null" "collections/description" "The description of a collection is null." each_collection(|one| set(one, "description", Value::Null))),
    flaw!("collections-version-as-number" "collections/version" "The version of a collection is a number." each_collection(|one| set(one, "version", 1.0))),
    flaw!("collections-profiles-as-objects" "collections/profiles" "The profiles of a collection are objects." each_collection(|one| set(one, "profiles", json!([{"name": "a"}])))),
    flaw!("collections-agents-count" "collections/agents" "The agents of a collection are their number." each_collection(|one| set(one, "agents", 2))),
    flaw!("agents-206" "agents/status" "The list of agents has the status 206." status(ListAgents, 206)),
    flaw!("agents-bare" "agents/list" "The list of agents is not in an object." result(ListAgents, |b| *b = b["agents"].clone())),
    flaw!("agents-without-name" "agents/name" "Agents have an `id`." each_agent(|one| rename(one, "name", "id"))),
    flaw!("agents-without-collection" "agents/collection" "Agents have no collection." each_agent(|one| drop(remove(one, "collection")))),
    flaw!("agents-description-null" "agents/description" "The description of an agent is null." each_agent(|one| set(one, "description", Value::Null))),
    flaw!("agents-providers-as-names" "agents/providers" "The providers of an agent are their names." each_agent(|one| set(one, "providers", json!(["provider-anthropic"])))),
    flaw!("agents-filter-ignored" "agents/filter" "The filter of agents is ignored." AmplifierServerEffect::Request(|request| forget(request, ListAgents, "collection"))),
    flaw!("agents-filter-sticks" "agents/unfiltered" "After a list with a filter, one without has the same."
        SessionListSwitch::FilterSticks(ListAgents).on()),
    flaw!("agents-filter-empty" "agents/filter-all" "With a filter the list of agents is empty." AmplifierServerEffect::Request(|request| nothing(request, ListAgents))),
    flaw!("agents-filter-500" "agents/filter-unknown" "A filter for a collection that does not exist fails." AmplifierServerEffect::Refuse(|request, _| unknown(request, ListAgents))),
    flaw!("health-203" "health/status" "The health has the status 203." status(Health, 203)),
    flaw!("health-in-list" "health/object" "The health is a list." result(Health, |b| *b = json!([b.clone()]))),
    flaw!("health-status-boolean" "health/value" "The status of the health is true." result(Health, |b| set(b, "status", true))),
    flaw!("health-ok" "health/healthy" "The status of the health is `ok`." result(Health, |b| set(b, "status", "ok"))),
    flaw!("health-without-version" "health/version" "The health has no version." result(Health, |b| drop(remove(b, "version")))),
    flaw!("health-uptime-as-text" "health/uptime-seconds" "The uptime is a text." result(Health, |b| set(b, "uptime_seconds", "1h"))),
    flaw!("health-uptime-of-machine" "health/uptime-own" "The uptime is that of the machine."
        result(Health, |b| set(b, "uptime_seconds", b["uptime_seconds"].as_u64().unwrap_or_default() + 86_400))),
    flaw!("health-uptime-falls" "health/uptime-grows" "The uptime counts down." result(Health, |b| {
        let now = jiff::Timestamp::now().as_millisecond();
        set(b, "uptime_seconds", 4_000_000_000_000_i64.saturating_sub(now));
    })),
    flaw!("health-uptime-in-ms" "health/uptime-rate" "The uptime is in milliseconds."
        result(Health, |b| set(b, "uptime_seconds", jiff::Timestamp::now().as_millisecond()))),
    flaw!("health-sessions-as-list" "health/active-sessions" "The `active_sessions` are a list." result(Health, |b| set(b, "active_sessions", json!([])))),
    flaw!("health-sessions-none" "health/active-sessions-count" "The `active_sessions` are always 0." result(Health, |b| set(b, "active_sessions", 0))),
    flaw!("info-203" "info/status" "The information has the status 203." status(Info, 203)),
    flaw!("info-in-list" "info/object" "The information is a list." result(Info, |b| *b = json!([b.clone()]))),
    flaw!("info-version-as-number" "info/version" "The version is a number." result(Info, |b| set(b, "version", 1))),
    flaw!("info-version-other" "info/version-same" "The version is not that of the health." result(Info, |b| set(b, "version", "9.9.9"))),
    flaw!("info-without-core" "info/core-version" "There is no `amplifier_core_version`." result(Info, |b| drop(remove(b, "amplifier_core_version")))),
    flaw!("info-capabilities-in-list" "info/capabilities" "The capabilities are a list." result(Info, |b| set(b, "capabilities", json!(["streaming"])))),
    flaw!("info-without-config" "info/config" "There is no `config`." result(Info, |b| drop(remove(b, "config")))),
    flaw!("info-host-null" "info/host" "The host is null." result(Info, |b| set(&mut b["config"], "host", Value::Null))),
    flaw!("info-port-as-text" "info/port" "The port is a text." result(Info, |b| set(&mut b["config"], "port", "8765"))),
    flaw!("info-port-other" "info/port-own" "The port is always 8765." result(Info, |b| set(&mut b["config"], "port", 8765))),
    flaw!("info-without-profiles-path" "info/profiles-path" "There is no `profiles_path`." result(Info, |b| drop(remove(&mut b["config"], "profiles_path")))),
    flaw!("info-collections-path-in-list" "info/collections-path" "The `collections_path` is a list." result(Info, |b| set(&mut b["config"], "collections_path", json!(["a"])))),
];

const fn each_profile(change: fn(&mut Value)) -> AmplifierServerEffect {
    AmplifierServerEffect::EachOf(ListProfiles, "profiles", change)
}

const fn each_collection(change: fn(&mut Value)) -> AmplifierServerEffect {
    AmplifierServerEffect::EachOf(ListCollections, "collections", change)
}

const fn each_agent(change: fn(&mut Value)) -> AmplifierServerEffect {
    AmplifierServerEffect::EachOf(ListAgents, "agents", change)
}

/// Asks for a collection that nobody has instead.
fn nothing(request: &mut EndpointRequest, endpoint: Endpoint) {
    if request.route.endpoint == endpoint {
        request
            .route
            .query
            .iter_mut()
            .filter(|(key, _)| key == "collection")
            .for_each(|(_, value)| "-".clone_into(value));
    }
}

fn unknown(request: &EndpointRequest, endpoint: Endpoint) -> Option<Refusal> {
    let wanted = request.route.param("collection").filter(|_| request.route.endpoint == endpoint)?;
    let known = ["design-intelligence", "empty"].contains(&wanted);
    (!known).then(|| Refusal::new("SERVER_ERROR", "KeyError"))
}
