//! `wirecert scenario`: a trace as a scenario that plays it again.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::export::TraceSource;
use crate::export::scenario::{ScenarioBuilder, ScenarioGoal, ScenarioSpec};
use crate::judge::{FindingSource, FindingsReader};
use crate::protocol::{Edition, Level, Protocol, Role};
use crate::scenario::load_str;
use crate::trace::{End, Finding, Header};

use super::check::{edition_of, unreadable};
use super::{CliError, Exit, Terminal};

/// Arguments of `scenario`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The scenario goes to stdout. What was found in the trace is counted from 1, in the order of the \
    events that show it: `--finding 2`, or `--finding read-file/result` for the first breach of that requirement. Where nothing \
    was found, the scenario says what was observed."
)]
pub struct Args {
    /// The trace; `-` is stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,

    /// Which side wirecert plays, as it was recorded; the subject is the other one.
    #[arg(long = "as", value_name = "SIDE")]
    side: Side,

    /// The finding to show, by its number or requirement. Default: the first `must`.
    #[arg(long, value_name = "N|REQUIREMENT", conflicts_with = "observed")]
    finding: Option<String>,

    /// Say what was observed, whatever was found.
    #[arg(long)]
    observed: bool,

    /// Judge anew by the rules of this edition and play by it, whatever the trace says.
    #[arg(long, value_name = "EDITION")]
    edition: Option<String>,

    /// Write it to this file instead of stdout.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// A side of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// The one that connects: the subject is a server.
    Client,
    /// The one that is connected to: the subject is a client.
    Server,
}

/// Runs `wirecert scenario`.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let source = TraceSource::open(&args.trace).map_err(unreadable)?;
    let mut header = source.reader().map_err(unreadable)?.header().clone();
    let (protocol, edition) = edition_of(&header, &args.trace, args.edition.as_deref(), "name another one")?;
    let subject = match args.side {
        Side::Client => End::Server,
        Side::Server => End::Client,
    };
    let Some(role) = protocol.roles.iter().find(|role| role.subject == subject) else {
        return Err(CliError::usage(format!("{} has no such role", protocol.name)));
    };
    edition.id().clone_into(&mut header.edition);
    let by = if args.edition.is_some() { FindingSource::Rules } else { FindingSource::Trace };
    let found = found(&source, &header, protocol, edition, by)?;
    let finding = if args.observed { None } else { chosen(&args, &found.list, role, terminal)? };
    let name = args.trace.file_name().map_or_else(|| "stdin".into(), |name| name.to_string_lossy().into_owned());
    let wanted = ScenarioSpec { role, edition, trace: name, finding };
    let mut gathering = ScenarioBuilder::new(wanted, &found.by_rules);
    for event in source.reader().map_err(unreadable)? {
        gathering.event(&event.map_err(unreadable)?);
    }
    let text = gathering.write().map_err(|nothing| {
        let message = format!("{}: {nothing}", args.trace.display());
        CliError::usage(message).help("record less, or choose an earlier finding with `--finding`")
    })?;
    let loaded = load_str("scenario.yaml", &text);
    if !loaded.diagnostics.is_empty() {
        // It is never handed out: every scenario that is printed can be played.
        terminal.detail(&text);
        let help = "this is a fault of wirecert; `-v` prints the scenario";
        return Err(CliError::from(loaded.diagnostics).help(help));
    }
    match &args.out {
        None => terminal.result(&text),
        Some(path) => crate::report::write(path, &text)
            .map_err(|error| CliError::usage(error.to_string()).help("give another path to --out"))?,
    }
    Ok(Exit::OK)
}

/// What is found in a trace, and what the rules find in it.
struct TraceFindings {
    list: Vec<ScenarioGoal>,
    by_rules: Vec<Finding>,
}

/// All findings of the trace, of both ends, in the order of the events.
fn found(
    source: &TraceSource,
    header: &Header,
    protocol: &'static Protocol,
    edition: &'static dyn Edition,
    by: FindingSource,
) -> Result<TraceFindings, CliError> {
    let mut reading = FindingsReader::new(edition, header, by);
    let mut reader = source.reader().map_err(unreadable)?;
    for event in reader.by_ref() {
        reading.event(&event.map_err(unreadable)?);
    }
    let named = |id: &String| (protocol.requirements)().iter().find(|requirement| requirement.id == id);
    let shown = |finding: Finding| ScenarioGoal { requirement: finding.requirement.as_ref().and_then(named), finding };
    let found = reading.end(reader.is_cut());
    Ok(TraceFindings { list: found.list.into_iter().map(shown).collect(), by_rules: found.by_rules })
}

/// The finding that is to be shown.
fn chosen(
    args: &Args,
    found: &[ScenarioGoal],
    role: &Role,
    terminal: &mut Terminal,
) -> Result<Option<ScenarioGoal>, CliError> {
    let theirs: Vec<&ScenarioGoal> =
        found.iter().filter(|shown| shown.finding.blame.end() == Some(role.subject)).collect();
    let chosen = match &args.finding {
        None => theirs.iter().position(|shown| shown.level() == Level::Must).or((!theirs.is_empty()).then_some(0)),
        Some(requested) => {
            let number = requested.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            let named = |shown: &&ScenarioGoal| {
                shown.requirement.is_some_and(|found| found.id == requested || found.short() == requested)
            };
            let at = match number {
                Some(at) => Some(at).filter(|at| *at < theirs.len()),
                None => theirs.iter().position(named),
            };
            Some(at.ok_or_else(|| {
                let list = theirs.iter().enumerate().take(20);
                let list: Vec<String> = list.map(|(n, shown)| format!("{} {}", n + 1, shown.short())).collect();
                let known = if list.is_empty() { "nothing".to_owned() } else { list.join(", ") };
                let error =
                    CliError::usage(format!("there is no finding `{requested}` of {} in this trace", role.about));
                error.help(format!("found was: {known}"))
            })?)
        }
    };
    if let Some(at) = chosen {
        let shown = theirs[at];
        let more =
            if theirs.len() > 1 { format!(" of {}; `--finding` chooses another", theirs.len()) } else { String::new() };
        let of = shown.requirement.map_or_else(|| shown.short(), |requirement| requirement.id);
        terminal.progress(&format!("finding {}{more}: {of}: {}", at + 1, shown.finding.message));
    } else {
        terminal.progress("nothing was found: the scenario says what was observed");
    }
    Ok(chosen.map(|at| theirs[at].clone()))
}
