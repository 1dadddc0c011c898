//! The report as [TAP, version 14](https://testanything.org/tap-version-14-specification.html), which many test runners
//! and CI services read.

use crate::judge::{Finding, Report, ScenarioResult, ScenarioStatus, SubjectReport, Verdict};

use super::write::{counted, value, word};
use crate::diagnostic::clean;

/// The report as TAP 14: a subtest for each subject, in it a test point for each scenario.
///
/// A scenario that failed or could not be judged is `not ok`; one that failed only as the baseline says is `not ok` with the
/// directive `TODO`, and one that was skipped or blocked has the directive `SKIP`. The point of the subject itself is `ok`
/// where the subject gives no reason for another [exit code](crate::judge::Standing) than 0. So a run that is not green has a
/// test point that is not, although every scenario of it passed. Times are left out: they differ from run to run.
pub fn tap(report: &Report) -> String {
    let mut tap = Tap { text: String::new(), indent: "" };
    let suite = &report.suite;
    tap.line("TAP version 14");
    tap.comment(&format!("{} {}: {}", suite.name, suite.version, words(&report.verdict)));
    for note in &report.notes {
        tap.comment(&note.text);
    }
    let points = report.subjects.len() + report.unjudged.len();
    tap.line(&format!("1..{}", points.max(1)));
    for (n, subject) in report.subjects.iter().enumerate() {
        tap.subject(n + 1, subject);
    }
    for (n, unjudged) in (report.subjects.len() + 1..).zip(&report.unjudged) {
        let title = format!("{} ({}, edition {})", unjudged.name, unjudged.role, unjudged.edition);
        tap.point(n, false, &format!("{title}: not judged"), None);
        tap.block(&[field("message", &unjudged.reason), "severity: error".to_owned()]);
    }
    if points == 0 {
        tap.point(1, false, "nothing was judged", None);
    }
    tap.text
}

struct Tap {
    text: String,
    /// What stands before each line: nothing, or four spaces in a subtest.
    indent: &'static str,
}

