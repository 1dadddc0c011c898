//! Differences between two texts, line by line.

use similar::{ChangeTag, TextDiff};

use super::Style;

/// Lines shown around each difference.
const CONTEXT: usize = 3;

/// What has to change in `old` to get `new`, as a unified diff under these two names; empty where nothing has to.
pub fn difference(old: &str, new: &str, names: (&str, &str), style: Style) -> String {
    let diff = TextDiff::from_lines(old, new);
    let paint = |code: &str, line: &str| match style {
        Style::Plain => format!("{line}\n"),
        Style::Coloured => format!("\x1b[{code}m{line}\x1b[0m\n"),
    };
    let mut out = String::new();
    for (n, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if n == 0 {
            out += &paint("31", &format!("--- {}", names.0));
            out += &paint("32", &format!("+++ {}", names.1));
        }
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (was, is) = (first.old_range().start..last.old_range().end, first.new_range().start..last.new_range().end);
        out += &paint("36", &format!("@@ -{},{} +{},{} @@", was.start + 1, was.len(), is.start + 1, is.len()));
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
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
}
