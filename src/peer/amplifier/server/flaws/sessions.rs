//! Sessions that are created, shown, stopped and listed wrongly.

use serde_json::{Map, Value, json};

use crate::protocol::amplifier::Endpoint::{self, CreateSession, DeleteSession, GetSession, ListSessions};

use super::super::model::{Ask, Refusal, Reply};
use super::super::quirks::{Effect, Switch};
use super::{Entry, flaw, lenient, naive, pretend, refuse, remove, rename, reply, result, set, status, switch};

pub const FLAWS: &[Entry] = &[
    flaw!("created-200" "create/status" "A new session is answered with the status 200." status(CreateSession, 200)),
    flaw!("created-in-list" "create/object" "The answer to a new session is a list." result(CreateSession, |b| *b = json!([b.clone()]))),
    flaw!("created-without-id" "create/session-id" "The id of a new session is its `id`."
        result(CreateSession, |b| rename(b, "session_id", "id"))),
    flaw!("created-id-as-number" "create/session-id" "The id of a new session is a number."
        result(CreateSession, |b| set(b, "session_id", 1))),
    flaw!("ids-short" "create/session-id-uuid" "The ids of sessions are words with a number." switch(Switch::ShortIds)),
    flaw!("sessions-shared" "create/session-id-unique" "A new session is the one that is there already." switch(Switch::SharesSession)),
    flaw!("created-without-status" "create/session-status" "A new session has no `status`."
        result(CreateSession, |b| drop(remove(b, "status")))),
    flaw!("created-status-active" "create/session-status-known" "The status of a new session is `active`."
        result(CreateSession, |b| set(b, "status", "active"))),
    flaw!("created-without-profile" "create/profile" "The answer to a new session has no profile."
        result(CreateSession, |b| drop(remove(b, "profile")))),
    flaw!("created-profile-other" "create/profile" "The answer to a new session has the profile `default`."
        result(CreateSession, |b| set(b, "profile", "default"))),
    flaw!("created-at-naive" "create/created-at" "The time of creation has no offset from UTC."
        result(CreateSession, |b| naive(b, "created_at"))),
    flaw!("created-at-as-number" "create/created-at" "The time of creation is a number of seconds."
        result(CreateSession, |b| set(b, "created_at", 1_765_276_200))),
    flaw!("context-needed" "create/minimal" "Without a context no session is created."
        Effect::Refuse(|ask, _| refuse(ask, CreateSession, |body| !body.contains_key("context")))),
    flaw!("model-refused" "create/model" "With a model no session is created."
        Effect::Refuse(|ask, _| refuse(ask, CreateSession, |body| body.contains_key("model")))),
    flaw!("git-state-refused" "create/context" "With the state of git no session is created."
        Effect::Refuse(|ask, _| refuse(ask, CreateSession, |body| has(body, "git_state")))),
    flaw!("open-files-needed" "create/context-minimal" "With a context without open files no session is created."
        Effect::Refuse(|ask, _| refuse(ask, CreateSession, |body| body.contains_key("context") && !has(body, "open_files")))),
    flaw!("context-unchecked" "create/context-invalid" "A context of any format is accepted."
        Effect::Ask(|ask| lenient(ask, CreateSession, "/context"))),
    flaw!("profile-optional" "create/profile-missing" "Without a profile one is taken."
        Effect::Ask(|ask| lenient(ask, CreateSession, "`/profile`, which is needed"))),
    flaw!("profile-unchecked" "create/profile-type" "A profile that is no string is accepted."
        Effect::Ask(|ask| lenient(ask, CreateSession, "`/profile` is"))),
    flaw!("unknown-profile-accepted" "create/profile-unknown" "A profile that does not exist is taken for another one."
    Effect::Ask(|ask| if let (CreateSession, Ok(body)) = (ask.route.endpoint, &mut ask.body)
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
        Effect::Ask(|ask| lenient(ask, CreateSession, "the body is not as"))),
    flaw!("create-extra-refused" "create/extra-members" "Members that are not known are refused."
    Effect::Refuse(|ask, _| refuse(ask, CreateSession, |body| {
        body.keys().any(|key| !["profile", "model", "credentials", "context"].contains(&key.as_str()))
    }))),
    flaw!("create-ascii-only" "create/unicode" "Text beyond ASCII is refused."
        Effect::Refuse(|ask, _| refuse(ask, CreateSession, |body| !Value::from(body.clone()).to_string().is_ascii()))),
    flaw!("credentials-optional" "create/credentials-missing" "Without an API key a session is created."
    Effect::Ask(|ask| if let (CreateSession, Ok(body)) = (ask.route.endpoint, &mut ask.body)
        && body.get("credentials").is_none_or(|all| all["anthropic_api_key"].as_str().unwrap_or_default().is_empty()) {
        body.insert("credentials".to_owned(), json!({"anthropic_api_key": "any"}));
    })),
    flaw!("keys-unchecked" "create/credentials-invalid" "Any API key will do."
    Effect::Ask(|ask| if let (CreateSession, Ok(body)) = (ask.route.endpoint, &mut ask.body)
        && body.get("credentials").is_some_and(|all| all["anthropic_api_key"].is_string()) {
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
    flaw!("stopped-as-list" "stop/object" "The answer to a stop is a list." result(DeleteSession, |b| *b = json!([]))),
    flaw!("stopped-deleted" "stop/value" "The status of the answer to a stop is `deleted`." result(DeleteSession, |b| set(b, "status", "deleted"))),
    flaw!("stopped-without-message" "stop/message" "The answer to a stop has no message." result(DeleteSession, |b| drop(remove(b, "message")))),
    flaw!("stop-unknown-200" "stop/not-found" "A session that never existed is stopped."
        reply(DeleteSession, |r| pretend(r, 404, 200, json!({"status": "stopped", "message": "ok"})))),
    flaw!("stop-stops-all" "stop/others" "All sessions end when one is stopped." switch(Switch::StopsAll)),
    flaw!("stop-forgotten" "stop/gone" ["safety/deleted": "What waited for an approval is allowed after the stop, and runs."]
        "A session that was stopped goes on as before." switch(Switch::StaysAlive)),
    flaw!("stopped-takes-prompts" "stop/prompt-refused" "A session that was stopped takes prompts." switch(Switch::StoppedTakesPrompts)),
    flaw!("stop-refused-busy" "stop/busy" "A session that works is not stopped."
    Effect::Refuse(|ask, model| {
        let busy = ask.route.endpoint == DeleteSession && model.session(ask.name()).is_some_and(|session| session.is_busy());
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
    flaw!("list-total-more" "list/total-count" "The `total` is a thousand more than there are in the answer."
    result(ListSessions, |b| {
        let total = b["sessions"].as_array().map_or(0, Vec::len) + 1000;
        set(b, "total", total);
    })),
    flaw!("list-without-id" "list/session-id" "Sessions in the list have an `id`." of_list(|one| rename(one, "session_id", "id"))),
    flaw!("list-status-created" "list/session-status" "Sessions in the list are `created`." of_list(|one| set(one, "status", "created"))),
    flaw!("list-without-profile" "list/profile" "Sessions in the list have no profile." of_list(|one| drop(remove(one, "profile")))),
    flaw!("list-created-naive" "list/created-at" "Times in the list have no offset from UTC." of_list(|one| naive(one, "created_at"))),
    flaw!("list-twice" "list/unique" "The newest session is in the list twice."
    result(ListSessions, |b| if let Some(list) = b["sessions"].as_array_mut() {
        list.extend(list.last().cloned());
    })),
    flaw!("list-without-newest" "list/active" "The newest session is not in the list." switch(Switch::ListsLate)),
    flaw!("list-stopped-idle" "list/stopped" "Sessions that were stopped are in the list as `idle`."
        switch(Switch::StoppedShown), of_list(|one| if one["status"] == "stopped" { set(one, "status", "idle") })),
    flaw!("list-filter-ignored" "list/filter" "The filter of the list is ignored." Effect::Ask(|ask| forget(ask, ListSessions, "status"))),
    flaw!("list-filter-too-strict" "list/filter-all" "With a filter the newest session that fits is left out." switch(Switch::FiltersTooMuch)),
    flaw!("list-filter-500" "list/filter-unknown" "A filter with a status that does not exist fails."
        reply(ListSessions, |r| fails(r, "`status`"))),
    flaw!("list-limit-ignored" "list/limit" "The limit of the list is ignored." Effect::Ask(|ask| if ask.route.param("limit").is_some_and(|limit| limit.parse::<i64>().is_ok_and(|limit| limit > 0)) {
        forget(ask, ListSessions, "limit");
    })),
    flaw!("list-unlimited" "list/limit-default" "Without a limit the list has all sessions." switch(Switch::ListsAll)),
    flaw!("list-limit-unchecked" "list/limit-invalid" "A limit that is no number is ignored."
    Effect::Ask(|ask| if ask.route.param("limit").is_some_and(|limit| limit.parse::<i64>().is_err()) {
        forget(ask, ListSessions, "limit");
    })),
    flaw!("list-limit-odd-ignored" "list/limit-odd" "A limit of zero or less is ignored."
    Effect::Ask(|ask| if ask.route.param("limit").is_some_and(|limit| limit.parse::<i64>().is_ok_and(|limit| limit <= 0)) {
        forget(ask, ListSessions, "limit");
    })),
];

/// The profiles of the example.
const KNOWN: [&str; 4] = ["foundation", "dev", "design-intelligence:architect", "design-intelligence:reviewer"];

/// Changes each session in the list.
const fn of_list(change: fn(&mut Value)) -> Effect {
    Effect::EachOf(ListSessions, "sessions", change)
}

fn has(body: &Map<String, Value>, member: &str) -> bool {
    body.get("context").is_some_and(|context| context.get(member).is_some())
}

/// Forgets a query parameter.
pub fn forget(ask: &mut Ask, endpoint: Endpoint, param: &str) {
    if ask.route.endpoint == endpoint {
        ask.route.query.retain(|(key, _)| key != param);
    }
}

/// Makes a failure of the server of a refusal with these words.
pub fn fails(reply: &mut Reply, words: &str) {
    if reply.body["error"]["message"].as_str().is_some_and(|message| message.contains(words)) {
        *reply = Reply { why: reply.why, ..Refusal::new("SERVER_ERROR", "Internal Server Error").into() };
    }
}
