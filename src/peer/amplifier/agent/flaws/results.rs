//! What reaches the caller of an answer.

use serde_json::{Value, json};

use super::super::quirks::Effect;
use super::{Entry, flaw, without};
use crate::peer::fetch::FetchedResponse;

pub const FLAWS: &[Entry] = &[
    flaw!("create-silent" "create/client-result" "The caller does not get the id of a new session."
        Effect::Result("createSession", |result| without(result, "", "session_id"))),
    flaw!("needs-idle" "create/client-status-created" "A new session has to be idle."
        Effect::Fails(|seen| seen.of == "createSession" && is_result(seen) && status(seen) != Some("idle"))),
    flaw!("status-silent" "create/client-status-result" "The caller does not get the status of a session."
        Effect::Result("getSession", |result| without(result, "", "status"))),
    flaw!("status-of-five-less-one" "create/client-status-result" "A session that awaits an approval is not taken."
        Effect::Fails(|seen| seen.of == "getSession" && status(seen) == Some("awaiting_approval"))),
    flaw!("stop-needs-204" "create/client-stop-result" "Stopping a session has to give the status 204."
        Effect::Fails(|seen| seen.of == "deleteSession" && seen.status == 200)),
    flaw!("prompt-needs-200" "prompt/client-result" "A prompt has to be answered with the status 200."
        Effect::Fails(|seen| seen.of == "submitPrompt" && seen.status == 202)),
    flaw!("prompt-silent" "prompt/client-result" "The caller does not get the id of a request."
        Effect::Result("submitPrompt", |result| *result = json!({"ok": result.get("request_id").is_some()}))),
    flaw!("approval-needs-approved" "approval/client-result" "A decision has to be `approved`."
        Effect::Fails(|seen| seen.of == "submitApproval" && is_result(seen) && status(seen) != Some("approved"))),
    flaw!("first-session" "list/client-result" "The caller gets the first session of a list."
    Effect::Result("listSessions", |result| if let Some(Value::Array(sessions)) = result.get_mut("sessions") {
        sessions.truncate(1);
    })),
    flaw!("needs-one" "list/client-empty" "An empty list makes a call fail."
    Effect::Fails(|seen| {
        let is_empty = |key| seen.member(key).and_then(Value::as_array).is_some_and(Vec::is_empty);
        seen.of == "listSessions" && is_empty("sessions")
    })),
    flaw!("profiles-of-collections" "catalogs/client-profiles" "Profiles without a collection do not reach the caller."
    Effect::Result("listProfiles", |result| if let Some(Value::Array(profiles)) = result.get_mut("profiles") {
        profiles.retain(|profile| !profile["collection"].is_null());
    })),
    flaw!("profile-name-only" "catalogs/client-profile"
        "Of a profile the name reaches the caller."
        Effect::Result("getProfile", |result| *result = json!({"name": result["name"]}))),
    flaw!("profile-needs-tools" "catalogs/client-profile-minimal" "A profile without tools is not taken."
        Effect::Fails(|seen| seen.of == "getProfile" && is_result(seen) && seen.member("tools").is_none())),
    flaw!("first-collection" "catalogs/client-collections" "The caller gets the first collection."
    Effect::Result("listCollections", |result| if let Some(Value::Array(list)) = result.get_mut("collections") {
        list.truncate(1);
    })),
    flaw!("agents-need-providers" "catalogs/client-agents" "Agents without providers do not reach the caller."
    Effect::Result("listAgents", |result| if let Some(Value::Array(agents)) = result.get_mut("agents") {
        agents.retain(|agent| agent.get("providers").is_some());
    })),
    flaw!("health-silent" "catalogs/client-health" "The caller learns that the server answers, and not how it is."
        Effect::Result("health", |result| *result = json!({"reachable": result.is_object()}))),
    flaw!("info-silent" "catalogs/client-info" "The caller learns that there is information."
        Effect::Result("info", |result| *result = json!({"known": result.is_object()}))),
];

fn is_result(seen: &FetchedResponse) -> bool {
    (200..300).contains(&seen.status)
}

fn status(seen: &FetchedResponse) -> Option<&str> {
    seen.member("status").and_then(Value::as_str)
}
