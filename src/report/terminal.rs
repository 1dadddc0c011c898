//! The report for people: the verdict first, then each cause once, the gravest first, with the evidence.

mod summary;
#[cfg(test)]
pub(super) mod tests;

use anstyle::Style;

use crate::judge::{Blame, Cause, Finding, Note, Report, ScenarioStatus, SubjectReport, Unjudged};
use crate::protocol::{Level, Requirement};

use super::write::{counted, value};
use crate::diagnostic::clean;

/// Colours by their meaning.
mod style {
    use anstyle::{AnsiColor, Style};

    const fn of(color: AnsiColor) -> Style {
        Style::new().bold().fg_color(Some(anstyle::Color::Ansi(color)))
    }

    pub const GOOD: Style = of(AnsiColor::Green);
    pub const BAD: Style = of(AnsiColor::Red);
    pub const WARN: Style = of(AnsiColor::Yellow);
    pub const ODD: Style = of(AnsiColor::Magenta);
    pub const HEAD: Style = Style::new().bold();
    pub const DIM: Style = Style::new().dimmed();
}

/// The report as text with ANSI colours, for streams that drop them where they are not wanted.
///
/// `catalogue` explains the requirements. `verbose`: every occurrence of everything; otherwise long lists are cut,
/// which is said where it happens.
pub fn terminal(report: &Report, catalogue: &[&Requirement], verbose: bool) -> String {
    let mut page = TerminalReport { text: String::new(), catalogue, verbose };
    for subject in &report.subjects {
        page.subject(subject);
    }
    page.unjudged(&report.unjudged);
    page.notes("on the run", &report.notes);
    page.ending(report);
    page.text
}

/// A text without its ANSI colours.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

struct TerminalReport<'a> {
    text: String,
    catalogue: &'a [&'a Requirement],
    verbose: bool,
}

