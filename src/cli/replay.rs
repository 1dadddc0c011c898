//! `wirecert replay`: re-enacts one side of a trace against a live other.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::diagnostic::{Style, difference, nearest};
use crate::format::parse_bound;
use crate::protocol::{Edition, Protocol, protocols};
use crate::replay::{
    Departure, DepartureCounts, DepartureKind, LiveSide, ReplayEnvironment, ReplayOptions, ReplayOutcome, Script,
    Secrets, Timing, deliberate_faults, replay,
};
use crate::report::ReportKind;
use crate::trace::{End, Header, TraceReader};

use super::report::write_reports;
use super::terminal::{end_signals, runtime};
use super::{CliError, Exit, ReportTarget, Terminal};

/// Arguments of `replay`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 the live side did as recorded, 1 it departed from the record, 2 wrong usage or an \
    unreadable trace, 3 the live side was not started, reached or seen, 130 interrupted."
)]
pub struct Args {
    /// The trace.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,

    /// The side to re-enact.
    #[arg(long = "as", value_name = "SIDE")]
    side: Side,

    /// The edition that is spoken, instead of the one that the trace names.
    #[arg(long, value_name = "EDITION")]
    edition: Option<String>,

    /// When to do what was recorded: `fast`, as soon as its order allows; `recorded`, after the recorded pauses; or those
    /// divided by a factor, such as 0.5x or 10x.
    #[arg(long, value_name = "HOW", default_value = "fast")]
    timing: Timing,

    /// How long to wait for each thing that the record has next, such as 5s.
    #[arg(long, value_name = "TIME", value_parser = parse_bound, default_value = "5s")]
    timeout: Duration,

    /// As a server: how long a client may take to come at all.
    #[arg(long, value_name = "TIME", value_parser = parse_bound, default_value = "60s")]
    wait: Duration,

    /// What the secret is whose placeholder in the trace has this number: the name of an environment variable.
    #[arg(long = "secret", value_name = "N=VARIABLE", value_parser = secret)]
    secrets: Vec<(u64, String)>,

    /// What a folder of the record is called live; repeatable.
    #[arg(long = "map", value_name = "FOLDER=FOLDER", value_parser = map)]
    maps: Vec<(String, String)>,

    /// Write the replay as a trace, too.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Write a report: json or text; repeatable. The path `-` is stdout.
    #[arg(long = "report", value_name = "KIND=PATH")]
    reports: Vec<ReportTarget>,

    #[command(flatten)]
    live: LiveArgs,
}

/// What the command line says of the live side.
#[derive(Clone, Debug, clap::Args)]
struct LiveArgs {
    /// Describes the live side: how to start it, what it can be made to do.
    #[arg(long, value_name = "FILE", help_heading = "Live side")]
    subject: Option<PathBuf>,

    /// As a client: where the server listens, with the secret where there is one: `ws://127.0.0.1:1234?auth=…`.
    #[arg(long, value_name = "URL", help_heading = "Live side", conflicts_with = "lockfile")]
    url: Option<String>,

    /// As a client: the lockfile that the server wrote.
    #[arg(long, value_name = "FILE", help_heading = "Live side")]
    lockfile: Option<PathBuf>,

    /// The data home below which lockfiles are; yours, if not given.
    #[arg(long, value_name = "DIR", help_heading = "Live side")]
    data_home: Option<PathBuf>,

    /// The folder that stands for the recorded workspace; the one that the server has open, or this one, if not given.
    #[arg(long, value_name = "DIR", help_heading = "Live side")]
    workspace: Option<PathBuf>,

    /// As a server: the port to listen on; a free one, if not given.
    #[arg(long, value_name = "N", help_heading = "Live side")]
    port: Option<u16>,

    /// The command that starts the live side, after `--`. {workspace}, {port}, {url}, {data_home} and {run_dir} in it are
    /// replaced.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl LiveArgs {
    fn side(&self) -> LiveSide {
        let Self { subject, url, lockfile, data_home, workspace, port, command } = self.clone();
        LiveSide { subject, url, lockfile, data_home, workspace, port, command }
    }
}

/// The side to re-enact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Side {
    /// Connect to a live server, and do what the client did.
    Client,
    /// Wait for a live client, and answer as the server did.
    Server,
}

