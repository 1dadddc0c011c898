//! What the caller learns of a failure.

use serde_json::{Value, json};

use crate::peer::fetch::FetchedResponse;

use super::super::quirks::{Effect, Switch};
use super::{Entry, flaw, without};

/// The codes that the document has.
const CODES: &[&str] = &[
    "INVALID_REQUEST",
    "MISSING_CREDENTIALS",
    "INVALID_API_KEY",
    "API_KEY_UNAUTHORIZED",
    "RATE_LIMITED",
    "SESSION_NOT_FOUND",
    "PROFILE_NOT_FOUND",
    "SESSION_BUSY",
    "APPROVAL_TIMEOUT",
    "APPROVAL_INVALID",
    "SERVER_ERROR",
    "MODULE_LOAD_FAILED",
    "PROVIDER_ERROR",
    "PROVIDER_UNAVAILABLE",
];

pub const FLAWS: &[Entry] = &[
    flaw!("errors-as-results" "errors/client-error" "An error gives the caller a result." Effect::Takes(|seen| seen.json.is_some())),
    flaw!("errors-without-code" "errors/client-code" "The caller does not get the code of an error."
    Effect::Line(|line| {
        let code = line.pointer("/error/code").and_then(Value::as_str).unwrap_or_default().to_owned();
        let message = line.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
        let message = if code.is_empty() { message.to_owned() } else { message.replace(&code, "an error") };
        say(line, &message);
        without(line, "/error", "code");
    })),
    flaw!("errors-without-words" "errors/client-message" "The caller is told that something failed, and not what."
        Effect::Line(|line| say(line, "the request failed"))),
    flaw!("errors-without-status" "errors/client-status" "The caller does not get the status of an error."
        Effect::Line(|line| without(line, "/error", "status"))),
    flaw!("waits-for-better-times" "errors/client-codes"
        "A call that was too much at the moment never comes to its end."
        Effect::Hangs(|seen| code(seen) == Some("RATE_LIMITED"))),
    flaw!("known-codes-only" "errors/client-unknown-code" "An error with a code that it does not know gives a result."
        Effect::Takes(|seen| code(seen).is_some_and(|code| !CODES.contains(&code)))),
    flaw!("needs-details" "errors/client-no-details" "An error without details gives a result."
        Effect::Takes(|seen| seen.member("error").is_some_and(|e| e.is_object() && e.get("details").is_none()))),
    flaw!("needs-error-format" "errors/client-other-format"
        "An answer with the status of an error and another body gives a result."
        Effect::Takes(|seen| !seen.member("error").is_some_and(Value::is_object))),
    flaw!("prompts-again-when-refused" "errors/client-no-blind-retry" "A prompt that was refused is posted again."
        Effect::Switch(Switch::SendsRefusedPromptsAgain)),
];

fn code(seen: &FetchedResponse) -> Option<&str> {
    seen.member("error")?.get("code")?.as_str()
}

fn say(line: &mut Value, message: &str) {
    if line.get("error").is_some() {
        line["error"]["message"] = json!(message);
    }
}
