//! The JUnit report: one suite for each subject, one case for each scenario.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report as Junit, TestCase, TestCaseStatus, TestSuite, XmlString};

use crate::judge::{Finding, Report, ScenarioResult, ScenarioStatus, SubjectReport, Unjudged};

use super::text::{clean, value};

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
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::terminal::tests::example;
    use super::*;

    #[test]
    fn every_scenario_is_a_case_and_only_what_counts_is_a_failure() {
        insta::assert_snapshot!(junit(&example()));
    }
}
