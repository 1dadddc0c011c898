//! `wirecert check`: judges traces by the rules alone; and what commands that read a trace have in common: one that cannot be
//! read, and the protocol and edition of one.

use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::Instant;

use jiff::Zoned;

use crate::certification::{catalogue, load_baseline};
use crate::diagnostic::{Diagnostic, nearest};
use crate::judge::{
    Baseline, Note, Played, Recorded, Report, Repro, Scope, Selection, SubjectReport, SubjectRun, Suite, judge_subject,
    subjects,
};
use crate::protocol::{Edition, Protocol, protocols};
use crate::report::ReportKind;
use crate::trace::{End, Header, ReadError, TraceReader};

use super::options::REPORT_HELP;
use super::{CliError, Exit, ReportTarget, Terminal, deliver};

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Trace files; `-` is stdin.
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,

    /// Judge by this edition, whatever the traces say.
    #[arg(long, value_name = "EDITION")]
    edition: Option<String>,

    /// Known violations, each with a reason.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Treat a violated `should` like a `must`.
    #[arg(long)]
    strict: bool,

    #[arg(long = "report", value_name = "KIND=PATH", help = REPORT_HELP)]
    reports: Vec<ReportTarget>,
}

/// An implementation with the plays of all traces that show it.
struct TracedSubject {
    protocol: &'static Protocol,
    edition: &'static dyn Edition,
    end: End,
    name: String,
    played: Vec<Played>,
    notes: Vec<Note>,
}

/// Runs `wirecert check`. A trace that cannot be read does not keep the others from being judged.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    if args.reports.iter().any(|target| target.kind == ReportKind::Certificate) {
        return Err(CliError::usage("`check` writes no certificate: it judges traces by the rules alone")
            .help("play the suite: `wirecert certify … --report json=FILE --report certificate=FILE`"));
    }
    let baseline = load_baseline(args.baseline.as_deref())?;
    let mut found: Vec<TracedSubject> = vec![];
    let mut unreadable = vec![];
    for path in &args.traces {
        let started = Instant::now();
        match check(path, args.edition.as_deref(), &mut found) {
            Ok(events) => {
                terminal.detail(&format!("{}: {events} events in {:?}", path.display(), started.elapsed()));
            }
            Err(diagnostic) => unreadable.push(diagnostic),
        }
    }
    terminal.diagnostics(&unreadable);
    if found.is_empty() && !unreadable.is_empty() {
        return Ok(Exit::USAGE);
    }
    let options = JudgeOptions { edition: args.edition.as_deref(), baseline: &baseline, strict: args.strict };
    let report = report(&found, &options);
    let delivered = deliver(&report, &args.reports, terminal);
    Ok(Exit::of(report.standing(), false, !delivered || !unreadable.is_empty()))
}

/// Options of the judgement beside the rules.
pub(super) struct JudgeOptions<'a> {
    /// The requested edition, if there is one.
    pub edition: Option<&'a str>,
    /// What is known to be violated.
    pub baseline: &'a Baseline,
    /// Whether a violated `should` counts like a `must`.
    pub strict: bool,
}

/// The report on one trace whose events have all been judged.
pub(super) fn report_of(
    protocol: &'static Protocol,
    edition: &'static dyn Edition,
    header: &Header,
    recorded: &Recorded,
    path: &Path,
    options: &JudgeOptions<'_>,
) -> Report {
    let mut found = vec![];
    add_trace(&mut found, protocol, edition, header, recorded, path, false);
    report(&found, options)
}

fn report(found: &[TracedSubject], options: &JudgeOptions<'_>) -> Report {
    let reports = found.iter().map(|subject| judge(subject, options)).collect();
    let catalogue = catalogue();
    Report::of(Suite::of([], catalogue.iter().copied()), vec![], reports)
}

/// Judges one trace for each of its ends that is not our own peer; gives the number of events.
fn check(path: &Path, edition: Option<&str>, found: &mut Vec<TracedSubject>) -> Result<u64, Diagnostic> {
    let mut reader = open(path).map_err(unreadable)?;
    let header = reader.header().clone();
    let (protocol, edition) = edition_of(&header, path, edition, "judge by another one")?;
    let mut recorded = Recorded::new(edition).of(&header);
    for event in reader.by_ref() {
        recorded.event(&event.map_err(unreadable)?);
    }
    recorded.end(reader.is_cut());
    add_trace(found, protocol, edition, &header, &recorded, path, reader.is_cut());
    Ok(recorded.events())
}

