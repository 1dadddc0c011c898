//! The colours of the chart. Terminals that want none get none: the stream drops them.

use anstyle::{AnsiColor, Color, Style};

use crate::export::label::LabelStyle;
use crate::protocol::Level;

pub const DIM: Style = Style::new().dimmed();
pub const STRONG: Style = Style::new().bold();
pub const PURPOSE: Style = colour(AnsiColor::Magenta);
pub const BAD: Style = colour(AnsiColor::Red).bold();
pub const WARN: Style = colour(AnsiColor::Yellow);

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(colour)))
}

/// How the words of a label are painted.
pub fn of(tone: LabelStyle) -> Style {
    match tone {
        LabelStyle::Request => colour(AnsiColor::Cyan),
        LabelStyle::Response => colour(AnsiColor::Green),
        LabelStyle::Failure => colour(AnsiColor::Red),
        LabelStyle::Notification => colour(AnsiColor::Blue),
        LabelStyle::Control | LabelStyle::Piece => DIM,
        LabelStyle::Around => Style::new(),
        LabelStyle::Mark => DIM.italic(),
    }
}

/// How a finding is painted, and the sign before it.
pub fn of_level(level: Level) -> (Style, &'static str) {
    match level {
        Level::Must => (BAD, "✗"),
        Level::Should => (WARN, "!"),
        Level::May => (DIM, "·"),
    }
}

/// A text in a style.
pub fn paint(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") }
}
