//! Causes: what is violated, with the evidence.

use anstyle::Style;

use crate::judge::{Cause, Finding};

use super::super::text::{clean, counted, value};
use super::{Page, style};

/// How many places of one cause are told in full where not everything is to be told.
const SHOWN: usize = 1;

/// How many causes are told with their evidence where not everything is to be told; the others in a line each.
pub(super) const IN_FULL: usize = 5;

impl Page<'_> {
    /// What is required and why, then the evidence.
    pub(super) fn cause(&mut self, style: Style, word: &str, cause: &Cause<'_>) {
        self.heading(style, word, &named(cause));
        if let Some(requirement) = self.requirement(cause.requirement).copied() {
            self.block(2, requirement.statement);
            if !requirement.why.is_empty() {
                self.block(2, &format!("why: {}", requirement.why));
            }
            let source = requirement.source;
            self.line(format!("  {}source: {}, {}{:#}", style::DIM, source.document, source.section, style::DIM));
        }
        self.line(format!("  {}{}{:#}", style::DIM, extent(cause), style::DIM));
        let shown = if self.verbose { cause.findings.len() } else { SHOWN };
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
            self.line(format!("  {style}✗{style:#} {}; {}", named(cause), extent(cause)));
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
fn named(cause: &Cause<'_>) -> String {
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
