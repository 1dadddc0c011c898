//! The model of everything that is wrong: [`Diagnostic`], and the texts and positions that it points at.

use std::fmt;
use std::sync::Arc;

/// A text with a name, usually a file. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Source(Arc<SourceText>);

#[derive(Debug)]
struct SourceText {
    name: String,
    text: String,
}

impl Source {
    /// `name` is what positions show, usually the path as the user gave it.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self(Arc::new(SourceText { name: name.into(), text: text.into() }))
    }

    /// The name given.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// A place in this text.
    pub fn place(&self, span: Span) -> SourceSpan {
        SourceSpan { source: self.clone(), span }
    }

    /// Line and column, both from 1, of a byte offset; columns count characters.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let text = self.text();
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

/// Byte offsets into a text; `end` is exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// The offset after the last byte.
    pub end: usize,
}

/// A span of a text. Shows as `name:line:column`.
#[derive(Clone, Debug)]
pub struct SourceSpan {
    /// The text.
    pub source: Source,
    /// Where in it.
    pub span: Span,
}

impl SourceSpan {
    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.source.line_column(self.span.start).0
    }
}

impl fmt::Display for SourceSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.source.line_column(self.span.start);
        write!(f, "{}:{line}:{column}", self.source.name())
    }
}

/// How grave a [`Diagnostic`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// An error: the operation cannot continue.
    Error,
    /// Worth a look; the verdict stands without it.
    Warning,
    /// For the record.
    Note,
}

/// A place a diagnostic points at, with a word about it.
#[derive(Clone, Debug)]
pub struct Label {
    /// Where.
    pub place: SourceSpan,
    /// What is to be seen there; may be empty.
    pub text: String,
    /// Whether this is where the fault is, rather than what it refers to.
    pub primary: bool,
}

/// Something that is wrong, where it is, and what to do about it.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// A stable name such as `scenario/unknown-key`, for people who search for it.
    pub code: &'static str,
    /// One sentence without a full stop.
    pub message: String,
    /// Where in which texts; the first primary one gives the headline its position.
    pub labels: Vec<Label>,
    /// Facts that explain the fault.
    pub notes: Vec<String>,
    /// What to do next.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// An error without a place.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, code, message: message.into(), labels: vec![], notes: vec![], help: vec![] }
    }

    /// A warning without a place.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Points at where the fault is.
    pub fn at(mut self, place: SourceSpan, text: impl Into<String>) -> Self {
        self.labels.push(Label { place, text: text.into(), primary: true });
        self
    }

    /// Points at something the fault refers to.
    pub fn see(mut self, place: SourceSpan, text: impl Into<String>) -> Self {
        self.labels.push(Label { place, text: text.into(), primary: false });
        self
    }

    /// Adds a fact.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds what to do next.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// `file:line:column` of the fault, where it has a place.
    pub fn position(&self) -> Option<String> {
        let label = self.labels.iter().find(|l| l.primary).or(self.labels.first())?;
        Some(label.place.to_string())
    }
}
