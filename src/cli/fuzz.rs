//! `wirecert fuzz`: generated traffic, judged by the rules.

mod results;

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use crate::certification::default_jobs;
use crate::config::{EditionChoice, own};
use crate::format::parse_bound;
use crate::fuzz::{Campaign, CaseViolation, FuzzEvent, FuzzResult, Generator, Traffic, count_in_words};
use crate::peer;
use crate::play::Cancel;
use crate::protocol::{Edition, Level, RequirementId, role};
use crate::report::{self, ReportKind};

use super::deliver::write_reports;
use super::options::{self, TargetOptions};
use super::signals::run_cancellable;
use super::{CliError, Exit, ReportTarget, Terminal};
use results::FuzzRenderer;

/// The default number of cases.
const CASES: u64 = 200;

/// Play generated traffic at a subject: sound messages, and ones that are wrong on purpose.
///
/// Each case is a scenario, judged as any other: by the rules, by what it expects of sound messages, and by whether the subject still
/// serves at its end. With `--self`, our own sound mock is played at.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 1 a `must` is violated; 0 none is; 2 wrong usage; 3 a case could not be judged; \
    130 interrupted, what was found is told.")]
pub struct Args {
    /// The role of the subject, such as amp-server.
    #[arg(value_name = "ROLE")]
    role: String,

    /// The seed: the same one gives the same cases. Any, if not given; it is told.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// How many cases to play; 200, or as many as the time of --time allows, if not given.
    #[arg(long, value_name = "N")]
    cases: Option<u64>,

    /// Play only this case of the seed, by its number.
    #[arg(long, value_name = "N", conflicts_with = "cases")]
    case: Option<u64>,

    /// Begin no further cases after this time.
    #[arg(long, value_name = "TIME", value_parser = parse_bound)]
    time: Option<Duration>,

    /// Save a scenario for each violated requirement in this folder, shrunk.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Save failures as they were generated.
    #[arg(long)]
    no_shrink: bool,

    /// Print the cases that would be played, and play none.
    #[arg(long, conflicts_with = "time")]
    list: bool,

    /// How many cases to play at a time, each job with a subject of its own.
    #[arg(short, long, value_name = "N", help_heading = "Play")]
    jobs: Option<NonZeroUsize>,

    /// Treat a violated `should` like a `must`.
    #[arg(long, help_heading = "Judgement")]
    strict: bool,

    /// Write a report: json or text; repeatable. The path `-` is stdout.
    #[arg(long = "report", value_name = "KIND=PATH")]
    reports: Vec<ReportTarget>,

    #[command(flatten)]
    target: TargetOptions,

    /// The subject is wirecert's own mock of the role, even where there is a `wirecert.yaml`.
    #[arg(long = "self", help_heading = "Subject", conflicts_with_all = ["subject", "url", "lockfile", "module", "settings"])]
    own: bool,

    /// The command that starts the subject, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs `wirecert fuzz`.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let Some((protocol, role)) = role(&args.role) else {
        let names: Vec<&str> = crate::protocol::protocols().iter().flat_map(|p| p.roles).map(|r| r.name).collect();
        let message = format!("there is no role `{}`", args.role);
        return Err(CliError::usage(message).help(format!("roles: {}", names.join(", "))));
    };
    if let Some(unfit) = args.reports.iter().find(|target| !matches!(target.kind, ReportKind::Json | ReportKind::Text))
    {
        let path = unfit.path.display();
        return Err(
            CliError::usage(format!("a fuzz has no report of this kind for {path}")).help("there are json and text")
        );
    }
    let spec = match args.target.subject(role.name, &args.command, args.own)? {
        Some(spec) => spec,
        // A list is no verdict.
        None if !args.own && !args.list => {
            return Err(super::selection::no_subject_error(&format!("fuzz {}", role.name), Some(role.name)));
        }
        None => {
            let requested = args.target.edition.as_deref().filter(|e| *e != "auto");
            let edition = requested.map_or(Some(protocol.default_edition()), |id| protocol.edition(id));
            let unknown = || {
                let ids = protocol.edition_ids().collect::<Vec<_>>().join(", ");
                CliError::usage("there is no such edition").help(format!("editions: {ids}"))
            };
            own(protocol, role, edition.ok_or_else(unknown)?, &[], peer::described(role.name))
        }
    };
    if spec.observe.is_some() {
        return Err(CliError::usage("a client that is only watched cannot be fuzzed: it has to be driven"));
    }
    let seed = args.seed.unwrap_or_else(|| RandomState::new().hash_one(0) % 1_000_000_000);
    let cancel = Cancel::default();
    let mut run = args.target.play(&spec);
    run.options.strict = args.strict;
    run.retries = 1;
    run.jobs = args.jobs.map_or_else(|| default_jobs(spec.role), NonZeroUsize::get);
    let campaign = Campaign { spec, run, time: args.time, cancel: cancel.clone() };
    let fuzz = FuzzRun { args: &args, campaign, seed };
    run_cancellable(&cancel, async || fuzz.run_all(terminal).await)
}

