//! The bodies of responses, and the messages of streams: their members, by the tables of [`bodies`] and [`events`], and what
//! no type says of them.

use serde_json::Value;

use crate::protocol::ViolationDetail;
use crate::protocol::amplifier::bodies;
use crate::protocol::amplifier::bodies::responses::PROFILE_DETAILS;
use crate::protocol::amplifier::endpoints::{Endpoint, Route, STATUSES};
use crate::protocol::amplifier::events::{self, COMMON, EVENTS};
use crate::protocol::amplifier::members::{BodyObject, RANGE, SEVERITY, STRING, is_backward};
use crate::protocol::amplifier::objects::judge_text;
use crate::protocol::http::rule_context::RuleContext;
use crate::trace::End;

use super::{Exchange, responses};

/// Judges the body of a response by itself and by its request.
pub fn judge_body(route: &Route, exchange: &Exchange, body: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    if let Some(kind) = bodies::find(route.endpoint, End::Server) {
        kind.check(body, ctx);
    }
    match route.endpoint {
        Endpoint::CreateSession => {
            let requested = exchange.own.body.as_ref().and_then(|body| body.get("profile")).and_then(Value::as_str);
            judge_text(body, "profile", requested, "create/profile", ctx);
            judge_created(body, ctx);
        }
        Endpoint::GetSession => judge_text(body, "session_id", route.name.as_deref(), "status/session-id", ctx),
        Endpoint::ListSessions => judge_session_list(route, body, ctx),
        Endpoint::ListProfiles => {
            judge_entries(route, body, "profiles", Some("profiles/name-unique"), "profiles/filter", ctx);
        }
        Endpoint::GetProfile => {
            PROFILE_DETAILS.check(body, ctx);
            judge_text(body, "name", route.name.as_deref(), "profiles/detail-name", ctx);
        }
        Endpoint::ListAgents => judge_entries(route, body, "agents", None, "agents/filter", ctx),
        Endpoint::Health => {
            if let Some(status) = body.text("status") {
                let fault =
                    ViolationDetail::new("a server that is ready does not say `healthy`").at("/status").actual(status);
                ctx.check("health/healthy", (status != "healthy").then_some(fault));
            }
        }
        _ => {}
    }
}

