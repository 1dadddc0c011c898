use serde_json::{Value, json};

use crate::protocol::amplifier::testing::Play;

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
    assert_eq!(bytes("\u{feff}{\"decision\":\"d\"}".as_bytes()), ["http/client-no-bom"]);
}
