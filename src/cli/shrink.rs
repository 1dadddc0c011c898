//! `wirecert shrink`: the least of a scenario that still fails.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;

use crate::diagnostic::yaml;
use crate::format::parse_bound;
use crate::play::Cancel;
use crate::protocol::Edition;
use crate::scenario::text::{Tree, write};
use crate::scenario::{Filter, Plan, load};
use crate::shrink::{Limits, ShrinkEvent, ShrinkJob, ShrinkOutcome, Stop};

use super::options::{self, TargetOptions};
use super::terminal::run_cancellable;
use super::{CliError, Exit, Terminal};

/// Find the smallest scenario that still fails.
///
/// Steps, expectations, fields, files and characters are taken out as long as the same requirement stays violated at the subject,
/// while our own sound mock goes on passing. What is left goes to stdout, or to the file of --out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 1 it fails, and the smallest scenario was written; 0 it does not fail here; \
    2 wrong usage or an unreadable file; 3 it could not be judged; 130 interrupted, the best so far was written.")]
pub struct Args {
    /// The scenario.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Shrink what shows this violation, where there are several: area/slug or a whole id.
    #[arg(long, value_name = "ID")]
    requirement: Option<String>,

    /// Which play of the file, where it has several cases or editions: `id(…[case])`.
    #[arg(long, value_name = "EXPR")]
    filter: Option<String>,

    /// Where to write the result; stdout, if not given.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Play the original this many times first, to see whether its failure comes and goes.
    #[arg(long, value_name = "N", default_value = "3", help_heading = "Play")]
    repeat: NonZeroU32,

    /// Which plays share a process of the subject.
    #[arg(long, value_name = "HOW", default_value = "play", help_heading = "Play")]
    isolation: Isolate,

    /// Do not hold what is left against our own sound mock as well.
    #[arg(long, help_heading = "Play")]
    no_reference: bool,

    /// The longest that all of it may take.
    #[arg(long, value_name = "TIME", value_parser = parse_bound, default_value = "10m", help_heading = "Play")]
    max_time: Duration,

    /// The most plays, those at our own mock included.
    #[arg(long, value_name = "N", default_value = "5000", help_heading = "Play")]
    max_plays: NonZeroU32,

    #[command(flatten)]
    target: TargetOptions,

    /// The command that starts the subject, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Which plays share a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Isolate {
    /// Every play has a fresh process.
    Play,
    /// Plays share one process until one has soiled it. A candidate that fails is confirmed by a fresh process, and so is the result.
    Run,
}

/// Runs `wirecert shrink`.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let loaded = load(std::slice::from_ref(&args.file));
    if !loaded.diagnostics.is_empty() {
        return Err(loaded.diagnostics.into());
    }
    let source = yaml::read(&args.file)?;
    let tree = Tree::parse(&source)?;
    let filter = args.filter.as_deref().map(Filter::parse).transpose()?;
    let Some(role) = loaded.plans.first().map(|plan| plan.role) else {
        return Err(CliError::usage(format!("{} has nothing to play", args.file.display())));
    };
    let Some(spec) = args.target.subject(role, &args.command, false)? else {
        return Err(CliError::usage("it is not said what it fails against")
            .help("give the command that starts the subject after `--`, or describe it with --subject"));
    };
    let chosen = |plan: &Plan| filter.as_ref().is_none_or(|f| f.takes(plan, (spec.protocol.requirements)()));
    let plans: Vec<Plan> = loaded.plans.into_iter().filter(chosen).collect();
    if plans.is_empty() {
        return Err(CliError::usage("nothing in the file is left by what was asked for").help("drop `--filter`"));
    }
    let cancel = Cancel::default();
    let job = ShrinkJob {
        run: args.target.play(&spec),
        spec,
        cancel: cancel.clone(),
        file: args.file.clone(),
        requested: args.requirement.clone(),
        reference: !args.no_reference,
        limits: Limits {
            repeat: args.repeat.get(),
            plays: args.max_plays.get(),
            time: args.max_time,
            isolated: args.isolation == Isolate::Play,
        },
        repro: args.target.repro(&args.command, false),
    };
    run_cancellable(&cancel, async || shrink(&job, &tree, plans, args.out.as_deref(), terminal).await)
}

/// Shrinks a scenario in the edition that the subject speaks, and writes the result.
async fn shrink(
    job: &ShrinkJob,
    tree: &Tree,
    plans: Vec<Plan>,
    out: Option<&Path>,
    terminal: &mut Terminal,
) -> Result<Exit, CliError> {
    let mut editions: Vec<&'static dyn Edition> = plans.iter().map(|p| p.edition).collect();
    editions.dedup();
    let edition = options::edition(&job.spec, &editions, &job.run, &job.cancel).await?;
    let plans: Vec<Plan> = plans.into_iter().filter(|p| p.edition == edition).collect();
    if plans.is_empty() {
        return Err(CliError::usage(format!("the scenario is not for the edition {edition}")));
    }
    let shrunk = match job.least(tree, plans, edition, &mut |event| show(&event, terminal)).await? {
        ShrinkOutcome::Fails(shrunk) => shrunk,
        ShrinkOutcome::Passes(why) => {
            terminal.result(&format!("{why}\n"));
            return Ok(Exit::OK);
        }
    };
    let text = write(&job.headed(&shrunk, out.unwrap_or(Path::new("FILE.yaml"))));
    match out {
        None => terminal.result(&text),
        Some(path) => {
            save(path, &text)?;
            terminal.result(&format!("{}: {}\n", path.display(), shrunk.summary()));
        }
    }
    Ok(if shrunk.stop == Some(Stop::Interrupted) { Exit::INTERRUPTED } else { Exit::FAILED })
}

/// Tells what goes on while a scenario is shrunk.
pub fn show(event: &ShrinkEvent, terminal: &mut Terminal) {
    match event {
        ShrinkEvent::ReferencePasses => terminal.detail(&event.to_string()),
        _ => terminal.progress(&event.to_string()),
    }
}

/// Writes a scenario to a file.
///
/// # Errors
/// Where that is not possible.
pub fn save(path: &Path, text: &str) -> Result<(), CliError> {
    crate::report::write(path, text)
        .map_err(|e| CliError::usage(format!("cannot write {}: {}", e.path.display(), e.source)))
}
