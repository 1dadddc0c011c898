//! What a run certified, as a document of its own: [`Certificate`], which names the JSON report that it rests on by its
//! digest; and whether the two belong together.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::judge::{
    BaselineLine, Counts, Report, RequirementResult, Scope, Shard, Status, SubjectReport, Suite, Unjudged, Verdict,
    digest,
};
use crate::protocol::{Level, role};

use super::write::{json, value};

/// What a certificate does not prove, in sentences for whoever reads one.
pub const NOT_PROVEN: [&str; 4] = [
    "who ran wirecert, or when: a certificate is not signed and has no date",
    "that the report tells what happened: whoever can write both files can write what fits together",
    "that a program of the name of the subject is the one that was judged",
    "what no requirement of the suite asks, or what was excused, known or filtered out",
];

/// What a run certified: the contract, version 1. Two runs with the same outcome have certificates that differ in the digest of
/// the report alone, since a report has times.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Always 1.
    pub version: u32,
    /// The verdict of the run.
    pub verdict: Verdict,
    /// The suite that judged, with the version of wirecert and a digest of the scenarios and the catalogue.
    pub suite: Suite,
    /// The JSON report of the same run.
    pub report: ReportReference,
    /// The levels that bound the subjects: `must`, with `--strict` also `should`.
    pub levels: Vec<Level>,
    /// What of the suite was left out on demand.
    pub selection: Selected,
    /// What was certified of each subject.
    pub subjects: Vec<CertifiedSubject>,
    /// The subjects of which nothing can be said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<Unjudged>,
}

/// The JSON report that a certificate rests on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportReference {
    /// The version of its format.
    pub version: u32,
    /// The digest of the file: `sha256:` and the digits that `sha256sum` prints.
    pub digest: String,
}

/// What of the suite was left out on demand.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Selected {
    /// The filter, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// The shard, where the suite was parted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// What was certified of one subject.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CertifiedSubject {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// The protocol of the role.
    pub protocol: String,
    /// The edition that it was judged by.
    pub edition: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether the whole suite of the role and edition was played.
    pub scope: Scope,
    /// How many scenarios went how.
    pub scenarios: Counts,
    /// How many requirements of each level have which status.
    pub requirements: RequirementCounts,
    /// The capabilities that it declares missing.
    pub missing: Vec<String>,
    /// The requirements that it need not meet.
    pub excused: Vec<ExcusedRequirement>,
    /// The known violations, where a baseline was given or covered something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<CertifiedBaseline>,
}

/// How many requirements have which status, by level.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequirementCounts {
    /// What the documents demand.
    pub must: StatusCounts,
    /// What is expected of a good implementation.
    pub should: StatusCounts,
    /// What is optional.
    pub may: StatusCounts,
}

/// How many requirements have which status.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusCounts {
    /// Assessed and never broken.
    pub met: u64,
    /// Broken.
    pub violated: u64,
    /// Not owed.
    pub excused: u64,
    /// Nothing was learnt.
    pub not_assessed: u64,
}

/// A requirement that the subject need not meet.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExcusedRequirement {
    /// Its id.
    pub requirement: String,
    /// Its level.
    pub level: Level,
    /// Why it is not owed.
    pub reason: String,
}

/// The baseline of a subject.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CertifiedBaseline {
    /// The digest of the file: `sha256:` and the digits that `sha256sum` prints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The lines that speak of what is asked of the subject; those that are `used` covered a violation.
    pub lines: Vec<BaselineLine>,
}

impl Certificate {
    /// The certificate of a run. `report_digest`: that of the file of its JSON report.
    pub fn of(report: &Report, report_digest: String) -> Self {
        let options = report.run.clone().unwrap_or_default();
        let mut levels = vec![Level::Must];
        levels.extend(options.strict.then_some(Level::Should));
        Self {
            version: 1,
            verdict: report.verdict,
            suite: report.suite.clone(),
            report: ReportReference { version: report.version, digest: report_digest },
            levels,
            selection: Selected { filter: options.filter, shard: options.shard },
            subjects: report.subjects.iter().map(CertifiedSubject::of).collect(),
            unjudged: report.unjudged.clone(),
        }
    }

    /// Where this certificate says something else than one that is made of the same report: each difference in a sentence
    /// that begins with the place as a JSON pointer.
    pub fn differences(&self, made: &Self) -> Vec<String> {
        let value = |certificate| serde_json::to_value(certificate).unwrap_or_default();
        let mut found = vec![];
        add_differences("", &value(self), &value(made), &mut found);
        found
    }
}

