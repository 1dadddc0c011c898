//! The lines of a chart: columns, arrows, findings, payloads in full; and their colours.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Color, Style};

use crate::export::label::{Content, Label, LabelStyle};
use crate::export::text::{self, clean, cut, push_clean, span, steers, width, wrap};
use crate::export::{Remark, TraceSurvey};
use crate::protocol::Level;
use crate::trace::{Culprit, Direction, Event, EventKind, Payload};

use super::padded;

/// The columns of a chart, wide enough for what is in the trace.
pub struct Columns {
    width: usize,
    number: usize,
    /// The width of the connection's name; none where there is only one connection.
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

    /// Renders an event.
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
            (paint(label_style(label.tone), &words), width(&words)),
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

    /// Renders a time in which nothing happened.
    pub fn pause(&self, micros: u64) -> String {
        let text = format!("{} later", span(micros));
        format!("{}{}\n", " ".repeat(self.indent()), paint(DIM, &format!("┆  {}┆", padded(&text, self.room() - 2))))
    }

    /// Renders the gap that stands for events which are not shown.
    pub fn gap(&self) -> String {
        format!("{}{}\n", " ".repeat(self.indent()), paint(DIM, "⋮"))
    }
}

/// Renders a finding below its event.
pub fn remark(remark: &Remark, indent: usize, most: usize) -> String {
    let (style, sign) = level_style(remark.level);
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
        ("expected", remark.expected.as_ref().map(|value| text::json(value, room))),
        ("actual", remark.actual.as_ref().map(|value| text::json(value, room))),
    ];
    for (name, text) in facts {
        if let Some(text) = text {
            let name = paint(if name == "actual" { BAD } else { DIM }, &format!("{name:8}"));
            out += &format!("{pad}  {name} {}\n", cut(&text, room.saturating_sub(9)));
        }
    }
    out
}

/// The complete payload of an event, each line indented.
pub fn full(event: &Event, head: Option<&Event>, label: &Label<'_>, indent: usize) -> String {
    let pad = format!("{}{} ", " ".repeat(indent), paint(DIM, "╎"));
    let mut out = String::new();
    for event in head.into_iter().chain([event]) {
        let headers = match &event.kind {
            EventKind::Handshake(head) => &head.headers[..],
            EventKind::HttpRequest(head) => &head.headers[..],
            EventKind::HttpResponse(head) => &head.headers[..],
            _ => &[],
        };
        for (name, value) in headers {
            let _ = writeln!(out, "{pad}{} {}", paint(DIM, &format!("{}:", clean(name))), clean(value));
        }
    }
    match &label.content {
        Content::Nothing => {}
        Content::Json(value) => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            lines(&text, &pad, &mut out);
        }
        Content::Payload(payload) => match payload.as_ref() {
            Payload::Text(text) => lines(text, &pad, &mut out),
            Payload::Binary(bytes) => hex(bytes, &pad, &mut out),
        },
    }
    out
}

fn lines(text: &str, pad: &str, out: &mut String) {
    for line in text.lines() {
        out.push_str(pad);
        push_clean(out, line);
        out.push('\n');
    }
}

/// Sixteen bytes a line: offset, digits, characters.
fn hex(bytes: &[u8], pad: &str, out: &mut String) {
    for (n, row) in bytes.chunks(16).enumerate() {
        let _ = write!(out, "{pad}{:08x} ", n * 16);
        for byte in row {
            let _ = write!(out, " {byte:02x}");
        }
        let text = row.iter().map(|byte| char::from(*byte)).map(|c| if c.is_ascii() && !steers(c) { c } else { '.' });
        let _ = writeln!(out, "{}  {}", "   ".repeat(16 - row.len()), text.collect::<String>());
    }
}

pub const DIM: Style = Style::new().dimmed();
pub const STRONG: Style = Style::new().bold();
const PURPOSE: Style = colour(AnsiColor::Magenta);
pub const BAD: Style = colour(AnsiColor::Red).bold();
pub const WARN: Style = colour(AnsiColor::Yellow);

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(colour)))
}

/// How the words of a label are painted.
pub fn label_style(tone: LabelStyle) -> Style {
    match tone {
        LabelStyle::Request => colour(AnsiColor::Cyan),
        LabelStyle::Response => colour(AnsiColor::Green),
        LabelStyle::Failure => colour(AnsiColor::Red),
        LabelStyle::Notification => colour(AnsiColor::Blue),
        LabelStyle::Control | LabelStyle::Piece => DIM,
        LabelStyle::Harness => Style::new(),
        LabelStyle::Mark => DIM.italic(),
    }
}

/// How a finding is painted, and the sign before it.
fn level_style(level: Level) -> (Style, &'static str) {
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
