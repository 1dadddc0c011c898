//! The SARIF report, for code scanning and editors: [Static Analysis Results Interchange Format, version
//! 2.1.0](https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).

mod model;

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest as _, Sha256};

use crate::judge::{Blame, Finding, Note, Report, ScenarioStatus, Scope, Status, SubjectReport, Unjudged, Verdict};
use crate::protocol::{self, Requirement};
use crate::uri;

use super::write::counted;
use crate::diagnostic::clean;
use model::{
    ArtifactLocation, AutomationDetails, Driver, Evidence, Invocation, Level, Location, Log, LogicalLocation,
    Notification, PhysicalLocation, Region, RuleReference, Rules, Run, RunProperties, Subject, Suppression, Text, Tool,
};

/// Where the standard's own schema is.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The report as SARIF, with a final newline: a run for each subject, a rule for each requirement that is asked of it, a
/// result for each finding that is its fault. `catalogue` explains the requirements.
///
/// What the baseline puts up with is suppressed, with its reason. Whatever else keeps the run from being green is a
/// notification of the tool; a run that did not come to a verdict was not executed successfully.
pub fn sarif(report: &Report, catalogue: &[&Requirement]) -> String {
    let mut runs: Vec<Run> = report.subjects.iter().map(|subject| judged(report, subject, catalogue)).collect();
    runs.extend(report.unjudged.iter().map(|subject| unjudged(report, subject)));
    if runs.is_empty() {
        runs.push(nothing(report));
    }
    let log = Log { schema: SCHEMA, version: "2.1.0", runs };
    // Nothing in it can fail to be JSON: its keys are strings and its numbers finite.
    let text = serde_json::to_string_pretty(&log).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}"));
    text + "\n"
}

/// The run of a subject that was judged.
fn judged(report: &Report, subject: &SubjectReport, catalogue: &[&Requirement]) -> Run {
    let mut rules = Rules::of(subject, catalogue);
    let mut results = Results { subject, rules: &mut rules, seen: HashMap::new() };
    let mut list: Vec<model::Finding> =
        subject.findings.iter().filter(|f| f.blame == Blame::Subject).map(|f| results.finding(f)).collect();
    list.extend(results.unexplained());
    let cut = subject.basis.as_ref().is_some_and(|basis| basis.scope == Scope::CutShort);
    let successful = subject.verdict != Verdict::Incomplete && subject.counts.error == 0 && !cut;
    let mut notifications = subject_notifications(subject, &rules);
    notifications.extend(run_notifications(report));
    let about = Subject { name: subject.name.clone(), role: subject.role.clone(), edition: subject.edition.clone() };
    let mut run = sarif_run(report, about, subject.verdict, successful, notifications);
    run.properties.counts = Some(subject.counts);
    run.tool.driver.rules = rules.list;
    run.results = list;
    run
}

/// The run of a subject that was not judged.
fn unjudged(report: &Report, subject: &Unjudged) -> Run {
    let mut notifications = vec![notice(Level::Error, &format!("not judged: {}", subject.reason))];
    notifications.extend(run_notifications(report));
    let about = Subject { name: subject.name.clone(), role: subject.role.clone(), edition: subject.edition.clone() };
    sarif_run(report, about, Verdict::Incomplete, false, notifications)
}

/// A run in which there was no subject.
fn nothing(report: &Report) -> Run {
    let mut notifications = vec![notice(Level::Error, "nothing was judged")];
    notifications.extend(run_notifications(report));
    let none = || "none".to_owned();
    let about = Subject { name: none(), role: none(), edition: none() };
    sarif_run(report, about, report.verdict, false, notifications)
}

/// A run without rules and results.
fn sarif_run(
    report: &Report,
    subject: Subject,
    verdict: Verdict,
    execution_successful: bool,
    tool_execution_notifications: Vec<Notification>,
) -> Run {
    // What stands before the last slash tells one subject from another, over time.
    let name = subject.name.replace('/', "-");
    let id = format!("{}/{name}/{}/{}/", report.suite.name, subject.role, subject.edition);
    Run {
        tool: Tool {
            driver: Driver {
                name: report.suite.name.clone(),
                semantic_version: report.suite.version.clone(),
                rules: vec![],
            },
        },
        automation_details: AutomationDetails { id },
        invocations: [Invocation { execution_successful, tool_execution_notifications }],
        results: vec![],
        properties: RunProperties { verdict, subject, counts: None, suite: report.suite.digest.clone() },
    }
}

/// The results of one subject.
struct Results<'a> {
    subject: &'a SubjectReport,
    rules: &'a mut Rules,
    /// How often a fingerprint came up.
    seen: HashMap<String, u64>,
}

