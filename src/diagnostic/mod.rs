//! Errors in files, failed expectations and snapshot differences, in one shape and drawn one way.
//!
//! A [`Diagnostic`] says what is wrong, points at [`SourceSpan`]s in [`Source`] texts, and says what to
//! do about it. [`render()`] is the only code that draws one.

mod difference;
mod render;
mod source;
mod suggest;
pub mod yaml;

pub use difference::difference;
pub use render::{Style, render, render_all};
pub use source::{Source, SourceSpan, Span};
pub use suggest::nearest;

/// How grave a [`Diagnostic`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing can go on from here.
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

/// One thing that is wrong, where, and what to do about it.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// How grave it is.
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