struct FuzzRun<'a> {
    args: &'a Args,
    campaign: Campaign,
    seed: u64,
}

impl FuzzRun<'_> {
    async fn run_all(&self, terminal: &mut Terminal) -> Result<Exit, CliError> {
        let Campaign { spec, run, cancel, .. } = &self.campaign;
        let edition = match (spec.edition, self.args.list) {
            // Nothing is started for a list.
            (EditionChoice::Auto, true) => spec.protocol.default_edition(),
            _ => options::edition(spec, spec.protocol.editions, run, cancel).await?,
        };
        let broken = |e: crate::fuzz::TrafficError| CliError::unjudged(e.to_string());
        let traffic = Traffic::of(self.campaign.spec.role, edition).map_err(broken)?;
        let generator = Generator::new(traffic, self.seed, &self.campaign.spec);
        let numbers = match self.args.case {
            Some(number) => number..number.saturating_add(1),
            None => 0..self.args.cases.unwrap_or(if self.args.time.is_some() { u64::MAX } else { CASES }),
        };
        if self.args.list {
            for case in numbers.filter_map(|n| generator.case(n)) {
                terminal.result(&format!("# case {}\n{}---\n", case.number, case.text));
            }
            return Ok(Exit::OK);
        }
        terminal.progress(&format!(
            "seed {}: {} for {} ({edition})",
            self.seed,
            count_in_words(&numbers),
            self.campaign.spec.name
        ));
        let log = &mut |event: FuzzEvent| terminal.progress(&event.to_string());
        let result = self.campaign.play(&generator, numbers, log).await?;
        if result.played == 0 && !self.campaign.cancel.is_cancelled() {
            let (number, why) = result.errors.first().cloned().unwrap_or((0, "every case was skipped".to_owned()));
            return Err(CliError::unjudged(format!("no case could be judged; case {number}: {why}")));
        }
        let saved = self.save(edition, &result, terminal).await?;
        let all_written = self.deliver(edition, &result, &saved, terminal);
        let binds = |v: &CaseViolation| v.level == Level::Must || self.args.strict && v.level == Level::Should;
        Ok(match () {
            () if self.campaign.cancel.is_cancelled() => Exit::INTERRUPTED,
            () if !all_written => Exit::USAGE,
            () if result.found.values().any(binds) => Exit::FAILED,
            () if !result.errors.is_empty() => Exit::UNJUDGED,
            () => Exit::OK,
        })
    }

    /// Prints the results and writes the reports; gives whether every report was written.
    fn deliver(
        &self,
        edition: &'static dyn Edition,
        result: &FuzzResult,
        saved: &BTreeMap<Option<RequirementId>, String>,
        terminal: &mut Terminal,
    ) -> bool {
        let about = FuzzRenderer { spec: &self.campaign.spec, edition, seed: self.seed, result, saved };
        let text = report::plain(&about.text());
        let content = |kind| if kind == ReportKind::Json { about.json() } else { text.clone() };
        write_reports(&text, &self.args.reports, content, terminal)
    }
}
