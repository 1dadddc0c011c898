//! Which events are told, and how.

use serde_json::{Value, json};

use crate::peer::fetch::has_others;

use super::super::quirks::{Effect, Switch};
use super::{Entry, flaw};

/// The members of each event, beside `session_id`.
const EVENTS: &[(&str, &[&str])] = &[
    ("session:start", &["session_id", "profile", "timestamp"]),
    ("session:end", &["session_id", "reason", "token_usage"]),
    ("prompt:submit", &["session_id", "request_id", "prompt"]),
    ("prompt:complete", &["session_id", "request_id", "response", "token_usage"]),
    ("content_block:start", &["session_id", "block_type", "block_index"]),
    ("content_block:delta", &["session_id", "block_index", "delta"]),
    ("content_block:end", &["session_id", "block_index"]),
    ("thinking:delta", &["session_id", "delta"]),
    ("thinking:final", &["session_id", "thinking"]),
    ("tool:pre", &["session_id", "tool_name", "operation", "input"]),
    ("tool:post", &["session_id", "tool_name", "operation", "result", "duration_ms"]),
    ("tool:error", &["session_id", "tool_name", "operation", "error"]),
    ("approval:required", &["session_id", "approval_id", "prompt", "options", "timeout", "default", "context"]),
    ("approval:granted", &["session_id", "approval_id", "decision"]),
    ("approval:denied", &["session_id", "approval_id", "decision", "reason"]),
    ("diagnostic:add", &["session_id", "path", "diagnostics"]),
    ("diagnostic:clear", &["session_id", "path"]),
    ("status:update", &["session_id", "status", "message", "progress"]),
];

pub const FLAWS: &[Entry] = &[
    flaw!("swaps-events" "events/client-order" "Of two events the later one is told first."
        Effect::Switch(Switch::Swaps)),
    flaw!("tells-at-the-end" "events/client-at-once"
        "Events are told once the prompt is complete." Effect::Switch(Switch::HoldsUntilComplete)),
    flaw!("tools-untold" "events/client-every" "What tools do is not told."
        Effect::Drops(|message| name(message).starts_with("tool:"))),
    flaw!("known-events-only" "events/client-unknown" "After an event that it does not know nothing is told."
        Effect::EndsAtMessage(|message| !name(message).is_empty() && members(message).is_none())),
    flaw!("refuses-extra-in-events" "events/client-extra-members" "Events with members that it does not know are not told."
    Effect::Drops(|message| {
        let extra = |known: &[&str]| has_others(&message["data"], known) || has_others(message, &["event", "data"]);
        members(message).is_some_and(extra)
    })),
    flaw!("one-stream" "events/client-own-session" "The events of the newest subscription alone are told."
        Effect::Switch(Switch::OneStream)),
    flaw!("needs-sound-events" "events/client-bad-event" "After an event that breaks the document nothing is told."
    Effect::EndsAtMessage(|message| {
        let data = &message["data"];
        name(message).is_empty()
            || !data.is_object()
            || members(message).is_some_and(|known| {
                known.iter().take(2).any(|key| data.get(key).is_none_or(Value::is_null))
            })
    })),
    flaw!("deltas-trimmed" "events/client-delta-unchanged" "White space around a delta is not told."
    Effect::Message(|message| if let Some(delta) = message.pointer("/data/delta").and_then(Value::as_str) {
        message["data"]["delta"] = json!(delta.trim());
    })),
    flaw!("needs-start" "events/client-late" "Before a `session:start` nothing is told."
        Effect::Switch(Switch::NeedsStart)),
    flaw!("deaf-before-answer" "prompt/client-early-events" "Events are told once a prompt was answered."
        Effect::Switch(Switch::DeafBeforeAnswer)),
];

fn name(message: &Value) -> &str {
    message.get("event").and_then(Value::as_str).unwrap_or_default()
}

fn members(message: &Value) -> Option<&'static [&'static str]> {
    EVENTS.iter().find(|(event, _)| *event == name(message)).map(|(_, members)| *members)
}
