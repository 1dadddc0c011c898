//! Events: what their messages have in common, and what their members have inside.

use serde_json::Value;

use super::responses;
use crate::protocol::ViolationDetail;
use crate::protocol::amplifier::STATUSES;
use crate::protocol::amplifier::events::{self, EVENTS};
use crate::protocol::amplifier::members::{BodyObject, FILLED, RANGE, SEVERITY, STRING, is_backward};
use crate::protocol::http::rule_context::RuleContext;

/// Whether a message has the format of an error, and is no event.
pub fn is_error(message: &Value) -> bool {
    responses::is_error(message) && message.get("event").is_none()
}

/// Judges a message. Gives the name and the data of an event that is one.
pub fn judge<'m>(
    message: &'m Value,
    session: &str,
    socket: bool,
    ctx: &mut RuleContext<'_>,
) -> Option<(&'m str, BodyObject<'m>)> {
    if is_error(message) {
        ctx.note(
            "life/completed",
            "Errors after the answer to a prompt are told by a message in the format of an error",
        );
        return None;
    }
    let name = message.get("event").and_then(Value::as_str);
    let data = message.get("data").and_then(Value::as_object);
    let fault = || ViolationDetail::new("a message has no string `event` and object `data`").actual(message.clone());
    ctx.check("events/object", (name.is_none() || data.is_none()).then(fault));
    let (name, data) = (name?, BodyObject { members: data?, pointer: "/data" });
    if name == "error" {
        ctx.note("life/completed", "Errors after the answer to a prompt are told by an event `error`");
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
    data.check(ctx, &[("session_id", FILLED, true, "events/session-id")]);
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
        let fault =
            ViolationDetail::new("a status is told that the document does not know").at("/data/status").actual(status);
        ctx.check("events/status-update-known", (!STATUSES.contains(&status)).then_some(fault));
        if status == "error" {
            ctx.note("life/completed", "Errors after the answer to a prompt are told by `status:update`");
        }
    }
    if let Some(progress) = data.members.get("progress").and_then(Value::as_f64) {
        let fault = ViolationDetail::new("a progress is not from 0 to 100").at("/data/progress").actual(progress);
        ctx.check("events/status-update-progress-range", (!(0.0..=100.0).contains(&progress)).then_some(fault));
    }
}
