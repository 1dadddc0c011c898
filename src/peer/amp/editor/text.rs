//! Positions in a text: lines and columns, both counted from 0.

/// The unit in which columns are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnUnit {
    /// Unicode characters.
    #[default]
    Characters,
    /// Bytes of UTF-8.
    Bytes,
    /// Code units of UTF-16.
    Utf16,
}

/// A place between two characters. The column counts characters; see [`column()`] for other units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pos {
    /// The line.
    pub line: usize,
    /// How many characters of the line stand before it.
    pub col: usize,
}

/// A line's content without its line end; empty where there is no such line.
pub fn line(text: &str, n: usize) -> &str {
    let line = text.split('\n').nth(n).unwrap_or_default();
    line.strip_suffix('\r').unwrap_or(line)
}

/// The nearest place that exists in this text.
pub fn clamp(text: &str, pos: Pos) -> Pos {
    let last = text.split('\n').count() - 1;
    let at = pos.line.min(last);
    let wanted = if pos.line > last { usize::MAX } else { pos.col };
    Pos { line: at, col: wanted.min(line(text, at).chars().count()) }
}

/// How many bytes of the text stand before a place.
pub fn offset(text: &str, pos: Pos) -> usize {
    let pos = clamp(text, pos);
    let before: usize = text.split('\n').take(pos.line).map(|l| l.len() + 1).sum();
    before + prefix(line(text, pos.line), pos.col).len()
}

/// The column of a place, in some unit.
pub fn column(text: &str, pos: Pos, unit: ColumnUnit) -> usize {
    let pos = clamp(text, pos);
    measure(prefix(line(text, pos.line), pos.col), unit)
}

/// How long a piece of text is, in some unit.
pub fn measure(text: &str, unit: ColumnUnit) -> usize {
    match unit {
        ColumnUnit::Characters => text.chars().count(),
        ColumnUnit::Bytes => text.len(),
        ColumnUnit::Utf16 => text.encode_utf16().count(),
    }
}

/// The text between two places.
pub fn slice(text: &str, start: Pos, end: Pos) -> &str {
    text.get(offset(text, start)..offset(text, end)).unwrap_or_default()
}

fn prefix(line: &str, chars: usize) -> &str {
    line.char_indices().nth(chars).map_or(line, |(i, _)| &line[..i])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "one\r\nzwei ä😀!\n";

    #[test]
    fn columns_are_counted_in_the_unit_asked_for() {
        let end = Pos { line: 1, col: 7 };
        assert_eq!(column(TEXT, end, ColumnUnit::Characters), 7);
        assert_eq!(column(TEXT, end, ColumnUnit::Utf16), 8);
        assert_eq!(column(TEXT, end, ColumnUnit::Bytes), 11);
        assert_eq!(slice(TEXT, Pos { line: 1, col: 5 }, end), "ä😀");
    }

    #[test]
    fn places_outside_the_text_become_the_nearest_one_inside() {
        assert_eq!(clamp(TEXT, Pos { line: 0, col: 99 }), Pos { line: 0, col: 3 });
        assert_eq!(clamp(TEXT, Pos { line: 99, col: 0 }), Pos { line: 2, col: 0 });
        assert_eq!(clamp("", Pos { line: 3, col: 3 }), Pos::default());
        assert_eq!(offset(TEXT, Pos { line: 99, col: 99 }), TEXT.len());
    }
}
