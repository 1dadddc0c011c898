//! The JSON Schemas (draft-07) of both editions: `schemas/<edition>/<name>.json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use serde_json::Value;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/src/protocol/amp/schemas");

/// By edition and name. A file that is no JSON is left out, which a test forbids.
static ALL: LazyLock<BTreeMap<(&'static str, &'static str), Value>> = LazyLock::new(|| {
    let files = FILES.dirs().flat_map(|dir| dir.files());
    files.filter_map(|file| Some((place(file.path())?, serde_json::from_slice(file.contents()).ok()?))).collect()
});

/// Edition and name of the schema in this file.
fn place(path: &'static std::path::Path) -> Option<(&'static str, &'static str)> {
    let (edition, file) = path.to_str()?.split_once('/')?;
    Some((edition, file.strip_suffix(".json")?))
}

/// The schema of this name in an edition.
pub fn schema(edition: &str, name: &str) -> Option<&'static Value> {
    ALL.iter().find(|((e, n), _)| *e == edition && *n == name).map(|(_, schema)| schema)
}

/// The names of an edition's schemas, in alphabetical order.
pub fn names(edition: &str) -> Vec<&'static str> {
    ALL.keys().filter(|(e, _)| *e == edition).map(|(_, name)| *name).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::matcher::Pattern;
    use crate::protocol::amp::PROTOCOL;

    fn allows(edition: &'static str, name: &str, value: Value) -> bool {
        let pattern = Pattern::compile(&json!({ "$schema": name }), &PROTOCOL.schemas(edition)).unwrap();
        pattern.check(Some(&value), &mut Map::new()).is_ok()
    }

    #[test]
    fn every_file_is_a_draft_07_schema_with_a_title() {
        let files = FILES.dirs().flat_map(|dir| dir.files()).count();
        assert_eq!(ALL.len(), files, "a file is no JSON");
        for (place, schema) in ALL.iter() {
            assert!(jsonschema::draft7::meta::validate(schema).is_ok(), "{place:?}");
            assert!(schema["title"].is_string(), "{place:?}");
        }
    }

    #[test]
    fn a_file_that_was_read_has_its_content() {
        assert!(allows("cli", "readFile.result", json!({"success": true, "content": "", "more": 1})));
        assert!(allows("cli", "readFile.result", json!({"success": false, "message": "no such file"})));
        assert!(!allows("cli", "readFile.result", json!({"success": true})));
        assert!(!allows("cli", "readFile.result", json!({"success": true, "content": null})));
        assert!(!allows("cli", "readFile.result", json!({"content": "a"})));
        assert!(allows("guide", "readFile.result", json!({"content": "a"})));
        assert!(!allows("guide", "readFile.result", json!({"content": 1})));
    }

    #[test]
    fn a_diagnostic_has_every_member() {
        let range = json!({"startLine": 0, "startCharacter": 0, "endLine": 0, "endCharacter": 1});
        let complete = json!({"range": range, "severity": "error", "description": "d", "lineContent": "l",
            "startOffset": 0, "endOffset": 1});
        let entries = |d: &Value| json!({"entries": [{"uri": "file:///a%20b", "diagnostics": [d]}]});
        assert!(allows("cli", "getDiagnostics.result", entries(&complete)));
        for key in ["range", "severity", "description", "lineContent", "startOffset", "endOffset"] {
            let mut without = complete.clone();
            without.as_object_mut().unwrap().remove(key);
            assert!(!allows("cli", "getDiagnostics.result", entries(&without)), "{key}");
        }
    }

    #[test]
    fn a_uri_is_absolute_and_its_percent_signs_encode_something() {
        let files = |uri: &str| allows("cli", "visibleFilesDidChange.data", json!({ "uris": [uri] }));
        assert!(files("file:///a") && files("file:///%E2%82%AC") && files("untitled:1"));
        assert!(!files("/a") && !files("") && !files("file:///100%") && !files("file:///%zz"));
    }

    #[test]
    fn the_guide_leaves_failed_results_open() {
        assert!(allows("guide", "editFile.result", json!({"success": true})));
        assert!(allows("guide", "editFile.result", json!({"error": "no"})));
        assert!(!allows("guide", "editFile.result", json!({"success": "yes"})));
        assert!(!allows("guide", "editFile.result", json!({})));
        assert!(allows("guide", "getDiagnostics.result", json!([])));
        assert!(!allows("guide", "getDiagnostics.result", json!({"entries": []})));
    }
}
