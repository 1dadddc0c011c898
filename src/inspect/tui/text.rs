//! Texts for the cells of a terminal: [`one_line`], [`fit`], [`wrap`], [`pretty`], and the [`Tone`] that each part has.

use serde_json::Value;
use unicode_width::UnicodeWidthChar as _;

use crate::diagnostic::clean;

/// The most lines of JSON that are shown of one value.
const MAX_LINES: usize = 20_000;

/// The most characters that are shown of one line of JSON.
const MAX_LINE: usize = 50_000;

/// What a part of the screen is, which gives its colour and its weight. A sign or a word always says the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// A heading, a name.
    Strong,
    /// What matters less.
    Faint,
    /// A violated `must`, an error.
    Must,
    /// A violated `should`.
    Should,
    /// A violated `may`, or what is wrong on purpose.
    May,
    /// What went well, or is on.
    Good,
}

/// A line of parts.
pub type TextLine = Vec<(String, Tone)>;

/// A line of one part.
pub fn line(text: impl Into<String>, tone: Tone) -> TextLine {
    vec![(text.into(), tone)]
}

/// A text as one line without anything that steers a terminal.
pub fn one_line(text: &str) -> String {
    clean(text).replace('\n', "⏎").replace('\t', " ")
}

/// How many cells a text takes.
pub fn width_of(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The beginning of a text that takes at most so many cells; `…` stands for the rest.
pub fn fit(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let (mut fitting, mut used) = (String::new(), 0);
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used + 1 > width {
            break;
        }
        fitting.push(c);
    }
    if width > 0 {
        fitting.push('…');
    }
    fitting
}

/// A text in exactly so many cells.
pub fn pad(text: &str, width: usize) -> String {
    let mut padded = fit(text, width);
    padded.extend(std::iter::repeat_n(' ', width.saturating_sub(width_of(&padded))));
    padded
}

/// Breaks a text into lines of at most so many cells, at spaces where there are some. A line that continues another is indented as
/// far as that, and none by more than half.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(4);
    let mut lines = vec![];
    for text in clean(text).replace('\t', "  ").split('\n') {
        let spaces = text.chars().take_while(|c| *c == ' ').count();
        let indent = " ".repeat(spaces.min(width / 2));
        let text = format!("{indent}{}", &text[spaces..]);
        let mut rest = text.as_str();
        let mut lead = "";
        loop {
            let end = line_end(rest, width - width_of(lead));
            lines.push(format!("{lead}{}", &rest[..end]));
            let next = &rest[end..];
            rest = next.strip_prefix(' ').unwrap_or(next);
            lead = &indent;
            if rest.is_empty() {
                break;
            }
        }
    }
    lines
}

/// Where a line of at most so many cells ends in a text.
fn line_end(text: &str, width: usize) -> usize {
    let (mut used, mut space) = (0, None);
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width && at > 0 {
            let is_far = |space: &usize| *space >= at / 2;
            return if c == ' ' { at } else { space.filter(is_far).unwrap_or(at) };
        }
        if c == ' ' && !text[..at].trim().is_empty() {
            space = Some(at);
        }
    }
    text.len()
}

/// JSON on lines of its own, without anything that steers a terminal.
pub fn pretty(value: &Value) -> Vec<String> {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let count = text.lines().count();
    let mut lines: Vec<String> = text.lines().take(MAX_LINES).map(short).map(|line| clean(&line)).collect();
    if count > MAX_LINES {
        lines.push(format!("… {} more lines", count - MAX_LINES));
    }
    lines
}

fn short(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE) {
        None => line.to_owned(),
        Some((at, _)) => format!("{}… {} more bytes", &line[..at], line.len() - at),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        let shown = one_line("a\u{1b}[2J\nb\tc\u{9b}\u{202e}");
        assert_eq!(shown, "a\\u{1b}[2J⏎b c\\u{9b}\\u{202e}");
        let lines = pretty(&json!({ "a": "\u{1b}]0;x\u{7}\u{9b}31m" })).join("\n");
        assert!(!lines.chars().any(|c| c.is_control() && c != '\n'), "{lines:?}");
        assert!(!wrap("a\u{1b}[31m\u{7f}", 10).concat().chars().any(char::is_control));
    }

    #[test]
    fn a_text_is_cut_where_it_has_no_room_also_one_of_wide_characters() {
        assert_eq!((fit("abcdef", 6), fit("abcdef", 4), fit("ab", 0)), ("abcdef".into(), "abc…".into(), String::new()));
        assert_eq!((fit("漢字漢字", 5), pad("漢", 4), pad("abc", 2)), ("漢字…".into(), "漢  ".into(), "a…".into()));
    }

    #[test]
    fn lines_break_at_spaces_and_keep_their_indentation() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("  aaaaaaaaaaaa", 8), ["  aaaaaa", "  aaaaaa"]);
        assert_eq!(wrap("a\n\nb", 8), ["a", "", "b"]);
        assert_eq!(wrap("漢字漢字漢字", 5), ["漢字", "漢字", "漢字"]);
        assert_eq!(wrap("            x y", 5), ["  x y"]);
    }

    #[test]
    fn json_that_is_too_long_is_cut_and_says_so() {
        let lines = pretty(&json!(vec![1; MAX_LINES]));
        assert_eq!(lines.last().map(String::as_str), Some("… 2 more lines"));
        assert!(pretty(&json!("x".repeat(MAX_LINE + 10)))[0].ends_with("… 12 more bytes"));
    }
}