fn judge_created(body: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    if let Some(id) = body.text("session_id") {
        let fault = ViolationDetail::new("a `session_id` is no UUID").at("/session_id").actual(id);
        ctx.check("create/session-id-uuid", (!is_uuid(id)).then_some(fault));
    }
    if let Some(status) = body.text("status") {
        let known = status == "created" || STATUSES.contains(&status);
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

/// Judges the entries of a list that can be filtered by collection.
fn judge_entries(
    route: &Route,
    body: BodyObject<'_>,
    key: &str,
    unique: Option<&str>,
    filter: &str,
    ctx: &mut RuleContext<'_>,
) {
    let Some(list) = body.members.get(key).and_then(Value::as_array) else { return };
    if let Some(unique) = unique {
        judge_unique(list, "name", unique, ctx);
    }
    if let Some(expected) = route.param("collection").filter(|expected| !expected.is_empty()) {
        let other = list
            .iter()
            .find(|entry| entry.get("collection").is_some_and(|collection| collection.as_str() != Some(expected)));
        let fault =
            || ViolationDetail::new("the list has an entry of another collection").at(body.at(key)).expected(expected);
        ctx.check(filter, other.map(|other| fault().actual(other.clone())));
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

/// Whether a message has the format of an error, and is no event.
pub fn is_error(message: &Value) -> bool {
    responses::is_error(message) && message.get("event").is_none()
}

/// Whether a message of a stream reports in one of the ways that are no event of the document that a prompt failed.
pub fn is_failure(message: &Value) -> bool {
    is_error(message) || message.get("event").and_then(Value::as_str) == Some("error")
}

/// Judges a message of a stream. Gives the name and the data of an event that is one.
pub fn judge_event<'m>(
    message: &'m Value,
    session: &str,
    socket: bool,
    ctx: &mut RuleContext<'_>,
) -> Option<(&'m str, BodyObject<'m>)> {
    if is_error(message) {
        ctx.note(
            "life/completed",
            "Errors after the response to a prompt are reported by a message in the format of an error",
        );
        return None;
    }
    let name = message.get("event").and_then(Value::as_str);
    let data = message.get("data").and_then(Value::as_object);
    let fault = || ViolationDetail::new("a message has no string `event` and object `data`").actual(message.clone());
    ctx.check("events/object", (name.is_none() || data.is_none()).then(fault));
    let (name, data) = (name?, BodyObject { members: data?, pointer: "/data" });
    if name == "error" {
        ctx.note("life/completed", "Errors after the response to a prompt are reported by an event `error`");
        return None;
    }
    let fault = |text| ViolationDetail::new(text).at("/event").actual(name);
    let Some(event) = events::find(name) else {
        match spelled(name) {
            Some(meant) => {
                let fault = fault("an event's name is spelled in another way").expected(meant);
                ctx.check("events/spelled", Some(fault));
            }
            None => ctx.check("events/known", Some(fault("the document has no event of this name"))),
        }
        return None;
    };
    ctx.check("events/spelled", None);
    ctx.check("events/known", None);
    COMMON.check(data, ctx);
    if let Some(actual) = data.text("session_id").filter(|actual| !actual.is_empty()) {
        let fault = ViolationDetail::new("a stream has an event of another session").at("/data/session_id");
        ctx.check("stream/own-session", (actual != session).then(|| fault.expected(session).actual(actual)));
    }
    data.check(ctx, &event.checked(socket, data.members));
    match name {
        "content_block:delta" if socket && !data.members.contains_key("block_index") => {
            ctx.note("events/content-delta-block-index", "Deltas over WebSockets have no `block_index`");
        }
        "tool:post" => data.inner("result", |result| judge_tool_result(result, ctx)),
        "approval:required" => judge_approval(data, ctx),
        "diagnostic:add" => data.each("diagnostics", |object| judge_diagnostic(object, ctx)),
        "status:update" => judge_update(data, ctx),
        _ => {}
    }
    Some((name, data))
}

/// The event whose name has the same letters and digits, in whichever case and with whatever between them.
fn spelled(name: &str) -> Option<&'static str> {
    let letters =
        |name: &str| -> String { name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect() };
    let wanted = letters(name);
    EVENTS.iter().map(|event| event.name).find(|known| letters(known) == wanted)
}

fn judge_tool_result(result: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    let success = result.members.get("success").and_then(Value::as_bool);
    let fault = ViolationDetail::new("the result of a tool has no boolean `success`").at(result.at("success"));
    ctx.check("events/tool-post-success", success.is_none().then_some(fault));
    if success == Some(true) {
        let none = !result.members.contains_key("output");
        ctx.check_if("events/tool-post-output", none, || "the result of a tool has no `output`".to_owned());
    }
}

fn judge_approval(data: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    let Some(options) = data.members.get("options").and_then(Value::as_array) else { return };
    let mut texts: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
    if let Some(default) = data.text("default") {
        let words = matches!(default, "allow" | "deny");
        let offered = texts.contains(&default);
        let fault = ViolationDetail::new("the `default` of an approval is neither `allow` nor `deny` nor an option");
        let fault = fault.at("/data/default").actual(default);
        ctx.check("events/approval-required-default", (!words && !offered).then_some(fault));
        if offered && !words {
            ctx.note("events/approval-required-default", "The `default` of approvals is one of their options");
        }
    }
    texts.sort_unstable();
    let is_wrong = texts.contains(&"") || texts.windows(2).any(|pair| pair[0] == pair[1]);
    let fault = ViolationDetail::new("an option of an approval is there twice, or empty")
        .at("/data/options")
        .actual(options.clone());
    ctx.check("events/approval-required-options-unique", is_wrong.then_some(fault));
}

fn judge_diagnostic(diagnostic: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    diagnostic.check(
        ctx,
        &[
            ("range", RANGE, true, "events/diagnostic-add-range"),
            ("severity", SEVERITY, true, "events/diagnostic-add-severity"),
            ("message", STRING, true, "events/diagnostic-add-message"),
            ("source", STRING, true, "events/diagnostic-add-source"),
        ],
    );
    if let Some(range) = diagnostic.members.get("range") {
        let fault =
            ViolationDetail::new("a range ends before it starts").at(diagnostic.at("range")).actual(range.clone());
        ctx.check("events/diagnostic-add-range-order", is_backward(range).then_some(fault));
    }
}

fn judge_update(data: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    if let Some(status) = data.text("status") {
        let fault = ViolationDetail::new("a status is reported that the document does not know")
            .at("/data/status")
            .actual(status);
        ctx.check("events/status-update-known", (!STATUSES.contains(&status)).then_some(fault));
        if status == "error" {
            ctx.note("life/completed", "Errors after the response to a prompt are reported by `status:update`");
        }
    }
    if let Some(progress) = data.members.get("progress").and_then(Value::as_f64) {
        let fault = ViolationDetail::new("a progress is not from 0 to 100").at("/data/progress").actual(progress);
        ctx.check("events/status-update-progress-range", (!(0.0..=100.0).contains(&progress)).then_some(fault));
    }
}
