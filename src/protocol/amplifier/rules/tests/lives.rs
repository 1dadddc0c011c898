use serde_json::{Value, json};

use super::{begun, complete, post, pre, submitted};
use crate::protocol::amplifier::testing::Play;

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
    assert_eq!(submitted().sends("prompt:submit", submit.clone()).broken(), ["life/submitted-once"]);
    let other = begun().sends("prompt:submit", json!({"request_id": "r", "prompt": "Hello"}));
    assert_eq!(other.broken(), ["life/submitted-prompt"]);
    let twice = submitted().sends("prompt:complete", complete("")).sends("prompt:complete", complete(""));
    assert_eq!(twice.broken(), ["life/completed-once"]);
    assert_eq!(begun().sends("prompt:complete", complete("")).broken(), ["life/submitted"]);
    let late = Play::new().session("s").prompt("s", "r", "hello").subscribes("s");
    assert!(late.sends("prompt:complete", complete("")).broken().is_empty(), "it came later");
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
        let tell = |play: Play| {
            let play = play.sends("prompt:submit", with(json!({"prompt": "hello"})));
            play.sends("prompt:complete", with(json!({"response": "", "token_usage": usage})))
        };
        let first = tell(Play::new().session("s").subscribes("s").prompt("s", "r", "hello").on("x2"));
        tell(first.prompt("s", "r", "hello").on("x2")).broken()
    };
    assert_eq!(twice(Some("r")), ["prompt/request-id-unique"]);
    let missing = ["events/prompt-submit-request-id", "events/prompt-complete-request-id", "prompt/request-id-unique"];
    assert_eq!(twice(None), missing);
}

#[test]
fn the_request_id_stays_the_same() {
    let complete = json!({"request_id": "q", "response": "", "token_usage": {"input_tokens": 1, "output_tokens": 1}});
    assert_eq!(submitted().sends("prompt:complete", complete).broken(), ["life/request-id-same"]);
    let made_up = begun().sends("prompt:submit", json!({"request_id": "q", "prompt": "hello"}));
    assert_eq!(made_up.broken(), ["life/request-id"]);
    let early =
        Play::new().session("s").subscribes("s").posts("/sessions/s/prompt", &json!({"prompt": "hello"})).on("x2");
    let early = early.sends("prompt:submit", json!({"request_id": "r", "prompt": "hello"})).on("x3");
    let answer = json!({"request_id": "r", "status": "processing", "message": "m"});
    assert!(early.gives(202, &answer).broken().is_empty(), "events may come before the answer");
}

