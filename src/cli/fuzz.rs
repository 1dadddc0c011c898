//! `wirecert fuzz`: generated traffic, judged by the rules.

mod results;

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::config::{EditionChoice, SubjectSpec, own};
use crate::format::parse_bound;
use crate::fuzz::{Case, Generator, Memory, Traffic};
use crate::judge::{FaultOwner, Play, ScenarioStatus};
use crate::peer;
use crate::play::{Cancel, Run, SuiteError, suite};
use crate::protocol::{Level, RequirementId, role};
use crate::report::{self, ReportKind};
use crate::scenario::Plan;

use super::deliver::write_reports;
use super::options::{self, TargetOptions};
use super::{CliError, Exit, ReportTarget, Terminal};
use results::FuzzRenderer;

/// How many cases each job plays before its subject is started anew.
const ROUND: usize = 64;
/// How many cases each job plays before its subject is started anew where `--time` is set: the time is checked after each round.
const SHORT_ROUND: usize = 16;

/// After how many cases the memory of a subject is measured.
const WEIGH_EVERY: Option<NonZeroU32> = NonZeroU32::new(8);

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
    let editions: Vec<&'static str> = protocol.editions.iter().map(|e| e.id).collect();
    let spec = match args.target.subject(role.name, &args.command, args.own)? {
        Some(spec) => spec,
        // A list is no verdict.
        None if !args.own && !args.list => {
            return Err(super::selection::no_subject_error(&format!("fuzz {}", role.name), Some(role.name)));
        }
        None => {
            let requested = args.target.edition.as_deref().filter(|e| *e != "auto");
            let edition = match requested {
                Some(edition) => editions.iter().copied().find(|id| *id == edition),
                None => editions.first().copied(),
            };
            let unknown =
                || CliError::usage("there is no such edition").help(format!("editions: {}", editions.join(", ")));
            own(protocol, role, edition.ok_or_else(unknown)?, &[], peer::described(role.name))
        }
    };
    if spec.observe.is_some() {
        return Err(CliError::usage("a client that is only watched cannot be fuzzed: it has to be driven"));
    }
    let seed = args.seed.unwrap_or_else(|| RandomState::new().hash_one(0) % 1_000_000_000);
    let runtime = super::session::runtime()?;
    let cancel = Cancel::default();
    let mut run = args.target.play(&spec);
    run.options.strict = args.strict;
    run.retries = 1;
    run.weigh_every = WEIGH_EVERY;
    run.jobs = args.jobs.map_or_else(|| super::session::default_jobs(spec.role), NonZeroUsize::get);
    let fuzz = FuzzRun { args: &args, spec, run, seed, cancel: cancel.clone() };
    let outcome = runtime.block_on(async {
        super::session::watch_for_interrupts(cancel.clone());
        fuzz.run_all(&editions, terminal).await
    });
    cancel.nothing_runs();
    runtime.shutdown_timeout(Duration::from_secs(2));
    outcome
}

struct FuzzRun<'a> {
    args: &'a Args,
    spec: SubjectSpec,
    run: Run,
    seed: u64,
    cancel: Cancel,
}

/// The violation of a requirement.
struct Violation {
    /// The first case that showed it.
    case: Case,
    message: String,
    level: Level,
    /// How many cases showed it.
    count: u64,
}

#[derive(Default)]
struct FuzzCounts {
    played: u64,
    skipped: u64,
    /// Cases that could not be judged: the first, and why.
    errors: Vec<(u64, String)>,
    found: BTreeMap<Option<RequirementId>, Violation>,
    memory: Arc<Memory>,
}