impl Results<'_> {
    fn finding(&mut self, finding: &Finding) -> model::Finding {
        let (rule_id, rule_index) = self.rules.find(&finding.requirement, finding.level);
        let suppression =
            |reason: &String| Suppression { kind: "external", status: "accepted", justification: clean(reason) };
        let place = [&finding.scenario, &finding.step, &finding.path].map(|part| part.as_deref().unwrap_or_default());
        model::Finding {
            partial_fingerprints: self.fingerprint(&rule_id, place),
            rule_id,
            rule_index,
            level: level(finding.level),
            message: Text::new(&clean(&finding.message)),
            locations: location(self.subject, finding).into_iter().collect(),
            occurrence_count: finding.occurrences,
            suppressions: finding.baseline.iter().map(suppression).collect(),
            properties: Evidence {
                step: finding.step.clone(),
                path: finding.path.clone(),
                expected: finding.expected.clone(),
                actual: finding.actual.clone(),
                trace: finding.trace.clone(),
                index: finding.index,
                repro: finding.repro.clone(),
                depends: finding.depends,
            },
        }
    }

    /// Failed scenarios that no finding explains.
    fn unexplained(&mut self) -> Vec<model::Finding> {
        let subject = self.subject;
        let explained = |id: &str| subject.findings.iter().any(|f| f.scenario.as_deref() == Some(id));
        let failed = subject.scenarios.iter().filter(|s| s.status == ScenarioStatus::Failed && !explained(&s.id));
        let failed: Vec<_> = failed.collect();
        let result = |scenario: &crate::judge::ScenarioResult| {
            let (rule_id, rule_index) = self.rules.find("", protocol::Level::Must);
            let reason = scenario.reason.as_deref().unwrap_or("failed for no reason given");
            model::Finding {
                partial_fingerprints: self.fingerprint(&rule_id, [&scenario.id, "", ""]),
                rule_id,
                rule_index,
                level: Level::Error,
                message: Text::new(&clean(reason)),
                locations: vec![place(Some((&scenario.file, None)), Some(&scenario.id))],
                occurrence_count: 1,
                suppressions: vec![],
                properties: Evidence {
                    step: None,
                    path: None,
                    expected: None,
                    actual: None,
                    trace: scenario.trace.clone(),
                    index: None,
                    repro: String::new(),
                    depends: None,
                },
            }
        };
        failed.into_iter().map(result).collect()
    }

    /// What tells a result from others, the same in every run: not its words, which may have ports and times in them.
    fn fingerprint(&mut self, rule: &str, place: [&str; 3]) -> BTreeMap<&'static str, String> {
        let words =
            [&[self.subject.role.as_str(), self.subject.edition.as_str(), rule], &place[..]].concat().join("\0");
        let hex: String = Sha256::digest(words).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let nth = self.seen.entry(hex.clone()).and_modify(|n| *n += 1).or_insert(1);
        BTreeMap::from([("wirecert/v1", format!("{hex}:{nth}"))])
    }
}

fn level(level: protocol::Level) -> Level {
    match level {
        protocol::Level::Must => Level::Error,
        protocol::Level::Should => Level::Warning,
        protocol::Level::May => Level::Note,
    }
}

fn notice(level: Level, text: &str) -> Notification {
    Notification { level, message: Text::new(&clean(text)), locations: vec![], associated_rule: None }
}

/// The line of the scenario that a finding points at, else the scenario's file (of a recorded trace, that).
fn location(subject: &SubjectReport, finding: &Finding) -> Option<Location> {
    let scenario = finding.scenario.as_deref();
    let file_of = |id: &str| subject.scenarios.iter().find(|s| s.id == id).map(|s| (s.file.as_str(), None));
    let file = match &finding.file {
        Some(file) => Some((file.as_str(), finding.line)),
        None => scenario.and_then(file_of),
    };
    (file.is_some() || scenario.is_some()).then(|| place(file, scenario))
}

fn place(file: Option<(&str, Option<u64>)>, scenario: Option<&str>) -> Location {
    let physical = |(file, line): (&str, Option<u64>)| PhysicalLocation {
        artifact_location: ArtifactLocation { uri: uri(file) },
        region: line.filter(|line| *line > 0).map(|start_line| Region { start_line }),
    };
    let logical = |id: &str| LogicalLocation { fully_qualified_name: id.to_owned(), kind: "scenario" };
    Location { physical_location: file.map(physical), logical_locations: scenario.map(logical).into_iter().collect() }
}

/// A path as a URI: a relative one stays relative (RFC 3986, section 4.2).
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    format!("{scheme}{}", uri::encode(path, uri::UNRESERVED_PATH))
}

/// What is to be known of the whole run.
fn run_notifications(report: &Report) -> Vec<Notification> {
    report.notes.iter().map(|note| notice(Level::Note, &note.text)).collect()
}

