//! Responses and what they say of sessions.

use crate::trace::EventKind;
use serde_json::{Value, json};

use super::status;
use crate::protocol::Use;
use crate::protocol::amplifier::testing::Play;

/// What is broken by a response that lacks one of its members, or has it of another type.
fn spoilt(request: impl Fn() -> Play, code: u16, complete: &Value, pointer: &str) -> Vec<String> {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let mut without = complete.clone();
    without.pointer_mut(parent).and_then(Value::as_object_mut).unwrap().remove(key).unwrap();
    let mut wrong = complete.clone();
    *wrong.pointer_mut(pointer).unwrap() = json!([5]);
    let broken = request().returns(code, &without).broken();
    assert_eq!(request().returns(code, &wrong).broken()[..1], broken[..1], "{pointer}");
    broken
}

#[test]
fn every_member_of_every_response_is_asked_for() {
    let create = || Play::new().posts("/sessions", &json!({"profile": "dev", "credentials": {}}));
    let created = json!({"session_id": "550e8400-e29b-41d4-a716-446655440000", "status": "created", "profile": "dev",
        "created_at": "2025-12-09T10:30:00Z"});
    for (key, short) in [
        ("/session_id", "create/session-id"),
        ("/status", "create/session-status"),
        ("/profile", "create/profile"),
        ("/created_at", "create/created-at"),
    ] {
        assert_eq!(spoilt(create, 201, &created, key), [short]);
    }
    let prompt = || Play::new().posts("/sessions/s/prompt", &json!({"prompt": "p"}));
    let accepted = json!({"request_id": "r", "status": "processing", "message": "m"});
    for (key, short) in
        [("/request_id", "prompt/request-id"), ("/status", "prompt/value"), ("/message", "prompt/message")]
    {
        assert_eq!(spoilt(prompt, 202, &accepted, key), [short]);
    }
    for key in ["session-id", "profile", "created-at", "last-activity", "message-count", "token-usage"] {
        let pointer = format!("/{}", key.replace('-', "_"));
        assert_eq!(
            spoilt(|| Play::new().gets("/sessions/s"), 200, &status("s", "idle"), &pointer),
            [format!("status/{key}")]
        );
    }
    let listed = json!({"sessions": [{"session_id": "s", "status": "idle", "profile": "p",
        "created_at": "2025-12-09T10:30:00Z"}], "total": 1});
    for (key, short) in [
        ("/sessions", "list/object"),
        ("/total", "list/total"),
        ("/sessions/0/session_id", "list/session-id"),
        ("/sessions/0/status", "list/session-status"),
        ("/sessions/0/profile", "list/profile"),
        ("/sessions/0/created_at", "list/created-at"),
    ] {
        assert_eq!(spoilt(|| Play::new().gets("/sessions"), 200, &listed, key), [short]);
    }
}

#[test]
fn every_member_of_every_catalogue_is_asked_for() {
    let profile = json!({"name": "p", "collection": null, "description": "d", "extends": null,
        "providers": [], "tools": [{"module": "m", "source": "s", "config": {}}], "hooks": [], "agents": ["a"]});
    let profiles = json!({"profiles": [profile]});
    for key in ["name", "collection", "description", "extends"] {
        let pointer = format!("/profiles/0/{key}");
        let broken = spoilt(|| Play::new().gets("/profiles"), 200, &profiles, &pointer);
        assert_eq!(broken, [format!("profiles/{key}")]);
    }
    let collections =
        json!({"collections": [{"name": "c", "description": "d", "version": "1", "profiles": [], "agents": []}]});
    for key in ["name", "description", "version", "profiles"] {
        let broken = spoilt(|| Play::new().gets("/collections"), 200, &collections, &format!("/collections/0/{key}"));
        assert_eq!(broken, [format!("collections/{key}")]);
    }
    let agents = json!({"agents": [{"name": "a", "collection": null, "description": "d"}]});
    for key in ["name", "collection", "description"] {
        let broken = spoilt(|| Play::new().gets("/agents"), 200, &agents, &format!("/agents/0/{key}"));
        assert_eq!(broken, [format!("agents/{key}")]);
    }
    let health = json!({"status": "healthy", "version": "1", "uptime_seconds": 1.5, "active_sessions": 0});
    for (key, short) in [
        ("/status", "health/value"),
        ("/version", "health/version"),
        ("/uptime_seconds", "health/uptime-seconds"),
        ("/active_sessions", "health/active-sessions"),
    ] {
        assert_eq!(spoilt(|| Play::new().gets("/health"), 200, &health, key), [short]);
    }
    let info = json!({"version": "1", "amplifier_core_version": "1",
        "capabilities": {"streaming": true, "extended_thinking": true, "tool_use": true},
        "config": {"host": "h", "port": 1, "profiles_path": "p", "collections_path": "c"}});
    for (key, short) in [
        ("/version", "info/version"),
        ("/amplifier_core_version", "info/core-version"),
        ("/capabilities", "info/capabilities"),
        ("/capabilities/streaming", "info/capabilities"),
        ("/config", "info/config"),
        ("/config/host", "info/host"),
        ("/config/port", "info/port"),
        ("/config/profiles_path", "info/profiles-path"),
        ("/config/collections_path", "info/collections-path"),
    ] {
        assert_eq!(spoilt(|| Play::new().gets("/info"), 200, &info, key), [short]);
    }
}