impl FuzzRun<'_> {
    async fn run_all(&self, editions: &[&'static str], terminal: &mut Terminal) -> Result<Exit, CliError> {
        let edition = match (self.spec.edition, self.args.list) {
            // Nothing is started for a list.
            (EditionChoice::Auto, true) => *editions.first().unwrap_or(&""),
            _ => options::edition(&self.spec, editions, &self.run, &self.cancel).await?,
        };
        let broken = |e: crate::fuzz::TrafficError| CliError::unjudged(e.to_string());
        let traffic = Traffic::of(self.spec.role, edition).map_err(broken)?;
        let generator = Generator::new(traffic, self.seed, &self.spec);
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
        terminal.progress(&format!("seed {}: {} for {} ({edition})", self.seed, counted(&numbers), self.spec.name));
        let mut tally = FuzzCounts::default();
        self.play(&generator, numbers, &mut tally, terminal).await?;
        if tally.played == 0 && !self.cancel.is_cancelled() {
            let (number, why) = tally.errors.first().cloned().unwrap_or((0, "every case was skipped".to_owned()));
            return Err(CliError::unjudged(format!("no case could be judged; case {number}: {why}")));
        }
        let saved = self.save(edition, &tally, terminal).await?;
        let all_written = self.deliver(edition, &tally, &saved, terminal);
        let binds = |v: &Violation| v.level == Level::Must || self.args.strict && v.level == Level::Should;
        Ok(match () {
            () if self.cancel.is_cancelled() => Exit::INTERRUPTED,
            () if !all_written => Exit::USAGE,
            () if tally.found.values().any(binds) => Exit::FAILED,
            () if !tally.errors.is_empty() => Exit::UNJUDGED,
            () => Exit::OK,
        })
    }

    async fn play(
        &self,
        generator: &Generator,
        numbers: std::ops::Range<u64>,
        tally: &mut FuzzCounts,
        terminal: &mut Terminal,
    ) -> Result<(), CliError> {
        let began = Instant::now();
        let round = if self.args.time.is_some() { SHORT_ROUND } else { ROUND };
        let (total, mut done) = (counted(&numbers), 0u64);
        let mut numbers = numbers;
        while !numbers.is_empty() && !self.cancel.is_cancelled() && self.args.time.is_none_or(|t| began.elapsed() < t) {
            let cases: Vec<Case> =
                numbers.by_ref().take(self.run.jobs * round).filter_map(|n| generator.case(n)).collect();
            let plans: Arc<[Plan]> = cases.iter().map(|case| case.plan.clone()).collect();
            done += cases.len() as u64;
            let played = suite(&self.spec, plans, &self.run, None, tally.memory.clone(), &self.cancel).await;
            tally.memory.settle();
            let played = played.map_err(|SuiteError::Subject(error)| super::session::unjudged(&error))?;
            for (case, played) in cases.into_iter().zip(played) {
                let Some(play) = played.plays.last() else { continue };
                for play in &played.plays {
                    self.findings(&case, play, tally, terminal);
                }
                match play.status {
                    ScenarioStatus::Passed | ScenarioStatus::Failed | ScenarioStatus::Blocked => tally.played += 1,
                    ScenarioStatus::Skipped => tally.skipped += 1,
                    ScenarioStatus::Error => {
                        let why = play.reason.clone().unwrap_or_default();
                        terminal.progress(&format!("case {} could not be judged: {why}", case.number));
                        tally.errors.push((case.number, why));
                    }
                }
            }
            terminal.progress(&format!("{done:>7} of {total}, {} requirements violated", tally.found.len()));
        }
        Ok(())
    }

    fn findings(&self, case: &Case, play: &Play, tally: &mut FuzzCounts, terminal: &mut Terminal) {
        let subject = FaultOwner::End(self.spec.role.subject);
        let mut seen = vec![];
        for found in play.findings.iter().filter(|f| f.fault == subject) {
            if seen.contains(&found.requirement) {
                continue;
            }
            seen.push(found.requirement);
            if let Some(known) = tally.found.get_mut(&found.requirement) {
                known.count += 1;
                continue;
            }
            let level = options::level(&self.spec, found.requirement);
            let name = found.requirement.unwrap_or("an expectation without a requirement");
            terminal.progress(&format!("case {}: {} {name}: {}", case.number, level.as_str(), found.message));
            let violation = Violation { case: case.clone(), message: found.message.clone(), level, count: 1 };
            tally.found.insert(found.requirement, violation);
        }
    }

    /// Prints the results and writes the reports; gives whether every report was written.
    fn deliver(
        &self,
        edition: &str,
        tally: &FuzzCounts,
        saved: &BTreeMap<Option<RequirementId>, String>,
        terminal: &mut Terminal,
    ) -> bool {
        let about = FuzzRenderer { spec: &self.spec, edition, seed: self.seed, tally, saved };
        let text = report::plain(&about.text());
        let content = |kind| if kind == ReportKind::Json { about.json() } else { text.clone() };
        write_reports(&text, &self.args.reports, content, terminal)
    }
}

/// How many cases these are, in words.
fn counted(numbers: &std::ops::Range<u64>) -> String {
    match numbers.end - numbers.start {
        u64::MAX => "as many cases as there is time for".to_owned(),
        1 => "1 case".to_owned(),
        n => format!("{n} cases"),
    }
}
