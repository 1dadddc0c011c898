//! Whole messages, and conversations of them.

use serde_json::{Value, json};

use super::endpoints::{CODES, STATUSES};
use super::events::EVENTS;
use crate::matcher::Schemas;
use crate::protocol::sample::{Carrier, Example, Flow, MessageMark, MessageType, SampleStep, Script, whole};
use crate::trace::End;

/// The session in examples.
const SESSION: &str = "550e8400-e29b-41d4-a716-446655440000";

/// The endpoints: name, method, target, status of the response.
const ROUTES: [(&str, &str, &str, u16); 12] = [
    ("createSession", "POST", "/sessions", 201),
    ("submitPrompt", "POST", "/sessions/{session_id}/prompt", 202),
    ("getSession", "GET", "/sessions/{session_id}", 200),
    ("submitApproval", "POST", "/sessions/{session_id}/approval", 200),
    ("deleteSession", "DELETE", "/sessions/{session_id}", 200),
    ("listSessions", "GET", "/sessions", 200),
    ("listProfiles", "GET", "/profiles", 200),
    ("getProfile", "GET", "/profiles/{profile_name}", 200),
    ("listCollections", "GET", "/collections", 200),
    ("listAgents", "GET", "/agents", 200),
    ("health", "GET", "/health", 200),
    ("info", "GET", "/info", 200),
];

pub fn types(schemas: &dyn Schemas) -> Vec<MessageType> {
    let part = |name: &str| schemas.schema(name).cloned();
    let mut types = vec![];
    for (name, method, target, _) in ROUTES {
        let title = format!("{name}.request");
        let about = format!("A request for `{name}`");
        let carrier = Carrier::RequestBody { method: method.to_owned(), target: target.to_owned() };
        let schema = part(&title).map(|schema| closed(whole(&about, &schema, |schema| schema)));
        types.push(MessageType {
            name: title,
            about,
            sender: End::Client,
            carrier,
            schema,
            marks: vec![],
            answers: vec![],
        });
    }
    for (name, _, _, status) in ROUTES {
        let title = format!("{name}.response");
        let about = format!("A response to `{name}`");
        let schema = part(&title).map(|schema| realistic(&title, whole(&about, &schema, |schema| schema)));
        let (carrier, answers) = (Carrier::ResponseBody { status }, vec![format!("{name}.request")]);
        types.push(MessageType { name: title, about, sender: End::Server, carrier, schema, marks: vec![], answers });
    }
    let answers = ROUTES.iter().map(|(name, ..)| format!("{name}.request")).collect();
    types.push(MessageType {
        name: "error.response".to_owned(),
        about: "An error in response to any request".to_owned(),
        sender: End::Server,
        carrier: Carrier::ResponseBody { status: 400 },
        schema: part("error"),
        marks: vec![MessageMark::at("/error")],
        answers,
    });
    for event in EVENTS {
        let title = event.schema_name();
        let schema = part(&title).map(|schema| realistic(&title, schema));
        types.push(MessageType {
            name: title,
            about: format!("The event `{}`", event.name),
            sender: End::Server,
            carrier: Carrier::EventData {},
            schema,
            marks: vec![MessageMark::is("/event", event.name)],
            answers: vec![],
        });
    }
    types.push(MessageType {
        name: "control".to_owned(),
        about: "What a client says over a WebSocket".to_owned(),
        sender: End::Client,
        carrier: Carrier::WebSocketText {},
        schema: part("control"),
        marks: vec![MessageMark::at("/action")],
        answers: vec![],
    });
    types
}

/// A body has no members but those of the document.
fn closed(mut schema: Value) -> Value {
    schema["additionalProperties"] = false.into();
    schema
}