/// Enters a trace with each of its ends that is to be judged.
fn add_trace(
    found: &mut Vec<TracedSubject>,
    protocol: &'static Protocol,
    edition: &'static dyn Edition,
    header: &Header,
    recorded: &Recorded,
    path: &Path,
    cut: bool,
) {
    let file = path.display().to_string();
    for end in subjects(header) {
        let subject = subject_of(found, protocol, edition, end, header);
        let id = header.scenario.clone().unwrap_or_else(|| file.clone());
        if cut {
            let text = format!("{file} was cut after {} events: what was open then is not judged", recorded.events());
            subject.notes.push(Note { requirement: None, text });
        }
        let play = recorded.play(header, end, &file);
        subject.played.push(Played {
            title: format!("the trace {file}"),
            file: file.clone(),
            requirements: vec![],
            plays: vec![play],
            id,
        });
    }
}

fn open(path: &Path) -> Result<TraceReader, ReadError> {
    if path.as_os_str() == "-" {
        TraceReader::new(Box::new(BufReader::new(io::stdin())), Path::new("<stdin>"))
    } else {
        TraceReader::open(path)
    }
}

/// The subject that a trace shows at one end: an earlier one of the same name, or a new one.
fn subject_of<'a>(
    found: &'a mut Vec<TracedSubject>,
    protocol: &'static Protocol,
    edition: &'static dyn Edition,
    end: End,
    header: &Header,
) -> &'a mut TracedSubject {
    let default = match end {
        End::Client => "client",
        End::Server => "server",
    };
    let name = header.party(end).name.clone().unwrap_or_else(|| default.to_owned());
    let same =
        |s: &TracedSubject| s.protocol.name == protocol.name && s.edition == edition && s.end == end && s.name == name;
    let at = match found.iter().position(same) {
        Some(at) => at,
        None => {
            let (played, notes) = (vec![], vec![]);
            found.push(TracedSubject { protocol, edition, end, name, played, notes });
            found.len() - 1
        }
    };
    &mut found[at]
}

fn judge(subject: &TracedSubject, options: &JudgeOptions<'_>) -> SubjectReport {
    let role = subject.protocol.roles.iter().find(|role| role.subject == subject.end);
    let mut report = judge_subject(&SubjectRun {
        name: subject.name.clone(),
        role: role.map_or(subject.protocol.name, |role| role.name).to_owned(),
        end: subject.end,
        edition: subject.edition.id().to_owned(),
        catalogue: (subject.protocol.requirements)(),
        missing: &[],
        baseline: options.baseline,
        today: Zoned::now().date(),
        scope: Scope::Partial,
        selection: Selection { scenarios: subject.played.len(), whole: false },
        strict: options.strict,
        repro: Repro::default(),
        played: &subject.played,
        snapshots: vec![],
        notes: subject.notes.clone(),
    });
    for finding in &mut report.findings {
        let trace = finding.trace.clone().unwrap_or_default();
        let mut words = vec!["wirecert".to_owned(), "check".to_owned()];
        words.extend(options.edition.iter().flat_map(|edition| ["--edition".to_owned(), (*edition).to_owned()]));
        words.push(trace);
        finding.repro = Repro { before: words, after: vec![] }.command(None);
    }
    report
}

/// A trace that cannot be read.
pub(super) fn unreadable(error: ReadError) -> Diagnostic {
    Diagnostic::error("trace/unreadable", error.to_string()).help(error.remedy)
}

/// The protocol of a trace, and its edition: the requested one, or else that of the header. `advice`: what to do where
/// there is none like it, before `--edition` with those that there are.
pub(super) fn edition_of(
    header: &Header,
    path: &Path,
    requested: Option<&str>,
    advice: &str,
) -> Result<(&'static Protocol, &'static dyn Edition), Diagnostic> {
    let Some(protocol) = protocols().iter().copied().find(|p| p.name == header.protocol) else {
        let message = format!("{}: the protocol `{}` is not known here", path.display(), header.protocol);
        let known = protocols().iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
        return Err(Diagnostic::error("trace/protocol", message).help(format!("known are {known}")));
    };
    let ids = protocol.edition_ids().collect::<Vec<_>>().join("|");
    let found = known_edition(protocol, requested.unwrap_or(&header.edition), &format!("{advice}: --edition {ids}"));
    let of_trace = |unknown: Diagnostic| {
        let message = format!("{}: {}", path.display(), unknown.message);
        Diagnostic { message, ..unknown }
    };
    found.map(|edition| (protocol, edition)).map_err(of_trace)
}

/// The edition of this id. `advice`: what to do where there is none like it.
pub(super) fn known_edition(protocol: &Protocol, id: &str, advice: &str) -> Result<&'static dyn Edition, Diagnostic> {
    protocol.edition(id).ok_or_else(|| {
        let help = match nearest(id, protocol.edition_ids()) {
            Some(near) => format!("did you mean `--edition {near}`?"),
            None => advice.to_owned(),
        };
        Diagnostic::error("trace/edition", format!("{} has no edition `{id}`", protocol.name)).help(help)
    })
}
