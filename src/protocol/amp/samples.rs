//! Whole messages of an edition, and conversations of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::matcher::Schemas as _;
use crate::protocol::sample::{Carrier, Example, Flow, MessageMark, MessageType, SampleStep, Script, Sent, whole};
use crate::trace::End;

use super::editions::{AmpEdition, Method, ResultForm};

/// The token in examples.
const TOKEN: &str = "example-token-for-tests-only";

/// The connection in examples.
const MAIN: &str = "main";

fn target() -> String {
    format!("/?auth={TOKEN}")
}

pub fn types(edition: &AmpEdition) -> Vec<MessageType> {
    let envelope = &edition.envelope;
    let part = |name: String| edition.schema(&name).cloned().unwrap_or(Value::Bool(true));
    let mut types = vec![];
    let methods = sorted(edition.method_names());
    for method in &methods {
        let about = format!("A request for `{method}`");
        let schema = whole(&about, &part(format!("{method}.params")), |params| {
            let inner = match envelope.wrapper {
                Some(wrapper) => {
                    let one = json!({"type": "object", "required": [method], "properties": {*method: params}, "maxProperties": 1});
                    json!({"type": "object", "required": ["id", wrapper], "properties": {"id": {"type": "string"}, wrapper: one}})
                }
                None => json!({"type": "object", "required": ["id", method],
                    "properties": {"id": {"type": "string"}, *method: params}, "maxProperties": 2}),
            };
            enveloped("clientRequest", inner)
        });
        let pointer = envelope.params_place(method);
        types.push(socket(format!("{method}.request"), about, End::Client, schema, pointer, vec![]));
    }
    for method in &methods {
        let about = format!("A response to `{method}`");
        let schema = whole(&about, &part(format!("{method}.result")), |result| {
            let key = envelope.result_key(method);
            enveloped(
                "serverResponse",
                json!({"type": "object", "required": ["id", key],
                "properties": {"id": {"type": "string"}, key: spoken(edition, method, result)}, "not": {"required": ["error"]}}),
            )
        });
        let answers = vec![format!("{method}.request")];
        let pointer = envelope.result_place(method);
        types.push(socket(format!("{method}.response"), about, End::Server, schema, pointer, answers));
    }
    let about = "An error in response to a request".to_owned();
    let error = edition.schema("error").cloned().unwrap_or_else(|| json!({"type": ["string", "object"]}));
    let schema = whole(&about, &error, |error| {
        let inner = json!({"type": "object", "required": ["id", "error"],
            "properties": {"id": {"type": "string"}, "error": error}, "maxProperties": 2});
        enveloped("serverResponse", inner)
    });
    let answers = methods.iter().map(|method| format!("{method}.request")).collect();
    types.push(socket(
        "error.response".to_owned(),
        about,
        End::Server,
        schema,
        "/serverResponse/error".to_owned(),
        answers,
    ));
    for name in sorted(edition.notification_names()) {
        let about = format!("The notification `{name}`");
        let schema = whole(&about, &part(format!("{name}.data")), |data| {
            let one = json!({"type": "object", "required": [name], "properties": {name: data}, "maxProperties": 1,
                "not": {"required": ["id"]}});
            let inner = match envelope.wrapper {
                Some(wrapper) => {
                    json!({"type": "object", "required": [wrapper], "properties": {wrapper: one}, "not": {"required": ["id"]}})
                }
                None => one,
            };
            enveloped("serverNotification", inner)
        });
        let pointer = format!("{}/{name}", envelope.notifications_place());
        types.push(socket(format!("{name}.notification"), about, End::Server, schema, pointer, vec![]));
    }
    let schema = part("lockfile".to_owned());
    types.push(MessageType {
        name: "lockfile".to_owned(),
        about: "What a server writes into its lockfile".to_owned(),
        sender: End::Server,
        carrier: Carrier::File { path: "amp/ide/{port}.json".to_owned() },
        schema: Some(schema),
        marks: vec![],
        answers: vec![],
    });
    types
}

fn sorted(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    BTreeSet::from_iter(names).into_iter().collect()
}

fn enveloped(key: &str, inner: Value) -> Value {
    json!({"type": "object", "required": [key], "properties": {key: inner}, "maxProperties": 1})
}

/// A result of which also that is asked which only words say: what failed says why.
fn spoken(edition: &AmpEdition, method: &str, result: Value) -> Value {
    let says_why = edition.results == ResultForm::Flagged
        && matches!(edition.method(method), Some(Method::ReadFile | Method::EditFile));
    if !says_why {
        return result;
    }
    let failed = json!({"properties": {"success": {"const": false}}, "required": ["success"]});
    let why = json!({"required": ["message"], "properties": {"message": {"minLength": 1}}});
    json!({"allOf": [result, {"if": failed, "then": why}]})
}

fn socket(name: String, about: String, sender: End, schema: Value, mark: String, answers: Vec<String>) -> MessageType {
    let carrier = Carrier::WebSocketText {};
    MessageType { name, about, sender, carrier, schema: Some(schema), marks: vec![MessageMark::at(mark)], answers }
}

/// Gives a message the id of another one.
fn same_id(message: &mut Value, envelope: &str, id: Option<&Value>) {
    if let (Some(place), Some(id)) = (message.pointer_mut(&format!("/{envelope}/id")), id) {
        *place = id.clone();
    }
}