impl TerminalReport<'_> {
    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref().trim_end());
        self.text.push('\n');
    }

    /// A block of foreign text, each line moved in.
    fn block(&mut self, indent: usize, text: &str) {
        for line in clean(text).lines() {
            self.line(format!("{:indent$}{line}", ""));
        }
    }

    /// The headline of a section, a blank line before it.
    fn heading(&mut self, style: anstyle::Style, word: &str, rest: &str) {
        self.line("");
        self.line(format!("{style}{word}{style:#} {rest}"));
    }

    fn requirement(&self, id: &str) -> Option<&Requirement> {
        self.catalogue.iter().find(|r| r.id == id).copied()
    }

    fn subject(&mut self, subject: &SubjectReport) {
        self.summary(subject);
        let ours = |f: &&Finding| f.blame == Blame::Subject && f.baseline.is_none();
        let binding = |f: &&Finding| f.level == Level::Must;
        let open: Vec<&Finding> = subject.findings.iter().filter(ours).collect();
        let causes = Cause::of(open.iter().copied().filter(binding));
        let in_full = if self.verbose { causes.len() } else { MAX_CAUSES.min(causes.len()) };
        for cause in &causes[..in_full] {
            self.cause(style::BAD, "violated", cause);
        }
        self.causes_in_short(style::BAD, "also violated", &causes[in_full..]);
        let warnings = Cause::of(open.iter().copied().filter(|f| !binding(f)));
        let in_full = match (self.verbose, causes.is_empty()) {
            (true, _) => warnings.len(),
            (false, true) => MAX_CAUSES.min(warnings.len()),
            (false, false) => 0,
        };
        for cause in &warnings[..in_full] {
            self.cause(style::WARN, "warning", cause);
        }
        self.causes_in_short(style::WARN, "warnings", &warnings[in_full..]);
        self.known(subject);
        for (blame, word) in [(Blame::Peer, "our own mock's fault"), (Blame::Environment, "the environment's fault")] {
            for cause in Cause::of(subject.findings.iter().filter(|f| f.blame == blame)) {
                self.cause(style::ODD, word, &cause);
            }
        }
        self.scenarios(subject, ScenarioStatus::Error, style::ODD, "not judged");
        self.unexplained(subject);
        self.open_requirements(subject);
        self.scenarios(subject, ScenarioStatus::Skipped, style::HEAD, "skipped");
        self.flaky(subject);
        self.snapshots(subject);
        self.notes("", &subject.notes);
    }

    /// Renders subjects that were not judged.
    fn unjudged(&mut self, subjects: &[Unjudged]) {
        if subjects.is_empty() {
            return;
        }
        self.heading(style::ODD, "not judged", &counted(subjects.len() as u64, "subject"));
        for subject in subjects {
            let about = format!("{} ({}, edition {})", subject.name, subject.role, subject.edition);
            self.block(2, &format!("{about}: {}", subject.reason));
        }
    }

    /// What is violated as the baseline says.
    fn known(&mut self, subject: &SubjectReport) {
        let known: Vec<&Finding> = subject.findings.iter().filter(|f| f.baseline.is_some()).collect();
        let causes = Cause::of(known);
        if causes.is_empty() {
            return;
        }
        self.heading(style::WARN, "known", "violated as the baseline says");
        for cause in causes {
            let reason = cause.findings[0].baseline.clone().unwrap_or_default();
            self.line(format!("  {} {}: {}", cause.level.as_str(), cause.requirement, clean(&reason)));
        }
    }

    /// Scenarios of a status, those with the same reason together.
    fn scenarios(&mut self, subject: &SubjectReport, status: ScenarioStatus, style: anstyle::Style, word: &str) {
        let mut reasons: Vec<(&str, Vec<&str>)> = vec![];
        for scenario in subject.scenarios.iter().filter(|s| s.status == status) {
            let reason = scenario.reason.as_deref().unwrap_or("for no reason given");
            match reasons.iter_mut().find(|(r, _)| *r == reason) {
                Some((_, ids)) => ids.push(&scenario.id),
                None => reasons.push((reason, vec![&scenario.id])),
            }
        }
        if reasons.is_empty() {
            return;
        }
        let total = reasons.iter().map(|(_, ids)| ids.len() as u64).sum();
        self.heading(style, word, &counted(total, "scenario"));
        for (reason, ids) in reasons {
            self.block(2, reason);
            self.list(&ids);
        }
    }

    /// Failed scenarios that no finding explains.
    fn unexplained(&mut self, subject: &SubjectReport) {
        let explained = |id: &str| subject.findings.iter().any(|f| f.scenario.as_deref() == Some(id));
        for scenario in &subject.scenarios {
            if scenario.status == ScenarioStatus::Failed && !explained(&scenario.id) {
                self.heading(style::BAD, "failed", &scenario.id);
                self.block(2, scenario.reason.as_deref().unwrap_or("for no reason given"));
            }
        }
    }

    fn flaky(&mut self, subject: &SubjectReport) {
        let flaky: Vec<&str> = subject.scenarios.iter().filter(|s| s.flaky).map(|s| s.id.as_str()).collect();
        if !flaky.is_empty() {
            self.heading(style::WARN, "flaky", "went differently when played again");
            self.list(&flaky);
        }
    }

    fn snapshots(&mut self, subject: &SubjectReport) {
        let drift: Vec<_> = subject.snapshots.iter().filter(|s| s.status != "same").collect();
        if drift.is_empty() {
            return;
        }
        self.heading(style::WARN, "snapshots", "are not as they were; `wirecert snapshot review` shows them");
        for snapshot in drift {
            self.line(format!("  {:12} {}", snapshot.status, clean(&snapshot.file)));
        }
    }

    fn notes(&mut self, of: &str, notes: &[Note]) {
        if notes.is_empty() {
            return;
        }
        self.heading(style::HEAD, "notes", of);
        for note in notes {
            let of = note.requirement.as_ref().map(|id| format!("{id}: ")).unwrap_or_default();
            self.block(2, &format!("{of}{}", note.text));
        }
    }

    /// Lists names under a headline; a long list is cut unless the report is verbose.
    fn list(&mut self, names: &[&str]) {
        let shown = if self.verbose { names.len() } else { 5 };
        for name in names.iter().take(shown) {
            self.line(format!("    {name}"));
        }
        if names.len() > shown {
            self.line(format!("    and {} more (-v tells them)", names.len() - shown));
        }
    }
}

/// How many findings of a cause are shown in full where the report is not verbose.
const MAX_EVIDENCE: usize = 1;

/// How many causes are shown with their evidence where the report is not verbose; the others get two lines each.
const MAX_CAUSES: usize = 5;

