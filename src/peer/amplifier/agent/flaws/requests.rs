//! What is posted, and what is asked for.

use serde_json::{Value, json};

use super::super::quirks::{Effect, Switch};
use super::{Entry, at, flaw, text, without};

const CREATE: &str = "createSession";
const PROMPT: &str = "submitPrompt";
const DECIDE: &str = "submitApproval";

pub const FLAWS: &[Entry] = &[
    // A new session.
    flaw!("profile-list" "create/client-profile" "The profile is sent as a list."
        Effect::Body(CREATE, |body| at(body, "/profile", listed))),
    flaw!("credentials-text" "create/client-credentials"
    "The key is sent in place of the credentials."
    Effect::Body(CREATE, |body| {
        let key = body.pointer("/credentials/anthropic_api_key").cloned();
        body["credentials"] = key.unwrap_or_else(|| "none".into());
    })),
    flaw!("model-list" "create/client-model" "The model is sent as a list."
        Effect::Body(CREATE, |body| at(body, "/model", listed))),
    flaw!("context-without-root" "create/client-context"
        "A context is sent without the root of the workspace."
        Effect::Body(CREATE, |body| without(body, "/context", "workspace_root"))),
    flaw!("files-without-language" "create/client-open-files"
        "Open files are sent without their language."
        Effect::Body(CREATE, |body| without(body, "/context/open_files/0", "language"))),
    flaw!("cursor-without-character" "create/client-cursor"
        "Of a cursor only the line is sent."
        Effect::Body(CREATE, |body| without(body, "/context/open_files/0/cursor_position", "character"))),
    flaw!("git-without-untracked" "create/client-git-state"
        "The state of git is sent without the files that it does not know."
        Effect::Body(CREATE, |body| without(body, "/context/git_state", "untracked_files"))),
    flaw!("diagnostics-without-path" "create/client-diagnostics"
        "Diagnostics are sent without their path."
        Effect::Body(CREATE, |body| without(body, "/context/diagnostics/0", "path"))),
    flaw!("severity-number" "create/client-severity"
        "The severity of a diagnostic is sent as the editor's number."
        Effect::Body(CREATE, |body| at(body, "/context/diagnostics/0/severity", |severity| *severity = 1.into()))),
    flaw!("selection-without-text" "create/client-selection"
        "A selection is sent without its text."
        Effect::Body(CREATE, |body| without(body, "/context/selection", "text"))),
    flaw!("range-list" "create/client-ranges" "Ranges are sent as lists of two positions."
    Effect::Body(CREATE, |body| at(body, "/context/selection/range", |range| {
        *range = json!([range["start"], range["end"]]);
    }))),
    flaw!("range-backward" "create/client-range-order"
    "A selection is sent from where it was begun."
    Effect::Body(CREATE, |body| at(body, "/context/selection/range", |range| {
        *range = json!({"start": range["end"], "end": range["start"]});
        if range["start"] == range["end"] {
            range["start"]["line"] = 1_000_000.into();
        }
    }))),
    flaw!("create-editor" "create/client-extra" "The name of the editor is sent as well."
        Effect::Body(CREATE, |body| body["editor"] = "code".into())),
    flaw!("model-lost" "create/client-as-asked" "The model that was asked for is not sent."
        Effect::Body(CREATE, |body| without(body, "", "model"))),
    // Prompts.
    flaw!("prompt-list" "prompt/client-prompt" "The prompt is sent as a list."
        Effect::Body(PROMPT, |body| at(body, "/prompt", listed))),
    flaw!("context-update-list" "prompt/client-context-update"
        "The update of the context is sent as a list."
        Effect::Body(PROMPT, |body| at(body, "/context_update", listed))),
    flaw!("prompt-stream" "prompt/client-extra" "A prompt asks for a stream."
        Effect::Body(PROMPT, |body| body["stream"] = true.into())),
    flaw!("session-upper" "prompt/client-session" "Sessions are written in upper case."
        Effect::Params(PROMPT, |params| text(params, "session_id", |id| json!(id.to_uppercase())))),
    flaw!("prompt-trimmed" "prompt/client-as-asked" "White space around a prompt is not sent."
        Effect::Body(PROMPT, |body| text(body, "prompt", |prompt| json!(prompt.trim())))),
    // Approvals.
    flaw!("decision-boolean" "approval/client-decision"
        "A decision is sent as a boolean."
        Effect::Body(DECIDE, |body| text(body, "decision", |decision| json!(decision.starts_with("Allow"))))),
    flaw!("decision-lower" "approval/client-offered" "Decisions are sent in lower case."
        Effect::Body(DECIDE, |body| text(body, "decision", |decision| json!(decision.to_lowercase())))),
    flaw!("decides-twice" "approval/client-once" "A decision that was accepted is posted once more."
        Effect::Switch(Switch::DecidesTwice)),
    flaw!("decides-alone" "approval/client-asked-only" "The first option is taken without asking anybody."
        Effect::Switch(Switch::DecidesAlone)),
    flaw!("decision-of-user" "approval/client-extra" "A decision says who took it."
        Effect::Body(DECIDE, |body| body["user"] = "me".into())),
    flaw!("decides-otherwise" "approval/client-as-asked"
    "The decision that is posted is another than the one that was taken."
    Effect::Body(DECIDE, |body| {
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
        Effect::Params("listSessions", |params| without(params, "", "status"))),
    flaw!("status-active" "list/client-status-known"
        "Sessions are asked for by a status that does not exist."
        Effect::Params("listSessions", |params| params["status"] = "active".into())),
    flaw!("limit-float" "list/client-limit" "A limit is sent as a number with a point."
    Effect::Params("listSessions", |params| {
        params["limit"] = format!("{}.0", params.get("limit").and_then(Value::as_i64).unwrap_or(50)).into();
    })),
    flaw!("raw-query" "list/client-collection"
        ["http/client-valid-head": "A request line with a blank in its target, or with what is not ASCII, is not valid."]
        "Values stand in the query as they are."
        Effect::Switch(Switch::RawQuery)),
    flaw!("profile-by-last-name" "list/client-profile-name" "A profile is asked for without its collection."
    Effect::Params("getProfile", |params| {
        text(params, "name", |name| json!(name.rsplit(':').next().unwrap_or(name)));
    })),
    // Secrets.
    flaw!("key-in-headers" "safety/client-no-key-elsewhere" "The API key goes with every request."
        Effect::Switch(Switch::KeyInHeaders)),
    flaw!("key-in-output" "safety/client-no-key-in-output" "The API key of a session is printed."
        Effect::Switch(Switch::KeyInOutput)),
];

/// What stands there, in a list.
fn listed(value: &mut Value) {
    *value = json!([value.take()]);
}
