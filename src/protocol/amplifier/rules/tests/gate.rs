use serde_json::{Value, json};

use super::{begun, complete, post, pre, required, submitted};
use crate::protocol::amplifier::testing::{Play, with_session};
use crate::trace::End;

fn pending() -> Play {
    submitted().sends("tool:pre", pre()).sends("approval:required", required())
}

fn decide(play: Play, decision: &str) -> Play {
    let answer = json!({"status": "approved", "message": "m"});
    play.posts("/sessions/s/approval", &json!({ "decision": decision })).gives(200, &answer).on("x2")
}

fn granted(decision: &str) -> Value {
    json!({"approval_id": "a", "decision": decision})
}

fn denied(decision: &str) -> Value {
    json!({"approval_id": "a", "decision": decision, "reason": "user_denied"})
}

#[test]
fn nothing_runs_while_an_approval_is_pending() {
    assert_eq!(pending().sends("tool:post", post()).broken(), ["safety/pending"]);
    let untold = decide(pending(), "Allow").sends("tool:post", post());
    assert!(untold.broken().is_empty(), "that it was granted need not be told");
    assert!(pending().wait(300).sends("tool:post", post()).broken().is_empty(), "the time is up");
    let refused = json!({"tool_name": "fs", "operation": "write", "result": {"success": false}, "duration_ms": 1});
    assert!(pending().sends("tool:post", refused).broken().is_empty());
    let other =
        json!({"tool_name": "fs", "operation": "read", "result": {"success": true, "output": ""}, "duration_ms": 1});
    let other = pending()
        .sends("tool:pre", json!({"tool_name": "fs", "operation": "read", "input": {}}))
        .sends("tool:post", other);
    assert!(other.broken().is_empty(), "it guards something else");
    let two = submitted().sends("tool:pre", pre()).sends("tool:pre", pre()).sends("approval:required", required());
    assert!(two.sends("tool:post", post()).broken().is_empty(), "which of the two has run cannot be told");
    let granted = pending().sends("approval:granted", granted("Allow"));
    assert_eq!(granted.processes(End::Server).broken(), ["safety/pending"]);
}

#[test]
fn an_approval_whose_time_is_up_is_told_by_its_default() {
    let late = |name: &str| pending().wait(300).processes(End::Server).sends(name, granted("Deny")).broken();
    assert!(!late("approval:denied").contains(&"life/approval-timed-out".to_owned()));
    assert!(late("approval:granted").contains(&"life/approval-timed-out".to_owned()));
    let decided =
        decide(pending(), "Allow").wait(300).processes(End::Server).sends("approval:granted", granted("Allow"));
    assert!(decided.broken().is_empty(), "somebody decided in time");
}

#[test]
fn between_two_real_ends_somebody_else_may_have_decided() {
    let granted = || pending().sends("approval:granted", granted("Allow"));
    assert!(granted().broken().is_empty());
    assert!(granted().notes().iter().any(|note| note.contains("without a decision in the trace")));
    // The decision that was told is in `x4`, and is missing; that of `x5` came too late.
    let late = || {
        decide(pending(), "Allow")
            .posts("/sessions/s/approval", &json!({"decision": "Deny"}))
            .fails(409, "APPROVAL_INVALID")
    };
    let told = late().on("x2").sends("approval:granted", json!({"approval_id": "a", "decision": "Allow"}));
    assert!(told.without("x4").broken().is_empty());
}