/// What a test point is, beside right or wrong.
enum Directive<'a> {
    Skip(&'a str),
    Todo(&'a str),
}

impl Tap {
    fn line(&mut self, line: &str) {
        self.text.push_str(self.indent);
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn comment(&mut self, text: &str) {
        self.line(&format!("# {}", one_line(text)));
    }

    fn point(&mut self, n: usize, ok: bool, description: &str, directive: Option<Directive<'_>>) {
        let not = if ok { "" } else { "not " };
        let directive = match directive {
            None => String::new(),
            Some(Directive::Skip(why)) => format!(" # SKIP {}", escaped(why)),
            Some(Directive::Todo(why)) => format!(" # TODO {}", escaped(why)),
        };
        self.line(format!("{not}ok {n} - {}{directive}", escaped(description)).trim_end());
    }

    /// The diagnostics of the point before it, a YAML map.
    fn block(&mut self, lines: &[String]) {
        self.line("  ---");
        lines.iter().for_each(|line| self.line(&format!("  {line}")));
        self.line("  ...");
    }

    fn subject(&mut self, n: usize, subject: &SubjectReport) {
        let title = format!("{} ({}, edition {})", subject.name, subject.role, subject.edition);
        self.line(&format!("# Subtest: {}", escaped(&title)));
        self.indent = "    ";
        self.line(&match subject.scenarios.len() {
            0 => "1..0 # SKIP no scenario was played".to_owned(),
            points => format!("1..{points}"),
        });
        for (n, scenario) in subject.scenarios.iter().enumerate() {
            self.scenario(n + 1, scenario, subject);
        }
        self.indent = "";
        let standing = subject.standing();
        let (counts, stale) = (&subject.counts, subject.counts.unexpected_passes);
        let drift = subject.snapshots.iter().filter(|snapshot| snapshot.status != "same").count() as u64;
        let reasons = [
            (counts.failed > 0, format!("{} failed", counted(counts.failed, "scenario"))),
            (counts.error > 0, format!("{} could not be judged", counted(counts.error, "scenario"))),
            (stale > 0, format!("{} of the baseline did not occur", counted(stale, "line"))),
            (drift > 0, format!("{} changed, missing or unreferenced", counted(drift, "snapshot"))),
            (standing.incomplete, "a `must` was neither assessed nor excused, or nothing was assessed".to_owned()),
        ];
        let reasons: Vec<String> =
            reasons.into_iter().filter_map(|(applies, reason)| applies.then_some(reason)).collect();
        let green = !(standing.failed || standing.unjudged || standing.drift || standing.incomplete);
        self.point(n, green, &format!("{title}: {}", words(&subject.verdict)), None);
        if !green {
            self.block(&[field("message", &reasons.join("; ")), "severity: fail".to_owned()]);
        }
    }

    fn scenario(&mut self, n: usize, scenario: &ScenarioResult, subject: &SubjectReport) {
        let reason = scenario.reason.as_deref().unwrap_or_default();
        let (ok, severity, directive) = match scenario.status {
            ScenarioStatus::Passed => (true, "comment", None),
            ScenarioStatus::Skipped | ScenarioStatus::Blocked => (true, "comment", Some(Directive::Skip(reason))),
            ScenarioStatus::Failed if scenario.expected => (false, "todo", Some(Directive::Todo(reason))),
            ScenarioStatus::Failed => (false, "fail", None),
            ScenarioStatus::Error => (false, "error", None),
        };
        self.point(n, ok, &scenario.id, directive);
        let findings: Vec<&Finding> =
            subject.findings.iter().filter(|finding| finding.scenario.as_deref() == Some(&scenario.id)).collect();
        if ok && findings.is_empty() {
            return;
        }
        let mut lines = vec![];
        if !reason.is_empty() {
            lines.push(field("message", reason));
        }
        lines.push(format!("severity: {severity}"));
        lines.push(field("file", &scenario.file));
        if !findings.is_empty() {
            lines.push("findings:".to_owned());
            lines.extend(findings.into_iter().flat_map(finding));
        }
        self.block(&lines);
    }
}

/// A finding as an item of a YAML list.
fn finding(finding: &Finding) -> Vec<String> {
    let at = finding.file.as_ref().map(|file| match finding.line {
        Some(line) => format!("{file}:{line}"),
        None => file.clone(),
    });
    let fields = [
        ("requirement", Some(finding.requirement.clone()).filter(|id| !id.is_empty())),
        ("level", Some(finding.level.as_str().to_owned())),
        ("blame", Some(word(&finding.blame))),
        ("message", Some(finding.message.clone())),
        ("at", at),
        ("path", finding.path.clone()),
        ("expected", finding.expected.as_ref().map(value)),
        ("actual", finding.actual.as_ref().map(value)),
        ("depends", finding.depends.map(|on| on.words().to_owned())),
        ("known", finding.baseline.clone()),
        ("repeat", Some(finding.repro.clone())),
    ];
    let lines = fields.into_iter().filter_map(|(key, text)| text.map(|text| field(key, &text)));
    lines.enumerate().map(|(n, line)| format!("{} {line}", if n == 0 { "  -" } else { "   " })).collect()
}

/// A key with a text as YAML on one line: a JSON string, in which all is escaped that YAML does not take or reads otherwise.
fn field(key: &str, text: &str) -> String {
    let special = |c: char| matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    let mut quoted = String::new();
    for c in serde_json::Value::from(clean(text)).to_string().chars() {
        if special(c) { quoted += &format!("\\u{:04x}", c as u32) } else { quoted.push(c) }
    }
    format!("{key}: {quoted}")
}

/// A text that neither ends its line nor begins a directive.
fn escaped(text: &str) -> String {
    one_line(text).replace('\\', "\\\\").replace('#', "\\#")
}

fn one_line(text: &str) -> String {
    clean(text).replace(['\n', '\t', '\u{2028}', '\u{2029}'], " ")
}

fn words(verdict: &Verdict) -> String {
    word(verdict).replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::super::terminal::tests::example;
    use super::*;

    #[test]
    fn every_scenario_is_a_point_and_the_subject_is_one_that_tells_why_it_is_not_green() {
        insta::assert_snapshot!(tap(&example()));
    }

    #[test]
    fn a_report_without_subjects_is_not_ok() {
        let report = Report::of(example().suite, vec![], vec![]);
        assert!(tap(&report).ends_with("\n1..1\nnot ok 1 - nothing was judged\n"), "{}", tap(&report));
    }

    #[test]
    fn foreign_text_stays_on_its_line_and_is_no_directive() {
        assert_eq!(escaped("a # TODO \\\nok 2"), "a \\# TODO \\\\ ok 2");
        assert_eq!(field("a", "x: \u{2028}\u{1b}\n\"é\""), "a: \"x: \\u2028\\\\u{1b}\\n\\\"é\\\"\"");
    }
}
