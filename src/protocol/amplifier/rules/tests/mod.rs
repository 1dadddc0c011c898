//! Every rule: traces that break it, and sound ones that it must not accuse. Here are the members of requests and of events.

mod lifecycle;
mod responses;
mod traffic;

use serde_json::{Value, json};

use crate::protocol::amplifier::testing::Play;
use crate::trace::StreamEvent;

/// A response to `getSession`.
pub fn status(id: &str, status: &str) -> Value {
    json!({"session_id": id, "status": status, "profile": "dev", "created_at": "2025-12-09T10:30:00Z",
        "last_activity": "2025-12-09T10:35:00Z", "message_count": 1,
        "token_usage": {"input_tokens": 1, "output_tokens": 1}, "pending_approval": null})
}

/// A session that is subscribed to, with a prompt that was accepted, in the stream `x2`.
pub fn begun() -> Play {
    Play::new().session("s").subscribes("s").prompt("s", "r", "hello").on("x2")
}

/// The same play, with the event `prompt:submit`.
pub fn submitted() -> Play {
    begun().sends_event("prompt:submit", json!({"request_id": "r", "prompt": "hello"}))
}

pub fn complete(response: &str) -> Value {
    json!({"request_id": "r", "response": response, "token_usage": {"input_tokens": 1, "output_tokens": 1}})
}

pub fn required() -> Value {
    json!({"approval_id": "a", "prompt": "May I?", "options": ["Allow", "Deny"], "timeout": 300, "default": "deny",
        "context": {"tool": "fs", "operation": "write", "path": "/x"}})
}

pub fn pre() -> Value {
    json!({"tool_name": "fs", "operation": "write", "input": {"path": "/x"}})
}

pub fn post() -> Value {
    json!({"tool_name": "fs", "operation": "write", "result": {"success": true, "output": ""}, "duration_ms": 1})
}