/// What only the words of the document, or its examples, say of a message.
fn realistic(name: &str, mut schema: Value) -> Value {
    let mut at = |pointer: &str, key: &str, value: Value| {
        if let Some(map) = schema.pointer_mut(pointer).and_then(Value::as_object_mut) {
            map.insert(key.to_owned(), value);
        }
    };
    const LATER: [&str; 2] = ["2025-12-09T10:35:00Z", "2025-12-10T00:00:00.5+01:00"];
    match name {
        "createSession.response" => at("/properties/status", "examples", json!(["created"])),
        "health.response" => at("/properties/status", "examples", json!(["healthy"])),
        "getSession.response" => {
            at("/properties/last_activity", "examples", json!(LATER));
            at("/properties/pending_approval", "examples", json!([null, {"approval_id": "appr-456"}]));
        }
        "submitApproval.response" => at("/properties/status", "examples", json!(["approved", "denied"])),
        "listSessions.response" => at("/properties/total", "examples", json!([7])),
        "status-update.event" => {
            at("/properties/data/properties/status", "examples", json!(STATUSES));
            at("/properties/data/properties/progress", "minimum", json!(0));
            at("/properties/data/properties/progress", "maximum", json!(100));
        }
        "approval-required.event" => {
            at("/properties/data/properties/default", "examples", json!(["deny", "allow"]));
            at("/properties/data/properties/approval_id", "examples", json!(["appr-456"]));
            let context =
                json!({"tool": "filesystem", "operation": "write_file", "path": "/home/ada/project/README.md"});
            at("/properties/data/properties/context", "examples", json!([context]));
        }
        "approval-granted.event" => at("/properties/data/properties/decision", "examples", json!(["Allow"])),
        "approval-denied.event" => at("/properties/data/properties/decision", "examples", json!(["Deny"])),
        "tool-pre.event" => {
            at("/properties/data/properties/input", "examples", json!([{"path": "/home/ada/project/README.md"}, {}]));
        }
        "tool-post.event" => {
            let result_schema = json!({"type": "object", "required": ["success"], "properties": {"success": {"type": "boolean"}},
                "if": {"properties": {"success": {"const": true}}, "required": ["success"]}, "then": {"required": ["output"]}});
            at("/properties/data/properties", "result", result_schema);
        }
        _ => {}
    }
    schema
}

/// The target of an endpoint, for the session or profile that a message names.
fn target(template: &str, session: &str, profile: &str) -> String {
    template.replace("{session_id}", session).replace("{profile_name}", profile)
}

fn route(name: &str) -> (&'static str, &'static str, u16) {
    let found = ROUTES.iter().find(|(route, ..)| *route == name);
    found.map_or(("GET", "/health", 200), |(_, method, target, status)| (*method, *target, *status))
}

fn session_in(body: &Value) -> String {
    let named = body.get("session_id").or_else(|| body.pointer("/data/session_id")).and_then(Value::as_str);
    named.filter(|id| !id.is_empty() && id.is_ascii()).unwrap_or(SESSION).to_owned()
}

/// An exchange: the request for an endpoint, as it fits the response.
fn request_for(script: Script, name: &str, response: &Value, example: Example<'_>) -> Script {
    let (method, template, _) = route(name);
    let profile = response.get("name").and_then(Value::as_str).filter(|name| !name.contains(' ')).unwrap_or("dev");
    let title = format!("{name}.request");
    let mut body = (method == "POST").then(|| example(&title));
    if let (Some(body), Some(profile)) = (&mut body, response.get("profile").filter(|profile| profile.is_string())) {
        body["profile"] = profile.clone();
    }
    script.request(&title, method, &target(template, &session_in(response), profile), body)
}

pub fn around(message: &MessageType, body: &Value, example: Example<'_>) -> Vec<SampleStep> {
    match &message.carrier {
        Carrier::RequestBody { method, target: template } => {
            let target = target(template, SESSION, "dev");
            Script::new().request(&message.name, method, &target, Some(body.clone())).turns()
        }
        Carrier::ResponseBody { status } => {
            let code = body.pointer("/error/code").and_then(Value::as_str);
            let known = code.and_then(|code| CODES.iter().find(|(name, ..)| *name == code));
            let (status, endpoint) = match known {
                Some((code, status, _)) => (*status, fails(code)),
                None => (*status, message.answers.first().map_or("health", |name| name.trim_end_matches(".request"))),
            };
            request_for(Script::new(), endpoint, body, example).response(&message.name, status, body.clone()).turns()
        }
        Carrier::EventData {} => {
            let (script, on) = Script::new().subscribe(&format!("/sessions/{}/events", session_in(body)));
            script.event(&on, &message.name, body.clone()).turns()
        }
        _ => {
            let script = Script::new().socket("socket", &format!("/sessions/{SESSION}/ws"));
            script.text("socket", message.sender, &message.name, body.clone()).turns()
        }
    }
}

