//! Findings, those of one requirement together.

use anstyle::Style;

use crate::judge::Finding;
use crate::protocol::Level;

use super::super::text::{clean, value};
use super::{Page, style};

/// How many findings of one requirement are told in full where not everything is to be told.
const SHOWN: usize = 3;

/// The findings of one requirement, in order.
pub(super) struct Group<'a> {
    pub requirement: &'a str,
    pub level: Level,
    pub findings: Vec<&'a Finding>,
}

impl<'a> Group<'a> {
    /// Groups in the order in which the requirements first come up.
    pub fn of(findings: impl Iterator<Item = &'a Finding>) -> Vec<Self> {
        let mut groups: Vec<Self> = vec![];
        for finding in findings {
            match groups.iter_mut().find(|g| g.requirement == finding.requirement) {
                Some(group) => group.findings.push(finding),
                None => groups.push(Self {
                    requirement: &finding.requirement,
                    level: finding.level,
                    findings: vec![finding],
                }),
            }
        }
        groups
    }
}

impl Page<'_> {
    /// What is required and why, then each finding.
    pub(super) fn group(&mut self, style: Style, word: &str, group: &Group<'_>) {
        let of = match group.requirement {
            "" => "an expectation that stands for no requirement".to_owned(),
            id => format!("{} {id}", group.level.as_str()),
        };
        self.heading(style, word, &of);
        if let Some(requirement) = self.requirement(group.requirement).copied() {
            self.block(2, requirement.statement);
            if !requirement.why.is_empty() {
                self.block(2, &format!("why: {}", requirement.why));
            }
            let source = requirement.source;
            self.line(format!("  {}source: {}, {}{:#}", style::DIM, source.document, source.section, style::DIM));
        }
        let shown = if self.verbose { group.findings.len() } else { SHOWN };
        for finding in group.findings.iter().take(shown) {
            self.finding(style, finding);
        }
        let rest = &group.findings[shown.min(group.findings.len())..];
        if !rest.is_empty() {
            self.line("");
            self.line(format!("  and {} more of this requirement (-v tells them in full), in", rest.len()));
            let ids: Vec<&str> = rest.iter().filter_map(|f| f.scenario.as_deref()).collect();
            self.list(&ids);
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
        self.fact("repeat", Some(finding.repro.as_str()).filter(|r| !r.is_empty()));
    }

    fn fact(&mut self, name: &str, text: Option<impl AsRef<str>>) {
        if let Some(text) = text {
            let name = format!("{}{name:8}{:#}", style::DIM, style::DIM);
            self.line(format!("    {name} {}", clean(text.as_ref())));
        }
    }
}
