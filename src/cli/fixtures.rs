//! `wirecert fixtures`: example messages and conversations for other people's tests.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::diagnostic::nearest;
use crate::fixture::{self, Cutter, Drift, Fixture, FixtureKind, Folder, FolderError, Origin, SoundnessChecker};
use crate::protocol::{Edition, Protocol, protocols};
use crate::trace::TraceReader;

use super::check::unreadable;
use super::{CliError, Exit, Terminal};

/// Arguments of `fixtures`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The protocol.
    #[arg(value_name = "PROTOCOL")]
    protocol: String,

    /// The edition; without it, the protocol's first, or that of the trace.
    #[arg(long, value_name = "EDITION")]
    edition: Option<String>,

    /// The folder to write to; made if it is not there.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Cut them from this trace instead of making them.
    #[arg(long, value_name = "TRACE")]
    from: Option<PathBuf>,

    /// With `--from`: put numbered UUIDs and moments in the place of those that were recorded.
    #[arg(long, requires = "from")]
    normalise: bool,

    /// Only this kind; repeatable.
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<KindArg>,

    /// Each message in a file of its own, or all of a type in one, a line each.
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    format: FormatArg,

    /// What the values are drawn from: the same seed gives the same files in every place.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "from")]
    seed: u64,

    /// Write nothing; list what is missing, stale or unexpected in the folder, and exit with 5 if anything is.
    #[arg(long)]
    check: bool,
}

/// A kind of fixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindArg {
    /// Messages that have to be understood.
    Valid,
    /// Messages that break a requirement.
    Invalid,
    /// Messages in their order.
    Conversation,
}

/// How messages are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    /// One message a file.
    Json,
    /// One message a line.
    Jsonl,
}

/// Makes the fixtures, and writes them or compares them with what is there.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let kinds: Vec<FixtureKind> = match args.kinds.as_slice() {
        [] => FixtureKind::ALL.to_vec(),
        some => some.iter().map(|kind| kind.kind()).collect(),
    };
    let protocol = protocol_of(&args.protocol)?;
    let (fixtures, origin) = match &args.from {
        Some(trace) => cut(protocol, trace, &args, &kinds, terminal)?,
        None => {
            let edition = match &args.edition {
                Some(id) => edition_of(protocol, id)?,
                None => protocol.default_edition(),
            };
            let checker = checker(protocol, edition, args.seed)?;
            (fixture::fixtures(&checker, &kinds), origin(protocol, edition, Some(args.seed), None))
        }
    };
    if fixtures.is_empty() {
        let what = "there is nothing to write: no message of the kinds that were asked for was found";
        return Err(CliError::usage(what).help("ask for other kinds, or leave `--kind` out"));
    }
    let format = match args.format {
        FormatArg::Json => fixture::Format::Json,
        FormatArg::Jsonl => fixture::Format::Jsonl,
    };
    let files = fixture::files(&fixtures, &origin, format);
    let folder = Folder::at(&args.out);
    if args.check {
        let drift = folder.drift(&files).map_err(failed)?;
        terminal.result(&drift.iter().map(|(path, drift)| format!("{} {path}\n", drift.as_str())).collect::<String>());
        return Ok(if drift.is_empty() {
            terminal.progress(&format!("{}: {} files, all as they should be", args.out.display(), files.len()));
            Exit::OK
        } else {
            let count = |wanted: Drift| drift.values().filter(|drift| **drift == wanted).count();
            let (missing, stale, more) = (count(Drift::Missing), count(Drift::Stale), count(Drift::Unexpected));
            let place = args.out.display();
            terminal.progress(&format!(
                "{place}: {missing} missing, {stale} stale, {more} unexpected; without `--check` they are written again"
            ));
            Exit::DRIFT
        });
    }
    let done = folder.write(&files).map_err(failed)?;
    for path in &done.left {
        terminal.progress(&format!("left as it is, since somebody has changed it: {path}"));
    }
    terminal.progress(&summary(&args.out, &fixtures, done.written.len(), done.removed.len()));
    Ok(Exit::OK)
}