/// An endpoint that may fail with a code.
fn fails(code: &str) -> &'static str {
    match code {
        "SESSION_NOT_FOUND" => "getSession",
        "SESSION_BUSY" | "PROVIDER_ERROR" | "PROVIDER_UNAVAILABLE" | "RATE_LIMITED" => "submitPrompt",
        "APPROVAL_TIMEOUT" | "APPROVAL_INVALID" => "submitApproval",
        "PROFILE_NOT_FOUND" => "getProfile",
        _ => "createSession",
    }
}

/// An exchange with its response.
fn exchange(script: Script, name: &str, edit: impl FnOnce(&mut Value), example: Example<'_>) -> Script {
    let title = format!("{name}.response");
    let mut response = example(&title);
    if let Some(id) = response.get_mut("session_id") {
        *id = SESSION.into();
    }
    edit(&mut response);
    request_for(script, name, &response, example).response(&title, route(name).2, response)
}

/// An event of the session, with some members as they have to be.
fn event_in(script: Script, on: &str, event: &str, members: Value, example: Example<'_>) -> Script {
    let title = format!("{}.event", event.replace(':', "-"));
    let mut message = example(&title);
    message["data"]["session_id"] = SESSION.into();
    for (key, value) in members.as_object().into_iter().flatten() {
        message["data"][key.as_str()] = value.clone();
    }
    script.event(on, &title, message)
}

pub fn flows(example: Example<'_>) -> Vec<Flow> {
    let mut flows: Vec<Flow> = ROUTES
        .iter()
        .map(|(name, ..)| {
            let about = format!("A client asks for `{name}` and gets a response.");
            exchange(Script::new(), name, |_| {}, example).flow(&format!("{name}.pair"), &about)
        })
        .collect();
    for (code, status, _) in CODES {
        let mut body = example("error.response");
        body["error"]["code"] = (*code).into();
        let endpoint = fails(code);
        let script = request_for(Script::new(), endpoint, &body, example).response("error.response", *status, body);
        let name = code.to_ascii_lowercase().replace('_', "-");
        flows.push(script.flow(&format!("error.{name}"), &format!("`{endpoint}` fails with {code}.")));
    }
    flows.push(prompt(example));
    flows.push(approval(true, example));
    flows.push(approval(false, example));
    flows.push(socket(example));
    flows
}

/// A session with a subscription, and a prompt that was posted.
fn started(text: &str, example: Example<'_>) -> (Script, String) {
    let script = exchange(Script::new(), "createSession", |_| {}, example);
    let (script, on) = script.subscribe(&format!("/sessions/{SESSION}/events"));
    let profile = example("createSession.response")["profile"].clone();
    let script = event_in(script, &on, "session:start", json!({"profile": profile}), example);
    let mut request = example("submitPrompt.request");
    request["prompt"] = text.into();
    let path = format!("/sessions/{SESSION}/prompt");
    let script = script.request("submitPrompt.request", "POST", &path, Some(request));
    let mut response = example("submitPrompt.response");
    response["request_id"] = "req-123".into();
    let script = script.response("submitPrompt.response", 202, response);
    let script = event_in(script, &on, "prompt:submit", json!({"request_id": "req-123", "prompt": text}), example);
    (script, on)
}

/// A text in two deltas, and the end of the prompt, the session and the stream.
fn finished(script: Script, on: &str, example: Example<'_>) -> Script {
    let block = json!({"block_index": 0, "block_type": "text"});
    let mut script = event_in(script, on, "content_block:start", block, example);
    for delta in ["The parser is tidy, ", "including 🦀 and «naïve» names."] {
        script = event_in(script, on, "content_block:delta", json!({"block_index": 0, "delta": delta}), example);
    }
    let script = event_in(script, on, "content_block:end", json!({"block_index": 0}), example);
    let response = "The parser is tidy, including 🦀 and «naïve» names.";
    let script =
        event_in(script, on, "prompt:complete", json!({"request_id": "req-123", "response": response}), example);
    let response = example("deleteSession.response");
    let path = format!("/sessions/{SESSION}");
    let script = script.request("deleteSession.request", "DELETE", &path, None).response(
        "deleteSession.response",
        200,
        response,
    );
    event_in(script, on, "session:end", json!({"reason": "user_stopped"}), example).end_of_stream(on)
}

