//! The connections of an edition that stay open as [AsyncAPI 3.0](https://www.asyncapi.com/docs/reference/specification/v3.0.0).

use serde_json::{Map, Value, json};

use crate::protocol::sample::{Carrier, MessageType};
use crate::protocol::{Channel, ChannelKind};
use crate::trace::End;

use super::bundle::Bundle;
use super::openapi::values;
use super::{Described, call, names_in};

/// An AsyncAPI document of event streams and WebSockets, seen from the server: it receives requests, replies to them, and sends
/// notifications and events. Schemas are JSON Schemas of draft-07, which AsyncAPI takes as they are.
pub fn asyncapi(described: &Described) -> Value {
    let mut bundle = Bundle::new("#/components/schemas/", str::to_owned);
    let (mut servers, mut channels, mut operations, mut messages) = (Map::new(), Map::new(), Map::new(), Map::new());
    for channel in described.edition.channels() {
        let server = protocol_of(&channel);
        servers.insert(server.to_owned(), server_of(&channel));
        let passing: Vec<&MessageType> = described.messages.iter().filter(|m| passes(m, &channel)).collect();
        for message in &passing {
            let content = described.schema(message).unwrap_or(Value::Bool(true));
            let payload = bundle.add(&message.name, content);
            let entry = json!({ "name": message.name, "summary": message.about.clone() + ".", "payload": payload });
            messages.insert(message.name.clone(), entry);
        }
        channels.insert(channel.name.to_owned(), channel_entry(&channel, server, &passing));
        add_operations(&channel, &passing, &mut operations);
    }
    let mut about = described.about();
    for (message, path) in described.files() {
        bundle.add(&message.name, described.schema(message).unwrap_or(Value::Bool(true)));
        about += &format!(
            " A client finds a server by the file `{path}` below the data home: `{}` in the schemas is its content.",
            message.name
        );
    }
    json!({
        "asyncapi": "3.0.0",
        "info": { "title": described.title(), "version": described.edition.id(), "description": about },
        "defaultContentType": "application/json",
        "servers": servers,
        "channels": channels,
        "operations": operations,
        "components": { "messages": messages, "schemas": bundle.into_schemas() },
    })
}

/// Whether messages of this type pass over a channel.
fn passes(message: &MessageType, channel: &Channel) -> bool {
    let (in_events, in_texts) =
        (matches!(message.carrier, Carrier::EventData {}), matches!(message.carrier, Carrier::WebSocketText {}));
    in_events || in_texts && channel.kind == ChannelKind::WebSocket
}

fn protocol_of(channel: &Channel) -> &'static str {
    match channel.kind {
        ChannelKind::WebSocket => "ws",
        ChannelKind::EventStream => "http",
    }
}

fn server_of(channel: &Channel) -> Value {
    json!({
        "host": format!("{}:{{port}}", channel.host),
        "protocol": protocol_of(channel),
        "variables": { "port": { "description": "The port on which the server listens." } },
    })
}

fn channel_entry(channel: &Channel, server: &str, passing: &[&MessageType]) -> Value {
    let reference = |message: &&MessageType| {
        (message.name.clone(), json!({ "$ref": format!("#/components/messages/{}", message.name) }))
    };
    let mut entry = json!({
        "address": channel.path,
        "description": channel.about,
        "servers": [{ "$ref": format!("#/servers/{server}") }],
        "messages": passing.iter().map(reference).collect::<Map<String, Value>>(),
    });
    let parameter = |name: &str| (name.to_owned(), json!({ "description": format!("The `{name}` in the path.") }));
    let parameters: Map<String, Value> = names_in(channel.path).map(parameter).collect();
    if !parameters.is_empty() {
        entry["parameters"] = parameters.into();
    }
    if channel.kind == ChannelKind::WebSocket {
        let mut ws = json!({ "method": "GET", "bindingVersion": "0.1.0" });
        if !channel.query.is_empty() {
            let property = |parameter: &crate::protocol::QueryParameter| {
                let mut schema = values(parameter.values);
                schema["description"] = parameter.about.into();
                (parameter.name.to_owned(), schema)
            };
            let properties: Map<String, Value> = channel.query.iter().map(property).collect();
            let required: Vec<&str> = channel.query.iter().filter(|p| p.required).map(|p| p.name).collect();
            ws["query"] = json!({ "type": "object", "required": required, "properties": properties });
        }
        entry["bindings"] = json!({ "ws": ws });
    }
    entry
}

/// A request and what replies to it are an operation; so is what else a client sends, and all that a server sends by itself.
fn add_operations(channel: &Channel, passing: &[&MessageType], operations: &mut Map<String, Value>) {
    let name = channel.name;
    let of_channel = json!({ "$ref": format!("#/channels/{name}") });
    let reference = |message: &&MessageType| json!({ "$ref": format!("#/channels/{name}/messages/{}", message.name) });
    for message in passing.iter().filter(|message| message.sender == End::Client) {
        let mut operation = json!({
            "action": "receive",
            "channel": of_channel,
            "summary": message.about.clone() + ".",
            "messages": [reference(message)],
        });
        let replies: Vec<Value> = passing.iter().filter(|m| m.answers.contains(&message.name)).map(reference).collect();
        if !replies.is_empty() {
            operation["reply"] = json!({ "channel": of_channel, "messages": replies });
        }
        operations.insert(call(&message.name).to_owned(), operation);
    }
    let unasked = passing.iter().filter(|message| message.sender == End::Server && message.answers.is_empty());
    let unasked: Vec<Value> = unasked.map(reference).collect();
    if !unasked.is_empty() {
        let summary = "What a server sends by itself.";
        let operation = json!({ "action": "send", "channel": of_channel, "summary": summary, "messages": unasked });
        operations.insert(format!("{name}.send"), operation);
    }
}
