//! Prompts that are answered wrongly.

use serde_json::json;

use crate::protocol::amplifier::Endpoint::SubmitPrompt;

use super::super::model::{Refusal, Reply};
use super::super::quirks::{Effect, Instead, Switch};
use super::sessions::fails;
use super::{Entry, data, flaw, lenient, pretend, refuse, remove, rename, reply, result, set, status, switch};

pub const FLAWS: &[Entry] = &[
    flaw!("prompt-200" "prompt/status" "A prompt is answered with the status 200." status(SubmitPrompt, 200)),
    flaw!("prompt-201" "prompt/status" "A prompt is answered with the status 201." status(SubmitPrompt, 201)),
    flaw!("prompt-as-text" "prompt/object" "The answer to a prompt is its id." result(SubmitPrompt, |b| *b = b["request_id"].clone())),
    flaw!("prompt-without-id" "prompt/request-id" "The answer to a prompt has an `id`." result(SubmitPrompt, |b| rename(b, "request_id", "id"))),
    flaw!("prompt-id-as-number" "prompt/request-id" "The `request_id` is a number." result(SubmitPrompt, |b| set(b, "request_id", 123))),
    flaw!("request-ids-same" "prompt/request-id-unique" "All prompts have the same `request_id`." switch(Switch::SameRequestId)),
    flaw!("prompt-accepted" "prompt/value" "The status of an accepted prompt is `accepted`." result(SubmitPrompt, |b| set(b, "status", "accepted"))),
    flaw!("prompt-without-message" "prompt/message" "The answer to a prompt has no message." result(SubmitPrompt, |b| drop(remove(b, "message")))),
    flaw!("prompt-answered-late" "prompt/at-once" "A prompt is answered when it is complete." switch(Switch::AnswersLate)),
    flaw!("prompt-unknown-202" "prompt/not-found" "A prompt for a session that never existed is accepted."
        reply(SubmitPrompt, |r| pretend(r, 404, 202, json!({"request_id": "req-0", "status": "processing", "message": "ok"})))),
    flaw!("busy-accepted" "prompt/busy" "A prompt for a session that works is accepted, and forgotten." switch(Switch::AcceptsBusy)),
    flaw!("busy-replaces" "prompt/busy-undisturbed" "A prompt that is refused ends the one under way." switch(Switch::BusyReplaces)),
    flaw!("prompt-optional" "prompt/prompt-missing" "Without a prompt one is made up."
        Effect::Ask(|ask| lenient(ask, SubmitPrompt, "`/prompt`, which is needed"))),
    flaw!("prompt-unchecked" "prompt/prompt-type" "A prompt that is no string is accepted."
        Effect::Ask(|ask| lenient(ask, SubmitPrompt, "`/prompt` is"))),
    flaw!("prompt-bad-json-500" "prompt/bad-json" "A body that is no JSON is answered with the status 500."
        reply(SubmitPrompt, |r| fails(r, "not JSON"))),
    flaw!("refused-prompt-worked-on" "prompt/refused-no-work" "A prompt that is refused because the session is busy is told as if it were not."
        switch(Switch::WorksOnRefused)),
    flaw!("context-update-refused" "prompt/context-update" "A `context_update` is refused."
        Effect::Refuse(|ask, _| refuse(ask, SubmitPrompt, |body| body.contains_key("context_update")))),
    flaw!("context-update-unchecked" "prompt/context-update-invalid" "A `context_update` of any format is accepted."
        Effect::Ask(|ask| lenient(ask, SubmitPrompt, "/context_update"))),
    flaw!("prompt-extra-refused" "prompt/extra-members" "Members that are not known are refused."
    Effect::Refuse(|ask, _| refuse(ask, SubmitPrompt, |body| {
        body.keys().any(|key| !["prompt", "context_update"].contains(&key.as_str()))
    }))),
    flaw!("prompt-in-ascii" "prompt/unicode" "Characters beyond ASCII of a prompt are told as question marks."
    data("prompt:submit", |d| {
        let prompt = d["prompt"].as_str().unwrap_or_default();
        let ascii: String = prompt.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
        set(d, "prompt", ascii);
    })),
    flaw!("prompt-in-bmp" "prompt/unicode" "Prompts beyond the basic plane are answered with the status 500."
    Effect::Refuse(|ask, _| {
        let beyond = ask.route.endpoint == SubmitPrompt && ask.text("prompt").chars().any(|c| c as u32 > 0xffff);
        beyond.then(|| Refusal::new("SERVER_ERROR", "UnicodeEncodeError"))
    })),
    flaw!("long-prompt-unanswered" "prompt/long" "A prompt of more than 64 KiB is not answered."
        Effect::Instead(|s| (s.is(SubmitPrompt) && s.received.content.len() > 64 << 10).then_some(Instead::Close))),
    flaw!("only-one-prompt" "prompt/next" "A session takes only one prompt."
    Effect::Refuse(|ask, model| {
        let used = |session: &super::super::model::Session| session.messages() > 0 && !session.is_busy();
        let again = ask.route.endpoint == SubmitPrompt && model.session(ask.name()).is_some_and(used);
        again.then(|| Refusal::new("SESSION_BUSY", "Session is processing another request"))
    })),
    flaw!("prompt-null-500" "prompt/prompt-missing" "A body without a prompt is answered with the status 500."
    reply(SubmitPrompt, |r| if r.status == 400 && r.body["error"]["message"].as_str().is_some_and(|why| why.contains("`/prompt`, which is needed")) {
        *r = Reply { why: r.why, body: json!({"error": {"code": "SERVER_ERROR", "message": "KeyError: 'prompt'", "details": {}}}), status: 500 };
    })),
];
