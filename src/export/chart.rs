//! A trace as a sequence chart in a terminal: [`Chart`] Its lines are columns, arrows, findings and payloads in full, with colours.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;

use anstyle::{AnsiColor, Color, Style};

use crate::protocol::{Edition, Level};
use crate::trace::{Culprit, Direction, Event, EventKind, Header, Party, PartyKind, Payload};

use super::file::EventFilter;
use super::label::{Content, Label, LabelStyle, Labels};
use super::text::{self, clean, counted, cut, push_clean, span, steers, width, wrap};
use super::{Findings, Remark, TraceSurvey};

/// Where nothing happens for longer than this, in microseconds, the chart says so.
const PAUSE: u64 = 1_000_000;

/// How a chart is drawn.
#[derive(Clone, Debug)]
pub struct ChartOptions {
    /// The widest line, in columns.
    pub width: usize,
    /// Whether payloads are shown whole, below their lines.
    pub full: bool,
    /// Whether also those events are shown that others tell again.
    pub every: bool,
    /// Whether findings are shown.
    pub findings: bool,
    /// How many lines around each that the filter lets through are shown, too.
    pub context: usize,
}

/// Draws a trace, event by event. Texts come with ANSI styles, and whatever the trace holds, with nothing else that
/// would steer a terminal.
pub struct Chart<'a> {
    survey: &'a TraceSurvey,
    findings: &'a Findings,
    filter: &'a EventFilter,
    options: ChartOptions,
    columns: Columns,
    labels: Labels,
    /// Heads that their bodies will tell, by connection and direction.
    heads: HashMap<(String, bool), Event>,
    /// Lines that are shown only if one that fits the filter follows soon.
    before: VecDeque<String>,
    /// How many lines are still to be shown after one that fitted.
    after: usize,
    skipped: bool,
    last: Option<u64>,
    shown: u64,
}

impl<'a> Chart<'a> {
    /// A chart of a trace that was surveyed.
    pub fn new(
        edition: Option<&'static dyn Edition>,
        survey: &'a TraceSurvey,
        findings: &'a Findings,
        filter: &'a EventFilter,
        options: ChartOptions,
    ) -> Self {
        Self {
            survey,
            findings,
            filter,
            columns: Columns::new(survey, options.width),
            options,
            labels: Labels::new(edition),
            heads: HashMap::new(),
            before: VecDeque::new(),
            after: 0,
            skipped: false,
            last: None,
            shown: 0,
        }
    }

    /// What stands above the chart.
    pub fn title(&self, name: &str, header: &Header) -> String {
        let mut out = String::new();
        let title = format!("{}  {}, edition {}", clean(name), clean(&header.protocol), clean(&header.edition));
        out += &format!("{}\n", paint(STRONG, &cut(&title, self.options.width)));
        let ends = format!("client: {} · server: {}", party(&header.client), party(&header.server));
        out += &format!("{}\n", cut(&ends, self.options.width));
        if let Some(scenario) = &header.scenario {
            out += &format!("{}\n", cut(&format!("scenario {}", clean(scenario)), self.options.width));
        }
        let began = format!("began {}", header.clock.start);
        out += &format!("{}\n\n", paint(DIM, &cut(&began, self.options.width)));
        out += &self.columns.heading();
        out
    }

    /// Draws the next event, if it is to be seen, onto the end of a text.
    pub fn event(&mut self, event: &Event, out: &mut String) {
        let found = self.options.findings && !self.findings.at(event.i).is_empty();
        let to_server = event.dir.is_some_and(|dir| dir.sender() == crate::trace::End::Client);
        let key = (event.conn.clone().unwrap_or_default(), to_server);
        if self.survey.is_repeated(event.i) && !found && !self.options.every {
            if matches!(event.kind, EventKind::HttpRequest(_) | EventKind::HttpResponse(_)) {
                self.heads.insert(key, event.clone());
            }
            return;
        }
        let head = match event.kind {
            EventKind::Message(_) => self.heads.remove(&key),
            _ => None,
        };
        let matches =
            self.filter.matches(event, found) || head.as_ref().is_some_and(|head| self.filter.matches(head, found));
        let label = self.labels.label(event, head.as_ref());
        if !matches && self.options.context == 0 {
            self.skipped = true;
            return;
        }
        let mut text = String::new();
        if let Some(last) = self.last.filter(|last| event.t.saturating_sub(*last) >= PAUSE && !self.skipped) {
            text += &self.columns.pause(event.t - last);
        }
        self.last = Some(event.t);
        let ends_stream = self.survey.ends_stream(event.i);
        text += &self.columns.row(event, &label, ends_stream);
        if self.options.full {
            text += &payload_in_full(event, head.as_ref(), &label, self.columns.indent());
        }
        if found {
            for remark in self.findings.at(event.i) {
                text += &remark_line(remark, self.columns.indent(), self.options.width);
            }
        }
        self.put(text, matches, out);
    }

