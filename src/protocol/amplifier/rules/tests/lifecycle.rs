//! Prompts, blocks, thinking, tools and approvals, from their beginning to their end.

use serde_json::{Value, json};

use super::{begun, complete, post, pre, required, submitted};
use crate::protocol::amplifier::testing::{Play, with_session};
use crate::trace::End;
use crate::trace::StreamEvent;

fn block(index: u64) -> Value {
    json!({"block_type": "text", "block_index": index})
}

fn delta(index: u64, text: &str) -> Value {
    json!({"block_index": index, "delta": text})
}

fn ended() -> Value {
    json!({"reason": "done", "token_usage": {"input_tokens": 1, "output_tokens": 1}})
}

#[test]
fn a_prompt_is_told_once_and_by_what_was_posted() {
    let submit = json!({"request_id": "r", "prompt": "hello"});
    assert_eq!(submitted().sends_event("prompt:submit", submit.clone()).broken(), ["life/submitted-once"]);
    let other = begun().sends_event("prompt:submit", json!({"request_id": "r", "prompt": "Hello"}));
    assert_eq!(other.broken(), ["life/submitted-prompt"]);
    let twice = submitted().sends_event("prompt:complete", complete("")).sends_event("prompt:complete", complete(""));
    assert_eq!(twice.broken(), ["life/completed-once"]);
    assert_eq!(begun().sends_event("prompt:complete", complete("")).broken(), ["life/submitted"]);
    let late = Play::new().session("s").prompt("s", "r", "hello").subscribes("s");
    assert!(late.sends_event("prompt:complete", complete("")).broken().is_empty(), "it came later");
}

#[test]
fn prompts_are_not_told_apart_by_an_id_that_does_not_do_so() {
    let twice = |id: Option<&str>| {
        let with = |mut data: Value| {
            if let Some(id) = id {
                data["request_id"] = id.into();
            }
            data
        };
        let usage = json!({"input_tokens": 1, "output_tokens": 1});
        let events = |play: Play| {
            let play = play.sends_event("prompt:submit", with(json!({"prompt": "hello"})));
            play.sends_event("prompt:complete", with(json!({"response": "", "token_usage": usage})))
        };
        let first = events(Play::new().session("s").subscribes("s").prompt("s", "r", "hello").on("x2"));
        events(first.prompt("s", "r", "hello").on("x2")).broken()
    };
    assert_eq!(twice(Some("r")), ["prompt/request-id-unique"]);
    let missing = ["events/prompt-submit-request-id", "events/prompt-complete-request-id", "prompt/request-id-unique"];
    assert_eq!(twice(None), missing);
}

#[test]
fn the_request_id_stays_the_same() {
    let complete = json!({"request_id": "q", "response": "", "token_usage": {"input_tokens": 1, "output_tokens": 1}});
    assert_eq!(submitted().sends_event("prompt:complete", complete).broken(), ["life/request-id-same"]);
    let made_up = begun().sends_event("prompt:submit", json!({"request_id": "q", "prompt": "hello"}));
    assert_eq!(made_up.broken(), ["life/request-id"]);
    let early =
        Play::new().session("s").subscribes("s").posts("/sessions/s/prompt", &json!({"prompt": "hello"})).on("x2");
    let early = early.sends_event("prompt:submit", json!({"request_id": "r", "prompt": "hello"})).on("x3");
    let response = json!({"request_id": "r", "status": "processing", "message": "m"});
    assert!(early.returns(202, &response).broken().is_empty(), "events may come before the response");
}

#[test]
fn a_prompt_whose_post_is_not_in_the_trace_is_held_against_nobody() {
    let two = || {
        let first = submitted().sends_event("prompt:complete", complete(""));
        let second = first.prompt("s", "q", "more").on("x2");
        let second = second.sends_event("prompt:submit", json!({"request_id": "q", "prompt": "more"}));
        second.sends_event(
            "prompt:complete",
            json!({"request_id": "q", "response": "", "token_usage": {"input_tokens": 1, "output_tokens": 1}}),
        )
    };
    assert!(two().broken().is_empty());
    for missing in ["x3", "x4"] {
        assert!(two().without(missing).broken().is_empty(), "{missing}");
    }
    // One that was posted before the stream began, and ends in it.
    let late = Play::new().session("s").prompt("s", "q", "more").subscribes("s").prompt("s", "r", "hello").on("x3");
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let late = late.sends_event("prompt:complete", json!({"request_id": "q", "response": "", "token_usage": usage}));
    assert!(late.without("x2").broken().is_empty());
}

