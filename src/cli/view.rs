//! `wirecert view`: a trace as one wants to look at it.

mod compared;

use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, nearest};
use crate::export::chart::{Chart, ChartOptions};
use crate::export::har::Har;
use crate::export::html::{Meta, Page, PageEntry};
use crate::export::{EventFilter, Findings, NewFile, TraceMoment, TraceSource, TraceSurvey, WriteError};
use crate::format::parse_duration;
use crate::judge::{FindingSource, FindingsReader};
use crate::protocol::{Edition, Protocol, protocols};
use crate::trace::{Event, Header, KINDS};

use super::check::{known_edition, unreadable};
use super::{CliError, Exit, Terminal};

/// Arguments of `view`.
#[derive(Debug, clap::Args)]
#[command(after_help = "A MOMENT is a time since the trace began (`1.5s`, `200ms`) or the number of an event (`#12`).")]
pub struct Args {
    /// Trace files; `-` is stdin.
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,

    /// Judge anew by the rules of this edition, whatever the traces say.
    #[arg(long, value_name = "EDITION")]
    edition: Option<String>,

    /// Show what happened, and no findings.
    #[arg(long)]
    no_findings: bool,

    /// Write one page for a browser, which works by itself and offline. The path `-` is stdout.
    #[arg(long, value_name = "FILE", help_heading = "Instead of the chart")]
    html: Option<PathBuf>,

    /// Write the HTTP in it, WebSockets included, as an HTTP Archive. The path `-` is stdout.
    #[arg(long, value_name = "FILE", help_heading = "Instead of the chart")]
    har: Option<PathBuf>,

    /// Tell what is different in another trace; with `--html`, on a page. Exits with 1 where anything is.
    #[arg(long, value_name = "TRACE", conflicts_with = "har", help_heading = "Instead of the chart")]
    diff: Option<PathBuf>,

    /// Only this connection; `*` stands for any text. Repeatable.
    #[arg(long = "conn", value_name = "NAME", help_heading = "What is shown")]
    connections: Vec<String>,

    /// Only events of this kind, such as `message`. Repeatable.
    #[arg(long = "kind", value_name = "KIND", help_heading = "What is shown")]
    kinds: Vec<String>,

    /// Only events that hold this text, in whatever case. Repeatable: all of them.
    #[arg(long = "grep", value_name = "TEXT", help_heading = "What is shown")]
    texts: Vec<String>,

    /// Only events at which something was found.
    #[arg(long, conflicts_with = "no_findings", help_heading = "What is shown")]
    only_findings: bool,

    /// Nothing before this.
    #[arg(long, value_name = "MOMENT", value_parser = moment, help_heading = "What is shown")]
    from: Option<TraceMoment>,

    /// Nothing after this.
    #[arg(long, value_name = "MOMENT", value_parser = moment, help_heading = "What is shown")]
    to: Option<TraceMoment>,

    /// Also this many events before and after each that is shown.
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0, help_heading = "What is shown")]
    context: usize,

    /// Headers and payloads in full.
    #[arg(long, help_heading = "What is shown")]
    full: bool,

    /// Also frames and pieces of bodies that the message after them tells again.
    #[arg(long, help_heading = "What is shown")]
    every: bool,

    /// The widest line; otherwise as wide as the terminal.
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(60..=1000), help_heading = "What is shown")]
    width: Option<u16>,
}

/// How wide the chart is where nobody knows how wide the terminal is.
const WIDTH: u16 = 120;

/// Runs `wirecert view`. A trace that cannot be read does not keep the others from being shown.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let filter = args.filter()?;
    if args.html.is_some() || args.har.is_some() || args.diff.is_some() {
        return write_file(&args, terminal);
    }
    let mut unreadable = vec![];
    for (n, path) in args.traces.iter().enumerate() {
        if n > 0 {
            terminal.result("\n");
        }
        let shown = TraceSource::open(path).map_err(super::check::unreadable).and_then(|source| {
            let surveyed = SurveyedTrace::read(&source, &args)?;
            surveyed.chart(&source, &filter, &args, terminal)
        });
        unreadable.extend(shown.err());
    }
    terminal.diagnostics(&unreadable);
    Ok(if unreadable.is_empty() { Exit::OK } else { Exit::USAGE })
}

impl Args {
    fn filter(&self) -> Result<EventFilter, CliError> {
        for kind in &self.kinds {
            if !KINDS.contains(&kind.as_str()) {
                let error = CliError::usage(format!("there are no events of the kind `{kind}`"));
                return Err(match nearest(kind, KINDS.iter().copied()) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help(format!("kinds are {}", KINDS.join(", "))),
                });
            }
        }
        Ok(EventFilter {
            connections: self.connections.clone(),
            kinds: self.kinds.clone(),
            texts: self.texts.clone(),
            from: self.from,
            to: self.to,
            with_findings: self.only_findings,
        })
    }

    fn width(&self) -> usize {
        let terminal = || terminal_size::terminal_size().map(|(width, _)| width.0.max(60));
        usize::from(self.width.or_else(terminal).unwrap_or(WIDTH))
    }
}

/// A trace that was looked at once.
struct SurveyedTrace {
    protocol: Option<&'static Protocol>,
    /// The edition, where the protocol is known.
    edition: Option<&'static dyn Edition>,
    header: Header,
    survey: TraceSurvey,
    findings: Findings,
}

