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

#[cfg(test)]
mod tests {
    use super::super::terminal::tests::example;
    use super::*;

    #[test]
    fn a_report_is_as_its_schema_says_and_is_read_back_as_written() {
        let text = json(&example());
        let value: Value = serde_json::from_str(&text).unwrap();
        let faults: Vec<String> =
            jsonschema::draft7::new(&schema()).unwrap().iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(json(&serde_json::from_str(&text).unwrap()), text);
        insta::assert_snapshot!(text);
    }
}