    /// Shows a line that fits, those before it, and those after it.
    fn put(&mut self, text: String, matches: bool, out: &mut String) {
        if matches {
            if std::mem::take(&mut self.skipped) && self.shown > 0 {
                *out += &self.columns.gap();
            }
            self.shown += 1;
            self.before.drain(..).for_each(|line| *out += &line);
            *out += &text;
            self.after = self.options.context;
        } else if self.after > 0 {
            self.after -= 1;
            *out += &text;
        } else {
            self.before.push_back(text);
            if self.before.len() > self.options.context {
                self.before.pop_front();
                self.skipped = true;
            }
        }
    }

    /// What stands below the chart.
    pub fn summary(&self) -> String {
        let survey = self.survey;
        let connections = survey.connections.len() as u64 + survey.more_connections;
        let mut parts = vec![counted(survey.events, "event")];
        parts.push(format!("{} shown", self.shown));
        parts.push(counted(connections, "connection"));
        parts.push(span(survey.last));
        if self.options.findings {
            let of = |level| self.findings.count(level) as u64;
            let levels = [(Level::Must, "must"), (Level::Should, "should"), (Level::May, "may")];
            let counts = levels.into_iter().filter(|(level, _)| of(*level) > 0);
            let counts: Vec<String> = counts.map(|(level, name)| format!("{} {name}", of(level))).collect();
            let all = self.findings.all().count() as u64;
            parts.push(match counts.is_empty() {
                true => "no findings".to_owned(),
                false => format!("{}: {}", counted(all, "finding"), counts.join(", ")),
            });
        }
        let mut out = format!("\n{}\n", cut(&parts.join(" · "), self.options.width));
        if self.findings.uncounted > 0 && self.options.findings {
            out += &format!("and {} more of the same requirements, which are not marked\n", self.findings.uncounted);
        }
        if survey.cut {
            out += "the trace was cut: its end is missing\n";
        }
        out
    }
}

/// Describes the party at an end in few words.
pub fn party(party: &Party) -> String {
    let is = match party.is {
        PartyKind::Subject => "the subject",
        PartyKind::Peer => "our own mock",
        PartyKind::Unknown => "recorded",
    };
    match &party.name {
        Some(name) => format!("{} ({is})", clean(name)),
        None => is.to_owned(),
    }
}

/// A text padded to so many columns.
fn padded(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(&text))))
}

/// The columns of a chart, wide enough for what is in the trace.
struct Columns {
    width: usize,
    number: usize,
    /// The width of the connection's name; none where there is only one connection.
    conn: Option<usize>,
}

/// `seconds.micros`
const TIME: usize = 11;

impl Columns {
    /// For a trace, on lines of so many columns.
    fn new(survey: &TraceSurvey, width: usize) -> Self {
        let number = survey.events.saturating_sub(1).to_string().len().max(3);
        let longest = survey.connections.iter().map(|c| text::width(&clean(&c.name))).max().unwrap_or(0);
        let conn = (survey.connections.len() > 1).then(|| longest.clamp(4, 14));
        Self { width, number, conn }
    }

    /// How far what belongs to a line is indented below it.
    fn indent(&self) -> usize {
        TIME + 1 + self.number + 1 + self.conn.map_or(0, |conn| conn + 1)
    }

    /// The columns between the two lifelines.
    fn room(&self) -> usize {
        self.width.saturating_sub(self.indent() + 2).max(20)
    }

    /// The names of the columns.
    fn heading(&self) -> String {
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
    fn row(&self, event: &Event, label: &Label<'_>, ends_stream: bool) -> String {
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
    fn pause(&self, micros: u64) -> String {
        let text = format!("{} later", span(micros));
        format!("{}{}\n", " ".repeat(self.indent()), paint(DIM, &format!("┆  {}┆", padded(&text, self.room() - 2))))
    }

    /// Renders the gap that stands for events which are not shown.
    fn gap(&self) -> String {
        format!("{}{}\n", " ".repeat(self.indent()), paint(DIM, "⋮"))
    }
}

/// Renders a finding below its event.
fn remark_line(remark: &Remark, indent: usize, most: usize) -> String {
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
fn payload_in_full(event: &Event, head: Option<&Event>, label: &Label<'_>, indent: usize) -> String {
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

const DIM: Style = Style::new().dimmed();
const STRONG: Style = Style::new().bold();
const PURPOSE: Style = colour(AnsiColor::Magenta);
const BAD: Style = colour(AnsiColor::Red).bold();
const WARN: Style = colour(AnsiColor::Yellow);

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(colour)))
}

/// How the words of a label are painted.
fn label_style(tone: LabelStyle) -> Style {
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
fn paint(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") }
}
