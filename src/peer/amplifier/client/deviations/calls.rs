//! Flaws of calls: what is posted and requested, and what the caller learns of a response or an error.

use serde_json::{Value, json};

use crate::peer::amplifier::client::calls::CallSwitch;
use crate::peer::amplifier::client::reader::ReaderSwitch;
use crate::peer::amplifier::client::request_client::RequestSwitch;
use crate::peer::amplifier::client::subscriptions::SubscriptionSwitch;
use crate::peer::deviation::http_client::RequestEffect::{Fails, Line, Sends};
use crate::peer::deviation::http_client::{ClientSwitch, set_header};
use crate::peer::deviation::value::{at, listed, text, without};
use crate::peer::deviation::{FlawRow, flaw};
use crate::peer::http::fetch::{FetchedResponse, Kind, has_others};
use crate::wire::http::Content;

use super::AmplifierClientEffect;

const CREATE: &str = "createSession";
const PROMPT: &str = "submitPrompt";
const DECIDE: &str = "submitApproval";

pub const REQUESTS: &[FlawRow<AmplifierClientEffect>] = &[
    // A new session.
    flaw!("profile-list" "create/client-profile" "The profile is sent as a list."
        AmplifierClientEffect::Body(CREATE, |body| at(body, "/profile", listed))),
    flaw!("credentials-text" "create/client-credentials"
    "The key is sent in place of the credentials."
    AmplifierClientEffect::Body(CREATE, |body| {
        let key = body.pointer("/credentials/anthropic_api_key").cloned();
        body["credentials"] = key.unwrap_or_else(|| "none".into());
    })),
    flaw!("model-list" "create/client-model" "The model is sent as a list."
        AmplifierClientEffect::Body(CREATE, |body| at(body, "/model", listed))),
    flaw!("context-without-root" "create/client-context"
        "A context is sent without the root of the workspace."
        AmplifierClientEffect::Body(CREATE, |body| without(body, "/context", "workspace_root"))),
    flaw!("files-without-language" "create/client-open-files"
        "Open files are sent without their language."
        AmplifierClientEffect::Body(CREATE, |body| without(body, "/context/open_files/0", "language"))),
    flaw!("cursor-without-character" "create/client-cursor"
        "Of a cursor only the line is sent."
        AmplifierClientEffect::Body(CREATE, |body| without(body, "/context/open_files/0/cursor_position", "character"))),
    flaw!("git-without-untracked" "create/client-git-state"
        "The state of git is sent without the files that it does not know."
        AmplifierClientEffect::Body(CREATE, |body| without(body, "/context/git_state", "untracked_files"))),
    flaw!("diagnostics-without-path" "create/client-diagnostics"
        "Diagnostics are sent without their path."
        AmplifierClientEffect::Body(CREATE, |body| without(body, "/context/diagnostics/0", "path"))),
    flaw!("severity-number" "create/client-severity"
        "The severity of a diagnostic is sent as the editor's number."
        AmplifierClientEffect::Body(CREATE, |body| at(body, "/context/diagnostics/0/severity", |severity| *severity = 1.into()))),
    flaw!("selection-without-text" "create/client-selection"
        "A selection is sent without its text."
        AmplifierClientEffect::Body(CREATE, |body| without(body, "/context/selection", "text"))),
    flaw!("range-list" "create/client-ranges" "Ranges are sent as lists of two positions."
    AmplifierClientEffect::Body(CREATE, |body| at(body, "/context/selection/range", |range| {
        *range = json!([range["start"], range["end"]]);
    }))),
    flaw!("range-backward" "create/client-range-order"
    ["create/client-as-asked": "It is not the range that was asked for."]
    "A selection is sent from where it was begun."
    AmplifierClientEffect::Body(CREATE, |body| at(body, "/context/selection/range", |range| {
        *range = json!({"start": range["end"], "end": range["start"]});
        if range["start"] == range["end"] {
            range["start"]["line"] = 1_000_000.into();
        }
    }))),
    flaw!("create-editor" "create/client-extra" "The name of the editor is sent as well."
        AmplifierClientEffect::Body(CREATE, |body| body["editor"] = "code".into())),
    flaw!("model-lost" "create/client-as-asked" "The model that was asked for is not sent."
        AmplifierClientEffect::Body(CREATE, |body| without(body, "", "model"))),
    // Prompts.
    flaw!("prompt-list" "prompt/client-prompt" "The prompt is sent as a list."
        AmplifierClientEffect::Body(PROMPT, |body| at(body, "/prompt", listed))),
    flaw!("context-update-list" "prompt/client-context-update"
        "The update of the context is sent as a list."
        AmplifierClientEffect::Body(PROMPT, |body| at(body, "/context_update", listed))),
    flaw!("prompt-stream" "prompt/client-extra" "A prompt asks for a stream."
        AmplifierClientEffect::Body(PROMPT, |body| body["stream"] = true.into())),
    flaw!("session-upper" "prompt/client-session" "Sessions are written in upper case."
        AmplifierClientEffect::Params(PROMPT, |params| text(params, "session_id", |id| json!(id.to_uppercase())))),
    flaw!("prompt-trimmed" "prompt/client-as-asked" "White space around a prompt is not sent."
        AmplifierClientEffect::Body(PROMPT, |body| text(body, "prompt", |prompt| json!(prompt.trim())))),
    // Approvals.
    flaw!("decision-boolean" "approval/client-decision"
        "A decision is sent as a boolean."
        AmplifierClientEffect::Body(DECIDE, |body| text(body, "decision", |decision| json!(decision.starts_with("Allow"))))),
    flaw!("decision-lower" "approval/client-offered" "Decisions are sent in lower case."
        AmplifierClientEffect::Body(DECIDE, |body| text(body, "decision", |decision| json!(decision.to_lowercase())))),
    flaw!("decides-twice" "approval/client-once" "A decision that was accepted is posted once more."
        CallSwitch::DecidesTwice.on()),
    flaw!("decides-alone" "approval/client-asked-only" "The first option is taken without asking anybody."
        SubscriptionSwitch::DecidesAlone.on()),
    flaw!("decision-of-user" "approval/client-extra" "A decision says who took it."
        AmplifierClientEffect::Body(DECIDE, |body| body["user"] = "me".into())),
    flaw!("decides-otherwise" "approval/client-as-asked"
    "The decision that is posted is another than the one that was taken."
    AmplifierClientEffect::Body(DECIDE, |body| {
        text(body, "decision", |decision| {
            json!(match decision {
                "Allow" => "Deny",
                "Yes, do it" => "No",
                "No" => "Yes, do it",
                _ => "Allow",
            })
        });
    })),
    // Lists.
    flaw!("status-lost" "list/client-status" "Sessions are asked for whatever their status is."
        AmplifierClientEffect::Params("listSessions", |params| without(params, "", "status"))),
    flaw!("status-active" "list/client-status-known"
    "Where nobody gives a status, sessions are asked for by one that does not exist."
    AmplifierClientEffect::Params("listSessions", |params| if params.get("status").is_none() {
        params["status"] = "active".into();
    })),
    flaw!("status-unasked" "list/client-status"
    "Where nobody gives a status, the idle sessions are asked for."
    AmplifierClientEffect::Params("listSessions", |params| if params.get("status").is_none() {
        params["status"] = "idle".into();
    })),
    flaw!("limit-float" "list/client-limit" "A limit is sent as a number with a point."
    AmplifierClientEffect::Params("listSessions", |params| {
        params["limit"] = format!("{}.0", params.get("limit").and_then(Value::as_i64).unwrap_or(50)).into();
    })),
    flaw!("limit-of-ten" "list/client-no-limit" "Where nobody gives a limit, ten sessions are asked for."
    AmplifierClientEffect::Params("listSessions", |params| if params.get("limit").is_none() {
        params["limit"] = 10.into();
    })),
    flaw!("raw-query" "list/client-collection"
        ["http/client-valid-head": "A request line with a blank in its target, or with what is not ASCII, is not valid."]
        "Values stand in the query as they are."
        RequestSwitch::RawQuery.on()),
    flaw!("collection-unasked" "list/client-collection"
    "Where nobody gives a collection, the agents of one are asked for."
    AmplifierClientEffect::Params("listAgents", |params| if params.get("collection").is_none() {
        params["collection"] = "foundation".into();
    })),
    flaw!("profile-by-last-name" "list/client-profile-name" "A profile is asked for without its collection."
    AmplifierClientEffect::Params("getProfile", |params| {
        text(params, "name", |name| json!(name.rsplit(':').next().unwrap_or(name)));
    })),
    // Secrets.
    flaw!("key-in-headers" "safety/client-no-key-elsewhere" "The API key goes with every request."
        RequestSwitch::KeyInHeaders.on()),
    flaw!("key-in-cookie" "safety/client-no-key-elsewhere" "The API key goes with every request, in a cookie."
        RequestSwitch::KeyInCookie.on()),
    flaw!("key-in-output" "safety/client-no-key-in-output" "The API key of a session is printed."
        RequestSwitch::KeyInOutput.on()),
];