/// Runs `wirecert replay`.
///
/// # Errors
/// A trace that cannot be read or replayed, a live side that is not to be had.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    if let Some(unfit) = args.reports.iter().find(|target| !matches!(target.kind, ReportKind::Json | ReportKind::Text))
    {
        let path = unfit.path.display();
        return Err(
            CliError::usage(format!("a replay has no report of this kind for {path}")).help("there are json and text")
        );
    }
    let (protocol, edition, header) = header(&args)?;
    let ours = match args.side {
        Side::Client => End::Client,
        Side::Server => End::Server,
    };
    let secrets = secrets(&args.secrets)?;
    let runtime = runtime(Some(2))?;
    let played = runtime.block_on(async {
        let (stop, mut stopped) = watch::channel(false);
        stop_on_signal(stop)?;
        let (trace, about) = (args.trace.clone(), header.clone());
        // A long trace takes a while, in which we can be interrupted.
        let reading = tokio::task::spawn_blocking(move || prepare(&trace, edition, &about, ours));
        let (script, deliberate) = tokio::select! {
            biased;
            _ = stopped.wait_for(|stop| *stop) => return Err(CliError::interrupted()),
            read = reading => read.map_err(|e| CliError::unjudged(format!("the trace was not read: {e}")))??,
        };
        if script.cut {
            terminal.progress(&format!("{} was cut: what is in it is replayed", args.trace.display()));
        }
        let options = ReplayOptions { timing: args.timing, patience: args.timeout, arrival: args.wait, deliberate };
        let context =
            ReplayEnvironment { protocol, ours, secrets, maps: args.maps.clone(), out: args.out.clone(), options };
        let on_listening = |place: &Value| terminal.aside(&format!("{place}\n"));
        let played = replay(script, &args.live.side(), context, stopped.clone(), on_listening).await?;
        Ok::<_, CliError>((played, *stopped.borrow()))
    });
    runtime.shutdown_background();
    let ((outcome, opposite), interrupted) = played?;
    let exit = match (interrupted, outcome.is_same()) {
        (true, _) => Exit::INTERRUPTED,
        (false, true) => Exit::OK,
        (false, false) => Exit::FAILED,
    };
    Ok(if deliver(&args, &header, &outcome, &opposite, terminal) { exit } else { Exit::USAGE })
}

/// Prints the outcome and writes the reports; gives whether every report was written.
fn deliver(args: &Args, header: &Header, outcome: &ReplayOutcome, opposite: &str, terminal: &mut Terminal) -> bool {
    let file = args.trace.display().to_string();
    let side = if args.side == Side::Client { "client" } else { "server" };
    let about = ReplayRenderer { file: &file, side, opposite, header };
    let json = || {
        let value = json!({
            "version": 1,
            "trace": file,
            "protocol": header.protocol,
            "edition": header.edition,
            "as": side,
            "opposite": opposite,
            "same": outcome.is_same(),
            "counts": outcome.counts,
            "departures": outcome.departures,
            "notes": outcome.notes,
        });
        format!("{value:#}\n")
    };
    let text = render(outcome, &about, Style::Coloured);
    let content = |kind| match kind {
        ReportKind::Json => json(),
        _ => render(outcome, &about, Style::Plain),
    };
    write_reports(&text, &args.reports, content, terminal)
}

/// The protocol, edition and header of the trace, with the requested edition.
fn header(args: &Args) -> Result<(&'static Protocol, &'static dyn Edition, Header), CliError> {
    let mut header = TraceReader::open(&args.trace).map_err(unreadable)?.header().clone();
    let protocol = protocols().iter().find(|p| p.name == header.protocol).ok_or_else(|| {
        CliError::usage(format!("{}: the protocol `{}` is not known", args.trace.display(), header.protocol))
    })?;
    if let Some(edition) = &args.edition {
        header.edition.clone_from(edition);
    }
    let Some(edition) = protocol.edition(&header.edition) else {
        let error = CliError::usage(format!("{} has no edition `{}`", protocol.name, header.edition));
        return Err(match nearest(&header.edition, protocol.edition_ids()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("there are: {}", protocol.edition_ids().collect::<Vec<_>>().join(", "))),
        });
    };
    Ok((protocol, edition, header))
}

/// What a replay has to know of the trace beforehand: what is in it, and what of that is wrong on purpose.
fn prepare(
    trace: &Path,
    edition: &'static dyn Edition,
    header: &Header,
    ours: End,
) -> Result<(Script, HashMap<u64, String>), CliError> {
    let script = Script::read(trace, edition).map_err(|e| CliError::usage(e.to_string()))?;
    if !script.has(ours) {
        let side = if ours == End::Client { "client" } else { "server" };
        return Err(CliError::usage(format!("{} has nothing that its {side} did", trace.display()))
            .help("look at it with `wirecert view`, or re-enact the other side"));
    }
    Ok((script, deliberate_faults(trace, edition, header, ours).map_err(unreadable)?))
}

fn unreadable(error: crate::trace::ReadError) -> CliError {
    CliError::usage(error.to_string()).help(error.remedy)
}

/// What the environment says of the secrets.
fn secrets(given: &[(u64, String)]) -> Result<Secrets, CliError> {
    let read = |(number, name): &(u64, String)| match std::env::var(name) {
        Ok(value) => Ok((*number, value)),
        Err(_) => {
            Err(CliError::usage(format!("the environment variable {name} of `--secret {number}={name}` is not set")))
        }
    };
    given.iter().map(read).collect()
}

/// `1=VARIABLE`.
fn secret(text: &str) -> Result<(u64, String), String> {
    let parsed = text.split_once('=').and_then(|(number, name)| Some((number.parse().ok()?, name)));
    match parsed {
        Some((number, name)) if !name.is_empty() => Ok((number, name.to_owned())),
        _ => Err("expected N=VARIABLE: the number in `<secret:N***>`, and an environment variable".to_owned()),
    }
}