impl TerminalReport<'_> {
    /// What is required and why, then the evidence.
    pub(super) fn cause(&mut self, style: Style, word: &str, cause: &Cause<'_>) {
        self.heading(style, word, &cause_name(cause));
        if let Some(requirement) = self.requirement(cause.requirement).copied() {
            self.block(2, requirement.statement);
            if !requirement.why.is_empty() {
                self.block(2, &format!("why: {}", requirement.why));
            }
            let source = requirement.source;
            self.line(format!("  {}source: {}, {}{:#}", style::DIM, source.document, source.section, style::DIM));
        }
        self.line(format!("  {}{}{:#}", style::DIM, extent(cause), style::DIM));
        let shown = if self.verbose { cause.findings.len() } else { MAX_EVIDENCE };
        for finding in cause.findings.iter().take(shown) {
            self.finding(style, finding);
        }
        let rest = &cause.findings[shown.min(cause.findings.len())..];
        if !rest.is_empty() {
            self.line("");
            self.line("    also in");
            let ids: Vec<&str> = rest.iter().filter_map(|f| f.scenario.as_deref()).collect();
            self.list(&ids);
        }
        if self.verbose && !cause.blocks().is_empty() {
            self.line("");
            self.line("    not judged because of it");
            self.list(&cause.blocks().iter().map(String::as_str).collect::<Vec<_>>());
        }
    }

    /// Causes in two lines each.
    pub(super) fn causes_in_short(&mut self, style: Style, word: &str, causes: &[Cause<'_>]) {
        if causes.is_empty() {
            return;
        }
        self.heading(style, word, &format!("{} (-v shows the evidence)", counted(causes.len() as u64, "requirement")));
        for cause in causes {
            self.line(format!("  {style}✗{style:#} {}; {}", cause_name(cause), extent(cause)));
            let message = clean(&cause.findings[0].message);
            self.line(format!("    {}", message.lines().next().unwrap_or_default()));
        }
    }

    fn finding(&mut self, style: Style, finding: &Finding) {
        let times = if finding.occurrences > 1 { format!(" ({} times)", finding.occurrences) } else { String::new() };
        self.line("");
        let message = clean(&finding.message);
        let mut lines = message.lines();
        self.line(format!("  {style}✗{style:#} {}{times}", lines.next().unwrap_or_default()));
        lines.for_each(|line| self.line(format!("    {line}")));
        if let Some(scenario) = &finding.scenario {
            let step = finding.step.as_ref().map(|s| format!(", {}", clean(s))).unwrap_or_default();
            self.line(format!("    in {scenario}{step}"));
        }
        match (&finding.excerpt, &finding.file) {
            (Some(excerpt), _) => self.block(4, excerpt),
            (None, Some(file)) => {
                self.line(format!("     --> {}:{}", clean(file), finding.line.unwrap_or(1)));
            }
            (None, None) => {}
        }
        self.fact("at", finding.path.as_deref().map(|path| if path.is_empty() { "the whole value" } else { path }));
        self.fact("expected", finding.expected.as_ref().map(value));
        self.fact("actual", finding.actual.as_ref().map(value));
        if !finding.last_events.is_empty() {
            self.line("    last events:");
            for event in &finding.last_events {
                self.block(6, event);
            }
        }
        let event = finding.index.map(|i| format!(", event {i}")).unwrap_or_default();
        self.fact("trace", finding.trace.as_ref().map(|file| format!("{file}{event}")));
        self.fact("depends", finding.depends.map(|on| format!("on {}", on.words())));
        self.fact("repeat", Some(finding.repro.as_str()).filter(|r| !r.is_empty()));
    }

    fn fact(&mut self, name: &str, text: Option<impl AsRef<str>>) {
        if let Some(text) = text {
            let name = format!("{}{name:8}{:#}", style::DIM, style::DIM);
            self.line(format!("    {name} {}", clean(text.as_ref())));
        }
    }
}

/// A cause by its level and requirement.
fn cause_name(cause: &Cause<'_>) -> String {
    match cause.requirement {
        "" => "an expectation that stands for no requirement".to_owned(),
        id => format!("{} {id}", cause.level.as_str()),
    }
}

/// How far a cause reaches: `seen 12 times in 7 scenarios; 3 requirements could not be judged because of it`.
fn extent(cause: &Cause<'_>) -> String {
    let times = match cause.occurrences() {
        1 => "seen once".to_owned(),
        n => format!("seen {n} times"),
    };
    let scenarios = counted(cause.scenarios() as u64, "scenario");
    let blocks = match cause.blocks().len() as u64 {
        0 => String::new(),
        n => format!("; {} could not be judged because of it", counted(n, "requirement")),
    };
    format!("{times} in {scenarios}{blocks}")
}
