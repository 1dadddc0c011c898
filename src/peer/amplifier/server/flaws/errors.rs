//! Errors: their format, and the statuses of their codes.

use serde_json::json;

use super::super::model::Reply;
use super::super::quirks::Effect;
use super::{Entry, flaw, remove, rename, set};

pub const FLAWS: &[Entry] = &[
    flaw!("error-under-detail" "errors/format" ["errors/outside": "An error for what does not belong to the interface has it as well."]
        "The body of an error has a text as `detail`."
        Effect::Failed(|r| r.body = json!({"detail": r.body["error"]["message"]}))),
    flaw!("error-wrapped-in-detail" "errors/format" ["errors/outside": "An error for what does not belong to the interface has it as well."]
        "The error is wrapped in `detail`."
        Effect::Failed(|r| r.body = json!({"detail": r.body.clone()}))),
    flaw!("error-as-text" "errors/format" ["errors/outside": "An error for what does not belong to the interface has it as well."]
        "The `error` is a text."
        Effect::Failed(|r| r.body = json!({"error": r.body["error"]["message"]}))),
    flaw!("errors-as-successes" "errors/status" "Errors come with the status 200." Effect::Failed(|r| r.status = 200)),
    flaw!("error-without-code" "errors/code" "Errors have no `code`." Effect::Failed(|r| drop(remove(&mut r.body["error"], "code")))),
    flaw!("error-code-as-number" "errors/code" "The `code` of an error is its status."
        Effect::Failed(|r| set(&mut r.body["error"], "code", r.status))),
    flaw!("error-code-in-lower-case" "errors/code-known" "The codes of errors are in lower case."
    Effect::Failed(|r| {
        let code = r.code().to_lowercase();
        set(&mut r.body["error"], "code", code);
    })),
    flaw!("error-without-message" "errors/message" "The message of an error is its `msg`."
        Effect::Failed(|r| rename(&mut r.body["error"], "message", "msg"))),
    flaw!("error-details-as-list" "errors/details" "The details of an error are a list."
        Effect::Failed(|r| set(&mut r.body["error"], "details", json!([])))),
    flaw!("outside-under-detail" "errors/outside" "What is no endpoint is refused with a text as `detail`."
    Effect::Failed(|r| if r.body["error"]["message"] == "There is no such endpoint" {
        r.body = json!({"detail": "Not Found"});
    })),
    flaw!("invalid-request-422" "errors/invalid-request" "INVALID_REQUEST comes with the status 422."
        Effect::Failed(|r| instead(r, "INVALID_REQUEST", 422))),
    flaw!("framework-422" "errors/invalid-request" ["errors/format": "The body has a list of faults as `detail`."]
    "What does not validate is refused with the status 422, and a list as `detail`."
    Effect::Failed(|r| if r.code() == "INVALID_REQUEST" {
        *r = Reply { status: 422, body: json!({"detail": [{"type": "missing", "loc": ["body"], "msg": "Field required"}]}), why: r.why };
    })),
    flaw!("session-not-found-400" "errors/session-not-found"
        ["http/unknown-path": "A path that is none of the interface has the same status."] "SESSION_NOT_FOUND comes with the status 400."
        Effect::Failed(|r| instead(r, "SESSION_NOT_FOUND", 400))),
    flaw!("profile-not-found-500" "errors/profile-not-found" "PROFILE_NOT_FOUND comes with the status 500."
        Effect::Failed(|r| instead(r, "PROFILE_NOT_FOUND", 500))),
    flaw!("session-busy-429" "errors/session-busy" "SESSION_BUSY comes with the status 429."
        Effect::Failed(|r| instead(r, "SESSION_BUSY", 429))),
    flaw!("missing-credentials-403" "errors/missing-credentials" "MISSING_CREDENTIALS comes with the status 403."
        Effect::Failed(|r| instead(r, "MISSING_CREDENTIALS", 403))),
    flaw!("invalid-api-key-403" "errors/invalid-api-key" "INVALID_API_KEY comes with the status 403."
        Effect::Failed(|r| instead(r, "INVALID_API_KEY", 403))),
    flaw!("unauthorized-401" "errors/api-key-unauthorized" "API_KEY_UNAUTHORIZED comes with the status 401."
        Effect::Failed(|r| instead(r, "API_KEY_UNAUTHORIZED", 401))),
    flaw!("rate-limited-503" "errors/rate-limited" "RATE_LIMITED comes with the status 503."
        Effect::Failed(|r| instead(r, "RATE_LIMITED", 503))),
    flaw!("provider-error-500" "errors/provider-error" "PROVIDER_ERROR comes with the status 500."
        Effect::Failed(|r| instead(r, "PROVIDER_ERROR", 500))),
    flaw!("provider-unavailable-502" "errors/provider-unavailable" "PROVIDER_UNAVAILABLE comes with the status 502."
        Effect::Failed(|r| instead(r, "PROVIDER_UNAVAILABLE", 502))),
    flaw!("server-error-400" "errors/server-error" "SERVER_ERROR comes with the status 400."
        Effect::Failed(|r| instead(r, "SERVER_ERROR", 400))),
    flaw!("module-load-failed-503" "errors/module-load-failed" "MODULE_LOAD_FAILED comes with the status 503."
        Effect::Failed(|r| instead(r, "MODULE_LOAD_FAILED", 503))),
    flaw!("approval-timeout-410" "errors/approval-timeout" "APPROVAL_TIMEOUT comes with the status 410."
        Effect::Failed(|r| instead(r, "APPROVAL_TIMEOUT", 410))),
    flaw!("approval-invalid-422" "errors/approval-invalid" "APPROVAL_INVALID comes with the status 422."
        Effect::Failed(|r| instead(r, "APPROVAL_INVALID", 422))),
];

fn instead(reply: &mut Reply, code: &str, status: u16) {
    if reply.code() == code {
        reply.status = status;
    }
}
