//! The one renderer of diagnostics: headline, position, excerpt, notes, help.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::{Diagnostic, Severity};

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No escape sequences.
    Plain,
    /// ANSI colours.
    Coloured,
}

/// One diagnostic as text, with a final newline.
pub fn render(diagnostic: &Diagnostic, style: Style) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut group = Group::with_title(level.primary_title(diagnostic.message.as_str()).id(diagnostic.code));
    let mut drawn: Vec<&str> = vec![];
    for label in &diagnostic.labels {
        let name = label.place.source.name();
        if drawn.contains(&name) {
            continue;
        }
        drawn.push(name);
        let text = label.place.source.text();
        let mut snippet = Snippet::source(text).path(name).fold(true);
        for l in diagnostic.labels.iter().filter(|l| l.place.source.name() == name) {
            let kind = if l.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let range = clamp(text, l.place.span.start, l.place.span.end);
            let annotation = kind.span(range);
            snippet =
                snippet.annotation(if l.text.is_empty() { annotation } else { annotation.label(l.text.as_str()) });
        }
        group = group.element(snippet);
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    for help in &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    format!("{}\n", renderer.render(&[group]))
}

/// Many diagnostics, a blank line between them.
pub fn render_all(diagnostics: &[Diagnostic], style: Style) -> String {
    diagnostics.iter().map(|d| render(d, style)).collect::<Vec<_>>().join("\n")
}

/// A range that the drawing library accepts: inside the text and on character borders.
fn clamp(text: &str, start: usize, end: usize) -> std::ops::Range<usize> {
    let mut start = start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = end.clamp(start, text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}