pub const RESULTS: &[FlawRow<AmplifierClientEffect>] = &[
    flaw!("create-silent" "create/client-result" "The caller does not get the id of a new session."
        AmplifierClientEffect::Result("createSession", |result| without(result, "", "session_id"))),
    flaw!("needs-idle" "create/client-status-created" "A new session has to be idle."
        AmplifierClientEffect::Http(Fails(|response| response.of == "createSession" && is_result(response) && status(response) != Some("idle")))),
    flaw!("status-silent" "create/client-status-result" "The caller does not get the status of a session."
        AmplifierClientEffect::Result("getSession", |result| without(result, "", "status"))),
    flaw!("status-of-five-less-one" "create/client-status-result" "A session that awaits an approval is not taken."
        AmplifierClientEffect::Http(Fails(|response| response.of == "getSession" && status(response) == Some("awaiting_approval")))),
    flaw!("stop-needs-204" "create/client-stop-result" "Stopping a session has to give the status 204."
        AmplifierClientEffect::Http(Fails(|response| response.of == "deleteSession" && response.status == 200))),
    flaw!("prompt-needs-200" "prompt/client-result" "A prompt has to be answered with the status 200."
        AmplifierClientEffect::Http(Fails(|response| response.of == "submitPrompt" && response.status == 202))),
    flaw!("prompt-silent" "prompt/client-result" "The caller does not get the id of a request."
        AmplifierClientEffect::Result("submitPrompt", |result| *result = json!({"ok": result.get("request_id").is_some()}))),
    flaw!("approval-needs-approved" "approval/client-result" "A decision has to be `approved`."
        AmplifierClientEffect::Http(Fails(|response| response.of == "submitApproval" && is_result(response) && status(response) != Some("approved")))),
    flaw!("first-session" "list/client-result" "The caller gets the first session of a list."
    AmplifierClientEffect::Result("listSessions", |result| if let Some(Value::Array(sessions)) = result.get_mut("sessions") {
        sessions.truncate(1);
    })),
    flaw!("needs-one" "list/client-empty" "An empty list makes a call fail."
    AmplifierClientEffect::Http(Fails(|response| {
        let is_empty = |key| response.member(key).and_then(Value::as_array).is_some_and(Vec::is_empty);
        response.of == "listSessions" && is_empty("sessions")
    }))),
    flaw!("profiles-of-collections" "catalogs/client-profiles" "Profiles without a collection do not reach the caller."
    AmplifierClientEffect::Result("listProfiles", |result| if let Some(Value::Array(profiles)) = result.get_mut("profiles") {
        profiles.retain(|profile| !profile["collection"].is_null());
    })),
    flaw!("profile-name-only" "catalogs/client-profile"
        "Of a profile the name reaches the caller."
        AmplifierClientEffect::Result("getProfile", |result| *result = json!({"name": result["name"]}))),
    flaw!("profile-needs-tools" "catalogs/client-profile-minimal" "A profile without tools is not taken."
        AmplifierClientEffect::Http(Fails(|response| response.of == "getProfile" && is_result(response) && response.member("tools").is_none()))),
    flaw!("first-collection" "catalogs/client-collections" "The caller gets the first collection."
    AmplifierClientEffect::Result("listCollections", |result| if let Some(Value::Array(list)) = result.get_mut("collections") {
        list.truncate(1);
    })),
    flaw!("agents-need-providers" "catalogs/client-agents" "Agents without providers do not reach the caller."
    AmplifierClientEffect::Result("listAgents", |result| if let Some(Value::Array(agents)) = result.get_mut("agents") {
        agents.retain(|agent| agent.get("providers").is_some());
    })),
    flaw!("health-silent" "catalogs/client-health" "The caller learns that the server answers, and not how it is."
        AmplifierClientEffect::Result("health", |result| *result = json!({"reachable": result.is_object()}))),
    flaw!("info-silent" "catalogs/client-info" "The caller learns that there is information."
        AmplifierClientEffect::Result("info", |result| *result = json!({"known": result.is_object()}))),
];