#[test]
fn work_is_told_while_a_prompt_is_under_way() {
    let after = submitted().sends_event("prompt:complete", complete("")).sends_event("content_block:start", block(0));
    assert_eq!(after.broken(), ["life/within-prompt"]);
    let before = begun().sends_event("thinking:delta", json!({"delta": "a"}));
    let before = before.sends_event("prompt:submit", json!({"request_id": "r", "prompt": "hello"}));
    assert_eq!(before.broken(), ["life/within-prompt"]);
    let two = submitted()
        .prompt("s", "q", "more")
        .on("x2")
        .sends_event("prompt:submit", json!({"request_id": "q", "prompt": "more"}));
    assert_eq!(two.broken(), ["life/one-at-a-time"]);
    let next = |failed: Play| {
        let next = json!({"request_id": "q", "prompt": "more"});
        let broken = failed.prompt("s", "q", "more").on("x2").sends_event("prompt:submit", next).broken();
        broken.contains(&"life/one-at-a-time".to_owned())
    };
    assert!(next(submitted().sends_event("status:update", json!({"status": "processing"}))));
    assert!(!next(submitted().sends_event("status:update", json!({"status": "error"}))));
    assert!(!next(submitted().sends_event("error", json!({"code": "PROVIDER_ERROR"}))));
    let error = json!({"error": {"code": "PROVIDER_ERROR", "message": "no", "details": {}}});
    assert!(!next(submitted().streams(&StreamEvent::data(error.to_string()))));
    let status =
        |status: &str| submitted().gets("/sessions/s").returns(200, &json!({"session_id": "s", "status": status}));
    assert!(!next(status("error")) && next(status("processing")));
}

#[test]
fn blocks_are_started_and_ended() {
    assert_eq!(submitted().sends_event("content_block:delta", delta(0, "a")).broken(), ["life/content-started"]);
    let twice = submitted().sends_event("content_block:start", block(0)).sends_event("content_block:start", block(0));
    assert_eq!(twice.broken(), ["life/content-once"]);
    let open = submitted().sends_event("content_block:start", block(0)).sends_event("prompt:complete", complete(""));
    assert_eq!(open.broken(), ["life/content-ended"]);
}

#[test]
fn deltas_join_to_the_response() {
    let response_joins = |response: &str| {
        submitted()
            .sends_event("content_block:start", block(0))
            .sends_event("content_block:delta", delta(0, "First. "))
            .sends_event("content_block:end", json!({"block_index": 0}))
            .sends_event("content_block:start", block(1))
            .sends_event("content_block:delta", delta(1, "Second."))
            .sends_event("content_block:end", json!({"block_index": 1}))
            .sends_event("prompt:complete", complete(response))
            .broken()
    };
    for fine in ["First. Second.", "First.\nSecond.", "Second."] {
        assert!(response_joins(fine).is_empty(), "{fine}");
    }
    for wrong in ["", "First.", "Second. First.", "cond.", "First. Second. Third."] {
        assert_eq!(response_joins(wrong), ["life/content-joins"], "{wrong}");
    }
}

#[test]
fn thinking_joins_and_comes_to_an_end() {
    let thought = || submitted().sends_event("thinking:delta", json!({"delta": "a"}));
    assert_eq!(thought().sends_event("thinking:final", json!({"thinking": "b"})).broken(), ["life/thinking-joins"]);
    assert_eq!(thought().sends_event("prompt:complete", complete("")).broken(), ["life/thinking-final"]);
}

#[test]
fn tools_begin_and_end() {
    assert_eq!(submitted().sends_event("tool:post", post()).broken(), ["life/tool-started"]);
    let open = submitted().sends_event("tool:pre", pre()).sends_event("prompt:complete", complete(""));
    assert_eq!(open.broken(), ["life/tool-ended"]);
}

