//! Requests: what clients post, and what servers have to refuse of it.

use serde_json::Value;

use super::BOOK;
use super::members::{OBJECT, OBJECTS, POSITION, Place, RANGE, SEVERITY, STRING, STRINGS, is_backward};
use crate::protocol::Fault;
use crate::protocol::Judgements;
use crate::protocol::amplifier::routes::Endpoint;
use crate::protocol::http::book::Bench;
use crate::protocol::http::content::{Content, LOSSY};

/// Judges the body of a request. Gives its JSON, and the requirement by which a server has to refuse it.
pub fn judge(
    endpoint: Endpoint,
    content: &Content<'_>,
    bench: &mut Bench<'_>,
) -> (Option<Value>, Option<&'static str>) {
    let area = match endpoint {
        Endpoint::CreateSession => 0,
        Endpoint::SubmitPrompt => 1,
        Endpoint::SubmitApproval => 2,
        _ => return (None, None),
    };
    let json = match content {
        // What is coded is left to the servers.
        Content::Coded => return (None, None),
        Content::Json { json, .. } => Some(json.as_ref()),
        _ => None,
    };
    let binary = matches!(content, Content::Binary(_));
    bench.hold_if("http/client-utf-8", binary, || "the body of a request is no UTF-8".to_owned());
    let marked = matches!(content, Content::Json { marked: true, .. });
    bench.hold_if("http/client-no-bom", marked, || "the body of a request begins with a byte order mark".to_owned());
    let object = json.and_then(Value::as_object);
    let fault = Fault::new("the body of a request is no JSON object");
    bench.hold("http/client-json", object.is_none().then_some(fault));
    if content.is_lossy() {
        bench.note("http/client-json", LOSSY);
    }
    if json.is_none() {
        return (None, Some(["create/bad-json", "prompt/bad-json", "approval/bad-json"][area]));
    }
    let Some(members) = object else {
        return (None, Some(["create/bad-body", "prompt/prompt-missing", "approval/decision-missing"][area]));
    };
    let body = Place { members, pointer: "" };
    let refused = match endpoint {
        Endpoint::CreateSession => create(body, bench),
        Endpoint::SubmitPrompt => prompt(body, bench),
        _ => decision(body, bench),
    };
    // Whether a server takes what it may not be able to hold is left to it.
    (json.cloned(), refused.filter(|_| !content.is_lossy()))
}

fn create(body: Place<'_>, bench: &mut Bench<'_>) -> Option<&'static str> {
    body.hold(
        bench,
        &[
            ("profile", STRING, true, "create/client-profile"),
            ("credentials", OBJECT, true, "create/client-credentials"),
            ("model", STRING, false, "create/client-model"),
            ("context", OBJECT, false, "create/client-context"),
        ],
    );
    body.inner("credentials", |credentials| {
        credentials.hold(bench, &[("anthropic_api_key", STRING, false, "create/client-credentials")]);
    });
    body.inner("context", |place| {
        place.hold(bench, &[("workspace_root", STRING, true, "create/client-context")]);
        context(place, bench);
    });
    extra(body, &["profile", "model", "credentials", "context"], "create/client-extra", bench);
    let context = body.members.get("context");
    match body.members.get("profile") {
        None => Some("create/profile-missing"),
        Some(profile) if !profile.is_string() => Some("create/profile-type"),
        _ if context.is_some_and(|c| !c.get("workspace_root").is_some_and(Value::is_string) && !c.is_null()) => {
            Some("create/context-invalid")
        }
        _ => None,
    }
}

fn prompt(body: Place<'_>, bench: &mut Bench<'_>) -> Option<&'static str> {
    body.hold(
        bench,
        &[
            ("prompt", STRING, true, "prompt/client-prompt"),
            ("context_update", OBJECT, false, "prompt/client-context-update"),
        ],
    );
    body.inner("context_update", |place| {
        place.hold(bench, &[("workspace_root", STRING, false, "prompt/client-context-update")]);
        context(place, bench);
    });
    extra(body, &["prompt", "context_update"], "prompt/client-extra", bench);
    match body.members.get("prompt") {
        None => Some("prompt/prompt-missing"),
        Some(prompt) if !prompt.is_string() => Some("prompt/prompt-type"),
        _ if body.members.get("context_update").is_some_and(|u| !u.is_object() && !u.is_null()) => {
            Some("prompt/context-update-invalid")
        }
        _ => None,
    }
}

