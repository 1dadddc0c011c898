//! [`SchemaFolder`]: the JSON Schemas (draft-07) of a folder that is built in.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use include_dir::Dir;
use serde_json::Value;

/// The schemas of a folder, by the names of the files without `.json`.
pub struct SchemaFolder {
    files: Dir<'static>,
    parsed: OnceLock<BTreeMap<&'static str, Value>>,
}

impl SchemaFolder {
    /// The schemas in these files. A file that is no JSON is null, which a test forbids.
    pub const fn new(files: Dir<'static>) -> Self {
        Self { files, parsed: OnceLock::new() }
    }

    /// The schema of this name.
    pub fn get(&'static self, name: &str) -> Option<&'static Value> {
        self.parsed().get(name)
    }

    /// The names, in alphabetical order.
    pub fn names(&'static self) -> impl Iterator<Item = &'static str> {
        self.parsed().keys().copied()
    }

    fn parsed(&'static self) -> &'static BTreeMap<&'static str, Value> {
        let named = |file: &'static include_dir::File<'static>| {
            let name = file.path().to_str()?.strip_suffix(".json")?;
            Some((name, serde_json::from_slice(file.contents()).unwrap_or_default()))
        };
        self.parsed.get_or_init(|| self.files.files().filter_map(named).collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::protocol::protocols;

    #[test]
    fn every_file_is_a_draft_07_schema_with_a_title() {
        for edition in protocols().iter().flat_map(|protocol| protocol.editions) {
            for name in edition.names() {
                let schema = edition.schema(&name).unwrap_or_else(|| panic!("{edition}: {name} is listed"));
                assert!(jsonschema::draft7::meta::validate(schema).is_ok(), "{edition}: {name}");
                assert!(schema["title"].is_string(), "{edition}: {name}");
            }
        }
    }
}
