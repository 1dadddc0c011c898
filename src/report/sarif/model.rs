//! The objects of SARIF 2.1.0 that are written, by their names in the standard.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::judge::{Counts, Status, Verdict};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Log {
    #[serde(rename = "$schema")]
    pub schema: &'static str,
    pub version: &'static str,
    pub runs: Vec<Run>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    pub tool: Tool,
    pub automation_details: AutomationDetails,
    pub invocations: [Invocation; 1],
    pub results: Vec<Finding>,
    pub properties: RunProperties,
}

#[derive(Serialize)]
pub struct Tool {
    pub driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Driver {
    pub name: String,
    pub semantic_version: String,
    pub rules: Vec<Rule>,
}

#[derive(Serialize)]
pub struct AutomationDetails {
    pub id: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunProperties {
    pub verdict: Verdict,
    pub subject: Subject,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    pub suite: String,
}

#[derive(Serialize)]
pub struct Subject {
    pub name: String,
    pub role: String,
    pub edition: String,
}

/// A `reportingDescriptor`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_description: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_description: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<Text>,
    pub default_configuration: Configuration,
    pub properties: RuleProperties,
}

#[derive(Serialize)]
pub struct Configuration {
    pub level: Level,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleProperties {
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirement_level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A `message`, and a `multiformatMessageString`: plain text, in which braces stand for themselves.
#[derive(Serialize)]
pub struct Text {
    text: String,
}

impl Text {
    /// Placeholders are written in braces, so others are doubled (section 3.11.5).
    pub fn new(text: &str) -> Self {
        Self { text: text.replace('{', "{{").replace('}', "}}") }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Error,
    Warning,
    Note,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Invocation {
    pub execution_successful: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notification {
    pub level: Level,
    pub message: Text,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub associated_rule: Option<RuleReference>,
}

#[derive(Serialize)]
pub struct RuleReference {
    pub id: String,
    pub index: usize,
}

/// A `result`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub rule_id: String,
    pub rule_index: usize,
    pub level: Level,
    pub message: Text,
    pub locations: Vec<Location>,
    pub occurrence_count: u64,
    pub partial_fingerprints: BTreeMap<&'static str, String>,
    pub suppressions: Vec<Suppression>,
    pub properties: Evidence,
}

#[derive(Serialize)]
pub struct Suppression {
    pub kind: &'static str,
    pub status: &'static str,
    pub justification: String,
}

/// What the finding rests on, in the words of the JSON report.
#[derive(Serialize)]
pub struct Evidence {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    pub repro: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends: Option<crate::judge::Depends>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_location: Option<PhysicalLocation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logical_locations: Vec<LogicalLocation>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhysicalLocation {
    pub artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,
}

#[derive(Serialize)]
pub struct ArtifactLocation {
    pub uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Region {
    pub start_line: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogicalLocation {
    pub fully_qualified_name: String,
    pub kind: &'static str,
}