fn is_result(response: &FetchedResponse) -> bool {
    (200..300).contains(&response.status)
}

fn status(response: &FetchedResponse) -> Option<&str> {
    response.member("status").and_then(Value::as_str)
}

/// The codes that the document has.
const KNOWN_CODES: &[&str] = &[
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

pub const ERRORS: &[FlawRow<AmplifierClientEffect>] = &[
    flaw!("errors-as-results" "errors/client-error" "An error gives the caller a result." AmplifierClientEffect::Takes(|response| response.json.is_some())),
    flaw!("errors-without-code" "errors/client-code" "The caller does not get the code of an error."
    AmplifierClientEffect::Http(Line(|line| {
        let code = line.pointer("/error/code").and_then(Value::as_str).unwrap_or_default().to_owned();
        let message = line.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
        let message = if code.is_empty() { message.to_owned() } else { message.replace(&code, "an error") };
        set_message(line, &message);
        without(line, "/error", "code");
    }))),
    flaw!("errors-without-status" "errors/client-status" "The caller does not get the status of an error."
        AmplifierClientEffect::Http(Line(|line| without(line, "/error", "status")))),
    flaw!("waits-for-better-times" "errors/client-codes"
        "A call that was too much at the moment never comes to its end."
        AmplifierClientEffect::Hangs(|response| error_code(response) == Some("RATE_LIMITED"))),
    flaw!("known-codes-only" "errors/client-unknown-code" "An error with a code that it does not know gives a result."
        AmplifierClientEffect::Takes(|response| error_code(response).is_some_and(|code| !KNOWN_CODES.contains(&code)))),
    flaw!("needs-details" "errors/client-no-details" "An error without details gives a result."
        AmplifierClientEffect::Takes(|response| response.member("error").is_some_and(|e| e.is_object() && e.get("details").is_none()))),
    flaw!("needs-error-format" "errors/client-other-format"
    "A response with the status of an error and another body gives a result."
    AmplifierClientEffect::Takes(|response| {
        !looks_like_success(response) && !response.member("error").is_some_and(Value::is_object)
    })),
    flaw!("status-unread" "errors/client-status-decides" "A response that does not say that it is an error gives a result, whatever its status."
        AmplifierClientEffect::Takes(looks_like_success)),
    flaw!("prompts-again-when-refused" "errors/client-no-blind-retry" "A prompt that was refused is posted again."
        RequestSwitch::SendsRefusedPromptsAgain.on()),
    flaw!("posts-again-when-failed" "errors/client-no-post-again" "A session or a decision that failed at the server is posted again."
        RequestSwitch::SendsFailedPostsAgain.on()),
];

/// Whether the body of a response could be that of a success: none, null, or a session.
fn looks_like_success(response: &FetchedResponse) -> bool {
    match &response.json {
        Some(json) => json.is_null() || json.get("session_id").is_some(),
        None => response.body.is_empty(),
    }
}

fn error_code(response: &FetchedResponse) -> Option<&str> {
    response.member("error")?.get("code")?.as_str()
}

fn set_message(line: &mut Value, message: &str) {
    if line.get("error").is_some() {
        line["error"]["message"] = json!(message);
    }
}

pub const HTTP: &[FlawRow<AmplifierClientEffect>] = &[
    flaw!("long-length" "http/client-length" "The length of a body counts one more than there are."
    AmplifierClientEffect::Http(Sends(|request| if let Content::Whole(body) = &request.content {
        let length = (body.len() + 1).to_string();
        set_header(request, "Content-Length", Some(&length));
    }))),
    flaw!("api-prefix" "http/client-endpoint" "Requests go to endpoints below `/api/v1`."
        AmplifierClientEffect::Http(Sends(|request| request.target = format!("/api/v1{}", request.target)))),
    flaw!("raw-names" "http/client-path"
        ["http/client-valid-head": "A request line with a blank in its target, or with what is not ASCII, is not valid."]
        "Names stand in the path as they are." RequestSwitch::RawPath.on()),
    flaw!("headers-by-case" "http/client-header-case" "Headers are found only as they are usually written."
        AmplifierClientEffect::Http(Fails(|seen| ["Content-Type", "Content-Length", "Transfer-Encoding"].iter().any(|name| seen.has_header_but_not_as(name))))),
    flaw!("refuses-extra-members" "http/client-extra-members" "Answers with members that it does not know are not taken."
        AmplifierClientEffect::Http(Fails(|response| response.json.as_ref().is_some_and(|json| has_others(json, known(response)))))),
];

/// The members that the document knows of a response.
fn known(response: &FetchedResponse) -> &'static [&'static str] {
    match response.of {
        _ if response.status >= 400 => &["error"],
        "createSession" => &["session_id", "status", "profile", "created_at"],
        "submitPrompt" => &["request_id", "status", "message"],
        "submitApproval" | "deleteSession" => &["status", "message"],
        "getSession" => &[
            "session_id",
            "status",
            "profile",
            "created_at",
            "last_activity",
            "message_count",
            "token_usage",
            "pending_approval",
        ],
        "listSessions" => &["sessions", "total"],
        "listProfiles" => &["profiles"],
        "getProfile" => &["name", "collection", "description", "extends", "providers", "tools", "hooks", "agents"],
        "listCollections" => &["collections"],
        "listAgents" => &["agents"],
        "health" => &["status", "version", "uptime_seconds", "active_sessions"],
        _ => &["version", "amplifier_core_version", "capabilities", "config"],
    }
}