#[test]
fn a_prompt_whose_post_is_not_in_the_trace_is_held_against_nobody() {
    let two = || {
        let first = submitted().sends("prompt:complete", complete(""));
        let second = first.prompt("s", "q", "more").on("x2");
        let second = second.sends("prompt:submit", json!({"request_id": "q", "prompt": "more"}));
        second.sends(
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
    let late = late.sends("prompt:complete", json!({"request_id": "q", "response": "", "token_usage": usage}));
    assert!(late.without("x2").broken().is_empty());
}

#[test]
fn work_is_told_while_a_prompt_is_under_way() {
    let after = submitted().sends("prompt:complete", complete("")).sends("content_block:start", block(0));
    assert_eq!(after.broken(), ["life/within-prompt"]);
    let before = begun().sends("thinking:delta", json!({"delta": "a"}));
    let before = before.sends("prompt:submit", json!({"request_id": "r", "prompt": "hello"}));
    assert_eq!(before.broken(), ["life/within-prompt"]);
    let two = submitted()
        .prompt("s", "q", "more")
        .on("x2")
        .sends("prompt:submit", json!({"request_id": "q", "prompt": "more"}));
    assert_eq!(two.broken(), ["life/one-at-a-time"]);
}

#[test]
fn blocks_are_started_and_ended() {
    assert_eq!(submitted().sends("content_block:delta", delta(0, "a")).broken(), ["life/content-started"]);
    let twice = submitted().sends("content_block:start", block(0)).sends("content_block:start", block(0));
    assert_eq!(twice.broken(), ["life/content-once"]);
    let open = submitted().sends("content_block:start", block(0)).sends("prompt:complete", complete(""));
    assert_eq!(open.broken(), ["life/content-ended"]);
}

#[test]
fn deltas_join_to_the_response() {
    let said = |response: &str| {
        submitted()
            .sends("content_block:start", block(0))
            .sends("content_block:delta", delta(0, "First. "))
            .sends("content_block:end", json!({"block_index": 0}))
            .sends("content_block:start", block(1))
            .sends("content_block:delta", delta(1, "Second."))
            .sends("content_block:end", json!({"block_index": 1}))
            .sends("prompt:complete", complete(response))
            .broken()
    };
    for fine in ["First. Second.", "First.\nSecond.", "Second."] {
        assert!(said(fine).is_empty(), "{fine}");
    }
    for wrong in ["", "First.", "Second. First.", "cond.", "First. Second. Third."] {
        assert_eq!(said(wrong), ["life/content-joins"], "{wrong}");
    }
}

#[test]
fn thinking_joins_and_comes_to_an_end() {
    let thought = || submitted().sends("thinking:delta", json!({"delta": "a"}));
    assert_eq!(thought().sends("thinking:final", json!({"thinking": "b"})).broken(), ["life/thinking-joins"]);
    assert_eq!(thought().sends("prompt:complete", complete("")).broken(), ["life/thinking-final"]);
}

#[test]
fn tools_begin_and_end() {
    assert_eq!(submitted().sends("tool:post", post()).broken(), ["life/tool-started"]);
    let open = submitted().sends("tool:pre", pre()).sends("prompt:complete", complete(""));
    assert_eq!(open.broken(), ["life/tool-ended"]);
}

#[test]
fn a_session_begins_and_ends_once() {
    let start = json!({"profile": "dev", "timestamp": "2025-12-09T10:30:00Z"});
    assert_eq!(submitted().sends("session:start", start).broken(), ["life/session-start-first"]);
    let other = json!({"profile": "other", "timestamp": "2025-12-09T10:30:00Z"});
    let other = Play::new().session("s").subscribes("s").sends("session:start", other);
    assert_eq!(other.broken(), ["life/session-start-profile"]);
    let twice = submitted().sends("session:end", ended()).sends("session:end", ended());
    assert_eq!(twice.broken(), ["life/session-end-last"]);
}

#[test]
fn nothing_is_done_after_a_stop() {
    let stopped = |seconds| {
        let stopped =
            submitted().asks("DELETE", "/sessions/s").gives(200, &json!({"status": "stopped", "message": "m"}));
        stopped.on("x2").wait(seconds).sends("tool:pre", pre()).broken()
    };
    assert_eq!(stopped(3), ["safety/stopped", "life/stopped-no-work"]);
    assert!(stopped(1).is_empty(), "it was under way");
    let stop = submitted().asks("DELETE", "/sessions/s").gives(200, &json!({"status": "stopped", "message": "m"}));
    assert!(!stop.assessed("life/stopped-no-work"));
    assert!(stop.on("x2").sends("session:end", ended()).stream_ends().assessed("life/stopped-no-work"));
}

#[test]
fn what_a_stop_cuts_short_need_not_be_ended() {
    let begun = || submitted().sends("content_block:start", block(0));
    let stopped = begun().asks("DELETE", "/sessions/s").on("x2").sends("prompt:complete", complete(""));
    assert!(stopped.broken().is_empty());
    let goes_on = begun().asks("DELETE", "/sessions/s").on("x2").sends("content_block:start", block(0));
    assert!(goes_on.broken().is_empty());
}

#[test]
fn a_prompt_that_is_worked_on_is_answered() {
    let prompted = || Play::new().session("s").subscribes("s").posts("/sessions/s/prompt", &json!({"prompt": "hello"}));
    let start = ("content_block:start", block(0));
    let worked =
        prompted().on("x2").sends(start.0, start.1.clone()).wait(30).sends("content_block:delta", delta(0, "a"));
    assert_eq!(worked.broken(), ["prompt/at-once"]);
    let idle = prompted().on("x2").wait(30).sends("session:end", ended());
    assert_eq!(idle.broken(), ["http/timely"]);
}
