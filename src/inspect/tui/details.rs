//! What is shown of one event: [`Details`].

use ratatui::crossterm::event::KeyEvent;
use serde_json::Value;

use crate::inspect::api::{EventDetail, FindingList, FoundAt};

use super::list::Scroll;
use super::text::{TextLine, Tone, line, one_line, pretty, wrap};

/// An event in full, as lines that fit the screen.
#[derive(Debug, Default)]
pub struct Details {
    /// The number of the event.
    pub i: u64,
    /// The event, or why it cannot be shown.
    pub detail: Option<Result<EventDetail, String>>,
    /// The lines, broken at the width.
    pub lines: Vec<TextLine>,
    /// Which of them are seen.
    pub scroll: Scroll,
    /// How many cells a line has.
    width: usize,
}

impl Details {
    /// Of an event that was asked for.
    pub fn new(i: u64) -> Self {
        Self { i, ..Self::default() }
    }

    /// Takes the event.
    pub fn take(&mut self, i: u64, detail: Result<EventDetail, String>, found: &FindingList) {
        if i == self.i {
            self.detail = Some(detail);
            self.layout(found);
        }
    }

    /// Gives the lines so many cells, and so many of them room.
    pub fn resize(&mut self, (width, height): (usize, usize), found: &FindingList) {
        self.scroll.height = height;
        if self.width != width {
            self.width = width;
            self.layout(found);
        }
        self.scroll.keep(self.lines.len());
    }

    fn layout(&mut self, found: &FindingList) {
        let width = self.width;
        self.lines = match &self.detail {
            None => vec![],
            Some(Err(error)) => wrapped(error, width, Tone::Must),
            Some(Ok(detail)) => lines_of(detail, found, width),
        };
        self.scroll.keep(self.lines.len());
    }

    /// Takes a key that scrolls. Gives whether it was one.
    pub fn key(&mut self, key: &KeyEvent) -> bool {
        self.scroll.key(key, self.lines.len())
    }
}

/// A text as lines of one tone.
pub fn wrapped(text: &str, width: usize, tone: Tone) -> Vec<TextLine> {
    wrap(text, width).into_iter().map(|text| line(text, tone)).collect()
}

/// The sign and the tone of a level.
pub fn sign(level: &str) -> (&'static str, Tone) {
    match level {
        "must" => ("✗", Tone::Must),
        "should" => ("!", Tone::Should),
        _ => ("?", Tone::May),
    }
}

/// What a finding says, with the statement and the source of its requirement.
pub fn finding_lines(found: &FoundAt, list: &FindingList, width: usize) -> Vec<TextLine> {
    let finding = &found.finding;
    let (sign, tone) = sign(finding.level.as_str());
    let id = finding.requirement.as_deref().unwrap_or("no requirement");
    let mut lines = wrapped(&format!("{sign} {} {id}", finding.level.as_str().to_uppercase()), width, tone);
    lines.extend(wrapped(&format!("  {}", finding.message), width, Tone::Plain));
    let mut fact = |name: &str, text: &str| lines.extend(wrapped(&format!("  {name}: {text}"), width, Tone::Faint));
    if let Some(requirement) = finding.requirement.as_ref().and_then(|id| list.requirements.get(id)) {
        fact("requirement", &requirement.statement);
        if !requirement.why.is_empty() {
            fact("why", &requirement.why);
        }
        fact("source", &requirement.source);
    }
    if let Some(purpose) = &found.deliberate {
        fact("wrong on purpose", purpose);
    }
    if let Some(path) = finding.path.as_deref().filter(|path| !path.is_empty()) {
        fact("at", path);
    }
    let json = |value: &Value| one_line(&value.to_string()).chars().take(300).collect::<String>();
    if let Some(expected) = &finding.expected {
        fact("expected", &json(expected));
    }
    if let Some(actual) = &finding.actual {
        fact("actual", &json(actual));
    }
    lines
}

fn lines_of(detail: &EventDetail, list: &FindingList, width: usize) -> Vec<TextLine> {
    let mut lines = vec![];
    for found in &detail.findings {
        lines.extend(finding_lines(found, list, width));
        lines.push(vec![]);
    }
    if let Some(act) = &detail.act {
        lines.extend(wrapped(&format!("a: do `{}` again, changed", act.act), width, Tone::Faint));
    }
    for text in pretty(&detail.event) {
        lines.extend(wrapped(&text, width, Tone::Plain));
    }
    lines
}
