//! Texts that diagnostics point into, and positions in them.

use std::fmt;
use std::sync::Arc;

/// A text with a name, usually a file. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Source(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: String,
    text: String,
}

impl Source {
    /// `name` is what positions show, usually the path as the user gave it.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self(Arc::new(Inner { name: name.into(), text: text.into() }))
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
    /// One past the last byte.
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
