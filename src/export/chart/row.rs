//! The lines of a chart: columns, arrows, findings.

use crate::export::label::{Label, LabelStyle};
use crate::export::text::{clean, cut, span, width, wrap};
use crate::export::{Remark, TraceSurvey, fold};
use crate::trace::{Culprit, Direction, Event};

use super::padded;
use super::style::{self, BAD, DIM, PURPOSE, paint};

/// The columns of a chart, wide enough for what is in the trace.
pub struct Columns {
    width: usize,
    number: usize,
    /// None where there is only one connection.
    conn: Option<usize>,
}

/// `seconds.micros`
const TIME: usize = 11;

impl Columns {
    /// For a trace, on lines of so many columns.
    pub fn new(survey: &TraceSurvey, width: usize) -> Self {
        let number = survey.events.saturating_sub(1).to_string().len().max(3);
        let longest = survey.connections.iter().map(|c| super::width(&clean(&c.name))).max().unwrap_or(0);
        let conn = (survey.connections.len() > 1).then(|| longest.clamp(4, 14));
        Self { width, number, conn }
    }

    /// How far what belongs to a line is indented below it.
    pub fn indent(&self) -> usize {
        TIME + 1 + self.number + 1 + self.conn.map_or(0, |conn| conn + 1)
    }

    /// The columns between the two lifelines.
    fn room(&self) -> usize {
        self.width.saturating_sub(self.indent() + 2).max(20)
    }

    /// The names of the columns.
    pub fn heading(&self) -> String {
        let conn = self.conn.map(|conn| format!("{} ", padded("conn", conn))).unwrap_or_default();
        let gap = " ".repeat((self.room() + 2).saturating_sub("clientserver".len()));
        let line = format!("{:>TIME$} {:>number$} {conn}client{gap}server", "time", "#", number = self.number);
        format!("{}\n", paint(DIM, &line))
    }

    fn prefix(&self, event: &Event) -> String {
        let time = format!("{}.{:06}", event.t / 1_000_000, event.t % 1_000_000);
        let line = format!("{time:>TIME$} {:>number$}", event.i, number = self.number);
        let conn = self.conn.map(|conn| {
            let name = event.conn.as_deref().map(clean).unwrap_or_default();
            format!(" {}", padded(&name, conn))
        });
        format!("{}{} ", paint(DIM, &line), conn.unwrap_or_default())
    }

    /// One event.
    pub fn row(&self, event: &Event, label: &Label<'_>, ends_stream: bool) -> String {
        let room = self.room();
        let words = if ends_stream { "the stream ends".to_owned() } else { label.what.clone() };
        // Two columns of arrow on either side, and a space before and after the words.
        let inside = room.saturating_sub(6);
        let after = label.after.filter(|_| inside >= 40).map(|after| format!("after {}", span(after)));
        let after = after.unwrap_or_default();
        let most = inside.saturating_sub(width(&after) + 16).min(44);
        let purpose = event.deliberate.as_deref().map(|why| cut(&format!("⟨on purpose: {}⟩", clean(why)), most));
        let fixed = [purpose.as_deref().unwrap_or(""), after.as_str()].map(|t| width(t) + usize::from(!t.is_empty()));
        let words = cut(&words, inside.saturating_sub(fixed[0] + fixed[1]).max(12));
        let left = inside.saturating_sub(width(&words) + fixed[0] + fixed[1] + 1);
        let content = if left >= 4 && !ends_stream { cut(&label.folded(left + 1), left) } else { String::new() };
        let parts = [
            (paint(style::of(label.tone), &words), width(&words)),
            (paint(PURPOSE, purpose.as_deref().unwrap_or("")), fixed[0].saturating_sub(1)),
            (content.clone(), width(&content)),
            (paint(DIM, &after), fixed[1].saturating_sub(1)),
        ];
        let parts = parts.into_iter().filter(|(_, wide)| *wide > 0).collect::<Vec<_>>();
        let used = parts.iter().map(|(_, wide)| wide + 1).sum::<usize>().saturating_sub(1);
        let text = parts.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join(" ");
        let rest = inside.saturating_sub(used);
        let line = |n: usize| "─".repeat(n);
        let body = match (event.dir, event.conn.is_some()) {
            (Some(Direction::ToServer), true) => format!("├─ {text} {}▶┤", paint(DIM, &line(rest + 2))),
            (Some(Direction::ToClient), true) => format!("├◀{} {text} ─┤", paint(DIM, &line(rest + 2))),
            _ if label.tone == LabelStyle::Mark => {
                format!("│{} {text} {}│", paint(DIM, "╌"), paint(DIM, &"╌".repeat(rest + 3)))
            }
            _ => format!("│  {text} {}│", " ".repeat(rest + 3)),
        };
        format!("{}{body}\n", self.prefix(event))
    }

    /// A time in which nothing happened.
    pub fn pause(&self, micros: u64) -> String {
        let text = format!("{} later", span(micros));
        format!("{}{}\n", " ".repeat(self.indent()), paint(DIM, &format!("┆  {}┆", padded(&text, self.room() - 2))))
    }

    /// Events that are not shown.
    pub fn gap(&self) -> String {
        format!("{}{}\n", " ".repeat(self.indent()), paint(DIM, "⋮"))
    }
}

/// A finding, below its event.
pub fn remark(remark: &Remark, indent: usize, most: usize) -> String {
    let (style, sign) = style::of_level(remark.level);
    let blame = match remark.blame {
        Culprit::Client => "client",
        Culprit::Server => "server",
        Culprit::Environment => "environment",
    };
    let pad = " ".repeat(indent);
    let room = most.saturating_sub(indent + 2);
    let what = match &remark.requirement {
        Some(requirement) => format!("breaks {}", clean(requirement)),
        None => "fails an expectation that proves no requirement".to_owned(),
    };
    let head = format!("{} {blame} {what}", remark.level.as_str());
    let mut out = format!("{pad}{} {}\n", paint(style, sign), paint(style, &cut(&head, room)));
    for line in wrap(&clean(&remark.message), room) {
        out += &format!("{pad}  {line}\n");
    }
    let facts = [
        ("step", remark.step.as_ref().map(|step| clean(step))),
        ("at", remark.path.as_ref().filter(|path| !path.is_empty()).map(|path| clean(path))),
        ("expected", remark.expected.as_ref().map(|value| fold::json(value, room))),
        ("actual", remark.actual.as_ref().map(|value| fold::json(value, room))),
    ];
    for (name, text) in facts {
        if let Some(text) = text {
            let name = paint(if name == "actual" { BAD } else { DIM }, &format!("{name:8}"));
            out += &format!("{pad}  {name} {}\n", cut(&text, room.saturating_sub(9)));
        }
    }
    out
}
