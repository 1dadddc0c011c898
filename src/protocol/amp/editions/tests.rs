//! The schemas of the editions, and an edition that is like another one but for a name.

use serde_json::{Map, Value, json};

use crate::matcher::{Pattern, Schemas as _};
use crate::protocol::Edition as _;
use crate::protocol::amp::PROTOCOL;
use crate::protocol::amp::testing::{TraceBuilder, request, response};
use crate::trace::End;

use super::{ALL, AmpEdition, CLI, DOCUMENTS, GUIDE};

fn allows(edition: &AmpEdition, name: &str, value: Value) -> bool {
    let pattern = Pattern::compile(&json!({ "$schema": name }), edition).unwrap();
    pattern.check(Some(&value), &mut Map::new()).is_ok()
}

#[test]
fn a_file_that_was_read_has_its_content() {
    assert!(allows(&CLI, "readFile.result", json!({"success": true, "content": "", "more": 1})));
    assert!(allows(&CLI, "readFile.result", json!({"success": false, "message": "no such file"})));
    assert!(!allows(&CLI, "readFile.result", json!({"success": true})));
    assert!(!allows(&CLI, "readFile.result", json!({"success": true, "content": null})));
    assert!(!allows(&CLI, "readFile.result", json!({"content": "a"})));
    assert!(allows(&GUIDE, "readFile.result", json!({"content": "a"})));
    assert!(!allows(&GUIDE, "readFile.result", json!({"content": 1})));
}

#[test]
fn a_diagnostic_has_every_member() {
    let range = json!({"startLine": 0, "startCharacter": 0, "endLine": 0, "endCharacter": 1});
    let complete = json!({"range": range, "severity": "error", "description": "d", "lineContent": "l",
        "startOffset": 0, "endOffset": 1});
    let entries = |d: &Value| json!({"entries": [{"uri": "file:///a%20b", "diagnostics": [d]}]});
    assert!(allows(&CLI, "getDiagnostics.result", entries(&complete)));
    for key in ["range", "severity", "description", "lineContent", "startOffset", "endOffset"] {
        let mut without = complete.clone();
        without.as_object_mut().unwrap().remove(key);
        assert!(!allows(&CLI, "getDiagnostics.result", entries(&without)), "{key}");
    }
}

#[test]
fn a_uri_is_absolute_and_its_percent_signs_encode_something() {
    let files = |uri: &str| allows(&CLI, "visibleFilesDidChange.data", json!({ "uris": [uri] }));
    assert!(files("file:///a") && files("file:///%E2%82%AC") && files("untitled:1"));
    assert!(!files("/a") && !files("") && !files("file:///100%") && !files("file:///%zz"));
}

#[test]
fn the_guide_leaves_failed_results_open() {
    assert!(allows(&GUIDE, "editFile.result", json!({"success": true})));
    assert!(allows(&GUIDE, "editFile.result", json!({"error": "no"})));
    assert!(!allows(&GUIDE, "editFile.result", json!({"success": "yes"})));
    assert!(!allows(&GUIDE, "editFile.result", json!({})));
    assert!(allows(&GUIDE, "getDiagnostics.result", json!([])));
    assert!(!allows(&GUIDE, "getDiagnostics.result", json!({"entries": []})));
}

#[test]
fn every_edition_is_one_of_the_protocol() {
    let of_protocol: Vec<&str> = PROTOCOL.edition_ids().collect();
    assert_eq!(ALL.map(|edition| edition.id).to_vec(), of_protocol);
}

#[test]
fn a_lockfile_needs_what_its_schema_requires() {
    for edition in ALL {
        let schema = edition.schema("lockfile").expect("every edition has one");
        assert_eq!(json!(edition.lockfile.members), schema["required"], "{edition:?}");
    }
}

#[test]
fn a_renamed_method_has_its_schemas_under_the_new_name_alone() {
    let renamed = |name: String| name.replace("readFile", "readDocument");
    let mut expected: Vec<String> = CLI.names().into_iter().map(renamed).collect();
    expected.sort_unstable();
    assert_eq!(DOCUMENTS.names(), expected);
    assert!(DOCUMENTS.schema("readFile.params").is_none());
    assert_eq!(DOCUMENTS.schema("readDocument.params"), CLI.schema("readFile.params"));
    assert!(allows(&DOCUMENTS, "response", json!({"serverResponse": {"id": "1", "readDocument": {}}})));
    assert!(!allows(&DOCUMENTS, "response", json!({"serverResponse": {"id": "1", "readFile": {}}})));
}

/// A trace of one request for a method, and its response.
fn asks(method: &str, params: Value, result: Value) -> TraceBuilder {
    TraceBuilder::open().client_sends(request("documents", "1", method, params)).server_sends(response(
        "documents",
        "1",
        method,
        result,
    ))
}

#[test]
fn a_renamed_method_is_observed_at_both_ends() {
    let trace = asks("readDocument", json!({"path": "/a"}), json!({"success": true, "content": "c"}));
    let last = |subject| {
        let mut observer = DOCUMENTS.observer(subject);
        trace.events.iter().flat_map(|event| observer.observe(event)).last().expect("an observation")
    };
    let (request, response) = (last(End::Client), last(End::Server));
    assert_eq!((request.kind, &request.selectors["method"]), ("request", &json!("readDocument")));
    assert_eq!(request.value["params"], json!({"path": "/a"}));
    assert_eq!((response.kind, &response.value["method"]), ("response", &json!("readDocument")));
    assert_eq!(response.value["result"], json!({"success": true, "content": "c"}));
}

#[test]
fn a_renamed_method_is_judged_by_the_requirements_of_its_edition() {
    let sound = asks("readDocument", json!({"path": "/a"}), json!({"success": true, "content": "c"}));
    assert_eq!(sound.broken("documents"), [""; 0]);
    for short in ["read-file/result", "read-file/client-params", "envelope/method-key", "envelope/timely"] {
        assert!(sound.assessed("documents", short), "{short}");
    }
    let wrong = asks("readDocument", json!({"path": "a"}), json!({"success": "yes"})).judge("documents");
    let broken: Vec<_> = wrong.violations.iter().map(|violation| violation.requirement).collect();
    assert_eq!(broken, ["amp/documents/read-file/client-absolute-path", "amp/documents/read-file/result"]);
    let old = asks("readFile", json!({"path": "/a"}), json!({"success": true, "content": "c"}));
    assert_eq!(old.broken("documents"), ["envelope/client-known-method", "envelope/unknown-method"]);
}

#[test]
fn a_renamed_method_has_its_sample_messages() {
    let names: Vec<String> = DOCUMENTS.message_types().into_iter().map(|message| message.name).collect();
    assert!(names.contains(&"readDocument.request".to_owned()) && !names.contains(&"readFile.request".to_owned()));
}