pub const ROBUSTNESS: &[FlawRow<AmplifierClientEffect>] = &[
    flaw!("deaf-after-bad-json" "robustness/client-after-bad-response" "After a response that is no JSON no call comes to its end."
        AmplifierClientEffect::Client(ClientSwitch::DeafAfter(Kind::Json))),
    flaw!("deaf-after-close" "robustness/client-after-cut"
        "After a connection that was closed without a response no call comes to its end."
        AmplifierClientEffect::Client(ClientSwitch::DeafAfter(Kind::Closed))),
    flaw!("streams-first" "robustness/client-stream-others" "Calls wait for streams to end."
        CallSwitch::CallsWaitForStreams.on()),
    flaw!("deaf-after-huge" "robustness/client-huge" "After a response of some mebibytes no call comes to its end."
        CallSwitch::DeafAfterHuge.on()),
    flaw!("deaf-after-bad-text" "robustness/client-bad-stream" "After a stream that is no UTF-8 no call comes to its end."
        ReaderSwitch::DeafAfterBadText.on()),
    flaw!("deaf-after-long-line" "robustness/client-endless-line"
        "After a line of a stream that does not end no call comes to its end."
        ReaderSwitch::DeafAfterLongLine.on()),
    flaw!("dies-at-long-line" "robustness/client-alive"
        "A line of a stream that does not end makes it exit." ReaderSwitch::DiesAtLongLine.on()),
];
