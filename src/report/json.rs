//! The JSON report, version 1: a contract for other tools.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::judge::Report;

/// The report as JSON, indented, with a final newline.
pub fn json(report: &Report) -> String {
    // Nothing in a report can fail to be JSON: its keys are strings and its numbers finite.
    let text = serde_json::to_string_pretty(report).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}"));
    text + "\n"
}

/// The JSON Schema (draft-07) of the report.
pub fn schema() -> Value {
    let mut schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<Report>();
    schema.insert("title".into(), "wirecert report, version 1".into());
    schema.to_value()
}
