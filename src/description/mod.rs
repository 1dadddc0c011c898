//! A protocol, described to other programs and to people: as OpenAPI, AsyncAPI, JSON Schema and Markdown, from the data by which
//! the suite judges. [`Described`] is the edition that is described.
//!
//! The types of messages are those of [`Edition::message_types`], their schemas those of `$schema` matchers where there is one of
//! the name, and the requirements those of the catalogue. Nothing here knows a protocol.

mod asyncapi;
mod bundle;
mod json_schema;
mod markdown;
mod openapi;

use serde_json::Value;

use crate::protocol::sample::{Carrier, MessageType};
use crate::protocol::{Edition, Protocol, Requirement};

pub use asyncapi::asyncapi;
pub use json_schema::json_schema;
pub use markdown::markdown;
pub use openapi::openapi;

/// An edition of a protocol, as something to be described.
pub struct Described {
    protocol: &'static Protocol,
    edition: &'static dyn Edition,
    messages: Vec<MessageType>,
}

impl Described {
    /// This edition of a protocol.
    pub fn new(protocol: &'static Protocol, edition: &'static dyn Edition) -> Self {
        Self { protocol, edition, messages: edition.message_types() }
    }

    /// Whether requests pass by HTTP: only then is there something that OpenAPI has words for.
    pub fn has_requests(&self) -> bool {
        self.messages.iter().any(|message| matches!(message.carrier, Carrier::RequestBody { .. }))
    }

    /// Whether there are connections that stay open: only then is there something that AsyncAPI has words for.
    pub fn has_channels(&self) -> bool {
        !self.edition.channels().is_empty()
    }

    /// `amp, edition cli`.
    fn title(&self) -> String {
        format!("{}, edition {}", self.protocol.name, self.edition)
    }

    /// What the document is, and where it is from.
    fn about(&self) -> String {
        format!(
            "The protocol {}, edition {}: {}. Made by wirecert {} from the data by which it judges.",
            self.protocol.name,
            self.edition,
            self.edition.about(),
            env!("CARGO_PKG_VERSION")
        )
    }

    /// The schema of a message: that by which it is judged, where there is one, otherwise that of examples.
    fn schema(&self, message: &MessageType) -> Option<Value> {
        self.edition.schema(&message.name).cloned().or_else(|| message.schema.clone())
    }

    /// What is asked for by a call of a client: "the status of a session".
    fn meaning(&self, call: &str) -> Option<&'static str> {
        let mut calls = self.protocol.roles.iter().flat_map(|role| role.calls);
        let (_, about) = calls.find(|(name, _)| *name == call)?;
        about.split_once(": ").map(|(_, meaning)| meaning)
    }

    /// The files that a server writes for clients to find.
    fn files(&self) -> impl Iterator<Item = (&MessageType, &str)> {
        self.messages.iter().filter_map(|message| match &message.carrier {
            Carrier::File { path } => Some((message, path.as_str())),
            _ => None,
        })
    }

    /// The requirements of the edition.
    fn requirements(&self) -> impl Iterator<Item = &'static Requirement> {
        let edition = self.edition.id();
        (self.protocol.requirements)().iter().filter(move |requirement| requirement.edition() == edition)
    }
}

/// A name without the `.request` behind it.
fn call(message: &str) -> &str {
    message.strip_suffix(".request").unwrap_or(message)
}

/// The names in a path: `/a/{b}` has `b`.
fn names_in(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::protocol::protocols;

    use super::*;

    fn described(protocol: &str, edition: &str) -> Described {
        let protocol = protocols().iter().find(|p| p.name == protocol).unwrap();
        Described::new(protocol, protocol.edition(edition).unwrap())
    }

    fn all() -> impl Iterator<Item = Described> {
        protocols().iter().flat_map(|p| p.editions.iter().map(|edition| Described::new(p, *edition)))
    }

    /// Every reference in a document.
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        for described in all() {
            let mut documents = vec![json_schema(&described)];
            documents.extend(described.has_requests().then(|| openapi(&described)));
            documents.extend(described.has_channels().then(|| asyncapi(&described)));
            assert!(documents.len() > 1, "{}: some document fits", described.title());
            for document in documents {
                let mut found = vec![];
                references(&document, &mut found);
                for reference in found {
                    let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} is not inside"));
                    let there = document.pointer(&pointer.replace("%7B", "{").replace("%7D", "}"));
                    assert!(there.is_some(), "{}: {reference}", described.title());
                }
            }
        }
    }

    #[test]
    fn every_request_is_an_operation_and_every_message_of_a_channel_is_in_it() {
        let document = openapi(&described("amplifier", "2025-12-09"));
        let list = &document["paths"]["/sessions"]["get"];
        assert_eq!(list["operationId"], "listSessions");
        assert_eq!(list["parameters"][1]["schema"], json!({"type": "integer"}));
        let create = &document["paths"]["/sessions"]["post"];
        let body = json!({"$ref": "#/components/schemas/CreateSessionRequest"});
        assert_eq!(create["requestBody"]["content"]["application/json"]["schema"], body);
        let statuses: Vec<&String> = create["responses"].as_object().unwrap().keys().collect();
        assert_eq!(statuses, ["201", "4XX", "5XX"]);
        let stream = &document["paths"]["/sessions/{session_id}/events"]["get"];
        assert!(stream["responses"]["200"]["content"]["text/event-stream"].is_object(), "{stream:#}");

        let document = openapi(&described("openctx", "0.1"));
        assert_eq!(
            document["paths"]["/"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]["oneOf"]
                .as_array()
                .unwrap()
                .len(),
            5
        );

        let document = asyncapi(&described("amp", "cli"));
        let channel = &document["channels"]["main"];
        assert!(
            channel["messages"]["readFile.request"].is_object()
                && channel["messages"]["selectionDidChange.notification"].is_object()
        );
        let reply = &document["operations"]["readFile"]["reply"]["messages"];
        assert_eq!(reply[0]["$ref"], "#/channels/main/messages/readFile.response");
        assert_eq!(document["operations"]["readFile"]["action"], "receive", "it is seen from the server");
        assert_eq!(channel["bindings"]["ws"]["query"]["required"], json!(["auth"]));
    }

    #[test]
    fn the_reference_has_every_requirement_and_message() {
        for described in all() {
            let text = markdown(&described);
            for requirement in described.requirements() {
                assert!(text.contains(&format!("`{}`", requirement.id)), "{}", requirement.id);
            }
            for message in &described.messages {
                assert!(text.contains(&format!("### `{}`", message.name)), "{}", message.name);
            }
        }
    }

    #[test]
    fn what_a_bundle_defines_allows_what_the_schemas_of_the_edition_do() {
        for described in all() {
            let bundle = json_schema(&described);
            for name in described.edition.names() {
                let mut whole = bundle.clone();
                whole["$ref"] = format!("#/definitions/{name}").into();
                let made = jsonschema::draft7::new(
                    &json!({"definitions": bundle["definitions"], "allOf": [{"$ref": whole["$ref"]}]}),
                )
                .unwrap();
                let own = jsonschema::draft7::new(described.edition.schema(&name).unwrap()).unwrap();
                for value in
                    [json!({}), json!([]), json!(null), json!([{}]), json!({"result": {}}), json!([{"title": "t"}])]
                {
                    assert_eq!(made.is_valid(&value), own.is_valid(&value), "{}: {name}: {value}", described.title());
                }
            }
        }
    }
}