#[test]
fn a_session_begins_and_ends_once() {
    let start = json!({"profile": "dev", "timestamp": "2025-12-09T10:30:00Z"});
    assert_eq!(submitted().sends_event("session:start", start).broken(), ["life/session-start-first"]);
    let other = json!({"profile": "other", "timestamp": "2025-12-09T10:30:00Z"});
    let other = Play::new().session("s").subscribes("s").sends_event("session:start", other);
    assert_eq!(other.broken(), ["life/session-start-profile"]);
    let twice = submitted().sends_event("session:end", ended()).sends_event("session:end", ended());
    assert_eq!(twice.broken(), ["life/session-end-last"]);
}

#[test]
fn nothing_is_done_after_a_stop() {
    let stopped = |seconds| {
        let stopped =
            submitted().requests("DELETE", "/sessions/s").returns(200, &json!({"status": "stopped", "message": "m"}));
        stopped.on("x2").wait(seconds).sends_event("tool:pre", pre()).broken()
    };
    assert_eq!(stopped(3), ["safety/stopped", "life/stopped-no-work"]);
    assert!(stopped(1).is_empty(), "it was under way");
    let stop =
        submitted().requests("DELETE", "/sessions/s").returns(200, &json!({"status": "stopped", "message": "m"}));
    assert!(!stop.assessed("life/stopped-no-work"));
    assert!(stop.on("x2").sends_event("session:end", ended()).stream_ends().assessed("life/stopped-no-work"));
}

#[test]
fn what_a_stop_cuts_short_need_not_be_ended() {
    let begun = || submitted().sends_event("content_block:start", block(0));
    let stopped = begun().requests("DELETE", "/sessions/s").on("x2").sends_event("prompt:complete", complete(""));
    assert!(stopped.broken().is_empty());
    let goes_on = begun().requests("DELETE", "/sessions/s").on("x2").sends_event("content_block:start", block(0));
    assert!(goes_on.broken().is_empty());
}

#[test]
fn a_prompt_that_is_worked_on_is_answered() {
    let prompted = || Play::new().session("s").subscribes("s").posts("/sessions/s/prompt", &json!({"prompt": "hello"}));
    let start = ("content_block:start", block(0));
    let worked = prompted()
        .on("x2")
        .sends_event(start.0, start.1.clone())
        .wait(30)
        .sends_event("content_block:delta", delta(0, "a"));
    assert_eq!(worked.broken(), ["prompt/at-once"]);
    let idle = prompted().on("x2").wait(30).sends_event("session:end", ended());
    assert_eq!(idle.broken(), ["http/timely"]);
}

fn pending() -> Play {
    submitted().sends_event("tool:pre", pre()).sends_event("approval:required", required())
}

fn decide(play: Play, decision: &str) -> Play {
    let response = json!({"status": "approved", "message": "m"});
    play.posts("/sessions/s/approval", &json!({ "decision": decision })).returns(200, &response).on("x2")
}

fn granted(decision: &str) -> Value {
    json!({"approval_id": "a", "decision": decision})
}

fn denied(decision: &str) -> Value {
    json!({"approval_id": "a", "decision": decision, "reason": "user_denied"})
}

#[test]
fn nothing_runs_while_an_approval_is_pending() {
    assert_eq!(pending().sends_event("tool:post", post()).broken(), ["safety/pending"]);
    let unreported = decide(pending(), "Allow").sends_event("tool:post", post());
    assert!(unreported.broken().is_empty(), "that it was granted need not be reported");
    let other_stream = |play: Play| {
        let play = play.subscribes("s").sends_event("tool:pre", pre()).sends_event("approval:required", required());
        play.sends_event("tool:post", post()).broken().contains(&"safety/pending".to_owned())
    };
    assert!(other_stream(pending()), "nobody has decided");
    assert!(!other_stream(decide(pending(), "Allow")), "it was decided when another subscription was told of it");
    let again = decide(pending(), "Allow").sends_event("tool:post", post()).sends_event("tool:pre", pre());
    let again = again.sends_event("approval:required", required()).sends_event("tool:post", post()).broken();
    assert!(again.contains(&"safety/pending".to_owned()), "the decision was about another approval of this id");
    assert!(pending().wait(300).sends_event("tool:post", post()).broken().is_empty(), "the time is up");
    let refused = json!({"tool_name": "fs", "operation": "write", "result": {"success": false}, "duration_ms": 1});
    assert!(pending().sends_event("tool:post", refused).broken().is_empty());
    let other =
        json!({"tool_name": "fs", "operation": "read", "result": {"success": true, "output": ""}, "duration_ms": 1});
    let other = pending()
        .sends_event("tool:pre", json!({"tool_name": "fs", "operation": "read", "input": {}}))
        .sends_event("tool:post", other);
    assert!(other.broken().is_empty(), "it guards something else");
    let two = submitted()
        .sends_event("tool:pre", pre())
        .sends_event("tool:pre", pre())
        .sends_event("approval:required", required());
    assert!(two.sends_event("tool:post", post()).broken().is_empty(), "which of the two has run cannot be known");
    let grant = |play: Play| play.sends_event("approval:granted", granted("Allow")).processes(End::Server).broken();
    assert_eq!(grant(pending()), ["safety/pending"]);
    // A default is taken at its time, and what requires the approval may have come late.
    let mut required = required();
    required["default"] = json!("allow");
    let allowed = || submitted().sends_event("tool:pre", pre()).sends_event("approval:required", required.clone());
    assert_eq!(grant(allowed().wait(140)), ["safety/pending"]);
    assert!(grant(allowed().wait(240)).is_empty());
}

