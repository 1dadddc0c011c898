//! The requests of an edition as [OpenAPI 3.1](https://spec.openapis.org/oas/v3.1.1.html).

use serde_json::{Map, Value, json};

use crate::protocol::sample::{Carrier, MessageType};
use crate::protocol::{Channel, ChannelKind, QueryParameter, QueryValues};

use super::bundle::{Bundle, pascal};
use super::{Described, call, names_in};

/// An OpenAPI document of what a server answers by HTTP: an operation for each method and path. Event streams are operations
/// whose response is text; what is in them, and WebSockets, are in [`asyncapi`](super::asyncapi()).
pub fn openapi(described: &Described) -> Value {
    let mut bundle = Bundle::new("#/components/schemas/", pascal);
    let mut paths = Map::new();
    for group in groups(&described.messages) {
        let Carrier::RequestBody { method, target } = &group[0].carrier else { continue };
        let operation = operation(described, &group, target, &mut bundle);
        let path = paths.entry(target.clone()).or_insert_with(|| json!({}));
        path[method.to_ascii_lowercase()] = operation;
    }
    for channel in described.edition.channels().iter().filter(|c| c.kind == ChannelKind::EventStream) {
        let path = paths.entry(channel.path.to_owned()).or_insert_with(|| json!({}));
        path["get"] = stream(described, channel, &mut bundle);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": described.title(),
            "version": described.edition.id(),
            "description": described.about(),
        },
        "servers": [{
            "url": "http://127.0.0.1:{port}",
            "description": "A server on this machine.",
            "variables": { "port": { "default": "8080", "description": "The port on which it listens." } },
        }],
        "paths": paths,
        "components": { "schemas": bundle.into_schemas() },
    })
}

/// The types of request with the same method and path.
fn groups(messages: &[MessageType]) -> Vec<Vec<&MessageType>> {
    let mut groups: Vec<Vec<&MessageType>> = vec![];
    for message in messages.iter().filter(|message| matches!(message.carrier, Carrier::RequestBody { .. })) {
        match groups.iter_mut().find(|group| group[0].carrier == message.carrier) {
            Some(group) => group.push(message),
            None => groups.push(vec![message]),
        }
    }
    groups
}

fn operation(described: &Described, requests: &[&MessageType], target: &str, bundle: &mut Bundle) -> Value {
    let mut operation = match requests {
        [only] => {
            let name = call(&only.name);
            let about = described.meaning(name).map_or_else(|| only.about.clone(), sentence);
            json!({ "operationId": name, "summary": about })
        }
        several => {
            let names: Vec<String> = several.iter().map(|request| format!("`{}`", call(&request.name))).collect();
            json!({ "operationId": described.protocol.name, "summary": format!("One of {}.", names.join(", ")) })
        }
    };
    let query = requests.iter().flat_map(|request| described.edition.query(&request.name));
    let parameters: Vec<Value> = names_in(target).map(path_parameter).chain(query.map(query_parameter)).collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    let bodies: Vec<Value> = requests.iter().filter_map(|request| reference(described, request, bundle)).collect();
    if let Some(schema) = any_of(bodies) {
        operation["requestBody"] = json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    }
    let answers = |message: &&MessageType| requests.iter().any(|request| message.answers.contains(&request.name));
    let mut by_status: Vec<(u16, Vec<&MessageType>)> = vec![];
    for response in described.messages.iter().filter(answers) {
        let Carrier::ResponseBody { status } = response.carrier else { continue };
        match by_status.iter_mut().find(|(known, _)| *known == status) {
            Some((_, all)) => all.push(response),
            None => by_status.push((status, vec![response])),
        }
    }
    let mut responses = Map::new();
    for (status, all) in by_status {
        let schemas = all.iter().filter_map(|response| reference(described, response, bundle)).collect();
        let title = |response: &&MessageType| {
            described.schema(response).and_then(|s| Some(s.get("title")?.as_str()?.to_owned()))
        };
        let about: Vec<String> =
            all.iter().map(|response| title(response).unwrap_or_else(|| response.about.clone())).collect();
        let content = json!({ "application/json": { "schema": any_of(schemas).unwrap_or_else(|| json!({})) } });
        let response = json!({ "description": about.join(", or: ") + ".", "content": content });
        // What tells of a failure has any status of one.
        let ranges = if status >= 400 { vec!["4XX".to_owned(), "5XX".to_owned()] } else { vec![status.to_string()] };
        responses.extend(ranges.into_iter().map(|range| (range, response.clone())));
    }
    operation["responses"] = responses.into();
    operation
}

fn stream(described: &Described, channel: &Channel, bundle: &mut Bundle) -> Value {
    let parameters: Vec<Value> =
        names_in(channel.path).map(path_parameter).chain(channel.query.iter().map(query_parameter)).collect();
    let is_failure = |m: &&MessageType| matches!(m.carrier, Carrier::ResponseBody { status } if status >= 400);
    let mut responses = Map::new();
    let about = format!("{} Which messages are in its events, an AsyncAPI document says.", channel.about);
    let content = json!({ "text/event-stream": { "schema": { "type": "string" } } });
    responses.insert("200".to_owned(), json!({ "description": about, "content": content }));
    for failure in described.messages.iter().filter(is_failure) {
        let schema = reference(described, failure, bundle).unwrap_or_else(|| json!({}));
        let response = json!({ "description": failure.about.clone() + ".", "content": { "application/json": { "schema": schema } } });
        responses.extend(["4XX", "5XX"].map(|range| (range.to_owned(), response.clone())));
    }
    json!({ "operationId": channel.name, "summary": channel.about, "parameters": parameters, "responses": responses })
}

/// Adds the schema of a message, where it has one. Its title becomes its description: generators name types by titles.
fn reference(described: &Described, message: &MessageType, bundle: &mut Bundle) -> Option<Value> {
    let mut schema = described.schema(message)?;
    if let Some(map) = schema.as_object_mut()
        && let Some(title) = map.shift_remove("title")
    {
        map.entry("description").or_insert(title);
    }
    Some(bundle.add(&message.name, schema))
}

fn any_of(mut schemas: Vec<Value>) -> Option<Value> {
    match schemas.len() {
        0 | 1 => schemas.pop(),
        _ => Some(json!({ "oneOf": schemas })),
    }
}

fn path_parameter(name: &str) -> Value {
    json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
}

fn query_parameter(parameter: &QueryParameter) -> Value {
    json!({
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.about,
        "schema": values(parameter.values),
    })
}

/// The schema of the values of a parameter of a query.
pub fn values(values: QueryValues) -> Value {
    match values {
        QueryValues::Text => json!({ "type": "string" }),
        QueryValues::Integer => json!({ "type": "integer" }),
        QueryValues::OneOf(words) => json!({ "type": "string", "enum": words }),
    }
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