fn prompt(example: Example<'_>) -> Flow {
    let (script, on) = started("Tidy up the parser", example);
    let script = event_in(script, &on, "status:update", json!({"status": "processing"}), example);
    let script = event_in(script, &on, "thinking:delta", json!({"delta": "Let me look "}), example);
    let script = event_in(script, &on, "thinking:delta", json!({"delta": "at it."}), example);
    let script = event_in(script, &on, "thinking:final", json!({"thinking": "Let me look at it."}), example);
    let tool = json!({"tool_name": "filesystem", "operation": "read_file"});
    let script = event_in(script, &on, "tool:pre", tool.clone(), example);
    let script = event_in(script, &on, "tool:post", tool.clone(), example);
    let script = event_in(script, &on, "tool:pre", tool.clone(), example);
    let script = event_in(script, &on, "tool:error", tool, example);
    let script = event_in(script, &on, "diagnostic:add", json!({}), example);
    let script = event_in(script, &on, "diagnostic:clear", json!({}), example);
    finished(script, &on, example).flow(
        "prompt",
        "A session is created, its events are followed, and a prompt is answered with thinking, tools and text; then the session is stopped.",
    )
}

fn approval(granted: bool, example: Example<'_>) -> Flow {
    let (script, on) = started("Write the README", example);
    let action = json!({"tool_name": "filesystem", "operation": "write_file"});
    let asked = json!({"approval_id": "appr-456", "options": ["Allow", "Deny", "Allow All"], "default": "deny", "timeout": 300,
        "context": {"tool": "filesystem", "operation": "write_file"}});
    let script = event_in(script, &on, "approval:required", asked, example);
    let decision = if granted { "Allow" } else { "Deny" };
    let path = format!("/sessions/{SESSION}/approval");
    let body = json!({ "decision": decision });
    let mut response = example("submitApproval.response");
    response["status"] = if granted { "approved" } else { "denied" }.into();
    let script = script.request("submitApproval.request", "POST", &path, Some(body)).response(
        "submitApproval.response",
        200,
        response,
    );
    let (name, about) = if granted {
        ("approval-granted", "A tool needs an approval, which the user gives.")
    } else {
        ("approval-denied", "A tool needs an approval, which the user refuses.")
    };
    let script = if granted {
        let decided = json!({"approval_id": "appr-456", "decision": decision});
        let script = event_in(script, &on, "approval:granted", decided, example);
        let script = event_in(script, &on, "tool:pre", action.clone(), example);
        event_in(script, &on, "tool:post", action, example)
    } else {
        let decided = json!({"approval_id": "appr-456", "decision": decision, "reason": "user_denied"});
        event_in(script, &on, "approval:denied", decided, example)
    };
    finished(script, &on, example).flow(name, about)
}

/// A flow over a WebSocket.
fn socket(example: Example<'_>) -> Flow {
    let script = exchange(Script::new(), "createSession", |_| {}, example);
    let mut script = script.socket("socket", &format!("/sessions/{SESSION}/ws"));
    let text = "Tidy up the parser";
    script = script.text("socket", End::Client, "control", json!({"action": "submit_prompt", "prompt": text}));
    let mut send = |event: &str, members: Value| {
        let title = format!("{}.event", event.replace(':', "-"));
        let mut message = example(&title);
        message["data"]["session_id"] = SESSION.into();
        for (key, value) in members.as_object().into_iter().flatten() {
            message["data"][key.as_str()] = value.clone();
        }
        script = std::mem::take(&mut script).text("socket", End::Server, &title, message);
    };
    send("prompt:submit", json!({"request_id": "req-123", "prompt": text}));
    send("content_block:start", json!({"block_index": 0, "block_type": "text"}));
    send("content_block:delta", json!({"block_index": 0, "delta": "Done."}));
    send("content_block:end", json!({"block_index": 0}));
    send("prompt:complete", json!({"request_id": "req-123", "response": "Done."}));
    script
        .text("socket", End::Client, "control", json!({"action": "stop"}))
        .close("socket")
        .flow("websocket", "A session is followed and given a prompt over a WebSocket, and stopped.")
}