impl CertifiedSubject {
    fn of(subject: &SubjectReport) -> Self {
        let counts = |level| {
            let mut counts = StatusCounts::default();
            for requirement in subject.requirements.iter().filter(|r| r.level == level) {
                *match requirement.status {
                    Status::Met => &mut counts.met,
                    Status::Violated => &mut counts.violated,
                    Status::Excused => &mut counts.excused,
                    Status::NotAssessed => &mut counts.not_assessed,
                } += 1;
            }
            counts
        };
        let excused = |requirement: &RequirementResult| ExcusedRequirement {
            requirement: requirement.id.clone(),
            level: requirement.level,
            reason: requirement.reason.clone().unwrap_or_default(),
        };
        let basis = subject.basis.clone();
        Self {
            name: subject.name.clone(),
            role: subject.role.clone(),
            protocol: role(&subject.role).map(|(protocol, _)| protocol.name.to_owned()).unwrap_or_default(),
            edition: subject.edition.clone(),
            verdict: subject.verdict,
            scope: basis.as_ref().map_or(Scope::Partial, |basis| basis.scope),
            scenarios: subject.counts,
            requirements: RequirementCounts {
                must: counts(Level::Must),
                should: counts(Level::Should),
                may: counts(Level::May),
            },
            missing: basis.as_ref().map(|basis| basis.missing.clone()).unwrap_or_default(),
            excused: subject.requirements.iter().filter(|r| r.status == Status::Excused).map(excused).collect(),
            baseline: basis.and_then(|basis| {
                let known = basis.baseline_digest.is_some() || !basis.baseline.is_empty();
                known.then_some(CertifiedBaseline { digest: basis.baseline_digest, lines: basis.baseline })
            }),
        }
    }
}

/// The certificate of a run whose report is written as [`json`] gives it: indented JSON with a final newline.
pub fn certificate(report: &Report) -> String {
    let certificate = Certificate::of(report, digest(json(report).as_bytes()));
    serde_json::to_string_pretty(&certificate).unwrap_or_default() + "\n"
}

/// The JSON Schema (draft-07) of a certificate.
pub fn certificate_schema() -> Value {
    let mut schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<Certificate>();
    schema.insert("title".into(), "wirecert certificate, version 1".into());
    schema.to_value()
}

fn add_differences(at: &str, given: &Value, made: &Value, found: &mut Vec<String>) {
    match (given, made) {
        (Value::Object(given), Value::Object(made)) => {
            for (key, value) in given {
                add_differences(&format!("{at}/{key}"), value, made.get(key).unwrap_or(&Value::Null), found);
            }
            for (key, value) in made.iter().filter(|(key, _)| !given.contains_key(*key)) {
                add_differences(&format!("{at}/{key}"), &Value::Null, value, found);
            }
        }
        (Value::Array(given), Value::Array(made)) if given.len() == made.len() => {
            for (n, (given, made)) in given.iter().zip(made).enumerate() {
                add_differences(&format!("{at}/{n}"), given, made, found);
            }
        }
        _ if given == made => {}
        _ => found.push(format!("{at} is {}, and the report gives {}", value(given), value(made))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::terminal::tests::example;
    use super::*;

    #[test]
    fn a_certificate_says_what_was_certified_and_is_as_its_schema_says() {
        let text = certificate(&example());
        let value: Value = serde_json::from_str(&text).unwrap();
        let faults: Vec<String> = jsonschema::draft7::new(&certificate_schema())
            .unwrap()
            .iter_errors(&value)
            .map(|e| e.to_string())
            .collect();
        assert!(faults.is_empty(), "{faults:?}");
        let read: Certificate = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), value);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn every_difference_is_told_with_its_place() {
        let made = Certificate::of(&example(), "sha256:0".to_owned());
        assert_eq!(made.differences(&made), [""; 0]);
        let mut given = made.clone();
        given.verdict = Verdict::Conforms;
        given.levels.push(Level::Should);
        given.subjects[0].missing.clear();
        given.subjects[0].requirements.must.violated = 0;
        given.subjects[0].baseline = None;
        let found = given.differences(&made);
        let begins = |n: usize, with: &str| assert!(found[n].starts_with(with), "{found:#?}");
        begins(0, "/verdict is \"conforms\", and the report gives \"nonconforming\"");
        begins(1, "/levels is [\"must\",\"should\"], and the report gives [\"must\"]");
        begins(2, "/subjects/0/requirements/must/violated is 0, and the report gives 1");
        begins(3, "/subjects/0/missing is [], and the report gives [\"diagnostics\"]");
        begins(4, "/subjects/0/baseline is null, and the report gives {");
        assert_eq!(found.len(), 5);
    }
}