#[test]
fn an_ordinary_session_breaks_nothing() {
    let id = "550e8400-e29b-41d4-a716-446655440000";
    let range = json!({"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 2}});
    let play = Play::new()
        .session(id)
        .subscribes(id)
        .sends_event("session:start", json!({"profile": "dev", "timestamp": "2025-12-09T10:30:00.5+01:00"}))
        .prompt(id, "r", "hello")
        .on("x2")
        .sends_event("prompt:submit", json!({"request_id": "r", "prompt": "hello"}))
        .sends_event("status:update", json!({"status": "processing", "message": "m", "progress": 45}))
        .sends_event("thinking:delta", json!({"delta": "Let "}))
        .sends_event("thinking:delta", json!({"delta": "me"}))
        .sends_event("thinking:final", json!({"thinking": "Let me"}))
        .sends_event("content_block:start", json!({"block_type": "text", "block_index": 0}))
        .sends_event("content_block:delta", json!({"block_index": 0, "delta": "I "}))
        .sends_event("content_block:delta", json!({"block_index": 0, "delta": "do."}))
        .sends_event("content_block:end", json!({"block_index": 0}))
        .sends_event("tool:pre", pre())
        .sends_event("approval:required", required())
        .posts(&format!("/sessions/{id}/approval"), &json!({"decision": "Allow"}))
        .returns(200, &json!({"status": "approved", "message": "m"}))
        .on("x2")
        .sends_event("approval:granted", json!({"approval_id": "a", "decision": "Allow"}))
        .sends_event("tool:post", post())
        .sends_event("tool:pre", json!({"tool_name": "fs", "operation": "read", "input": {}}))
        .sends_event("tool:error", json!({"tool_name": "fs", "operation": "read", "error": "no"}))
        .sends_event(
            "diagnostic:add",
            json!({"path": "/x", "diagnostics": [
            {"range": range, "severity": "warning", "message": "m", "source": "amplifier"}]}),
        )
        .sends_event("diagnostic:clear", json!({"path": "/x"}))
        .sends_event("content_block:start", json!({"block_type": "text", "block_index": 0}))
        .sends_event("content_block:delta", json!({"block_index": 0, "delta": "Done."}))
        .sends_event("content_block:end", json!({"block_index": 0}))
        .sends_event("prompt:complete", complete("I do.\n\nDone."))
        .gets(&format!("/sessions/{id}"))
        .returns(200, &status(id, "idle"))
        .gets("/sessions?status=idle&limit=1")
        .returns(
            200,
            &json!({"sessions": [{"session_id": id, "status": "idle", "profile": "dev",
            "created_at": "2025-12-09T10:30:00Z"}], "total": 1}),
        )
        .requests("DELETE", &format!("/sessions/{id}"))
        .returns(200, &json!({"status": "stopped", "message": "m"}))
        .on("x2")
        .sends_event(
            "session:end",
            json!({"reason": "user_stopped", "token_usage": {"input_tokens": 1, "output_tokens": 1}}),
        )
        .stream_ends();
    assert_eq!(play.broken(), [""; 0]);
    assert_eq!(play.notes(), [""; 0]);
    for short in [
        "http/answered",
        "create/session-id-uuid",
        "stream/complete-events",
        "life/content-joins",
        "life/thinking-joins",
        "life/tool-ended",
        "life/approval-decision",
        "safety/allowed",
        "list/filter",
        "stop/value",
        "create/client-profile",
        "approval/client-offered",
        "stream/client-accept",
        "safety/no-key-in-events",
    ] {
        assert!(play.assessed(short), "{short}");
    }
}

fn session(context: &Value) -> Vec<String> {
    Play::new().posts("/sessions", &json!({"profile": "p", "credentials": {}, "context": context})).broken()
}

fn context() -> Value {
    let range = json!({"start": {"line": 5, "character": 0}, "end": {"line": 5, "character": 3}});
    json!({
        "workspace_root": "/w",
        "open_files": [{"path": "/f", "language": "python", "content": "", "cursor_position": {"line": 1, "character": 0}}],
        "git_state": {"branch": "main", "staged_files": [], "modified_files": ["f"], "untracked_files": []},
        "diagnostics": [{"path": "/f", "severity": "error", "message": "m", "range": range}],
        "selection": {"path": "/f", "text": "t", "range": range},
    })
}

#[test]
fn every_member_of_a_context_is_looked_at() {
    assert!(session(&context()).is_empty());
    for (pointer, short) in [
        ("/workspace_root", "create/client-context"),
        ("/open_files/0/path", "create/client-open-files"),
        ("/open_files/0/cursor_position", "create/client-cursor"),
        ("/git_state/branch", "create/client-git-state"),
        ("/git_state/staged_files", "create/client-git-state"),
        ("/diagnostics/0/severity", "create/client-severity"),
        ("/diagnostics/0/message", "create/client-diagnostics"),
        ("/diagnostics/0/range/start/line", "create/client-ranges"),
        ("/selection/text", "create/client-selection"),
        ("/selection/range", "create/client-ranges"),
    ] {
        let mut wrong = context();
        *wrong.pointer_mut(pointer).unwrap() = json!([-1]);
        assert_eq!(session(&wrong), [short], "{pointer}");
    }
    let mut backward = context();
    backward["selection"]["range"]["end"]["line"] = 4.into();
    assert_eq!(session(&backward), ["create/client-range-order"]);
    let mut more = context();
    more["theme"] = "dark".into();
    assert_eq!(session(&more), ["create/client-extra"]);
}

#[test]
fn bodies_have_what_the_types_ask_for() {
    let of = |target: &str, body: Value| Play::new().posts(target, &body).broken();
    assert_eq!(of("/sessions", json!({"credentials": {}})), ["create/client-profile"]);
    assert_eq!(of("/sessions", json!({"profile": "p"})), ["create/client-credentials"]);
    let key = json!({"profile": "p", "credentials": {"anthropic_api_key": 5}});
    assert_eq!(of("/sessions", key), ["create/client-credentials"]);
    assert_eq!(of("/sessions", json!({"profile": "p", "credentials": {}, "model": 1})), ["create/client-model"]);
    assert_eq!(of("/sessions/s/prompt", json!({})), ["prompt/client-prompt"]);
    let update = json!({"prompt": "p", "context_update": []});
    assert_eq!(of("/sessions/s/prompt", update), ["prompt/client-context-update"]);
    assert_eq!(of("/sessions/s/prompt", json!({"prompt": "p", "x": 1})), ["prompt/client-extra"]);
    assert_eq!(of("/sessions/s/approval", json!({})), ["approval/client-decision"]);
    assert_eq!(of("/sessions/s/approval", json!({"decision": "d", "x": 1})), ["approval/client-extra"]);
    let partial = json!({"prompt": "p", "context_update": {"selection": context()["selection"]}});
    assert!(of("/sessions/s/prompt", partial).is_empty());
}

#[test]
fn requests_are_sound_http() {
    let of = |start: &str, headers: &[(&str, &str)]| Play::new().request_head(start, headers).broken();
    assert_eq!(of("GET /health HTTP/1.1", &[]), ["http/client-host"]);
    assert_eq!(of("GET /health HTTP/1.1", &[("Host", "http://a/")]), ["http/client-host"]);
    assert_eq!(of("GET  /health HTTP/1.1", &[("Host", "a")])[0], "http/client-valid-head");
    assert_eq!(of("GET /api/v1/health HTTP/1.1", &[("Host", "a")]), ["http/client-endpoint"]);
    assert_eq!(of("POST /sessions HTTP/1.1", &[("Host", "a")]), ["http/client-content-type"]);
    let coded = [("Host", "a"), ("Content-Type", "application/json"), ("Content-Encoding", "gzip")];
    assert_eq!(of("POST /sessions HTTP/1.1", &coded), ["http/client-plain-body"]);
    assert_eq!(
        of("GET /sessions/s/events HTTP/1.1", &[("Host", "a")]),
        ["stream/client-accept", "stream/client-cache-control"]
    );
    let bytes = |body: &[u8]| Play::new().posts_bytes("/sessions/s/approval", body).broken();
    assert_eq!(bytes(b"{"), ["http/client-json"]);
    assert_eq!(bytes(b"\xff"), ["http/client-utf-8", "http/client-json"]);
    // A length in characters: the end is missing, also in the middle of a character.
    assert_eq!(bytes("{\"profile\": \"gr\u{fc}\u{df}e".as_bytes()), ["http/client-length"]);
    assert_eq!(bytes(b"{\"profile\": \"gr\xc3"), ["http/client-length"]);
    assert_eq!(bytes("{\"profile\" \"gr\u{fc}n\"".as_bytes()), ["http/client-json"]);
    assert_eq!(bytes("\u{feff}{\"decision\":\"d\"}".as_bytes()), ["http/client-no-bom"]);
}

/// What an event breaks by itself, in a session of which nothing else is known.
fn broken(name: &str, data: &Value) -> Vec<String> {
    let broken = Play::new().subscribes("s").sends_event(name, data.clone()).broken();
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
    let request = |pointer: &str, value: Value| broken("approval:required", &with(required(), pointer, value));
    assert_eq!(request("/options", json!([])), ["events/approval-required-options"]);
    assert_eq!(request("/options", json!(["Allow", "Allow"])), ["events/approval-required-options-unique"]);
    assert_eq!(request("/timeout", json!(0)), ["events/approval-required-timeout"]);
    assert_eq!(request("/default", json!("maybe")), ["events/approval-required-default"]);
    assert!(request("/default", json!("Deny")).is_empty());
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
