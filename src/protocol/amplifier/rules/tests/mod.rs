//! Every rule: traces that break it, and sound ones that it must not accuse.

mod lifecycle;
mod messages;
mod responses;
mod traffic;

use serde_json::{Value, json};

use super::super::testing::Play;

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
