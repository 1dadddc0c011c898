//! [`SchemaFolder`]: the JSON Schemas (draft-07) of a folder that is built in, and others made from tables.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use include_dir::Dir;
use serde_json::Value;

/// The schemas of a folder, by the names of the files without `.json`.
pub struct SchemaFolder {
    files: Dir<'static>,
    made: fn() -> Vec<(String, Value)>,
    all: OnceLock<BTreeMap<String, Value>>,
}

impl SchemaFolder {
    /// The schemas in these files. A file that is no JSON is null, which a test forbids.
    pub const fn new(files: Dir<'static>) -> Self {
        Self::with(files, Vec::new)
    }

    /// The schemas in these files, and those that are made.
    pub const fn with(files: Dir<'static>, made: fn() -> Vec<(String, Value)>) -> Self {
        Self { files, made, all: OnceLock::new() }
    }

    /// The schema of this name.
    pub fn get(&'static self, name: &str) -> Option<&'static Value> {
        self.all().get(name)
    }

    /// The names, in alphabetical order.
    pub fn names(&'static self) -> impl Iterator<Item = &'static str> {
        self.all().keys().map(String::as_str)
    }

    fn all(&'static self) -> &'static BTreeMap<String, Value> {
        let named = |file: &include_dir::File<'_>| {
            let name = file.path().to_str()?.strip_suffix(".json")?;
            Some((name.to_owned(), serde_json::from_slice(file.contents()).unwrap_or_default()))
        };
        self.all.get_or_init(|| self.files.files().filter_map(named).chain((self.made)()).collect())
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
