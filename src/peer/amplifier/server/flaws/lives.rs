//! Lives that do not go as the names of events suggest.

use serde_json::json;

use super::super::quirks::{Effect, Switch};
use super::{Entry, data, flaw, set, switch};

pub const FLAWS: &[Entry] = &[
    flaw!("submit-untold" "life/submitted" "A prompt is not told." drop_it("prompt:submit")),
    flaw!("submit-twice" "life/submitted-once" "A prompt is told twice." twice("prompt:submit")),
    flaw!("submit-other" "life/submitted-prompt" "The prompt that is told is another one." data("prompt:submit", |d| set(d, "prompt", "something else"))),
    flaw!("complete-untold" "life/completed" "A prompt never comes to its end." switch(Switch::NeverCompletes)),
    flaw!("complete-twice" "life/completed-once" "A prompt is complete twice." twice("prompt:complete")),
    flaw!("request-id-made-up" "life/request-id" "The `request_id` of events is one that was never given."
        data("prompt:submit", |d| set(d, "request_id", "evt-9")), data("prompt:complete", |d| set(d, "request_id", "evt-9"))),
    flaw!("request-id-changes" "life/request-id-same" "The `request_id` of a completion is another one." data("prompt:complete", |d| set(d, "request_id", "done-1"))),
    flaw!("content-after-completion" "life/within-prompt" "A text follows the completion."
    Effect::Told("prompt:complete", |messages| {
        let session = messages[0]["data"]["session_id"].clone();
        for (event, more) in [("content_block:start", json!({"block_type": "text"})), ("content_block:delta", json!({"delta": "more"})), ("content_block:end", json!({}))] {
            let mut data = more;
            set(&mut data, "session_id", session.clone());
            set(&mut data, "block_index", 99);
            messages.push(json!({"event": event, "data": data}));
        }
    })),
    flaw!("prompts-of-its-own" "life/one-at-a-time" "A prompt that the agent gives itself is told within the one under way."
    Effect::Told("prompt:submit", |messages| {
        let (session, id) = (messages[0]["data"]["session_id"].clone(), messages[0]["data"]["request_id"].clone());
        let id = format!("{}-own", id.as_str().unwrap_or_default());
        messages.push(json!({"event": "prompt:submit", "data": {"session_id": session, "request_id": id, "prompt": "Look at the files."}}));
    })),
    flaw!("tokens-more-than-session" "life/token-usage-sum" "A prompt has more tokens than its session."
        data("prompt:complete", |d| set(d, "token_usage", json!({"input_tokens": 1_000_000, "output_tokens": 1_000_000})))),
    flaw!("deltas-without-start" "life/content-started" "Blocks do not begin." drop_it("content_block:start")),
    flaw!("starts-twice" "life/content-once" "Blocks begin twice." twice("content_block:start")),
    flaw!("blocks-unended" "life/content-ended" "Blocks do not end." drop_it("content_block:end")),
    flaw!("deltas-trimmed" "life/content-joins" "Deltas have lost their blanks."
    data("content_block:delta", |d| {
        let delta: String = d["delta"].as_str().unwrap_or_default().split_whitespace().collect();
        set(d, "delta", delta + ".");
    })),
    flaw!("response-other" "life/content-joins" "The response is not what was told." data("prompt:complete", |d| set(d, "response", "done"))),
    flaw!("thinking-shortened" "life/thinking-joins" "The thinking is not what was told." data("thinking:final", |d| set(d, "thinking", "I thought."))),
    flaw!("thinking-unended" "life/thinking-final" "Thinking does not come to its end." drop_it("thinking:final")),
    flaw!("tools-unannounced" "life/tool-started" "Tools end without having begun." drop_it("tool:pre")),
    flaw!("tools-unended" "life/tool-ended" "Tools do not end." drop_it("tool:post"), drop_it("tool:error")),
    flaw!("approval-ids-same" "life/approval-id-unique" "All approvals have the same id." switch(Switch::SameApprovalId)),
    flaw!("approval-id-changes" "life/approval-known" "What is granted or denied has another id."
        data("approval:granted", |d| set(d, "approval_id", "appr-x")), data("approval:denied", |d| set(d, "approval_id", "appr-x"))),
    flaw!("approval-told-twice" "life/approval-once" "A decision is told twice." twice("approval:granted"), twice("approval:denied")),
    flaw!("approval-untold" "life/approval-resolved" "A decision is not told." drop_it("approval:granted"), drop_it("approval:denied")),
    flaw!("approval-other-told" "life/approval-decision" "The decision that is told is the other one that allows or denies."
        data("approval:granted", |d| set(d, "decision", "Deny")), data("approval:denied", |d| set(d, "decision", "Allow"))),
    flaw!("approval-odd-told" "life/approval-offered" "The decision that is told is none of the options."
        data("approval:granted", |d| set(d, "decision", "approved")), data("approval:denied", |d| set(d, "decision", "rejected"))),
    flaw!("approval-timeout-untold" "life/approval-timed-out" "That the time is up is not told." switch(Switch::TimesOutSilently)),
    flaw!("start-late" "life/session-start-first" "`session:start` comes with every prompt."
    Effect::Told("prompt:submit", |messages| {
        let session = messages[0]["data"]["session_id"].clone();
        messages.push(json!({"event": "session:start", "data": {"session_id": session, "profile": "dev", "timestamp": "2025-12-09T10:30:00Z"}}));
    })),
    flaw!("start-other-profile" "life/session-start-profile" "`session:start` has another profile." data("session:start", |d| set(d, "profile", "other"))),
    flaw!("end-untold" "life/session-end" "The end of a session is not told." drop_it("session:end")),
    flaw!("end-not-last" "life/session-end-last" "A status follows the end of a session."
    Effect::Told("session:end", |messages| {
        let session = messages[0]["data"]["session_id"].clone();
        messages.push(json!({"event": "status:update", "data": {"session_id": session, "status": "stopped", "message": "bye"}}));
    })),
    flaw!("works-on-after-stop" "life/stopped-no-work" "A session that was stopped does its last prompt again." switch(Switch::WorksOn)),
];

/// Does not tell an event.
const fn drop_it(event: &'static str) -> Effect {
    Effect::Told(event, Vec::clear)
}

/// Tells an event twice.
const fn twice(event: &'static str) -> Effect {
    Effect::Told(event, |messages| messages.extend_from_within(..))
}