#[test]
fn an_approval_whose_time_is_up_is_told_by_its_default() {
    let late = |name: &str| pending().wait(300).processes(End::Server).sends_event(name, granted("Deny")).broken();
    assert!(!late("approval:denied").contains(&"life/approval-timed-out".to_owned()));
    assert!(late("approval:granted").contains(&"life/approval-timed-out".to_owned()));
    let decided =
        decide(pending(), "Allow").wait(300).processes(End::Server).sends_event("approval:granted", granted("Allow"));
    assert!(decided.broken().is_empty(), "somebody decided in time");
}

#[test]
fn an_approval_does_not_time_out_before_the_time_that_it_states() {
    let timed_out = |timeout: u64, seconds: u64, reason: &str| {
        let mut approval = required();
        approval["timeout"] = timeout.into();
        let denied = json!({"approval_id": "a", "decision": "Deny", "reason": reason});
        let pending = submitted().sends_event("tool:pre", pre()).sends_event("approval:required", approval);
        let broken = pending.wait(seconds).sends_event("approval:denied", denied).broken();
        broken.contains(&"life/approval-not-early".to_owned())
    };
    assert!(timed_out(300, 30, "timeout"));
    assert!(timed_out(300, 30, "The request timed out"));
    assert!(!timed_out(300, 30, "a policy that was set at runtime"));
    assert!(!timed_out(300, 300, "timeout"));
    assert!(!timed_out(300_000, 300, "timeout"), "in milliseconds");
}

#[test]
fn between_two_real_ends_somebody_else_may_have_decided() {
    let granted = || pending().sends_event("approval:granted", granted("Allow"));
    assert!(granted().broken().is_empty());
    assert!(granted().notes().iter().any(|note| note.contains("without a decision in the trace")));
    // The decision of the event is in `x4`, and is missing; that of `x5` came too late.
    let late = || {
        decide(pending(), "Allow")
            .posts("/sessions/s/approval", &json!({"decision": "Deny"}))
            .returns_error(409, "APPROVAL_INVALID")
    };
    let reported = late().on("x2").sends_event("approval:granted", json!({"approval_id": "a", "decision": "Allow"}));
    assert!(reported.without("x4").broken().is_empty());
}

#[test]
fn nothing_runs_that_was_denied() {
    let denied = || decide(pending(), "Deny").sends_event("approval:denied", denied("Deny"));
    assert_eq!(denied().sends_event("tool:post", post()).broken(), ["safety/denied"]);
    assert_eq!(denied().sends_event("tool:pre", pre()).sends_event("tool:post", post()).broken(), ["safety/denied"]);
    let elsewhere = json!({"tool_name": "fs", "operation": "write", "input": {"path": "/y"}});
    assert!(denied().sends_event("tool:pre", elsewhere).sends_event("tool:post", post()).broken().is_empty());
    assert!(denied().sends_event("prompt:complete", complete("")).broken().is_empty(), "it need not end");
    assert!(denied().sends_event("prompt:complete", complete("")).assessed("safety/denied"));
    let unreported = decide(pending(), "Deny").sends_event("prompt:complete", complete(""));
    assert_eq!(unreported.broken(), ["life/approval-resolved"], "nor need it end where the denial is not reported");
    let mut anew = required();
    anew["approval_id"] = "b".into();
    let anew = decide(denied().sends_event("tool:pre", pre()).sends_event("approval:required", anew), "Allow");
    let anew = anew
        .sends_event("approval:granted", json!({"approval_id": "b", "decision": "Allow"}))
        .sends_event("tool:post", post());
    assert!(!anew.broken().iter().any(|short| short.starts_with("safety/")), "{:?}", anew.broken());
}

