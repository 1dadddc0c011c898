//! The one renderer of diagnostics (headline, position, excerpt, notes, help), differences of texts, and suggestions.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use similar::ChangeTag;
use similar::algorithms::{Capture, Compact, Replace, myers};

use super::{Diagnostic, Severity};

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No escape sequences.
    Plain,
    /// ANSI colours.
    Coloured,
}

/// A text that may come from a subject, without anything that would steer a terminal: control characters other
/// than line ends and tabs are shown as escapes.
pub fn clean(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// One diagnostic as text, with a final newline. What a subject wrote may stand in its message, notes and help.
pub fn render(diagnostic: &Diagnostic, style: Style) -> String {
    let message = clean(&diagnostic.message);
    let cleaned = |texts: &[String]| texts.iter().map(|text| clean(text)).collect::<Vec<_>>();
    let (notes, helps) = (cleaned(&diagnostic.notes), cleaned(&diagnostic.help));
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut group = Group::with_title(level.primary_title(message.as_str()).id(diagnostic.code));
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
    for note in &notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    for help in &helps {
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

/// Lines shown around each difference.
const CONTEXT: usize = 3;

/// What has to change in `old` to get `new`, as a unified diff under these two names; empty where nothing has to.
pub fn difference(old: &str, new: &str, names: (&str, &str), style: Style) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    // The one algorithm by itself: `TextDiff` brings all of them, half a megabyte.
    let mut changes = Compact::new(Replace::new(Capture::new()), &old, &new);
    let Ok(()) = myers::diff(&mut changes, &old, 0..old.len(), &new, 0..new.len());
    let paint = |code: &str, line: &str| match style {
        Style::Plain => format!("{line}\n"),
        Style::Coloured => format!("\x1b[{code}m{line}\x1b[0m\n"),
    };
    let mut out = String::new();
    for (n, group) in changes.into_inner().into_inner().into_grouped_ops(CONTEXT).iter().enumerate() {
        if n == 0 {
            out += &paint("31", &format!("--- {}", names.0));
            out += &paint("32", &format!("+++ {}", names.1));
        }
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (was, is) = (first.old_range().start..last.old_range().end, first.new_range().start..last.new_range().end);
        out += &paint("36", &format!("@@ -{},{} +{},{} @@", was.start + 1, was.len(), is.start + 1, is.len()));
        for change in group.iter().flat_map(|op| op.iter_changes(&old, &new)) {
            let line = change.value().trim_end_matches('\n');
            out += &match change.tag() {
                ChangeTag::Equal => format!(" {line}\n"),
                ChangeTag::Delete => paint("31", &format!("-{line}")),
                ChangeTag::Insert => paint("32", &format!("+{line}")),
            };
        }
    }
    out
}

/// The candidate closest to `word`, if any is close enough to be a likely misspelling.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = word.to_lowercase();
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&folded, &c.to_lowercase()), c))
        .filter(|(distance, c)| *distance <= (c.chars().count().max(3)) / 3 && *distance < c.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_what_went_what_came_and_what_is_around() {
        let plain = difference("a\nb\nc\n", "a\nB\nc\n", ("was", "is"), Style::Plain);
        assert_eq!(plain, "--- was\n+++ is\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        assert!(difference("a\n", "a\n", ("was", "is"), Style::Coloured).is_empty());
        assert!(difference("a\n", "b\n", ("was", "is"), Style::Coloured).contains("\x1b[32m+b\x1b[0m\n"));
    }

    #[test]
    fn nothing_of_a_subject_reaches_the_terminal_as_an_escape() {
        let steering = "\x1b[2J\x1b]0;title\x07\r\u{9b}31m\u{202e}";
        let diagnostic = Diagnostic::error("subject/ended", format!("ended: {steering}"))
            .note(format!("it wrote last:\n\t{steering}"))
            .help(format!("run {steering}"));
        let text = render(&diagnostic, Style::Plain);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}'), "{text:?}");
        assert!(text.contains("it wrote last:\n") && text.contains(r"\u{1b}[2J"), "{text}");
    }

    #[test]
    fn a_misspelling_finds_its_word_and_a_stranger_finds_none() {
        assert_eq!(nearest("slep", ["sleep", "send", "expect"]), Some("sleep"));
        assert_eq!(nearest("Expect", ["sleep", "send", "expect"]), Some("expect"));
        assert_eq!(nearest("banana", ["sleep", "send", "expect"]), None);
        assert_eq!(nearest("a", ["b"]), None);
        assert_eq!(nearest("a", ["A"]), Some("A"));
    }
}