impl SurveyedTrace {
    fn read(source: &TraceSource, args: &Args) -> Result<Self, Diagnostic> {
        let mut reader = source.reader().map_err(unreadable)?;
        let mut header = reader.header().clone();
        let protocol = protocols().iter().copied().find(|protocol| protocol.name == header.protocol);
        let mut edition = None;
        if let Some(protocol) = protocol {
            // A trace may be of an edition that is not known here.
            let recorded = protocol.edition(&header.edition).unwrap_or(protocol.default_edition());
            edition = Some(recorded);
            if let Some(id) = &args.edition {
                let ids = protocol.edition_ids().collect::<Vec<_>>().join(", ");
                let requested = known_edition(protocol, id, &format!("editions are {ids}"))?;
                requested.id().clone_into(&mut header.edition);
                edition = Some(requested);
            }
        }
        let mut survey = TraceSurvey::default();
        let judging = protocol.filter(|_| !args.no_findings);
        let by = if args.edition.is_some() { FindingSource::Rules } else { FindingSource::Trace };
        let mut reading =
            edition.filter(|_| judging.is_some()).map(|edition| FindingsReader::new(edition, &header, by));
        for event in reader.by_ref() {
            let event = event.map_err(unreadable)?;
            survey.event(&event);
            reading.iter_mut().for_each(|reading| reading.event(&event));
        }
        survey.cut = reader.is_cut();
        let found = judging.zip(reading.map(|reading| reading.end(survey.cut)));
        let findings = found.map(|(protocol, found)| open_findings(protocol, found)).unwrap_or_default();
        Ok(Self { protocol, edition, header, survey, findings })
    }

    fn chart(
        &self,
        source: &TraceSource,
        filter: &EventFilter,
        args: &Args,
        terminal: &mut Terminal,
    ) -> Result<(), Diagnostic> {
        let options = ChartOptions {
            width: args.width(),
            full: args.full,
            every: args.every,
            findings: !args.no_findings,
            context: args.context,
        };
        let mut chart = Chart::new(self.edition, &self.survey, &self.findings, filter, options);
        terminal.result(&chart.title(&source.name(), &self.header));
        let mut text = String::new();
        for event in source.reader().map_err(unreadable)? {
            let event: Event = event.map_err(unreadable)?;
            chart.event(&event, &mut text);
            if text.len() > 1 << 16 {
                terminal.result(&text);
                text.clear();
            }
            if filter.is_past(&event) && args.context == 0 || !terminal.is_read() {
                break;
            }
        }
        terminal.result(&text);
        terminal.result(&chart.summary());
        Ok(())
    }
}

/// `1.5s` or `#12`.
fn moment(text: &str) -> Result<TraceMoment, String> {
    if let Some(number) = text.strip_prefix('#') {
        return number.parse().map(TraceMoment::Event).map_err(|_| "after `#` comes the number of an event".to_owned());
    }
    let duration = parse_duration(text).map_err(|error| error.to_string())?;
    u64::try_from(duration.as_micros()).map(TraceMoment::Time).map_err(|_| "is too long".to_owned())
}

/// Writes the files that were asked for.
pub fn write_file(args: &Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let [path] = args.traces.as_slice() else {
        let error = CliError::usage("one trace can be written or compared, and several were named");
        return Err(error.help("name one trace; the other one of a comparison follows --diff"));
    };
    let source = TraceSource::open(path).map_err(unreadable)?;
    let surveyed = SurveyedTrace::read(&source, args)?;
    if let Some(other) = &args.diff {
        return compared::run(&surveyed, &source, other, args, terminal);
    }
    if let Some(file) = &args.html {
        page(&surveyed, &source, file, args)?;
        terminal.progress(&format!("{}: {} events", file.display(), surveyed.survey.events));
    }
    if let Some(file) = &args.har {
        let entries = archive(&surveyed, &source, file)?;
        terminal.progress(&format!("{}: {entries} entries", file.display()));
    }
    Ok(Exit::OK)
}

fn page(surveyed: &SurveyedTrace, source: &TraceSource, path: &Path, args: &Args) -> Result<(), CliError> {
    let name = source.name();
    let meta = Meta { name: &name, judged: surveyed.protocol.is_some() && !args.no_findings, comparison: None };
    let file = NewFile::create(path).map_err(unwritable)?;
    let failed = failed(path);
    let page = Page::begin(file, surveyed.edition, &surveyed.header, &surveyed.survey, &surveyed.findings, &meta);
    let mut page = page.map_err(&failed)?;
    for event in source.reader().map_err(unreadable)? {
        page.entry(PageEntry::alone(&event.map_err(unreadable)?)).map_err(&failed)?;
    }
    page.end().map_err(&failed)?.keep().map_err(unwritable)
}

fn archive(surveyed: &SurveyedTrace, source: &TraceSource, path: &Path) -> Result<u64, CliError> {
    let file = NewFile::create(path).map_err(unwritable)?;
    let failed = failed(path);
    let mut har = Har::begin(file, &surveyed.header, &source.name()).map_err(&failed)?;
    for event in source.reader().map_err(unreadable)? {
        har.event(&event.map_err(unreadable)?).map_err(&failed)?;
    }
    let (file, entries) = har.end().map_err(&failed)?;
    file.keep().map_err(unwritable)?;
    Ok(entries)
}

/// What becomes of a failure to write to a file.
pub fn failed(path: &Path) -> impl Fn(std::io::Error) -> CliError {
    let path = path.to_owned();
    move |source| unwritable(WriteError { path: path.clone(), source })
}

/// A file that cannot be written.
pub fn unwritable(error: WriteError) -> CliError {
    Diagnostic::error("output", error.to_string()).help("name another file").into()
}

/// Puts what was found beside the events that show it.
pub fn open_findings(protocol: &Protocol, found: crate::judge::Findings) -> Findings {
    let mut findings = Findings::default();
    findings.uncounted = found.uncounted;
    found.list.into_iter().for_each(|finding| findings.add_finding(protocol, finding));
    findings
}
