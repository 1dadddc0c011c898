//! The editions of AMP: each is an [`AmpEdition`], and a folder with its JSON Schemas; [`ALL`] lists them.
//!
//! A schema of a method or notification is called by its area (`read-file.params.json`), whatever the edition calls it.

mod amp_edition;

use include_dir::include_dir;

use crate::protocol::edition::SchemaFolder;

use super::envelope::Envelope;
use super::lockfile::{LockfileFormat, SCANNED_PORTS};

pub use amp_edition::{
    AmpEdition, DiagnosticsForm, EditForm, Method, MethodNames, NotificationKind, NotificationNames, PlaceForm,
    ResultForm,
};

/// Every edition of AMP.
pub static ALL: [&AmpEdition; 2] = [&CLI, &GUIDE];

/// The edition `cli`: what Amp's own CLI and the editors' plugins exchange (docs/amp.md).
pub static CLI: AmpEdition = AmpEdition {
    id: "cli",
    about: "what Amp's own CLI and the editors' plugins exchange, as of January 2026",
    like: None,
    envelope: Envelope { wrapper: None, result_key: None },
    methods: MethodNames {
        ping: Some("ping"),
        authenticate: Some("authenticate"),
        read_file: Some("readFile"),
        edit_file: Some("editFile"),
        get_diagnostics: Some("getDiagnostics"),
        open_uri: Some("openURI"),
    },
    notifications: NotificationNames {
        selection: Some("selectionDidChange"),
        visible_files: Some("visibleFilesDidChange"),
        message: Some("userSentMessage"),
        prompt: Some("appendToPrompt"),
        metadata: Some("pluginMetadata"),
    },
    schemas: &[&CLI_SCHEMAS],
    lockfile: LockfileFormat {
        members: &["workspaceFolders", "port", "ideName", "authToken", "pid"],
        ports: None,
        may_know_home_only: false,
    },
    host: "localhost",
    open_token_encoding: false,
    numeric_ids: false,
    open_failures: false,
    absolute_paths: true,
    results: ResultForm::Flagged,
    edits: EditForm::WholeText,
    diagnostics: DiagnosticsForm::EntriesOfPath,
    places: PlaceForm::Ranges,
};

static CLI_SCHEMAS: SchemaFolder = SchemaFolder::new(include_dir!("$CARGO_MANIFEST_DIR/src/protocol/amp/editions/cli"));

/// The edition `guide`: the AMP Protocol Quick Reference of 2025-12-15.
pub static GUIDE: AmpEdition = AmpEdition {
    id: "guide",
    about: "the published guide for integrating editors",
    like: None,
    envelope: Envelope { wrapper: Some("method"), result_key: Some("result") },
    methods: MethodNames {
        ping: None,
        authenticate: None,
        read_file: Some("readFile"),
        edit_file: Some("editFile"),
        get_diagnostics: Some("getDiagnostics"),
        open_uri: Some("openURI"),
    },
    notifications: NotificationNames {
        selection: Some("selectionChanged"),
        visible_files: Some("visibleFilesChanged"),
        message: None,
        prompt: None,
        metadata: None,
    },
    schemas: &[&GUIDE_SCHEMAS],
    lockfile: LockfileFormat { members: &["port", "authToken"], ports: Some(SCANNED_PORTS), may_know_home_only: true },
    host: "127.0.0.1",
    open_token_encoding: true,
    numeric_ids: true,
    open_failures: true,
    absolute_paths: false,
    results: ResultForm::Bare,
    edits: EditForm::ByteRange,
    diagnostics: DiagnosticsForm::AllItems,
    places: PlaceForm::Positions,
};

static GUIDE_SCHEMAS: SchemaFolder =
    SchemaFolder::new(include_dir!("$CARGO_MANIFEST_DIR/src/protocol/amp/editions/guide"));

/// An edition for tests, which shows what one takes: it is like `cli`, but `readFile` is called `readDocument`. The only
/// schema that names methods is that of a whole response, so that is the only one in its folder.
#[cfg(test)]
pub static DOCUMENTS: AmpEdition = AmpEdition {
    id: "documents",
    about: "an edition for tests",
    like: Some("cli"),
    methods: MethodNames { read_file: Some("readDocument"), ..CLI.methods },
    schemas: &[&DOCUMENTS_SCHEMAS, CLI.schemas[0]],
    ..CLI
};

#[cfg(test)]
static DOCUMENTS_SCHEMAS: SchemaFolder =
    SchemaFolder::new(include_dir!("$CARGO_MANIFEST_DIR/src/protocol/amp/editions/documents"));

#[cfg(test)]
mod tests {
    use crate::matcher::{Pattern, Schemas as _};
    use crate::protocol::Edition as _;
    use crate::protocol::amp::PROTOCOL;
    use crate::protocol::amp::testing::{TraceBuilder, request, response};
    use crate::trace::End;
    use serde_json::{Map, Value, json};

    use super::*;

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
}
