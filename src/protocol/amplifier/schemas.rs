//! The JSON Schemas (draft-07) of the edition: `schemas/2025-12-09/<name>.json`, and those of events, which follow from
//! the table of events.
//!
//! `<endpoint>.request` and `<endpoint>.response` are bodies, `<event>.event` are messages (with `-` for the colon of the
//! event's name), `control` is a message of a client over a WebSocket, `error` the body of any error. They are strict
//! where the document is, and allow every accepted reading where it is not.

use include_dir::include_dir;
use serde_json::Value;

use crate::protocol::edition::SchemaFolder;

use super::events::{EVENTS, any_schema};

/// The schemas, by name.
pub static SCHEMAS: SchemaFolder =
    SchemaFolder::with(include_dir!("$CARGO_MANIFEST_DIR/src/protocol/amplifier/schemas/2025-12-09"), of_events);

fn of_events() -> Vec<(String, Value)> {
    let each = EVENTS.iter().map(|event| (event.schema_name(), event.schema()));
    each.chain([("event".to_owned(), any_schema())]).collect()
}

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
    fn every_endpoint_has_an_answer_and_every_event_a_message() {
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
