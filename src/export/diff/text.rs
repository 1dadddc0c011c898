//! Differences for the terminal: [`Text`].

use anstyle::{AnsiColor, Color, Style};

use crate::export::fold;
use crate::export::html::Standing;
use crate::export::label::Labels;
use crate::export::text::{clean, cut};
use crate::protocol::Protocol;
use crate::trace::{Direction, Event};

use super::{Change, Differences};

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(colour)))
}

const GONE: Style = colour(AnsiColor::Red);
const NEW: Style = colour(AnsiColor::Green);
const OTHER: Style = colour(AnsiColor::Yellow);
const DIM: Style = Style::new().dimmed();

/// Draws differences, one by one.
pub struct Text {
    width: usize,
}

impl Text {
    /// On lines of so many columns.
    pub fn new(width: usize) -> Self {
        Self { width }
    }

    /// Which traces are compared.
    pub fn title(&self, first: &str, second: &str) -> String {
        format!("{GONE}--- {}{GONE:#}\n{NEW}+++ {}{NEW:#}\n\n", clean(first), clean(second))
    }

    /// One difference: an event, of the first trace where it is there, and its number in the second.
    pub fn step(
        &self,
        (protocol, edition): (Option<&'static Protocol>, &str),
        standing: Standing,
        event: &Event,
        other: Option<u64>,
        changes: &[Change],
    ) -> String {
        let (style, sign) = match standing {
            Standing::Same => (DIM, " "),
            Standing::Changed => (OTHER, "≠"),
            Standing::Missing => (GONE, "-"),
            Standing::Extra => (NEW, "+"),
            Standing::Moved => (DIM, "⇅"),
        };
        let label = Labels::new(protocol, edition).label(event, None);
        let arrow = match event.dir {
            Some(Direction::ToServer) => "→",
            Some(Direction::ToClient) => "←",
            None => "·",
        };
        let numbers = match other {
            Some(other) => format!("#{}·{other}", event.i),
            None => format!("#{}", event.i),
        };
        let conn = event.conn.as_deref().map(clean).unwrap_or_default();
        let line =
            format!("{sign} {numbers:<11} {:<8} {arrow} {} {}", cut(&conn, 14), label.what, label.folded(self.width));
        let mut out = format!("{style}{}{style:#}\n", cut(&line, self.width));
        let room = self.width.saturating_sub(8);
        for change in changes {
            let path = if change.path.is_empty() { "the whole of it".to_owned() } else { clean(&change.path) };
            out += &format!("    {}\n", cut(&path, room));
            for (style, sign, value) in [(GONE, "-", &change.was), (NEW, "+", &change.is)] {
                if let Some(value) = value {
                    out += &format!("      {style}{sign} {}{style:#}\n", cut(&fold::json(value, room), room - 2));
                }
            }
        }
        out
    }

    /// How many there are of each sort.
    pub fn summary(&self, differences: &Differences, left_out: u64) -> String {
        let counts = &differences.counts;
        let parts = [
            (counts.changed, "changed"),
            (counts.missing, "missing"),
            (counts.extra, "extra"),
            (counts.moved, "at another place"),
            (counts.same, "the same"),
        ];
        let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}")).collect();
        let more = if left_out > 0 { format!("{left_out} more differences are not shown\n") } else { String::new() };
        let verdict = match (differences.same, differences.steps.is_empty()) {
            (_, true) => "nothing to compare".to_owned(),
            (true, _) => "no difference".to_owned(),
            (false, _) => "different".to_owned(),
        };
        format!("{more}\n{verdict}: {}\n", parts.join(", "))
    }
}
