//! A trace as a sequence chart in a terminal: [`Chart`].

mod row;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};

use crate::protocol::{Edition, Level};
use crate::trace::{Event, EventKind, Header, Party, PartyKind};

use super::filter::Filter;
use super::label::Labels;
use super::text::{clean, counted, cut, span, width};
use super::{Findings, TraceSurvey};
use row::{Columns, DIM, STRONG, paint};

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
    filter: &'a Filter,
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
        filter: &'a Filter,
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
            text += &row::full(event, head.as_ref(), &label, self.columns.indent());
        }
        if found {
            for remark in self.findings.at(event.i) {
                text += &row::remark(remark, self.columns.indent(), self.options.width);
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
pub(super) fn party(party: &Party) -> String {
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
