//! OpenCtx: a provider of context answers a client's HTTP requests.
//!
//! One edition, [`V0_1`]. [`PROTOCOL`] is the descriptor.

mod attribution;
mod model;
mod observer;
mod provider_model;
mod requirements;
pub mod roles;
mod rules;
mod samples;
#[cfg(test)]
mod testing;
mod to_scenario;
pub mod verbs;

use include_dir::include_dir;

use crate::trace::End;

use super::Protocol;
use super::edition::{HttpEdition, SchemaFolder};

/// OpenCtx 0.1.
pub static PROTOCOL: Protocol = Protocol {
    name: "openctx",
    editions: &[&V0_1],
    roles: &[roles::OPENCTX_PROVIDER, roles::OPENCTX_CLIENT],
    secret_keys: SECRET_KEYS,
    requirements: requirements::all,
};

/// OpenCtx protocol specification, version 0.1.
static V0_1: HttpEdition = HttpEdition {
    id: "0.1",
    about: "the published protocol, with what its reference client relies on",
    schemas: &SCHEMAS,
    rules: rules::of,
    observer: |subject| Box::new(observer::OpenCtxObserver::new(subject)),
    to_scenario: |subject| match subject {
        End::Server => Box::new(to_scenario::ServerToScenario::new()),
        End::Client => Box::new(to_scenario::ClientToScenario::default()),
    },
    summarize: observer::summarize,
    message_types: samples::types,
    conversation: samples::around,
    flows: samples::flows,
    channels: &[],
    query: |_| &[],
};

/// The JSON Schemas (draft-07) of the edition. They are strict where the document is, and allow both readings where it
/// contradicts itself or the published schemas.
static SCHEMAS: SchemaFolder = SchemaFolder::new(include_dir!("$CARGO_MANIFEST_DIR/src/protocol/openctx/schemas/0.1"));

/// Settings in which providers commonly keep their credentials.
const SECRET_KEYS: &[&str] = &[
    "accessToken",
    "access_token",
    "apiKey",
    "apiToken",
    "api_key",
    "api_token",
    "authToken",
    "clientSecret",
    "client_secret",
    "password",
    "refreshToken",
    "refresh_token",
    "secret",
    "token",
];

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use crate::matcher::Pattern;
    use crate::protocol::openctx::V0_1;

    fn allows(name: &str, value: Value) -> bool {
        let pattern = Pattern::compile(&json!({ "$schema": name }), &V0_1).unwrap();
        pattern.check(Some(&value), &mut Map::new()).is_ok()
    }

    #[test]
    fn every_method_has_parameters_and_a_result() {
        for method in ["meta", "mentions", "items", "annotations"] {
            assert!(allows(&format!("{method}.params"), json!({"uri": "a:b", "content": ""})), "{method}");
            assert!(!allows(&format!("{method}.params"), json!([])), "{method}");
            assert!(allows(
                &format!("{method}.result"),
                if method == "meta" { json!({"name": ""}) } else { json!([]) }
            ));
            assert!(!allows(&format!("{method}.result"), json!(null)), "{method}");
        }
        assert!(!allows("mentions.params", json!({"query": 5})));
        assert!(!allows("annotations.params", json!({"uri": "file:///a"})));
        assert!(!allows("items.params", json!({"mention": {"title": ""}})));
    }

    #[test]
    fn a_response_has_a_result_or_an_error() {
        assert!(allows("response", json!({"result": [], "more": 1})));
        assert!(allows("response", json!({"error": {"code": 1, "message": ""}})));
        for wrong in [json!({}), json!({"result": null}), json!({"result": {}, "error": {"code": 1}}), json!([])] {
            assert!(!allows("response", wrong.clone()), "{wrong}");
        }
    }

    #[test]
    fn both_readings_of_an_error_are_allowed() {
        assert!(allows("error", json!({"code": 1, "message": "no", "data": "any"})));
        assert!(allows("error", json!({"code": -32601})));
        assert!(allows("error", json!({"code": "E_NO", "integer": 5})));
        for wrong in [json!({"message": "no"}), json!({"code": "1"}), json!({"code": 1, "message": 5}), json!("no")] {
            assert!(!allows("error", wrong.clone()), "{wrong}");
        }
    }

    #[test]
    fn metadata_needs_a_name_only_and_both_readings_of_auto_include_are_allowed() {
        let meta = |mentions: Value| json!({"name": "n", "mentions": mentions});
        assert!(allows("meta.result", meta(json!({"autoInclude": true}))));
        assert!(allows("meta.result", meta(json!({"autoInclude": "yes"}))));
        assert!(!allows("meta.result", meta(json!({"autoInclude": 1}))));
        assert!(!allows("meta.result", meta(json!(true))));
        assert!(!allows("meta.result", json!({"items": {}})));
        assert!(!allows("meta.result", json!({"name": "n", "items": {"messageSelectors": ["a"]}})));
        assert!(!allows("meta.result", json!({"name": "n", "annotations": {"selectors": {"path": "a"}}})));
    }

    #[test]
    fn results_consist_of_what_the_document_describes() {
        assert!(allows("mentions.result", json!([{"title": "t", "uri": "a:b", "data": {"x": 1}, "more": 1}])));
        assert!(!allows("mentions.result", json!([{"title": "t", "uri": "no scheme"}])));
        assert!(!allows("mentions.result", json!([{"title": "t", "uri": "a:b", "data": []}])));
        assert!(allows("items.result", json!([{"title": "t", "ui": {"hover": {"text": ""}}, "ai": {}}])));
        assert!(!allows("items.result", json!([{"title": "t", "ai": {"content": 5}}])));
        let annotation = |range: Value| json!([{"uri": "file:///a", "range": range, "item": {"title": "t"}}]);
        let at = |line: f64| json!({"start": {"line": line, "character": 0}, "end": {"line": 1, "character": 0}});
        assert!(allows("annotations.result", annotation(at(0.0))));
        assert!(!allows("annotations.result", annotation(at(-1.0))));
        assert!(!allows("annotations.result", annotation(at(0.5))));
        assert!(!allows("annotations.result", annotation(json!({"start": {"line": 0, "character": 0}}))));
        assert!(allows("annotations.result", json!([{"uri": "a:b", "item": {"title": ""}, "presentationHints": []}])));
    }
}
