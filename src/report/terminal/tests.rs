use serde_json::json;

use super::*;
use crate::judge::{
    Attempt, BaselineLine, Counts, Excuse, RequirementResult, RunOptions, RunScope, ScenarioResult, Scope,
    SnapshotResult, Status, Suite, Unjudged, Verdict,
};
use crate::protocol::Section;
use crate::trace::End;

const fn requirement(id: &'static str, level: Level, statement: &'static str, why: &'static str) -> Requirement {
    let source = Section { document: "the guide", section: "Messages" };
    Requirement { id, level, binds: End::Server, statement, why, source, since: "0.1.0", capability: None }
}

static ECHO: Requirement = requirement(
    "amp/cli/ping/echo",
    Level::Must,
    "`ping` is answered with the message that was sent.",
    "the client takes anything else for a dead connection",
);
static SOON: Requirement =
    requirement("amp/cli/ping/soon", Level::Should, "`ping` is answered within two seconds.", "");

fn finding(requirement: &Requirement, scenario: &str, message: &str) -> Finding {
    Finding {
        requirement: requirement.id.to_owned(),
        level: requirement.level,
        blame: Blame::Subject,
        scenario: Some(scenario.to_owned()),
        step: None,
        file: None,
        line: None,
        message: message.to_owned(),
        path: None,
        expected: None,
        actual: None,
        trace: None,
        index: None,
        way: None,
        awaited: None,
        occurrences: 1,
        blocks: vec![],
        baseline: None,
        repro: format!("wirecert certify amp-server --filter 'id({scenario})'"),
        depends: None,
        last_events: vec![],
        excerpt: None,
    }
}

fn scenario(id: &str, status: ScenarioStatus, reason: Option<&str>) -> ScenarioResult {
    let attempt =
        Attempt { status, reason: reason.map(str::to_owned), duration_ms: 12.5, process: Some(1), position: Some(3) };
    ScenarioResult {
        id: id.to_owned(),
        file: format!("scenarios/{id}.yaml"),
        status,
        reason: reason.map(str::to_owned),
        expected: false,
        flaky: false,
        duration_ms: 12.5,
        attempts: vec![attempt],
        job: Some(1),
        process: Some(1),
        position: Some(3),
        requirements: vec![ECHO.id.to_owned()],
        excuses: vec![],
        blocked: vec![],
        trace: None,
    }
}

fn result(id: &str, level: Level, status: Status, reason: Option<&str>) -> RequirementResult {
    RequirementResult {
        id: id.to_owned(),
        level,
        capability: None,
        status,
        reason: reason.map(str::to_owned),
        because: vec![],
        by: vec![],
    }
}

/// The requirements that are explained.
pub(crate) fn catalogue() -> [&'static Requirement; 2] {
    [&ECHO, &SOON]
}