/// `/recorded=/live`.
fn map(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((from, to)) if from.starts_with('/') && to.starts_with('/') => Ok((from.to_owned(), to.to_owned())),
        _ => Err("expected two absolute paths: the recorded folder, `=`, the live one".to_owned()),
    }
}

/// Sets `stop` once a signal comes.
fn stop_on_signal(stop: watch::Sender<bool>) -> Result<(), CliError> {
    let mut signals = end_signals()?;
    tokio::spawn(async move {
        signals.next().await;
        stop.send_replace(true);
        // Held, so that nobody takes its end for a word.
        std::future::pending::<()>().await;
    });
    Ok(())
}

/// So many departures are shown; the report has all of them.
const SHOWN: usize = 20;
/// So many lines of one value are shown.
const LINES: usize = 60;

/// What was replayed.
pub struct ReplayRenderer<'a> {
    /// The trace file.
    pub file: &'a str,
    /// `client` or `server`.
    pub side: &'a str,
    /// The live side, in a few words.
    pub opposite: &'a str,
    /// What the trace is about.
    pub header: &'a Header,
}

/// The whole text.
fn render(outcome: &ReplayOutcome, about: &ReplayRenderer<'_>, style: Style) -> String {
    let ReplayRenderer { file, side, opposite, header } = about;
    let mut text = format!("{file} as {side} against {opposite} ({}, {})\n", header.protocol, header.edition);
    for departure in outcome.departures.iter().take(SHOWN) {
        text += &format!("\n{}\n", headline(departure, file));
        text += &render_values(departure, style);
    }
    let DepartureCounts { same, different, missing, extra } = outcome.counts;
    let all = different + missing + extra;
    if all > SHOWN as u64 {
        text += &format!("\nand {} more departures\n", all - SHOWN as u64);
    }
    for note in &outcome.notes {
        text += &format!("\nnote: {note}\n");
    }
    text += &match all {
        0 => format!("\nsame: all {same} as recorded\n"),
        _ => format!("\ndeparted: {same} as recorded, {different} different, {missing} missing, {extra} extra\n"),
    };
    if let Some(first) = outcome.departures.first() {
        text += &format!("first departure: {}\n", headline(first, file));
    }
    text
}

fn headline(departure: &Departure, file: &str) -> String {
    let kind = match departure.kind {
        DepartureKind::Missing => "missing",
        DepartureKind::Extra => "extra",
        DepartureKind::Different => "different",
    };
    let mut line = format!("{kind}: {}", departure.what);
    if !departure.conn.is_empty() {
        line += &format!(" on {}", departure.conn);
    }
    if let Some(at) = departure.position {
        let how = if departure.kind == DepartureKind::Extra { "after event" } else { "event" };
        line += &format!(" ({how} {} at {file}:{})", at.event, at.line);
    }
    line
}

fn render_values(departure: &Departure, style: Style) -> String {
    // The order of keys says nothing.
    let sorted = |value: &Value| {
        let mut value = value.clone();
        value.sort_all_objects();
        format!("{value:#}\n")
    };
    let pretty = |value: &Value| {
        let text = sorted(value);
        let lines: Vec<&str> = text.lines().collect();
        match lines.len() > LINES {
            true => format!("{}\n… and {} more lines\n", lines[..LINES].join("\n"), lines.len() - LINES),
            false => text,
        }
    };
    match (&departure.expected, &departure.actual) {
        (Some(expected), Some(actual)) => difference(&sorted(expected), &sorted(actual), ("recorded", "live"), style),
        (Some(one), None) | (None, Some(one)) => pretty(one),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::replay::Position;

    use super::*;

    #[test]
    fn a_departure_is_shown_with_its_place_and_both_values() {
        let mut outcome = ReplayOutcome::default();
        outcome.counts.same = 2;
        outcome.add(Departure {
            kind: DepartureKind::Different,
            position: Some(Position { event: 7, line: 9 }),
            conn: "main".into(),
            what: "answer \"1\"".into(),
            expected: Some(json!({"a": 1})),
            actual: Some(json!({"a": 2})),
        });
        let header = Header::new("p", "e");
        let about = ReplayRenderer { file: "t", side: "client", opposite: "http://127.0.0.1:1", header: &header };
        let expected = "t as client against http://127.0.0.1:1 (p, e)\n\n\
            different: answer \"1\" on main (event 7 at t:9)\n\
            --- recorded\n+++ live\n@@ -1,3 +1,3 @@\n {\n-  \"a\": 1\n+  \"a\": 2\n }\n\n\
            departed: 2 as recorded, 1 different, 0 missing, 0 extra\n\
            first departure: different: answer \"1\" on main (event 7 at t:9)\n";
        assert_eq!(render(&outcome, &about, Style::Plain), expected);
    }
}
