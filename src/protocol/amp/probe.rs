//! The requests that wirecert itself makes beside those of a scenario, and how to tell them.

use serde_json::Value;

/// What their ids begin with. Ids of scenarios never do.
pub const PROBE: &str = "wirecert-";

/// Whether a message is a request of this kind, or the answer to one. It is ordinary traffic for rules;
/// expectations must not see it, since no step of their scenario asked for it.
pub fn is_probe(message: &Value) -> bool {
    ["clientRequest", "serverResponse"]
        .iter()
        .filter_map(|envelope| message.get(envelope)?.get("id")?.as_str())
        .any(|id| id.starts_with(PROBE))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_probe_is_told_by_its_id_in_either_direction() {
        assert!(is_probe(&json!({"clientRequest": {"id": "wirecert-barrier-1", "ping": {}}})));
        assert!(is_probe(&json!({"serverResponse": {"id": "wirecert-barrier-1", "error": {}}})));
        assert!(!is_probe(&json!({"serverResponse": {"id": "1", "ping": {"message": "wirecert-"}}})));
        assert!(!is_probe(&json!(["wirecert-"])));
    }
}
