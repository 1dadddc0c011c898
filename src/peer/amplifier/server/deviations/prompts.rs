//! Flaws of prompts, of decisions about approvals, and of what has to be safe: guarded actions and keys.

use serde_json::json;

use crate::peer::amplifier::server::mock_steering::SteeringSwitch;
use crate::peer::amplifier::server::model::{ApprovalSwitch, LeakSwitch, PromptSwitch, StopSwitch, UnusualDecision};
use crate::peer::deviation::http_server::Instead;
use crate::peer::deviation::value::{remove, rename, set};
use crate::peer::deviation::{FlawRow, flaw};
use crate::protocol::amplifier::Endpoint::{SubmitApproval, SubmitPrompt};

use super::super::model::{Refusal, Reply};
use super::sessions::fails;
use super::{AmplifierServerEffect, data, lenient, pretend, refuse, reply, result, status};

pub const PROMPTS: &[FlawRow<AmplifierServerEffect>] = &[
    flaw!("prompt-200" "prompt/status" "A prompt is answered with the status 200." status(SubmitPrompt, 200)),
    flaw!("prompt-201" "prompt/status" "A prompt is answered with the status 201." status(SubmitPrompt, 201)),
    flaw!("prompt-as-text" "prompt/object" "The response to a prompt is its id." result(SubmitPrompt, |b| *b = b["request_id"].clone())),
    flaw!("prompt-without-id" "prompt/request-id" "The response to a prompt has an `id`." result(SubmitPrompt, |b| rename(b, "request_id", "id"))),
    flaw!("prompt-id-as-number" "prompt/request-id" "The `request_id` is a number." result(SubmitPrompt, |b| set(b, "request_id", 123))),
    flaw!("request-ids-same" "prompt/request-id-unique" "All prompts have the same `request_id`." PromptSwitch::SameRequestId.on()),
    flaw!("prompt-accepted" "prompt/value" "The status of an accepted prompt is `accepted`." result(SubmitPrompt, |b| set(b, "status", "accepted"))),
    flaw!("prompt-without-message" "prompt/message" "The response to a prompt has no message." result(SubmitPrompt, |b| drop(remove(b, "message")))),
    flaw!("prompt-answered-late" "prompt/at-once" "A prompt is answered when it is complete." SteeringSwitch::AnswersLate.on()),
    flaw!("prompt-unknown-202" "prompt/not-found" "A prompt for a session that never existed is accepted."
        reply(SubmitPrompt, |r| pretend(r, 404, 202, json!({"request_id": "req-0", "status": "processing", "message": "ok"})))),
    flaw!("busy-accepted" "prompt/busy" "A prompt for a session that works is accepted, and forgotten." PromptSwitch::AcceptsBusy.on()),
    flaw!("busy-accepted-at-once" "prompt/busy" "A prompt that comes at the same time as another one is accepted, and forgotten." PromptSwitch::AcceptsAtOnce.on()),
    flaw!("busy-replaces" "prompt/busy-undisturbed" "A prompt that is refused ends the one under way." PromptSwitch::BusyReplaces.on()),
    flaw!("prompt-optional" "prompt/prompt-missing" "Without a prompt one is made up."
        AmplifierServerEffect::Request(|request| lenient(request, SubmitPrompt, "`/prompt`, which is needed"))),
    flaw!("prompt-unchecked" "prompt/prompt-type" "A prompt that is no string is accepted."
        AmplifierServerEffect::Request(|request| lenient(request, SubmitPrompt, "`/prompt` is"))),
    flaw!("prompt-bad-json-500" "prompt/bad-json" "A body that is no JSON is answered with the status 500."
        reply(SubmitPrompt, |r| fails(r, "not JSON"))),
    flaw!("refused-prompt-worked-on" "prompt/refused-no-work" "A prompt that is refused because the session is busy is reported as if it were not."
        PromptSwitch::WorksOnRefused.on()),
    flaw!("context-update-refused" "prompt/context-update" "A `context_update` is refused."
        AmplifierServerEffect::Refuse(|request, _| refuse(request, SubmitPrompt, |body| body.contains_key("context_update")))),
    flaw!("context-update-replaces" "prompt/context-update-partial" "A `context_update` takes the place of the whole context."
        PromptSwitch::UpdateReplacesContext.on()),
    flaw!("context-update-unchecked" "prompt/context-update-invalid" "A `context_update` of any format is accepted."
        AmplifierServerEffect::Request(|request| lenient(request, SubmitPrompt, "/context_update"))),
    flaw!("prompt-extra-refused" "prompt/extra-members" "Members that are not known are refused."
    AmplifierServerEffect::Refuse(|request, _| refuse(request, SubmitPrompt, |body| {
        body.keys().any(|key| !["prompt", "context_update"].contains(&key.as_str()))
    }))),
    flaw!("prompt-in-ascii" "prompt/unicode" "Characters beyond ASCII of a prompt are reported as question marks."
    data("prompt:submit", |d| {
        let prompt = d["prompt"].as_str().unwrap_or_default();
        let ascii: String = prompt.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
        set(d, "prompt", ascii);
    })),
    flaw!("prompt-in-bmp" "prompt/unicode" "Prompts beyond the basic plane are answered with the status 500."
    AmplifierServerEffect::Refuse(|request, _| {
        let beyond = request.route.endpoint == SubmitPrompt && request.text("prompt").chars().any(|c| c as u32 > 0xffff);
        beyond.then(|| Refusal::new("SERVER_ERROR", "UnicodeEncodeError"))
    })),
    flaw!("long-prompt-unanswered" "prompt/long" "A prompt of more than 64 KiB is not answered."
        AmplifierServerEffect::Instead(|s| (s.is(SubmitPrompt) && s.received.content.len() > 64 << 10).then_some(Instead::Close))),
    flaw!("only-one-prompt" "prompt/next" "A session takes only one prompt."
    AmplifierServerEffect::Refuse(|request, model| {
        let used = |session: &super::super::model::Session| session.messages() > 0 && !session.is_busy();
        let again = request.route.endpoint == SubmitPrompt && model.session(request.name()).is_some_and(used);
        again.then(|| Refusal::new("SESSION_BUSY", "Session is processing another request"))
    })),
    flaw!("prompt-null-500" "prompt/prompt-missing" "A body without a prompt is answered with the status 500."
    reply(SubmitPrompt, |r| if r.status == 400 && r.body["error"]["message"].as_str().is_some_and(|why| why.contains("`/prompt`, which is needed")) {
        *r = Reply { why: r.why, body: json!({"error": {"code": "SERVER_ERROR", "message": "KeyError: 'prompt'", "details": {}}}), status: 500 };
    })),
];

