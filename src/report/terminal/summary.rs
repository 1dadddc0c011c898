//! The verdict, what it rests on, and what was left open.

use anstyle::Style;

use crate::judge::{Counts, Report, RequirementResult, Status, SubjectReport, Verdict};
use crate::protocol::Level;

use super::super::write::counted;
use super::{TerminalReport, style};
use crate::diagnostic::clean;

impl TerminalReport<'_> {
    /// The verdict and the numbers behind it.
    pub(super) fn summary(&mut self, subject: &SubjectReport) {
        if !self.text.is_empty() {
            self.line("");
        }
        let (style, word) = verdict(subject.verdict);
        let about = format!("{} ({}, edition {})", clean(&subject.name), subject.role, subject.edition);
        self.line(format!("{style}{word}{style:#}  {about}"));
        self.line(format!("  {}", meaning(subject)));
        for level in [Level::Must, Level::Should, Level::May] {
            if let Some(line) = coverage(&subject.requirements, level) {
                self.line(format!("  {:7} {line}", level.as_str()));
            }
        }
        self.line(format!("  {:7} {}", "played", played(&subject.counts)));
    }

    /// What nothing was learnt about, and what is excused; those with the same reason together.
    pub(super) fn open_requirements(&mut self, subject: &SubjectReport) {
        let is_expected = |r: &&RequirementResult| subject.verdict != Verdict::Partial && r.level != Level::May;
        self.requirements_of(subject, Status::NotAssessed, style::WARN, "not assessed", is_expected);
        self.in_part(subject);
        self.requirements_of(subject, Status::Excused, style::HEAD, "excused", |r| r.level == Level::Must);
    }

    /// What is met where it was judged, and could not be judged everywhere.
    fn in_part(&mut self, subject: &SubjectReport) {
        let in_part =
            |r: &&RequirementResult| r.status == Status::Met && !r.because.is_empty() && r.level == Level::Must;
        let met: Vec<&RequirementResult> = subject.requirements.iter().filter(in_part).collect();
        if met.is_empty() {
            return;
        }
        self.heading(style::HEAD, "met in part", &counted(met.len() as u64, "requirement"));
        self.block(2, "some of their scenarios were kept from judging them");
        let names = met.iter().map(|r| match self.verbose {
            true => format!("must {}, by {}", r.id, r.because.join(", ")),
            false => format!("must {}", r.id),
        });
        let names: Vec<String> = names.collect();
        self.list(&names.iter().map(String::as_str).collect::<Vec<_>>());
    }

    fn requirements_of(
        &mut self,
        subject: &SubjectReport,
        status: Status,
        style: Style,
        word: &str,
        wanted: impl Fn(&&RequirementResult) -> bool,
    ) {
        let mut reasons: Vec<(&str, Vec<String>)> = vec![];
        for result in subject.requirements.iter().filter(|r| r.status == status).filter(wanted) {
            let reason = result.reason.as_deref().unwrap_or("for no reason given");
            let name = format!("{} {}", result.level.as_str(), result.id);
            match reasons.iter_mut().find(|(r, _)| *r == reason) {
                Some((_, names)) => names.push(name),
                None => reasons.push((reason, vec![name])),
            }
        }
        if reasons.is_empty() {
            return;
        }
        let total = reasons.iter().map(|(_, names)| names.len() as u64).sum();
        self.heading(style, word, &counted(total, "requirement"));
        for (reason, names) in reasons {
            self.block(2, reason);
            self.list(&names.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }

    /// The verdict once more where it has scrolled away, and why the exit code is not 0 where it does not say so.
    pub(super) fn ending(&mut self, report: &Report) {
        let stale: u64 = report.subjects.iter().map(|s| s.counts.unexpected_passes).sum();
        if report.subjects.is_empty() {
            self.line(format!("{}incomplete{:#}  nothing was judged", style::WARN, style::WARN));
        }
        if stale > 0 {
            let lines = counted(stale, "baseline line");
            let (are, s) = if stale == 1 { ("is", "it") } else { ("are", "them") };
            self.heading(style::BAD, "stale", &format!("{lines} {are} out of date; remove {s} (see the notes)"));
        }
        if self.text.lines().count() > 12 {
            self.line("");
            for subject in &report.subjects {
                let (style, word) = verdict(subject.verdict);
                let about = format!("{} ({}, edition {})", clean(&subject.name), subject.role, subject.edition);
                self.line(format!("{style}{word}{style:#}  {about}: {}", meaning(subject)));
            }
        }
    }
}

fn verdict(verdict: Verdict) -> (Style, &'static str) {
    match verdict {
        Verdict::Conforms => (style::GOOD, "conforms"),
        Verdict::ConformsExcept => (style::WARN, "conforms except for what is known"),
        Verdict::Nonconforming => (style::BAD, "nonconforming"),
        Verdict::Incomplete => (style::WARN, "incomplete"),
        Verdict::Partial => (style::GOOD, "partial"),
    }
}

/// What the verdict means here, in a sentence.
fn meaning(subject: &SubjectReport) -> String {
    let musts = |status| tally(&subject.requirements, Level::Must, status);
    let broken = musts(Status::Violated);
    let warnings = match tally(&subject.requirements, Level::Should, Status::Violated) {
        0 => String::new(),
        n => format!("; {}", counted(n, "warning")),
    };
    let base = match subject.verdict {
        Verdict::Conforms => "every `must` was met or is excused".to_owned(),
        Verdict::ConformsExcept => format!("{} violated as the baseline says", counted(broken, "`must`")),
        Verdict::Nonconforming if broken > 0 => format!("{} violated", counted(broken, "`must`")),
        Verdict::Nonconforming => format!("{} failed", counted(subject.counts.failed, "scenario")),
        Verdict::Incomplete if subject.counts.error > 0 => {
            format!("{} could not be judged", counted(subject.counts.error, "scenario"))
        }
        Verdict::Incomplete if subject.counts.passed + subject.counts.expected_failures == 0 => {
            "nothing was judged".to_owned()
        }
        Verdict::Incomplete if musts(Status::NotAssessed) > 0 => {
            format!("nothing was learnt about {}", counted(musts(Status::NotAssessed), "`must`"))
        }
        Verdict::Incomplete => "the run ended before its time".to_owned(),
        Verdict::Partial => "nothing violated in the part that was asked for".to_owned(),
    };
    base + &warnings
}

/// `38 met · 2 violated · 3 excused · 0 not assessed`; none where there is no requirement of the level.
fn coverage(requirements: &[RequirementResult], level: Level) -> Option<String> {
    let count = |status| tally(requirements, level, status);
    let violated = if level == Level::Must { style::BAD } else { style::WARN };
    let parts = [
        (count(Status::Met), "met", style::GOOD),
        (count(Status::Violated), "violated", violated),
        (count(Status::Excused), "excused", Style::new()),
        (count(Status::NotAssessed), "not assessed", style::WARN),
    ];
    parts.iter().any(|(n, ..)| *n > 0).then(|| joined(&parts))
}

fn played(counts: &Counts) -> String {
    let always = [(counts.passed, "passed", style::GOOD), (counts.failed, "failed", style::BAD)];
    let sometimes = [
        (counts.expected_failures, "failed as known", style::WARN),
        (counts.blocked, "blocked", style::WARN),
        (counts.skipped, "skipped", Style::new()),
        (counts.error, "not judged", style::ODD),
    ];
    joined(&always.into_iter().chain(sometimes.into_iter().filter(|(n, ..)| *n > 0)).collect::<Vec<_>>())
}

fn joined(parts: &[(u64, &str, Style)]) -> String {
    let part = |(n, word, style): &(u64, &str, Style)| {
        if *n > 0 { format!("{style}{n} {word}{style:#}") } else { format!("{n} {word}") }
    };
    parts.iter().map(part).collect::<Vec<_>>().join(" · ")
}

fn tally(requirements: &[RequirementResult], level: Level, status: Status) -> u64 {
    requirements.iter().filter(|r| r.level == level && r.status == status).count() as u64
}
