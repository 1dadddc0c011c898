//! Events: the members of each of the eighteen.

use serde_json::Value;

use super::members::{
    AMOUNT, BodyObject, COUNT, FILLED, MOMENT, Member, NUMBER_OR_NULL, OBJECT, OBJECTS, OPTIONS, RANGE, SEVERITY, SPAN,
    STRING, USAGE, is_backward,
};
use super::responses;
use crate::protocol::ViolationDetail;
use crate::protocol::amplifier::{EVENTS, STATUSES};
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
    if !EVENTS.contains(&name) {
        match spelled(name) {
            Some(meant) => {
                let fault = fault("an event's name is spelled in another way").expected(meant);
                ctx.check("events/spelled", Some(fault));
            }
            None => ctx.check("events/known", Some(fault("the document has no event of this name"))),
        }
        return None;
    }
    ctx.check("events/spelled", None);
    ctx.check("events/known", None);
    data.check(ctx, &[("session_id", FILLED, true, "events/session-id")]);
    if let Some(actual) = data.text("session_id").filter(|actual| !actual.is_empty()) {
        let fault = ViolationDetail::new("a stream has an event of another session").at("/data/session_id");
        ctx.check("stream/own-session", (actual != session).then(|| fault.expected(session).actual(actual)));
    }
    data.check(ctx, members(name));
    match name {
        "content_block:delta" => {
            if !socket || data.members.contains_key("block_index") {
                data.check(ctx, &[("block_index", COUNT, true, "events/content-delta-block-index")]);
            } else {
                ctx.note("events/content-delta-block-index", "Deltas over WebSockets have no `block_index`");
            }
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
    EVENTS.iter().find(|known| letters(known) == wanted).copied()
}

fn members(event: &str) -> &'static [Member] {
    match event {
        "session:start" => &[
            ("profile", STRING, true, "events/session-start-profile"),
            ("timestamp", MOMENT, true, "events/session-start-timestamp"),
        ],
        "session:end" => &[
            ("reason", STRING, true, "events/session-end-reason"),
            ("token_usage", USAGE, true, "events/session-end-token-usage"),
        ],
        "prompt:submit" => &[
            ("request_id", STRING, true, "events/prompt-submit-request-id"),
            ("prompt", STRING, true, "events/prompt-submit-prompt"),
        ],
        "prompt:complete" => &[
            ("request_id", STRING, true, "events/prompt-complete-request-id"),
            ("response", STRING, true, "events/prompt-complete-response"),
            ("token_usage", USAGE, true, "events/prompt-complete-token-usage"),
        ],
        "content_block:start" => &[
            ("block_type", STRING, true, "events/content-start-block-type"),
            ("block_index", COUNT, true, "events/content-start-block-index"),
        ],
        "content_block:delta" => &[("delta", STRING, true, "events/content-delta-delta")],
        "content_block:end" => &[("block_index", COUNT, true, "events/content-end-block-index")],
        "thinking:delta" => &[("delta", STRING, true, "events/thinking-delta-delta")],
        "thinking:final" => &[("thinking", STRING, true, "events/thinking-final-thinking")],
        "tool:pre" => &[
            ("tool_name", STRING, true, "events/tool-pre-tool-name"),
            ("operation", STRING, true, "events/tool-pre-operation"),
            ("input", OBJECT, true, "events/tool-pre-input"),
        ],
        "tool:post" => &[
            ("tool_name", STRING, true, "events/tool-post-tool-name"),
            ("operation", STRING, true, "events/tool-post-operation"),
            ("result", OBJECT, true, "events/tool-post-result"),
            ("duration_ms", AMOUNT, true, "events/tool-post-duration-ms"),
        ],
        "tool:error" => &[
            ("tool_name", STRING, true, "events/tool-error-tool-name"),
            ("operation", STRING, true, "events/tool-error-operation"),
            ("error", STRING, true, "events/tool-error-error"),
        ],
        "approval:required" => &[
            ("approval_id", FILLED, true, "events/approval-required-approval-id"),
            ("prompt", STRING, true, "events/approval-required-prompt"),
            ("options", OPTIONS, true, "events/approval-required-options"),
            ("timeout", SPAN, true, "events/approval-required-timeout"),
            ("default", STRING, true, "events/approval-required-default"),
            ("context", OBJECT, false, "events/approval-required-context"),
        ],
        "approval:granted" => &[
            ("approval_id", STRING, true, "events/approval-granted-approval-id"),
            ("decision", STRING, true, "events/approval-granted-decision"),
        ],
        "approval:denied" => &[
            ("approval_id", STRING, true, "events/approval-denied-approval-id"),
            ("decision", STRING, true, "events/approval-denied-decision"),
            ("reason", STRING, true, "events/approval-denied-reason"),
        ],
        "diagnostic:add" => &[
            ("path", STRING, true, "events/diagnostic-add-path"),
            ("diagnostics", OBJECTS, true, "events/diagnostic-add-diagnostics"),
        ],
        "diagnostic:clear" => &[("path", STRING, true, "events/diagnostic-clear-path")],
        "status:update" => &[
            ("status", STRING, true, "events/status-update-status"),
            ("message", STRING, false, "events/status-update-message"),
            ("progress", NUMBER_OR_NULL, false, "events/status-update-progress"),
        ],
        _ => &[],
    }
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
