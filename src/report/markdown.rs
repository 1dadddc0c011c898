//! The report in Markdown, for the summary of a CI job or a comment on a pull request.

use crate::judge::{Blame, Cause, Finding, Report, ScenarioStatus, Status, SubjectReport, Verdict};
use crate::protocol::{Level, Requirement};

use super::write::{counted, value, word};
use crate::diagnostic::clean;

/// So many causes of a subject are described. A summary of GitHub may have a mebibyte.
const MAX_CAUSES: usize = 100;
/// So many places of a cause are listed.
const MAX_PLACES: usize = 5;

/// The report in Markdown as GitHub and GitLab render it: a table of the subjects, then each cause with its evidence and
/// the command that repeats it. `catalogue` explains the requirements.
pub fn markdown(report: &Report, catalogue: &[&Requirement]) -> String {
    let mut page = Page { text: String::new(), catalogue };
    page.line(&format!("## {} wirecert: {}", mark(report.verdict), words(report.verdict)));
    page.line("");
    page.line("| subject | verdict | `must` | `should` | scenarios |");
    page.line("|---|---|---|---|---|");
    for subject in &report.subjects {
        let name = format!("{} ({}, edition {})", cell(&subject.name), subject.role, subject.edition);
        let verdict = format!("{} {}", mark(subject.verdict), words(subject.verdict));
        let [must, should] = [Level::Must, Level::Should].map(|level| statuses(subject, level));
        page.line(&format!("| {name} | {verdict} | {must} | {should} | {} |", scenarios(subject)));
    }
    for unjudged in &report.unjudged {
        let name = format!("{} ({}, edition {})", cell(&unjudged.name), unjudged.role, unjudged.edition);
        page.line(&format!("| {name} | not judged: {} | | | |", cell(&unjudged.reason)));
    }
    for subject in &report.subjects {
        page.subject(subject);
    }
    for note in &report.notes {
        page.line("");
        page.line(&format!("> {}", cell(&note.text)));
    }
    page.text
}

struct Page<'a> {
    text: String,
    catalogue: &'a [&'a Requirement],
}

impl Page<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn subject(&mut self, subject: &SubjectReport) {
        let known = |finding: &&Finding| finding.baseline.is_some();
        let open = subject.findings.iter().filter(|finding| !known(finding));
        let causes = Cause::of(open.filter(|finding| finding.blame == Blame::Subject));
        if !causes.is_empty() {
            self.line(&format!("\n### {}", cell(&subject.name)));
        }
        for cause in causes.iter().take(MAX_CAUSES) {
            self.cause(cause);
        }
        if causes.len() > MAX_CAUSES {
            self.line(&format!("\n… and {} more requirements.", causes.len() - MAX_CAUSES));
        }
        let known = Cause::of(subject.findings.iter().filter(known));
        if !known.is_empty() {
            self.line("\nKnown by the baseline:\n");
        }
        for cause in known {
            let reason = cause.findings[0].baseline.as_deref().unwrap_or_default();
            self.line(&format!("- {} `{}`: {}", cause.level.as_str(), cause.requirement, cell(reason)));
        }
        let errors = subject.scenarios.iter().filter(|scenario| scenario.status == ScenarioStatus::Error);
        for (n, scenario) in errors.enumerate() {
            if n == 0 {
                self.line("\nNot judged:\n");
            }
            let reason = scenario.reason.as_deref().unwrap_or_default();
            self.line(&format!("- `{}`: {}", scenario.id, cell(reason)));
        }
    }

    /// A cause, folded: its line tells what is wrong.
    fn cause(&mut self, cause: &Cause) {
        let icon = if cause.level == Level::Must { "❌" } else { "⚠️" };
        let first = cause.findings[0];
        let title = if cause.requirement.is_empty() { "an expectation" } else { cause.requirement };
        self.line(&format!(
            "\n<details><summary>{icon} {} <code>{}</code>: {}</summary>\n",
            cause.level.as_str(),
            html(title),
            html(&first.message),
        ));
        if let Some(requirement) = self.catalogue.iter().find(|r| r.id == cause.requirement) {
            let source = requirement.source;
            self.line(&format!("{} (source: {}, {})\n", requirement.statement, source.document, source.section));
        }
        let scenarios = counted(cause.scenarios() as u64, "scenario");
        self.line(&format!("Seen {} in {scenarios}.\n", counted(cause.occurrences(), "time")));
        let mut evidence = vec![];
        evidence.extend(first.path.as_ref().map(|path| format!("at       {}", clean(path))));
        evidence.extend(first.expected.as_ref().map(|expected| format!("expected {}", value(expected))));
        evidence.extend(first.actual.as_ref().map(|actual| format!("actual   {}", value(actual))));
        if !evidence.is_empty() {
            self.fenced(&evidence.join("\n"));
        }
        self.fenced(&first.repro);
        let mut places = cause.findings.iter().filter_map(|finding| finding.scenario.as_ref()).collect::<Vec<_>>();
        places.dedup();
        for place in places.iter().take(MAX_PLACES) {
            self.line(&format!("- `{place}`"));
        }
        if places.len() > MAX_PLACES {
            self.line(&format!("- and {} more", places.len() - MAX_PLACES));
        }
        self.line("\n</details>");
    }

    /// A text as it is, in a fence that it cannot end.
    fn fenced(&mut self, text: &str) {
        let text = clean(text);
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(longest.max(2) + 1);
        self.line(&format!("{fence}\n{text}\n{fence}"));
    }
}