/// What is to be known of a subject: first what keeps it from being green.
pub fn subject_notifications(subject: &SubjectReport, rules: &Rules) -> Vec<Notification> {
    let mut list: Vec<Notification> = faults_of_others(subject).collect();
    list.extend(not_judged(subject));
    list.extend(stale(subject));
    list.extend(
        subject
            .snapshots
            .iter()
            .filter(|s| s.status != "same")
            .map(|snapshot| notice(Level::Error, &format!("the snapshot {} is {}", snapshot.file, snapshot.status))),
    );
    list.extend(not_assessed(subject, rules));
    list.extend(subject.notes.iter().map(|note| note_notification(note, rules)));
    list
}

/// What our own mock or the environment did wrong.
fn faults_of_others(subject: &SubjectReport) -> impl Iterator<Item = Notification> {
    let to_notification = |finding: &Finding| {
        let who = match finding.blame {
            Blame::Environment => "the environment is at fault",
            Blame::Peer | Blame::Subject => "wirecert's own mock is at fault",
        };
        let locations = location(subject, finding).into_iter().collect();
        Notification { locations, ..notice(Level::Error, &format!("{who}: {}", finding.message)) }
    };
    subject.findings.iter().filter(|f| f.blame != Blame::Subject).map(to_notification)
}

/// Scenarios that could not be judged, where no finding reports that.
fn not_judged(subject: &SubjectReport) -> impl Iterator<Item = Notification> {
    let is_reported =
        |id: &str| subject.findings.iter().any(|f| f.blame != Blame::Subject && f.scenario.as_deref() == Some(id));
    subject.scenarios.iter().filter(move |s| s.status == ScenarioStatus::Error && !is_reported(&s.id)).map(|scenario| {
        let reason = scenario.reason.as_deref().unwrap_or("for no reason given");
        let locations = vec![place(Some((&scenario.file, None)), Some(&scenario.id))];
        Notification { locations, ..notice(Level::Error, &format!("{} could not be judged: {reason}", scenario.id)) }
    })
}

fn stale(subject: &SubjectReport) -> Option<Notification> {
    let stale = subject.counts.unexpected_passes;
    (stale > 0).then(|| {
        let are = if stale == 1 { "is" } else { "are" };
        notice(Level::Error, &format!("{} {are} out of date", counted(stale, "baseline line")))
    })
}

/// Binding requirements that were not assessed, unless only a part of the suite was selected.
fn not_assessed(subject: &SubjectReport, rules: &Rules) -> impl Iterator<Item = Notification> {
    let open = subject
        .requirements
        .iter()
        .filter(|r| r.status == Status::NotAssessed && r.level == protocol::Level::Must)
        .filter(|_| subject.verdict != Verdict::Partial);
    open.map(|result| {
        let reason = result.reason.as_deref().unwrap_or("for no reason given");
        let associated_rule = reference(&result.id, rules);
        let text = format!("nothing was learnt about {}: {reason}", result.id);
        Notification { associated_rule, ..notice(Level::Warning, &text) }
    })
}

fn note_notification(note: &Note, rules: &Rules) -> Notification {
    let associated_rule = note.requirement.as_deref().and_then(|id| reference(id, rules));
    Notification { associated_rule, ..notice(Level::Note, &note.text) }
}

fn reference(id: &str, rules: &Rules) -> Option<RuleReference> {
    rules.index(id).map(|index| RuleReference { id: id.to_owned(), index })
}

#[cfg(test)]
mod tests {
    use crate::report::terminal::tests::{catalogue, example};

    use super::*;

    #[test]
    fn findings_are_results_and_what_else_is_not_green_is_a_notification() {
        insta::assert_snapshot!(sarif(&example(), &catalogue()));
    }

    #[test]
    fn a_report_without_subjects_was_no_success() {
        let report = Report::of(example().suite, vec![], vec![]);
        let log: serde_json::Value = serde_json::from_str(&sarif(&report, &[])).unwrap();
        assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
        assert_eq!(log["runs"][0]["properties"]["verdict"], "incomplete");
    }

    #[test]
    fn a_scenario_that_failed_without_a_finding_is_a_result() {
        let mut report = example();
        report.subjects[0].findings.clear();
        let log: serde_json::Value = serde_json::from_str(&sarif(&report, &[])).unwrap();
        let rules: Vec<_> = log["runs"][0]["results"].as_array().unwrap().iter().map(|r| &r["ruleId"]).collect();
        assert_eq!(rules, ["wirecert/expectation", "wirecert/expectation"]);
    }

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri("scenarios/a b.yaml"), "scenarios/a%20b.yaml");
        assert_eq!(uri("c:x[1].yaml"), "c%3Ax%5B1%5D.yaml");
        assert_eq!(uri("/tmp/ü#"), "file:///tmp/%C3%BC%23");
    }
}