/// A `ping` gives back what it was given.
fn same_message(edition: &AmpEdition, from: &Value, to: &mut Value) {
    let Some(ping) = edition.methods.ping else { return };
    let places = [edition.envelope.params_place(ping), edition.envelope.result_place(ping)];
    let places = places.map(|place| format!("{place}/message"));
    let text = places.iter().find_map(|place| from.pointer(place)).filter(|text| text.is_string());
    let place = places.iter().find(|place| to.pointer(place).is_some());
    if let (Some(text), Some(place)) = (text, place.and_then(|place| to.pointer_mut(place))) {
        *place = text.clone();
    }
}

pub fn around(edition: &AmpEdition, message: &MessageType, body: &Value, example: Example<'_>) -> Vec<SampleStep> {
    if let Carrier::File { path } = &message.carrier {
        let port = body.get("port").map_or_else(|| "8080".to_owned(), ToString::to_string);
        return Script::new().file(&message.name, &in_home(&path.replace("{port}", &port)), body.clone()).turns();
    }
    let script = Script::new().socket(MAIN, &target());
    let Some(request_name) = message.answers.first() else {
        return script.text(MAIN, message.sender, &message.name, body.clone()).turns();
    };
    let mut request = example(request_name);
    // A number answers the text of the same digits, if wrongly so.
    let id = match body.pointer("/serverResponse/id") {
        Some(Value::String(id)) => Some(Value::from(id.clone())),
        Some(Value::Number(id)) => Some(Value::from(id.to_string())),
        _ => None,
    };
    same_id(&mut request, "clientRequest", id.as_ref());
    same_message(edition, body, &mut request);
    let script = script.text(MAIN, End::Client, request_name, request);
    script.text(MAIN, End::Server, &message.name, body.clone()).close(MAIN).turns()
}

fn in_home(path: &str) -> String {
    format!("/home/ada/.local/share/{path}")
}

/// A request and its response, with an id of their own.
fn pair(edition: &AmpEdition, method: &str, response_name: &str, id: &str, example: Example<'_>) -> (Value, Value) {
    let (mut request, mut response) = (example(&format!("{method}.request")), example(response_name));
    same_id(&mut request, "clientRequest", Some(&id.into()));
    same_id(&mut response, "serverResponse", Some(&id.into()));
    same_message(edition, &request, &mut response);
    (request, response)
}

pub fn flows(edition: &AmpEdition, example: Example<'_>) -> Vec<Flow> {
    let mut flows = vec![];
    let methods = sorted(edition.method_names());
    for method in &methods {
        let response_name = format!("{method}.response");
        let (request, response) = pair(edition, method, &response_name, "1", example);
        let script = Script::new().socket(MAIN, &target());
        let script = script.text(MAIN, End::Client, &format!("{method}.request"), request);
        let script = script.text(MAIN, End::Server, &response_name, response).close(MAIN);
        flows.push(script.flow(&format!("{method}.pair"), &format!("A client asks for `{method}` and gets a result.")));
        let (request, response) = pair(edition, method, "error.response", "1", example);
        let script = Script::new().socket(MAIN, &target());
        let script = script.text(MAIN, End::Client, &format!("{method}.request"), request);
        let script = script.text(MAIN, End::Server, "error.response", response).close(MAIN);
        flows
            .push(script.flow(&format!("{method}.error"), &format!("A client asks for `{method}` and gets an error.")));
    }
    flows.push(pipelined(edition, &methods, example));
    flows.push(session(edition, &methods, example));
    flows.push(
        Script::new()
            .socket(MAIN, &target().replace(TOKEN, "another-token-that-is-wrong"))
            .flow("wrong-token", "A client shows another token than the server's, and is refused."),
    );
    if let Some(refused) = flows.last_mut().and_then(|flow| flow.turns.last_mut()) {
        refused.sent = Sent::Upgraded { status: 401 };
    }
    flows
}

/// All methods at once, answered the other way around.
fn pipelined(edition: &AmpEdition, methods: &[&str], example: Example<'_>) -> Flow {
    let mut script = Script::new().socket(MAIN, &target());
    let pairs: Vec<_> = (1..)
        .zip(methods)
        .map(|(n, method)| (*method, pair(edition, method, &format!("{method}.response"), &n.to_string(), example)))
        .collect();
    for (method, (request, _)) in &pairs {
        script = script.text(MAIN, End::Client, &format!("{method}.request"), request.clone());
    }
    for (method, (_, response)) in pairs.iter().rev() {
        script = script.text(MAIN, End::Server, &format!("{method}.response"), response.clone());
    }
    script.close(MAIN).flow(
        "pipelined",
        "A client asks for everything before the first response; the responses come the other way around.",
    )
}

/// From the lockfile to the close.
fn session(edition: &AmpEdition, methods: &[&str], example: Example<'_>) -> Flow {
    let mut lockfile = example("lockfile");
    lockfile["authToken"] = TOKEN.into();
    lockfile["port"] = 8080.into();
    let mut script = Script::new().file("lockfile", &in_home("amp/ide/8080.json"), lockfile).socket(MAIN, &target());
    for name in sorted(edition.notification_names()) {
        let name = format!("{name}.notification");
        script = script.text(MAIN, End::Server, &name, example(&name));
    }
    for (n, method) in (1..).zip(methods) {
        let (request, response) = pair(edition, method, &format!("{method}.response"), &n.to_string(), example);
        script = script.text(MAIN, End::Client, &format!("{method}.request"), request);
        script = script.text(MAIN, End::Server, &format!("{method}.response"), response);
    }
    script.close(MAIN).flow(
        "session",
        "A client finds a server by its lockfile, is told what is shown, asks for everything in turn, and leaves.",
    )
}