#[test]
fn a_response_has_the_status_of_its_endpoint() {
    let created = json!({"session_id": "550e8400-e29b-41d4-a716-446655440000", "status": "idle", "profile": "dev",
        "created_at": "2025-12-09T10:30:00Z"});
    let create = Play::new().posts("/sessions", &json!({"profile": "dev", "credentials": {}}));
    assert_eq!(create.returns(200, &created).broken(), ["create/status"]);
    let accepted = json!({"request_id": "r", "status": "processing", "message": "m"});
    let prompt = Play::new().posts("/sessions/s/prompt", &json!({"prompt": "p"}));
    assert_eq!(prompt.returns(200, &accepted).broken(), ["prompt/status"]);
    assert_eq!(
        Play::new().gets("/collections").returns(201, &json!({"collections": []})).broken(),
        ["collections/status"]
    );
    assert_eq!(Play::new().gets("/health").returns(200, &json!([])).broken(), ["health/object"]);
}

#[test]
fn bodies_that_do_not_fit_are_refused_with_400() {
    for (target, body, short) in [
        ("/sessions", "{", "create/bad-json"),
        ("/sessions", "[]", "create/bad-body"),
        ("/sessions", r#"{"credentials":{}}"#, "create/profile-missing"),
        ("/sessions", r#"{"profile":5,"credentials":{}}"#, "create/profile-type"),
        ("/sessions", r#"{"profile":"p","credentials":{},"context":{}}"#, "create/context-invalid"),
        ("/sessions/s/prompt", "{", "prompt/bad-json"),
        ("/sessions/s/prompt", "{}", "prompt/prompt-missing"),
        ("/sessions/s/prompt", r#"{"prompt":null}"#, "prompt/prompt-type"),
        ("/sessions/s/prompt", r#"{"prompt":"p","context_update":5}"#, "prompt/context-update-invalid"),
        ("/sessions/s/approval", "{", "approval/bad-json"),
        ("/sessions/s/approval", "{}", "approval/decision-missing"),
        ("/sessions/s/approval", r#"{"decision":5}"#, "approval/decision-type"),
    ] {
        let server = |play: Play| play.broken().into_iter().filter(|s| !s.contains("/client-")).collect::<Vec<_>>();
        let request = || Play::new().posts_bytes(target, body.as_bytes());
        assert!(server(request().returns_error(400, "INVALID_REQUEST")).is_empty(), "{short}");
        assert_eq!(server(request().returns(422, &json!({"detail": []}))), ["errors/format", "errors/invalid-request"]);
        assert!(server(request().returns(201, &json!({}))).contains(&short.to_owned()), "{short}");
    }
}

#[test]
fn an_error_alone_comes_with_no_success() {
    let error = json!({"code": "PROVIDER_ERROR", "message": "down"});
    let broken = |body: &Value| Play::new().gets("/sessions/s").returns(200, body).broken();
    assert_eq!(broken(&json!({"error": error})), ["errors/status"]);
    let session = json!({"session_id": "s", "status": "error", "error": error});
    assert!(!broken(&session).contains(&"errors/status".to_owned()), "a session may tell of its error");
}

#[test]
fn errors_have_their_format_and_the_status_of_their_code() {
    let request = || Play::new().gets("/sessions/s");
    assert!(request().returns_error(404, "SESSION_NOT_FOUND").broken().is_empty());
    assert_eq!(request().returns(404, &json!({"detail": "Not Found"})).broken(), ["errors/format"]);
    assert_eq!(request().returns_error(404, "NOT_FOUND").broken(), ["errors/code-known"]);
    assert_eq!(request().returns(404, &json!({"error": {"message": "m"}})).broken(), ["errors/code"]);
    assert_eq!(request().returns(404, &json!({"error": {"code": "SESSION_NOT_FOUND"}})).broken(), ["errors/message"]);
    let details = json!({"error": {"code": "SESSION_NOT_FOUND", "message": "m", "details": "d"}});
    assert_eq!(request().returns(404, &details).broken(), ["errors/details"]);
    for (code, _, short) in crate::protocol::amplifier::CODES {
        assert_eq!(request().returns_error(418, code).broken(), [*short]);
    }
    let outside = Play::new().gets("/nothing").returns(404, &json!({"detail": "Not Found"}));
    assert_eq!(outside.broken(), ["http/client-endpoint", "errors/outside"]);
}

#[test]
fn an_error_for_which_there_is_no_code_has_any() {
    for (status, code) in [(413, "INVALID_REQUEST"), (413, "PAYLOAD_TOO_LARGE"), (405, "METHOD_NOT_ALLOWED")] {
        assert!(Play::new().gets("/sessions/s").returns_error(status, code).broken().is_empty(), "{status} {code}");
    }
    assert!(Play::new().gets("/agents?collection=c").returns_error(404, "COLLECTION_NOT_FOUND").broken().is_empty());
    let stopped = || Play::new().session("s").requests("DELETE", "/sessions/s");
    let stopped = || stopped().returns(200, &json!({"status": "stopped", "message": "m"})).gets("/sessions/s");
    assert!(stopped().returns_error(404, "SESSION_STOPPED").broken().is_empty());
    assert_eq!(stopped().returns_error(404, "SESSION_BUSY").broken(), ["errors/session-busy"]);
}

#[test]
fn every_defensible_status_is_accepted_and_noted() {
    let decide = || Play::new().posts("/sessions/s/approval", &json!({"decision": "Allow"}));
    for (status, code) in
        [(408, "APPROVAL_TIMEOUT"), (409, "APPROVAL_TIMEOUT"), (409, "APPROVAL_INVALID"), (409, "SESSION_BUSY")]
    {
        assert!(decide().returns_error(status, code).broken().is_empty(), "{status} {code}");
        assert_eq!(decide().returns_error(status, code).notes().len(), 1);
    }
    let create = || Play::new().posts("/sessions", &json!({"profile": "no", "credentials": {}}));
    for (status, code) in [(400, "PROFILE_NOT_FOUND"), (404, "PROFILE_NOT_FOUND"), (400, "INVALID_REQUEST")] {
        assert!(create().returns_error(status, code).broken().is_empty(), "{status} {code}");
    }
}

#[test]
fn lists_keep_to_filters_and_limits() {
    let entry = |n: usize| json!({"session_id": n.to_string(), "status": "idle", "profile": "p", "created_at": "2025-12-09T10:30:00Z"});
    let list = |n: usize| json!({"sessions": (0..n).map(entry).collect::<Vec<_>>(), "total": n});
    let of = |target: &str, n| Play::new().gets(target).returns(200, &list(n)).broken();
    assert!(of("/sessions", 50).is_empty());
    assert_eq!(of("/sessions", 51), ["list/limit-default"]);
    assert!(of("/sessions?limit=60", 60).is_empty());
    assert_eq!(of("/sessions?limit=1", 2), ["list/limit"]);
    assert_eq!(of("/sessions?limit=-1", 1), ["list/limit-odd"]);
    assert_eq!(of("/sessions?status=error", 1), ["list/filter"]);
    assert_eq!(of("/sessions?limit=x", 1), ["list/client-limit", "list/limit-invalid"]);
    assert_eq!(of("/sessions?status=new", 0), ["list/client-status-known"]);
    let twice = json!({"sessions": [entry(1), entry(1)], "total": 1});
    assert_eq!(Play::new().gets("/sessions").returns(200, &twice).broken(), ["list/unique", "list/total"]);
    let more = json!({"sessions": [entry(1)], "total": 7});
    assert_eq!(Play::new().gets("/sessions").returns(200, &more).notes().len(), 1);
    let agents = json!({"agents": [{"name": "a", "collection": null, "description": "d"}]});
    assert_eq!(Play::new().gets("/agents?collection=c").returns(200, &agents).broken(), ["agents/filter"]);
}

#[test]
fn a_session_stays_the_same_and_is_gone_when_stopped() {
    let session = || Play::new().session("s");
    let look = |value: Value| session().gets("/sessions/s").returns(200, &value).broken();
    let with = |key: &str, value: Value| {
        let mut status = status("s", "idle");
        status[key] = value;
        status
    };
    assert_eq!(look(with("profile", json!("other"))), ["status/profile"]);
    assert_eq!(look(with("session_id", json!("t"))), ["status/session-id"]);
    assert_eq!(look(with("status", json!("created"))), ["status/value"]);
    assert_eq!(look(with("created_at", json!("2025-12-09T10:31:00Z"))), ["status/created-at-same"]);
    assert_eq!(look(with("last_activity", json!("2025-12-09T10:29:00Z"))), ["status/last-activity-after"]);
    let less = with("token_usage", json!({"input_tokens": 0, "output_tokens": 1}));
    let twice =
        session().gets("/sessions/s").returns(200, &status("s", "idle")).gets("/sessions/s").returns(200, &less);
    assert_eq!(twice.broken(), ["status/token-usage-grows"]);
    assert_eq!(session().session("s").broken(), ["create/session-id-unique"]);
    let stopped =
        || session().requests("DELETE", "/sessions/s").returns(200, &json!({"status": "stopped", "message": "m"}));
    assert!(stopped().gets("/sessions/s").returns(200, &status("s", "stopped")).broken().is_empty());
    assert_eq!(stopped().gets("/sessions/s").returns(200, &status("s", "idle")).broken(), ["stop/gone"]);
    assert_eq!(stopped().prompt("s", "r", "p").broken(), ["stop/prompt-refused"]);
    let prompts = session().prompt("s", "r", "p").prompt("s", "r", "p");
    assert_eq!(prompts.broken(), ["prompt/request-id-unique"]);
    let apart = session().prompt("s", "r", "p").session("t").prompt("t", "r", "p");
    assert_eq!(apart.broken(), [""; 0]);
}

#[test]
fn the_id_of_a_session_is_a_uuid() {
    let odd = |id: &str| Play::new().session(id).judge().violations.len();
    assert_eq!(odd("550e8400-e29b-41d4-a716-446655440000"), 0);
    for wrong in ["s", "550e8400e29b41d4a716446655440000", "550e8400-e29b-41d4-a716-44665544000g"] {
        assert_eq!(odd(wrong), 1, "{wrong}");
    }
}

#[test]
fn responses_are_json() {
    let request = || Play::new().gets("/collections");
    let json = [("Content-Type", "application/json")];
    assert_eq!(request().responds(200, &json, b"<html>").broken(), ["http/json"]);
    assert_eq!(request().responds(200, &json, b"\xff").broken(), ["http/utf-8"]);
    assert_eq!(request().responds(200, &json, "\u{feff}{\"collections\":[]}".as_bytes()).broken(), ["http/no-bom"]);
    assert_eq!(request().responds(200, &[], br#"{"collections":[]}"#).broken(), ["http/content-type"]);
    assert_eq!(request().responds(307, &[("Location", "/collections/")], b"").broken(), ["http/no-redirect"]);
    let odd = Play::new().requests("PATCH", "/health").returns(200, &json!({}));
    assert_eq!(odd.broken(), ["http/client-endpoint", "http/method-not-allowed"]);
}

#[test]
fn what_a_redirect_leads_to_is_judged_as_what_was_asked_for() {
    let mut play = Play::new().gets("/collections").responds(307, &[("Location", "/all/")], b"");
    let asked = play.events[0].conn.clone().unwrap();
    let begun = play.events.len();
    play = play.gets("/all/").returns(200, &json!([]));
    play.events[begun..].iter_mut().for_each(|event| event.conn = Some(format!("{asked}~1")));
    assert_eq!(play.broken(), ["http/no-redirect", "collections/list"]);
}

#[test]
fn an_endpoint_that_a_server_may_lack_is_told_apart_from_one_that_fails() {
    let uses = |path: &str, status| Play::new().gets(path).returns(status, &json!({})).judge().uses;
    let used = |refusal| vec![Use { capability: "profiles", request: "GET /profiles".to_owned(), refusal }];
    for status in [404, 405, 501] {
        assert_eq!(uses("/profiles", status), used(Some(i64::from(status))));
    }
    assert_eq!((uses("/profiles", 200), uses("/profiles", 500)), (used(None), used(None)));
    assert_eq!(uses("/sessions", 404), [], "no server may lack it");

    let socket = |status: u16| {
        let mut play = Play::new().upgrades("s");
        if let Some(EventKind::Handshake(head)) = play.events.last_mut().map(|event| &mut event.kind) {
            head.start = format!("HTTP/1.1 {status} x");
        }
        play.judge().uses
    };
    let used =
        |refusal| vec![Use { capability: "websocket", request: "GET /sessions/{session_id}/ws".to_owned(), refusal }];
    assert_eq!((socket(101), socket(403), socket(500)), (used(None), used(Some(403)), used(None)));
}