#[test]
fn nothing_runs_that_was_denied() {
    let denied = || decide(pending(), "Deny").sends("approval:denied", denied("Deny"));
    assert_eq!(denied().sends("tool:post", post()).broken(), ["safety/denied"]);
    assert_eq!(denied().sends("tool:pre", pre()).sends("tool:post", post()).broken(), ["safety/denied"]);
    let elsewhere = json!({"tool_name": "fs", "operation": "write", "input": {"path": "/y"}});
    assert!(denied().sends("tool:pre", elsewhere).sends("tool:post", post()).broken().is_empty());
    assert!(denied().sends("prompt:complete", complete("")).broken().is_empty(), "it need not end");
    assert!(denied().sends("prompt:complete", complete("")).assessed("safety/denied"));
    let untold = decide(pending(), "Deny").sends("prompt:complete", complete(""));
    assert_eq!(untold.broken(), ["life/approval-resolved"], "nor need it end where the denial is not told");
    let mut anew = required();
    anew["approval_id"] = "b".into();
    let anew = decide(denied().sends("tool:pre", pre()).sends("approval:required", anew), "Allow");
    let anew =
        anew.sends("approval:granted", json!({"approval_id": "b", "decision": "Allow"})).sends("tool:post", post());
    assert!(!anew.broken().iter().any(|short| short.starts_with("safety/")), "{:?}", anew.broken());
}

#[test]
fn an_approval_is_decided_once_and_by_what_was_offered() {
    let allowed = || decide(pending(), "Allow").sends("approval:granted", granted("Allow"));
    assert!(allowed().sends("tool:post", post()).broken().is_empty());
    assert_eq!(allowed().sends("approval:denied", denied("Deny")).broken(), ["life/approval-once"]);
    let other = decide(pending(), "Allow").sends("approval:denied", denied("Deny"));
    assert_eq!(other.broken(), ["life/approval-decision"]);
    let strange = decide(pending(), "Allow").sends("approval:granted", granted("Maybe"));
    assert_eq!(strange.broken(), ["life/approval-offered", "life/approval-decision"]);
    let timed_out = json!({"approval_id": "a", "decision": "deny", "reason": "timeout"});
    assert!(pending().wait(300).sends("approval:denied", timed_out).broken().is_empty());
    let unknown = submitted().sends("approval:denied", denied("Deny"));
    assert_eq!(unknown.broken(), ["life/approval-known"]);
    let before = begun().sends("approval:denied", denied("Deny"));
    assert!(before.broken().is_empty(), "the prompt may have begun before the stream did");
    let again = decide(pending(), "Allow").sends("approval:granted", granted("Allow")).sends("tool:post", post());
    assert_eq!(again.sends("approval:required", required()).broken(), ["life/approval-id-unique"]);
    let open = submitted().sends("approval:required", required()).sends("prompt:complete", complete(""));
    assert_eq!(open.broken(), ["life/approval-resolved"]);
}

#[test]
fn clients_send_what_was_offered() {
    assert_eq!(decide(pending(), "allow").broken(), ["approval/client-offered"]);
    assert!(decide(pending(), "Deny").broken().is_empty());
}

#[test]
fn a_decision_by_websocket_is_taken_before_the_time_is_up() {
    let event = |name: &str, data: Value| json!({"event": name, "data": with_session(data, "s")});
    // Sent after so many seconds of 300, told after so many more.
    let is_ignored = |option: &str, (sent, told): (u64, u64), name: &str, data: Value| {
        let play = Play::default().session("s").upgrades("s").socket_tells(&event("approval:required", required()));
        let play = play.wait(sent).socket_asks(&json!({"action": "submit_approval", "decision": option}));
        let broken = play.wait(told).socket_tells(&event(name, data)).broken();
        broken.contains(&"websocket/submit-approval".to_owned())
    };
    let timed_out = || json!({"approval_id": "a", "decision": "Deny", "reason": "timeout"});
    assert!(is_ignored("Allow", (0, 300), "approval:denied", timed_out()));
    assert!(is_ignored("Deny", (0, 300), "approval:denied", timed_out()));
    assert!(is_ignored("Deny", (0, 300), "approval:granted", granted("Allow")));
    assert!(!is_ignored("Deny", (0, 300), "approval:denied", denied("Deny")), "told late");
    assert!(!is_ignored("Allow", (200, 100), "approval:denied", timed_out()), "sent late");
    assert!(!is_ignored("Yes", (0, 300), "approval:denied", timed_out()), "not offered");
    assert!(!is_ignored("Allow", (0, 0), "approval:denied", denied("Deny")), "the time is not up");
}