pub const APPROVALS: &[FlawRow<AmplifierServerEffect>] = &[
    flaw!("approval-unasked" "approval/required" "An approval that is waited for is reported by the status alone."
        AmplifierServerEffect::Messages("approval:required", Vec::clear)),
    flaw!("decision-202" "approval/status" "A decision is answered with the status 202." status(SubmitApproval, 202)),
    flaw!("decision-as-text" "approval/object" "The response to a decision is a text." result(SubmitApproval, |b| *b = json!("ok"))),
    flaw!("decision-without-status" "approval/value" "The response to a decision has no `status`." result(SubmitApproval, |b| drop(remove(b, "status")))),
    flaw!("decision-ok" "approval/value-approved" "The response to any decision is `ok`." result(SubmitApproval, |b| set(b, "status", "ok"))),
    flaw!("decision-without-message" "approval/message" "The response to a decision has no message." result(SubmitApproval, |b| drop(remove(b, "message")))),
    flaw!("decision-unknown-accepted" "approval/unknown-decision" "A decision that was not offered is accepted, and nothing comes of it."
        ApprovalSwitch::Accepts(UnusualDecision::Unknown).on()),
    flaw!("decision-trimmed" "approval/unknown-decision" ["safety/unknown-decision": "It runs what the option allows."]
        "The blanks around a decision do not count."
    AmplifierServerEffect::Request(|request| if let (SubmitApproval, Ok(body)) = (request.route.endpoint, &mut request.body)
        && let Some(decision) = body.get("decision").and_then(|decision| decision.as_str()).map(|decision| decision.trim().to_owned())
        && !decision.is_empty() {
        body.insert("decision".to_owned(), decision.into());
    })),
    flaw!("decision-by-beginning" "approval/unknown-decision" ["safety/unknown-decision": "It runs what the option allows."]
        "The beginning of an option will do as a decision."
    AmplifierServerEffect::Request(|request| if let (SubmitApproval, Ok(body)) = (request.route.endpoint, &mut request.body)
        && body.get("decision") == Some(&json!("Allo")) {
        body.insert("decision".to_owned(), "Allow".into());
    })),
    flaw!("decision-case-accepted" "approval/case" "A decision in another case is accepted, and nothing comes of it." ApprovalSwitch::Accepts(UnusualDecision::Case).on()),
    flaw!("decision-empty-accepted" "approval/empty" "An empty decision is accepted, and nothing comes of it." ApprovalSwitch::Accepts(UnusualDecision::Empty).on()),
    flaw!("decision-optional" "approval/decision-missing" "Without a decision the approval is denied."
        AmplifierServerEffect::Request(|request| lenient(request, SubmitApproval, "`/decision`, which is needed"))),
    flaw!("decision-unchecked" "approval/decision-type" "A decision that is no string denies."
        AmplifierServerEffect::Request(|request| lenient(request, SubmitApproval, "`/decision` is"))),
    flaw!("decision-bad-json-500" "approval/bad-json" "A body that is no JSON is answered with the status 500."
        reply(SubmitApproval, |r| fails(r, "not JSON"))),
    flaw!("decision-without-approval" "approval/none-pending" "A decision is accepted where nothing is pending." ApprovalSwitch::Accepts(UnusualDecision::NonePending).on()),
    flaw!("decision-again-accepted" "approval/repeated" ["approval/concurrent": "Of decisions at the same time each is accepted."]
        "A second decision is accepted, and nothing comes of it." ApprovalSwitch::Accepts(UnusualDecision::Repeated).on()),
    flaw!("decision-late-accepted" "approval/late" "A decision that comes too late is accepted, and nothing comes of it." ApprovalSwitch::Accepts(UnusualDecision::Late).on()),
    flaw!("decisions-all-accepted" "approval/concurrent" ["approval/repeated": "A second decision is accepted."]
        "Every decision for an approval is answered with success." ApprovalSwitch::Accepts(UnusualDecision::Repeated).on()),
    flaw!("decision-nowhere-accepted" "approval/not-found" ["stop/gone": "Nor is one for a session that was stopped refused."]
        "A decision for a session that never existed is accepted."
        reply(SubmitApproval, |r| pretend(r, 404, 200, json!({"status": "approved", "message": "ok"})))),
    flaw!("unknown-decision-denies" "approval/still-pending" "A decision that is refused as not offered denies the approval." ApprovalSwitch::UnknownDenies.on()),
    flaw!("allow-all-refused" "approval/every-option" "The last option is refused."
        AmplifierServerEffect::Refuse(|request, _| refuse(request, SubmitApproval, |body| ["Allow All", "No"].iter().any(|option| body.get("decision") == Some(&json!(option)))))),
    flaw!("decision-422" "errors/invalid-request" "A decision that was not offered is refused with the status 422."
    reply(SubmitApproval, |r| if r.code() == "APPROVAL_INVALID" && r.status == 400 {
        *r = Reply { why: r.why, status: 422, ..Refusal::invalid("not offered").into() };
    })),
];

