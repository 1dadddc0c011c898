//! All JSON Schemas of an edition in one document.

use serde_json::{Value, json};

use super::Described;
use super::bundle::Bundle;

/// A JSON Schema (draft-07) whose `definitions` are the schemas by which messages and parts of them are judged, under the names
/// that `$schema` matchers use. By itself it allows everything.
pub fn json_schema(described: &Described) -> Value {
    let mut bundle = Bundle::new("#/definitions/", str::to_owned);
    for name in described.edition.names() {
        if let Some(schema) = described.edition.schema(&name) {
            bundle.add(&name, schema.clone());
        }
    }
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": described.title(),
        "description": described.about(),
        "definitions": bundle.into_schemas(),
    })
}
