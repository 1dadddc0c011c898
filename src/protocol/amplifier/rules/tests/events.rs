use serde_json::{Value, json};

use super::{complete, post, pre, required};
use crate::protocol::amplifier::testing::Play;
use crate::trace::StreamEvent;

/// What an event breaks by itself, in a session of which nothing else is known.
fn broken(name: &str, data: &Value) -> Vec<String> {
    let broken = Play::new().subscribes("s").sends(name, data.clone()).broken();
    broken.into_iter().filter(|short| !short.starts_with("life/")).collect()
}

#[test]
fn every_member_of_every_event_is_asked_for() {
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let at = json!({"line": 1, "character": 0});
    let diagnostic = json!({"range": {"start": at, "end": at}, "severity": "hint", "message": "m", "source": "s"});
    for (name, data) in [
        ("session:start", json!({"profile": "p", "timestamp": "2025-12-09T10:30:00Z"})),
        ("session:end", json!({"reason": "r", "token_usage": usage})),
        ("prompt:submit", json!({"request_id": "r", "prompt": "p"})),
        ("prompt:complete", complete("r")),
        ("content_block:start", json!({"block_type": "text", "block_index": 0})),
        ("content_block:delta", json!({"block_index": 0, "delta": "d"})),
        ("content_block:end", json!({"block_index": 0})),
        ("thinking:delta", json!({"delta": "d"})),
        ("thinking:final", json!({"thinking": "t"})),
        ("tool:pre", pre()),
        ("tool:post", post()),
        ("tool:error", json!({"tool_name": "t", "operation": "o", "error": "e"})),
        ("approval:required", required()),
        ("approval:granted", json!({"approval_id": "a", "decision": "d"})),
        ("approval:denied", json!({"approval_id": "a", "decision": "d", "reason": "r"})),
        ("diagnostic:add", json!({"path": "p", "diagnostics": [diagnostic]})),
        ("diagnostic:clear", json!({"path": "p"})),
        ("status:update", json!({"status": "processing", "message": "m", "progress": 1})),
    ] {
        assert!(broken(name, &data).is_empty(), "{name}: {:?}", broken(name, &data));
        for key in data.as_object().unwrap().keys() {
            let event = name.strip_prefix("content_block").map_or(name.to_owned(), |rest| format!("content{rest}"));
            let short = format!("events/{}-{}", event.replace([':', '_'], "-"), key.replace('_', "-"));
            let mut wrong = data.clone();
            wrong[key] = json!(true);
            assert_eq!(broken(name, &wrong), std::slice::from_ref(&short), "{name} {key}");
            if !matches!((name, key.as_str()), ("status:update", "message" | "progress") | (_, "context")) {
                let mut without = data.clone();
                without.as_object_mut().unwrap().remove(key);
                assert_eq!(broken(name, &without), [short], "{name} without {key}");
            }
        }
    }
}

#[test]
fn a_message_is_an_event_that_the_document_knows_and_of_its_session() {
    let of = |message: Value| Play::new().subscribes("s").streams(&StreamEvent::data(message.to_string())).broken();
    assert_eq!(of(json!({"type": "keepalive"})), ["events/object"]);
    assert_eq!(of(json!({"event": "ping", "data": {}})), ["events/known"]);
    assert_eq!(of(json!({"event": "diagnostic:clear", "data": {"path": "p"}})), ["events/session-id"]);
    let other = json!({"event": "diagnostic:clear", "data": {"session_id": "t", "path": "p"}});
    assert_eq!(of(other), ["stream/own-session"]);
}

#[test]
fn what_stands_within_members_is_looked_at() {
    let with = |mut data: Value, pointer: &str, value: Value| {
        *data.pointer_mut(pointer).unwrap() = value;
        data
    };
    let posted = |value: Value| broken("tool:post", &with(post(), "/result", value));
    assert_eq!(posted(json!({})), ["events/tool-post-success"]);
    assert_eq!(posted(json!({"success": true})), ["events/tool-post-output"]);
    let asked = |pointer: &str, value: Value| broken("approval:required", &with(required(), pointer, value));
    assert_eq!(asked("/options", json!([])), ["events/approval-required-options"]);
    assert_eq!(asked("/options", json!(["Allow", "Allow"])), ["events/approval-required-options-unique"]);
    assert_eq!(asked("/timeout", json!(0)), ["events/approval-required-timeout"]);
    assert_eq!(asked("/default", json!("maybe")), ["events/approval-required-default"]);
    assert!(asked("/default", json!("Deny")).is_empty());
    assert_eq!(broken("status:update", &json!({"status": "busy"})), ["events/status-update-known"]);
    let far = json!({"status": "idle", "progress": 101});
    assert_eq!(broken("status:update", &far), ["events/status-update-progress-range"]);
    let at = |line: i64| json!({"line": line, "character": 0});
    let add = |from: i64, to: i64, severity: &str| {
        let range = json!({"start": at(from), "end": at(to)});
        let diagnostic = json!({"range": range, "severity": severity, "message": "m", "source": "s"});
        broken("diagnostic:add", &json!({"path": "p", "diagnostics": [diagnostic]}))
    };
    assert!(add(1, 1, "info").is_empty());
    assert_eq!(add(2, 1, "info"), ["events/diagnostic-add-range-order"]);
    assert_eq!(add(-1, 1, "info"), ["events/diagnostic-add-range"]);
    assert_eq!(add(1, 1, "fatal"), ["events/diagnostic-add-severity"]);
}
