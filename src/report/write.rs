//! The kinds of reports ([`ReportKind`]), two of them (JSON and JUnit), and report files, which are written completely or
//! not at all.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report as Junit, TestCase, TestCaseStatus, TestSuite, XmlString};
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::atomic_file::{self, Readable};
use crate::diagnostic::clean;
use crate::judge::{Finding, Report, ScenarioResult, ScenarioStatus, SubjectReport, Unjudged};
use crate::protocol::Requirement;

use super::{badge, badge_json, certificate, github, html, markdown, plain, sarif, tap, terminal};

/// A kind of report that can be written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// The JSON contract.
    Json,
    /// JUnit XML.
    Junit,
    /// SARIF 2.1.0.
    Sarif,
    /// A page for a browser.
    Html,
    /// Markdown, for the summary of a CI job.
    Markdown,
    /// Workflow commands of GitHub Actions.
    Github,
    /// TAP 14.
    Tap,
    /// The verdict as a picture.
    Badge,
    /// The verdict as shields.io makes a picture of it.
    BadgeJson,
    /// What was certified, with the digest of the JSON report.
    Certificate,
    /// What is printed at the end, in full and without colours.
    Text,
}

impl ReportKind {
    /// Every kind with its name.
    pub const ALL: [(&'static str, Self); 11] = [
        ("json", Self::Json),
        ("junit", Self::Junit),
        ("sarif", Self::Sarif),
        ("html", Self::Html),
        ("markdown", Self::Markdown),
        ("github", Self::Github),
        ("tap", Self::Tap),
        ("badge", Self::Badge),
        ("badge-json", Self::BadgeJson),
        ("certificate", Self::Certificate),
        ("text", Self::Text),
    ];

    /// The report of this kind. `catalogue`: every requirement that a finding may name.
    pub fn render(self, report: &Report, catalogue: &[&Requirement]) -> String {
        match self {
            Self::Json => json(report),
            Self::Junit => junit(report),
            Self::Sarif => sarif(report, catalogue),
            Self::Html => html(report, catalogue),
            Self::Markdown => markdown(report, catalogue),
            Self::Github => github(report, &|file| file.is_file()),
            Self::Tap => tap(report),
            Self::Badge => badge(report),
            Self::BadgeJson => badge_json(report),
            Self::Certificate => certificate(report),
            Self::Text => plain(&terminal(report, catalogue, true)),
        }
    }
}

/// A report file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the report {}: {source}", path.display())]
pub struct WriteError {
    /// The file that was to be written.
    pub path: PathBuf,
    /// What went wrong.
    pub source: io::Error,
}

/// Writes a report. Folders that are not there are made. Readers see the old file or the new one, never half of
/// one; what is no regular file (a pipe, a device) is written to as it is.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), WriteError> {
    try_write(path, content.as_ref()).map_err(|source| WriteError { path: path.to_owned(), source })
}

fn try_write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&target).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        return fs::OpenOptions::new().write(true).open(&target)?.write_all(bytes);
    }
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match fs::create_dir_all(folder) {
        // Something of that name that is no folder.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(io::Error::from(io::ErrorKind::NotADirectory)),
        made => made,
    }?;
    atomic_file::write(&target, bytes, Readable::ByAll)
}

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

/// The report as JUnit XML.
///
/// A failed scenario is a failure with its findings in the text; one that could not be judged is an error; one that
/// failed only as the baseline says is skipped, with the baseline's reason. What the requirements say is in the
/// suite's properties. A subject of which nothing can be said is an error, the only case of its suite.
pub fn junit(report: &Report) -> String {
    let mut junit = Junit::new(report.suite.name.as_str());
    for subject in &report.subjects {
        junit.add_test_suite(suite(subject));
    }
    for unjudged in &report.unjudged {
        junit.add_test_suite(not_judged(unjudged));
    }
    // The writer fails only where its sink does, and a string never does.
    junit.to_string().unwrap_or_default()
}

fn suite(subject: &SubjectReport) -> TestSuite {
    let mut suite = TestSuite::new(format!("{} ({}, {})", subject.name, subject.role, subject.edition));
    suite.add_property(Property::new("verdict", word(&subject.verdict)));
    for requirement in &subject.requirements {
        suite.add_property(Property::new(requirement.id.as_str(), word(&requirement.status)));
    }
    suite.set_time(subject.scenarios.iter().map(time).sum());
    for scenario in &subject.scenarios {
        suite.add_test_case(case(scenario, subject));
    }
    suite
}