/// A verdict in words.
fn words(verdict: Verdict) -> String {
    word(&verdict).replace('_', " ")
}

fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Conforms | Verdict::ConformsExcept => "✅",
        Verdict::Nonconforming => "❌",
        Verdict::Incomplete | Verdict::Partial => "❔",
    }
}

/// How the requirements of a level stand: `90 met, 7 violated`.
fn statuses(subject: &SubjectReport, level: Level) -> String {
    let all = [
        (Status::Met, "met"),
        (Status::Violated, "violated"),
        (Status::Excused, "excused"),
        (Status::NotAssessed, "not assessed"),
    ];
    let count = |status| subject.requirements.iter().filter(|r| r.level == level && r.status == status).count();
    nonzero(all.map(|(status, word)| (count(status) as u64, word)))
}

fn scenarios(subject: &SubjectReport) -> String {
    let counts = subject.counts;
    nonzero([
        (counts.passed, "passed"),
        (counts.failed, "failed"),
        (counts.expected_failures, "failed as known"),
        (counts.blocked, "blocked"),
        (counts.skipped, "skipped"),
        (counts.error, "not judged"),
    ])
}

fn nonzero<const N: usize>(counts: [(u64, &str); N]) -> String {
    let shown: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    shown.join(", ")
}

/// A text of somebody else on one line of Markdown, without anything that marks it up.
fn cell(text: &str) -> String {
    let text = clean(text).replace(['\n', '\t'], " ");
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' | '!' | '@' => {
                escaped.extend(['\\', c]);
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

/// A text of somebody else inside an HTML element on one line.
fn html(text: &str) -> String {
    clean(text).replace(['\n', '\t'], " ").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::terminal::tests::example;
    use super::*;

    #[test]
    fn the_summary_has_a_table_and_each_cause_with_its_evidence() {
        insta::assert_snapshot!(markdown(&example(), &[]));
    }

    #[test]
    fn foreign_text_marks_nothing_up() {
        assert_eq!(cell("a|b\n<img> *c* @d"), r"a\|b &lt;img> \*c\* \@d");
        assert_eq!(html("<b>&\u{1b}"), "&lt;b&gt;&amp;\\u{1b}");
        let mut page = Page { text: String::new(), catalogue: &[] };
        page.fenced("a ``` b");
        assert_eq!(page.text, "````\na ``` b\n````\n");
    }
}