fn summary(out: &Path, fixtures: &[Fixture], written: usize, removed: usize) -> String {
    let count = |kind: FixtureKind| fixtures.iter().filter(|fixture| fixture.kind == kind).count();
    let each: Vec<String> = FixtureKind::ALL
        .into_iter()
        .filter(|kind| count(*kind) > 0)
        .map(|kind| match (count(kind), kind) {
            (1, FixtureKind::Conversation) => "1 conversation".to_owned(),
            (n, FixtureKind::Conversation) => format!("{n} conversations"),
            (1, _) => format!("1 {} message", kind.as_str()),
            (n, _) => format!("{n} {} messages", kind.as_str()),
        })
        .collect();
    let removed = if removed > 0 { format!(", {removed} removed") } else { String::new() };
    format!("{}: {} ({written} files written{removed})", out.display(), each.join(", "))
}

fn origin(protocol: &Protocol, edition: &dyn Edition, seed: Option<u64>, trace: Option<String>) -> Origin {
    Origin { protocol: protocol.name.to_owned(), edition: edition.id().to_owned(), seed, trace }
}

fn checker(
    protocol: &'static Protocol,
    edition: &'static dyn Edition,
    seed: u64,
) -> Result<SoundnessChecker, CliError> {
    SoundnessChecker::new(protocol, edition, seed)
        .map_err(|e| CliError::usage(format!("making messages of {}: {e}", protocol.name)))
}

/// Cuts them from a trace.
fn cut(
    protocol: &'static Protocol,
    path: &Path,
    args: &Args,
    kinds: &[FixtureKind],
    terminal: &mut Terminal,
) -> Result<(Vec<Fixture>, Origin), CliError> {
    let mut reader = TraceReader::open(path).map_err(unreadable)?;
    let header = reader.header().clone();
    if header.protocol != protocol.name {
        let text = format!("{}: it is a trace of {}, not of {}", path.display(), header.protocol, protocol.name);
        return Err(CliError::usage(text).help(format!("say `wirecert fixtures {}`", header.protocol)));
    }
    let edition = edition_of(protocol, args.edition.as_deref().unwrap_or(&header.edition))?;
    let checker = checker(protocol, edition, args.seed)?;
    let mut cutter = Cutter::new(&checker, args.normalise);
    for event in reader.by_ref() {
        cutter.event(&event.map_err(unreadable)?);
    }
    let (fixtures, left) = cutter.finish(!reader.is_cut(), kinds);
    for (n, what) in [
        (left.unknown, "messages whose type is not known"),
        (left.unexplained, "messages that their schema forbids, though no rule says why"),
        (left.beyond, "turns or conversations beyond the limits"),
    ] {
        if n > 0 {
            terminal.progress(&format!("left out: {n} {what}"));
        }
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok((fixtures, origin(protocol, edition, None, name)))
}

impl KindArg {
    fn kind(self) -> FixtureKind {
        match self {
            Self::Valid => FixtureKind::Valid,
            Self::Invalid => FixtureKind::Invalid,
            Self::Conversation => FixtureKind::Conversation,
        }
    }
}

fn protocol_of(name: &str) -> Result<&'static Protocol, CliError> {
    let found = protocols().iter().copied().find(|protocol| protocol.name == name);
    found.ok_or_else(|| {
        let error = CliError::usage(format!("there is no protocol `{name}`"));
        let names = || protocols().iter().map(|protocol| protocol.name);
        match nearest(name, names()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("known are {}", names().collect::<Vec<_>>().join(", "))),
        }
    })
}

fn edition_of(protocol: &'static Protocol, id: &str) -> Result<&'static dyn Edition, CliError> {
    protocol.edition(id).ok_or_else(|| {
        let error = CliError::usage(format!("{} has no edition `{id}`", protocol.name));
        error.help(format!("choose one: --edition {}", protocol.edition_ids().collect::<Vec<_>>().join("|")))
    })
}

fn failed(error: FolderError) -> CliError {
    let foreign = matches!(error, FolderError::Foreign { .. });
    let error = CliError::usage(error.to_string());
    if foreign {
        error.help("choose another folder: what is in this one was not written by `wirecert fixtures`")
    } else {
        error
    }
}
