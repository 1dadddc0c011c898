//! The objects of SARIF 2.1.0 that are written, by their names in the standard; and the rules of a run.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::judge::{Counts, RequirementResult, Status, SubjectReport, Verdict};
use crate::protocol::{self, Requirement};

use super::level;

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

/// What an expectation breaks that proves no requirement.
const EXPECTATION: &str = "wirecert/expectation";

/// The rules, in their order in the run.
pub struct Rules {
    pub list: Vec<Rule>,
}

impl Rules {
    /// The rules of a subject, with the result of each.
    pub fn of(subject: &SubjectReport, catalogue: &[&Requirement]) -> Self {
        let rule = |result: &RequirementResult| rule(result, catalogue.iter().find(|r| r.id == result.id).copied());
        Self { list: subject.requirements.iter().map(rule).collect() }
    }

    /// The id and the index of a requirement's rule, which is added where it is not there.
    pub fn find(&mut self, requirement: &str, binding: protocol::Level) -> (String, usize) {
        let id = if requirement.is_empty() { EXPECTATION } else { requirement };
        let index = self.index(id).unwrap_or_else(|| {
            self.list.push(uncatalogued_rule(id, binding));
            self.list.len() - 1
        });
        (id.to_owned(), index)
    }

    /// The index of a rule, where it is there.
    pub fn index(&self, id: &str) -> Option<usize> {
        self.list.iter().position(|rule| rule.id == id)
    }
}

fn rule(result: &RequirementResult, known: Option<&Requirement>) -> Rule {
    Rule {
        id: result.id.clone(),
        short_description: known.map(|r| Text::new(r.statement)),
        full_description: known.map(|r| match r.why {
            "" => Text::new(r.statement),
            why => Text::new(&format!("{} Why: {why}.", r.statement)),
        }),
        help: known.map(|r| Text::new(&help(r))),
        default_configuration: Configuration { level: level(result.level) },
        properties: RuleProperties {
            tags: known.map_or(vec![], |r| [r.protocol(), r.edition(), r.area()].map(str::to_owned).to_vec()),
            requirement_level: Some(result.level.as_str()),
            status: Some(result.status),
            reason: result.reason.clone(),
        },
    }
}

fn help(requirement: &Requirement) -> String {
    let Requirement { id, level, source, since, .. } = requirement;
    let (level, document, section) = (level.as_str(), source.document, source.section);
    let capability = match requirement.capability {
        Some(name) => format!(" It belongs to the capability `{name}`, and is excused where that is declared missing."),
        None => String::new(),
    };
    format!(
        "A `{level}`, from {document}, {section}; checked since wirecert {since}.{capability} \
         `wirecert requirements {id}` tells which scenarios prove it."
    )
}

/// A rule that is in no catalogue.
fn uncatalogued_rule(id: &str, binding: protocol::Level) -> Rule {
    let about =
        (id == EXPECTATION).then_some("What a scenario expects came true, though no requirement stands behind it.");
    Rule {
        id: id.to_owned(),
        short_description: about.map(Text::new),
        full_description: about.map(Text::new),
        help: None,
        default_configuration: Configuration { level: level(binding) },
        properties: RuleProperties { tags: vec![], requirement_level: None, status: None, reason: None },
    }
}