#[test]
fn an_approval_is_decided_once_and_by_what_was_offered() {
    let allowed = || decide(pending(), "Allow").sends_event("approval:granted", granted("Allow"));
    assert!(allowed().sends_event("tool:post", post()).broken().is_empty());
    assert_eq!(allowed().sends_event("approval:denied", denied("Deny")).broken(), ["life/approval-once"]);
    let swapped = decide(pending(), "Deny").sends_event("approval:granted", granted("Deny"));
    assert_eq!(swapped.broken(), ["life/approval-outcome"]);
    let swapped = decide(pending(), "Allow").sends_event("approval:denied", denied("Allow"));
    assert_eq!(swapped.broken(), ["life/approval-outcome"]);
    let other = decide(pending(), "Allow").sends_event("approval:denied", denied("Deny"));
    assert_eq!(other.broken(), ["life/approval-decision"]);
    let strange = decide(pending(), "Allow").sends_event("approval:granted", granted("Maybe"));
    assert_eq!(strange.broken(), ["life/approval-offered", "life/approval-decision"]);
    let timed_out = json!({"approval_id": "a", "decision": "deny", "reason": "timeout"});
    assert!(pending().wait(300).sends_event("approval:denied", timed_out).broken().is_empty());
    let unknown = submitted().sends_event("approval:denied", denied("Deny"));
    assert_eq!(unknown.broken(), ["life/approval-known"]);
    let before = begun().sends_event("approval:denied", denied("Deny"));
    assert!(before.broken().is_empty(), "the prompt may have begun before the stream did");
    let again =
        decide(pending(), "Allow").sends_event("approval:granted", granted("Allow")).sends_event("tool:post", post());
    assert_eq!(again.sends_event("approval:required", required()).broken(), ["life/approval-id-unique"]);
    let open = submitted().sends_event("approval:required", required()).sends_event("prompt:complete", complete(""));
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
    // Sent after so many seconds of 300, reported after so many more.
    let is_ignored = |option: &str, (sent, reported): (u64, u64), name: &str, data: Value| {
        let play = Play::default().session("s").upgrades("s").server_message(&event("approval:required", required()));
        let play = play.wait(sent).client_message(&json!({"action": "submit_approval", "decision": option}));
        let broken = play.wait(reported).server_message(&event(name, data)).broken();
        broken.contains(&"websocket/submit-approval".to_owned())
    };
    let timed_out = || json!({"approval_id": "a", "decision": "Deny", "reason": "timeout"});
    assert!(is_ignored("Allow", (0, 300), "approval:denied", timed_out()));
    assert!(is_ignored("Deny", (0, 300), "approval:denied", timed_out()));
    assert!(is_ignored("Deny", (0, 300), "approval:granted", granted("Allow")));
    assert!(!is_ignored("Deny", (0, 300), "approval:denied", denied("Deny")), "reported late");
    assert!(!is_ignored("Allow", (200, 100), "approval:denied", timed_out()), "sent late");
    assert!(!is_ignored("Yes", (0, 300), "approval:denied", timed_out()), "not offered");
    assert!(!is_ignored("Allow", (0, 0), "approval:denied", denied("Deny")), "the time is not up");
}

#[test]
fn a_tool_has_run_for_no_longer_than_its_session_exists() {
    let ran = |duration: u64, age: u64| {
        let post = json!({"tool_name": "fs", "operation": "write", "result": {"success": true, "output": ""}, "duration_ms": duration});
        submitted().sends_event("tool:pre", pre()).wait(age).sends_event("tool:post", post).broken()
    };
    assert!(ran(900, 0).is_empty(), "the times of two machines differ");
    assert!(ran(60_000, 60).is_empty());
    assert_eq!(ran(70_000, 60), ["events/tool-post-duration-fits"]);
    assert_eq!(ran(1_764_000_000_000, 60), ["events/tool-post-duration-fits"]);
}