fn decision(body: Place<'_>, bench: &mut Bench<'_>) -> Option<&'static str> {
    body.hold(bench, &[("decision", STRING, true, "approval/client-decision")]);
    extra(body, &["decision"], "approval/client-extra", bench);
    match body.members.get("decision") {
        None => Some("approval/decision-missing"),
        Some(decision) if !decision.is_string() => Some("approval/decision-type"),
        Some(_) => None,
    }
}

/// Judges the members of a context, or of an update of one.
fn context(context: Place<'_>, bench: &mut Bench<'_>) {
    context.hold(
        bench,
        &[
            ("open_files", OBJECTS, false, "create/client-open-files"),
            ("git_state", OBJECT, false, "create/client-git-state"),
            ("diagnostics", OBJECTS, false, "create/client-diagnostics"),
            ("selection", OBJECT, false, "create/client-selection"),
        ],
    );
    context.each("open_files", |file| {
        file.hold(
            bench,
            &[
                ("path", STRING, true, "create/client-open-files"),
                ("language", STRING, true, "create/client-open-files"),
                ("content", STRING, true, "create/client-open-files"),
                ("cursor_position", POSITION, false, "create/client-cursor"),
            ],
        );
    });
    context.inner("git_state", |state| {
        state.hold(
            bench,
            &[
                ("branch", STRING, true, "create/client-git-state"),
                ("staged_files", STRINGS, true, "create/client-git-state"),
                ("modified_files", STRINGS, true, "create/client-git-state"),
                ("untracked_files", STRINGS, true, "create/client-git-state"),
            ],
        );
    });
    context.each("diagnostics", |diagnostic| {
        diagnostic.hold(
            bench,
            &[
                ("path", STRING, true, "create/client-diagnostics"),
                ("severity", SEVERITY, true, "create/client-severity"),
                ("message", STRING, true, "create/client-diagnostics"),
            ],
        );
        range(diagnostic, bench);
    });
    context.inner("selection", |selection| {
        selection.hold(
            bench,
            &[("path", STRING, true, "create/client-selection"), ("text", STRING, true, "create/client-selection")],
        );
        range(selection, bench);
    });
    let known = ["workspace_root", "open_files", "git_state", "diagnostics", "selection"];
    extra(context, &known, "create/client-extra", bench);
}

fn range(place: Place<'_>, bench: &mut Bench<'_>) {
    place.hold(bench, &[("range", RANGE, true, "create/client-ranges")]);
    if let Some(range) = place.members.get("range") {
        let fault = Fault::new("a range ends before it starts").at(place.at("range")).actual(range.clone());
        bench.hold("create/client-range-order", is_backward(range).then_some(fault));
    }
}

fn extra(place: Place<'_>, known: &[&str], short: &str, bench: &mut Bench<'_>) {
    let others = place.others(known);
    let fault =
        || Fault::new("a body has members that the document does not know").at(place.pointer).actual(others.clone());
    bench.hold(short, (!others.is_empty()).then(fault));
}

/// Judges a message of a client over a WebSocket, which came as text or not.
pub fn control(content: &Content<'_>, text: bool, bench: &mut Bench<'_>) {
    let members = content.json().and_then(Value::as_object).filter(|_| text);
    let fault = Fault::new("a control message is no text with a JSON object");
    bench.hold("websocket/client-text", members.is_none().then_some(fault));
    let Some(members) = members else { return };
    let message = Place { members, pointer: "" };
    let (key, short) = match message.text("action") {
        Some("submit_prompt") => ("prompt", "websocket/client-submit-prompt"),
        Some("submit_approval") => ("decision", "websocket/client-submit-approval"),
        Some("stop") => ("action", "websocket/client-action"),
        _ => {
            let fault = Fault::new("a control message has no action that exists").actual(members.clone());
            bench.hold("websocket/client-action", Some(fault));
            return;
        }
    };
    bench.hold("websocket/client-action", None);
    message.hold(bench, &[(key, STRING, true, short)]);
    extra(message, &["action", key], "websocket/client-extra", bench);
}

/// What is said of a request is told to nobody where it is wrong on purpose.
pub fn read(endpoint: Endpoint, content: &Content<'_>) -> (Option<Value>, Option<&'static str>) {
    judge(endpoint, content, &mut BOOK.bench(&mut Judgements::default(), 0))
}