fn not_judged(unjudged: &Unjudged) -> TestSuite {
    let Unjudged { name, role, edition, reason } = unjudged;
    let mut suite = TestSuite::new(format!("{name} ({role}, {edition})"));
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(clean(reason));
    let mut case = TestCase::new("it could be judged", status);
    case.set_classname(format!("{role}.{edition}"));
    suite.add_test_case(case);
    suite
}

fn case(scenario: &ScenarioResult, subject: &SubjectReport) -> TestCase {
    let findings = || subject.findings.iter().filter(|f| f.scenario.as_deref() == Some(&scenario.id));
    let reason = clean(scenario.reason.as_deref().unwrap_or_default());
    let mut status = match scenario.status {
        ScenarioStatus::Passed => TestCaseStatus::success(),
        ScenarioStatus::Skipped | ScenarioStatus::Blocked => TestCaseStatus::skipped(),
        ScenarioStatus::Failed if scenario.expected => TestCaseStatus::skipped(),
        ScenarioStatus::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        ScenarioStatus::Error => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    if scenario.status != ScenarioStatus::Passed {
        status.set_message(reason);
        let descriptions: Vec<String> = findings().map(finding).collect();
        if !descriptions.is_empty() && !scenario.expected {
            status.set_type(findings().next().map(|f| f.requirement.clone()).unwrap_or_default());
            status.set_description(descriptions.join("\n"));
        }
    }
    let warnings: Vec<String> =
        if scenario.status == ScenarioStatus::Passed { findings().map(finding).collect() } else { vec![] };
    let mut case = TestCase::new(scenario.id.as_str(), status);
    case.set_classname(format!("{}.{}", subject.role, subject.edition));
    case.set_time(time(scenario));
    case.extra.insert(XmlString::new("file"), XmlString::new(&scenario.file));
    if !warnings.is_empty() {
        case.set_system_out(warnings.join("\n"));
    }
    case
}

fn finding(finding: &Finding) -> String {
    let mut lines = vec![format!("{} {}: {}", finding.level.as_str(), finding.requirement, finding.message)];
    lines.extend(finding.file.as_ref().map(|f| format!("  {f}:{}", finding.line.unwrap_or_default())));
    lines.extend(finding.path.as_ref().map(|p| format!("  at {p}")));
    lines.extend(finding.expected.as_ref().map(|v| format!("  expected {}", value(v))));
    lines.extend(finding.actual.as_ref().map(|v| format!("  actual   {}", value(v))));
    lines.extend(finding.depends.map(|on| format!("  depends  on {}", on.words())));
    lines.push(format!("  repeat   {}", finding.repro));
    clean(&lines.join("\n")) + "\n"
}

fn time(scenario: &ScenarioResult) -> Duration {
    Duration::try_from_secs_f64(scenario.duration_ms / 1000.0).unwrap_or_default()
}

/// A word of the JSON contract.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The longest piece of a value that is shown, in characters.
const LONGEST: usize = 400;

/// A JSON value in one line, its middle left out where it is long.
pub fn value(value: &Value) -> String {
    let text = clean(&value.to_string());
    let length = text.chars().count();
    if length <= LONGEST {
        return text;
    }
    let head: String = text.chars().take(LONGEST * 3 / 4).collect();
    let tail: String = text.chars().skip(length - LONGEST / 4).collect();
    format!("{head} …{} characters… {tail}", length - LONGEST)
}

/// `1 scenario`, `2 scenarios`.
pub fn counted(n: u64, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::super::terminal::tests::example;
    use super::*;

    #[test]
    fn folders_are_made_and_nothing_else_is_left_behind() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b/report.json");
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        let root = tempfile::tempdir().unwrap();
        let (file, link) = (root.path().join("file"), root.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        write(Path::new("/dev/null"), "gone").unwrap();
    }

    #[test]
    fn what_stands_in_the_way_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        for path in [root.path().join("file/report.json"), root.path().to_owned()] {
            let error = write(&path, "x").unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot write the report {}: ", path.display())), "{error}");
        }
    }

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

    #[test]
    fn every_scenario_is_a_case_and_only_what_counts_is_a_failure() {
        insta::assert_snapshot!(junit(&example()));
    }

    #[test]
    fn what_would_steer_a_terminal_is_shown_instead() {
        assert_eq!(clean("a\u{1b}[31mb\r\n\tc\u{202e}"), "a\\u{1b}[31mb\\r\n\tc\\u{202e}");
    }

    #[test]
    fn a_long_value_keeps_its_beginning_and_end() {
        let text = value(&Value::String(format!("a{}z", "é".repeat(10_000))));
        assert!(text.starts_with("\"aé") && text.ends_with("éz\"") && text.contains("…9604 characters…"), "{text}");
        assert_eq!(value(&serde_json::json!({"a": [1, null]})), r#"{"a":[1,null]}"#);
    }
}