/// A report with a bit of everything.
pub(crate) fn example() -> Report {
    let evidence = Finding {
        step: Some("expect response".to_owned()),
        file: Some("scenarios/amp-server/ping/echo.yaml".to_owned()),
        line: Some(9),
        path: Some("/message".to_owned()),
        expected: Some(json!("hello")),
        actual: Some(json!("hullo\u{1b}[2J")),
        trace: Some("traces/echo.jsonl".to_owned()),
        index: Some(17),
        occurrences: 3,
        last_events: vec!["0.010s main → ping 1".to_owned(), "0.012s main ← response 1\u{1b}]0;title\u{7}".to_owned()],
        excerpt: Some(
            " --> scenarios/amp-server/ping/echo.yaml:9:7\n  |\n9 |       response: { to: r }\n  |       ^^^^^^^^\n"
                .to_owned(),
        ),
        ..finding(&ECHO, "amp-server/cli/ping/echo", "the response carries another message")
    };
    let more = (1..=6).map(|n| finding(&ECHO, &format!("amp-server/cli/ping/more{n}"), "no response within 2s"));
    let known = Finding {
        baseline: Some("fixed in 2.1".to_owned()),
        ..finding(&ECHO, "amp-server/cli/ping/known", "no response within 2s")
    };
    let machine = Finding { blame: Blame::Environment, requirement: String::new(), ..known.clone() };
    let machine = Finding { baseline: None, message: "the command for `edit` exited with 1".to_owned(), ..machine };
    let peer = Finding {
        blame: Blame::Peer,
        actual: Some(json!(null)),
        ..finding(&ECHO, "amp-server/cli/ping/ours", "a request without an id")
    };
    let subject = SubjectReport {
        name: "my-editor".to_owned(),
        role: "amp-server".to_owned(),
        edition: "cli".to_owned(),
        verdict: Verdict::Nonconforming,
        notes: vec![Note { requirement: Some(ECHO.id.to_owned()), text: "an empty object counts".to_owned() }],
        counts: Counts {
            passed: 2,
            failed: 1,
            skipped: 2,
            error: 1,
            blocked: 0,
            expected_failures: 1,
            unexpected_passes: 1,
        },
        requirements: vec![
            result(ECHO.id, Level::Must, Status::Violated, None),
            result(SOON.id, Level::Should, Status::Violated, None),
            result("amp/cli/framing/text", Level::Must, Status::Met, None),
            result("amp/cli/read-file/unsaved", Level::Must, Status::NotAssessed, Some("no stimulus `edit`")),
            result("amp/cli/diagnostics/range", Level::Must, Status::Excused, Some("declared missing: diagnostics")),
        ],
        findings: [evidence]
            .into_iter()
            .chain(more)
            .chain([finding(&SOON, "amp-server/cli/ping/slow", "it took 3.2s"), known, peer, machine])
            .collect(),
        scenarios: vec![
            ScenarioResult {
                excuses: vec![Excuse {
                    requirement: "amp/cli/diagnostics/range".to_owned(),
                    reason: "the subject said it has no such call".to_owned(),
                }],
                ..scenario("amp-server/cli/framing/text", ScenarioStatus::Passed, None)
            },
            scenario("amp-server/cli/ping/slow", ScenarioStatus::Passed, None),
            scenario("amp-server/cli/ping/echo", ScenarioStatus::Failed, Some("the response carries another message")),
            ScenarioResult {
                expected: true,
                ..scenario("amp-server/cli/ping/known", ScenarioStatus::Failed, Some("known: fixed in 2.1"))
            },
            scenario("amp-server/cli/read-file/a", ScenarioStatus::Skipped, Some("no stimulus `edit`")),
            scenario("amp-server/cli/read-file/b", ScenarioStatus::Skipped, Some("no stimulus `edit`")),
            ScenarioResult {
                flaky: true,
                ..scenario("amp-server/cli/ping/ours", ScenarioStatus::Error, Some("our own peer is at fault"))
            },
        ],
        snapshots: vec![
            SnapshotResult { file: "snapshots/a.snap".to_owned(), status: "same".to_owned() },
            SnapshotResult { file: "snapshots/b.snap".to_owned(), status: "changed".to_owned() },
        ],
        basis: Some(RunScope {
            scope: Scope::Partial,
            scenarios: 14,
            whole: true,
            missing: vec!["diagnostics".to_owned()],
            baseline: vec![BaselineLine {
                requirement: ECHO.id.to_owned(),
                scenario: Some("*/known".to_owned()),
                reason: "fixed in 2.1".to_owned(),
                until: Some("2027-03-01".to_owned()),
                expired: false,
                used: true,
            }],
            baseline_digest: Some("sha256:1".to_owned()),
            unreferenced: vec!["snapshots/c.snap".to_owned()],
        }),
    };
    let notes = vec![Note { requirement: None, text: "the edition was detected: cli, by its lockfile".to_owned() }];
    let suite = Suite { name: "wirecert".to_owned(), version: "0.1.0".to_owned(), digest: "sha256:0".to_owned() };
    let run_options = RunOptions { strict: false, filter: None, shard: "1/2".parse().ok() };
    let unjudged = Unjudged {
        name: "other-editor".to_owned(),
        role: "amp-server".to_owned(),
        edition: "auto".to_owned(),
        reason: "it ended before it was ready".to_owned(),
    };
    Report::of(suite, notes, vec![subject]).with_options(run_options, vec![unjudged])
}

#[test]
fn a_bad_report_leads_with_the_verdict_and_tells_each_requirement_with_its_evidence() {
    insta::assert_snapshot!(plain(&terminal(&example(), &[&ECHO, &SOON], false)));
}

#[test]
fn a_good_report_is_short() {
    let mut report = example();
    let subject = &mut report.subjects[0];
    subject.verdict = Verdict::Conforms;
    subject.counts = Counts { passed: 50, ..Counts::default() };
    subject.findings.clear();
    subject.scenarios.truncate(1);
    subject.snapshots.clear();
    subject.notes.clear();
    subject.requirements = vec![result(ECHO.id, Level::Must, Status::Met, None)];
    report.notes.clear();
    report.unjudged.clear();
    let other = SubjectReport { edition: "guide".to_owned(), ..report.subjects[0].clone() };
    report.subjects.push(other);
    insta::assert_snapshot!(plain(&terminal(&report, &[], false)));
}

#[test]
fn verbose_tells_everything() {
    let text = plain(&terminal(&example(), &[&ECHO, &SOON], true));
    assert_eq!(text.matches("no response within 2s").count(), 6);
    assert!(!text.contains("more") || !text.contains("-v tells"));
}

#[test]
fn nothing_of_a_subject_reaches_the_terminal_as_an_escape() {
    let text = plain(&terminal(&example(), &[], true));
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

#[test]
fn colours_come_from_us() {
    let text = terminal(&example(), &[], true);
    assert!(text.starts_with("\u{1b}[1m\u{1b}[31mnonconforming"));
    assert!(!text.contains("\u{1b}[2J") && !text.contains("\u{1b}]0"));
}

#[test]
fn a_report_without_subjects_says_so() {
    let report = Report::of(example().suite, vec![], vec![]);
    assert_eq!(plain(&terminal(&report, &[], false)), "incomplete  nothing was judged\n");
}
