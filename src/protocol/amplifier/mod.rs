//! Amplifier: an extension works with an agent behind a server, by REST and a stream of events.
//!
//! One edition, [`V2025_12_09`]. [`PROTOCOL`] is the descriptor.

mod attribution;
mod bodies;
mod client_attribution;
mod client_model;
mod endpoints;
mod events;
mod members;
mod model;
mod objects;
mod observer;
mod requirements;
pub mod roles;
mod rules;
mod samples;
#[cfg(test)]
mod testing;
mod to_scenario;
pub mod verbs;

use include_dir::include_dir;
use serde_json::Value;

use crate::trace::End;

use super::Protocol;
use super::edition::{HttpEdition, SchemaFolder};

pub use endpoints::{CODES, ENDPOINTS, Endpoint, Route, STATUSES};
use objects::ObjectMember;

pub use events::{EVENTS, EventType, find as find_event};

/// Amplifier 2025-12-09.
pub static PROTOCOL: Protocol = Protocol {
    name: "amplifier",
    editions: &[&V2025_12_09],
    roles: &[roles::AMPLIFIER_SERVER, roles::AMPLIFIER_CLIENT],
    secret_keys: SECRET_KEYS,
    requirements: requirements::all,
};

/// Amplifier VS Code Server API Reference, 2025-12-09.
static V2025_12_09: HttpEdition = HttpEdition {
    id: "2025-12-09",
    about: "the published design document",
    schemas: &SCHEMAS,
    rules: rules::of,
    observer: |subject| Box::new(observer::AmplifierObserver::new(subject)),
    to_scenario: |subject| match subject {
        End::Server => Box::new(to_scenario::ServerToScenario::new()),
        End::Client => Box::new(to_scenario::ClientToScenario::new()),
    },
    summarize: endpoints::summarize,
    message_types: samples::types,
    conversation: samples::around,
    flows: samples::flows,
    channels: endpoints::CHANNELS,
    query: endpoints::query,
};

/// The JSON Schemas (draft-07) of the edition. `<endpoint>.request` and `<endpoint>.response` are bodies, `<event>.event` are
/// messages (with `-` for the colon of the event's name), `control` is a message of a client over a WebSocket, `error` the
/// body of any error. They are strict where the document is, and allow every accepted reading where it is not.
static SCHEMAS: SchemaFolder = SchemaFolder::with(
    include_dir!("$CARGO_MANIFEST_DIR/src/protocol/amplifier/schemas/2025-12-09"),
    schemas_of_tables,
);

/// The schemas that follow from the tables of bodies and events.
fn schemas_of_tables() -> Vec<(String, Value)> {
    let events = EVENTS.iter().map(|event| (event.schema_name(), event.schema()));
    bodies::schemas().chain(events).chain([("event".to_owned(), events::any_schema())]).collect()
}

/// The requirements that the rule on members judges by the tables of bodies and events, as areas and slugs.
pub fn requirements_on_members() -> impl Iterator<Item = &'static str> {
    let events = EVENTS.iter().flat_map(|event| event.members).chain(events::COMMON.members);
    bodies::kinds().flat_map(|kind| kind.members).chain(events).flat_map(ObjectMember::every_requirement)
}

/// Where API keys are: the one that the document has, and those that it announces.
const SECRET_KEYS: &[&str] = &["anthropic_api_key", "api_key", "azure_api_key", "openai_api_key"];

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use crate::matcher::Pattern;
    use crate::protocol::amplifier::{ENDPOINTS, EVENTS, V2025_12_09};

    fn allows(name: &str, value: &Value) -> bool {
        let pattern = Pattern::compile(&json!({ "$schema": name }), &V2025_12_09).unwrap();
        pattern.check(Some(value), &mut Map::new()).is_ok()
    }

    #[test]
    fn every_endpoint_has_a_response_and_every_event_a_message() {
        for endpoint in ENDPOINTS {
            assert!(!allows(&format!("{endpoint}.response"), &json!([])), "{endpoint}");
        }
        for event in EVENTS {
            let (event, name) = (event.name, event.schema_name());
            assert!(!allows(&name, &json!({"event": event, "data": []})), "{event}");
            assert!(!allows(&name, &json!({"event": event, "data": {}})), "{event}: no session");
        }
    }

    #[test]
    fn what_the_types_leave_open_is_allowed() {
        assert!(allows("createSession.request", &json!({"profile": "dev", "credentials": {}})));
        let update = json!({"prompt": "p", "context_update": {"open_files": []}});
        assert!(allows("submitPrompt.request", &update));
        let profile = json!({"name": "a", "collection": null, "description": "", "extends": null});
        assert!(allows("getProfile.response", &profile));
        let delta = json!({"event": "content_block:delta", "data": {"session_id": "s", "delta": "d"}});
        assert!(allows("content_block-delta.event", &delta), "as over a WebSocket");
        assert!(allows("error", &json!({"error": {"code": "SESSION_BUSY", "message": "m"}})));
    }

    #[test]
    fn what_the_document_says_is_held_to() {
        assert!(!allows("createSession.request", &json!({"profile": "dev"})));
        assert!(!allows("createSession.request", &json!({"profile": "dev", "credentials": {}, "context": {}})));
        assert!(!allows("error", &json!({"detail": "Not Found"})));
        assert!(!allows("error", &json!({"error": {"code": "NO_SUCH", "message": "m"}})));
        assert!(!allows("control", &json!({"action": "submit_prompt"})));
        assert!(allows("control", &json!({"action": "stop"})));
        let session = json!({"session_id": "s", "status": "created", "profile": "p",
            "created_at": "2025-12-09T10:30:00Z", "last_activity": "2025-12-09T10:30:00Z", "message_count": 0,
            "token_usage": {"input_tokens": 0, "output_tokens": 0}, "pending_approval": null});
        assert!(!allows("getSession.response", &session), "`created` is no status value");
        let naive =
            json!({"session_id": "s", "status": "created", "profile": "p", "created_at": "2025-12-09T10:30:00"});
        assert!(!allows("createSession.response", &naive));
    }
}