pub const SAFETY: &[FlawRow<AmplifierServerEffect>] = &[
    flaw!("runs-while-pending" "safety/pending" "What needs an approval runs before it is asked for." ApprovalSwitch::RunsPending.on()),
    flaw!("runs-denied" "safety/denied" "What was denied runs." ApprovalSwitch::RunsDenied.on()),
    flaw!("runs-never" "safety/allowed" "What was allowed does not run, but is reported as if it had." ApprovalSwitch::RunsNever.on()),
    flaw!("runs-on-unknown" "safety/unknown-decision" "A decision that was not offered is refused, and lets it run." ApprovalSwitch::Runs(UnusualDecision::Unknown).on()),
    flaw!("runs-on-case" "safety/case" "A decision in another case is refused, and lets it run." ApprovalSwitch::Runs(UnusualDecision::Case).on()),
    flaw!("runs-on-empty" "safety/empty" "An empty decision is refused, and lets it run." ApprovalSwitch::Runs(UnusualDecision::Empty).on()),
    flaw!("runs-on-none" "safety/empty" "A missing decision, or one of another type, is refused, and lets it run." ApprovalSwitch::Runs(UnusualDecision::Missing).on()),
    flaw!("runs-late" "safety/late" "A decision that comes too late is refused, and lets it run." ApprovalSwitch::Runs(UnusualDecision::Late).on()),
    flaw!("runs-repeated" "safety/repeated" ["safety/concurrent": "Of decisions at the same time the one that was refused counts."]
        "A second decision is refused, and lets it run." ApprovalSwitch::Runs(UnusualDecision::Repeated).on()),
    flaw!("runs-each-time" "safety/concurrent" ["safety/repeated": "A second decision that allows runs what was denied."]
        "Each decision that allows runs it once more." ApprovalSwitch::Runs(UnusualDecision::Repeated).on()),
    flaw!("runs-by-default" "safety/default-deny" "When the time is up it runs, whatever the default." ApprovalSwitch::DefaultAllows.on()),
    flaw!("runs-on-stop" "safety/deleted" "When the session is stopped, what is pending runs." ApprovalSwitch::RunsOnStop.on()),
    flaw!("runs-after-stop" "safety/deleted" "What was pending in a session that was stopped runs after its time is up."
        ApprovalSwitch::RunsAfterStop.on()),
    flaw!("remembers-allow" "safety/allowed-once" "What was allowed once in a session runs unasked the next time."
        ApprovalSwitch::RemembersAllow.on()),
    flaw!("runs-unwatched" "safety/disconnected" "When the last subscriber has left, what is pending runs." ApprovalSwitch::RunsUnwatched.on()),
    flaw!("runs-elsewhere" "safety/other-session" "A decision for one session counts in all." ApprovalSwitch::RunsElsewhere.on()),
    flaw!("runs-by-socket" "safety/websocket" "A decision by WebSocket that was not offered lets it run." ApprovalSwitch::RunsBySocket.on()),
    flaw!("tools-after-stop" "safety/stopped" "A session that was stopped does its last prompt again, and uses a tool with each word." StopSwitch::UsesTools.on()),
    flaw!("key-in-status" "safety/no-key-in-responses" "The status of a session has its credentials." LeakSwitch::Status.on()),
    flaw!("key-in-start" "safety/no-key-in-events" "`session:start` and `prompt:complete` have the API key." LeakSwitch::Events.on()),
    flaw!("key-in-error" "safety/no-key-in-errors" "An API key that is refused is repeated in the error." LeakSwitch::Errors.on()),
    flaw!("key-printed" "safety/no-key-in-output" "The API key of a new session is printed." LeakSwitch::Output.on()),
];
