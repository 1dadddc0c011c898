//! `wirecert shrink`: the least of a scenario that still fails.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ValueEnum;

use crate::config::SubjectSpec;
use crate::diagnostic::yaml;
use crate::judge::{Fault, Found, Play, Repro};
use crate::play::{Cancel, Run};
use crate::protocol::{Level, RequirementId, parse_bound};
use crate::scenario::text::{Tree, write};
use crate::scenario::{Filter, Plan, load, load_str};
use crate::shrink::{Identity, Limits, Plays, Seen, Shrinker, Size, Stop, narrow, reference};

use super::target::{self, TargetOptions};
use super::{CliError, Exit, Terminal};

/// How the head of a shrunk scenario begins.
const HEAD: &str = "Shrunk by wirecert";

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

    /// Play the original so many times first, to see whether its failure comes and goes.
    #[arg(long, value_name = "N", default_value = "3", help_heading = "Play")]
    repeat: NonZeroU32,

    /// Which plays share a process of the subject.
    #[arg(long, value_name = "HOW", default_value = "play", help_heading = "Play")]
    isolation: Isolate,

    /// Do not play at our own sound mock as well.
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
    /// None: each has a fresh one.
    Play,
    /// All, until one has soiled it. A candidate that fails is confirmed by a fresh process, and so is the result.
    Run,
}

/// Runs the command.
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
    let Some(spec) = args.target.subject(role, &args.command)? else {
        return Err(CliError::usage("it is not said what it fails against")
            .help("give the command that starts the subject after `--`, or describe it with --subject"));
    };
    let chosen =
        |plan: &Plan| filter.as_ref().is_none_or(|f| super::session::matches(f, plan, (spec.protocol.requirements)()));
    let plans: Vec<Plan> = loaded.plans.into_iter().filter(chosen).collect();
    if plans.is_empty() {
        return Err(CliError::usage("nothing in the file is left by what was asked for").help("drop `--filter`"));
    }
    let runtime = super::session::runtime()?;
    let cancel = Cancel::default();
    let job = Job {
        run: args.target.play(&spec),
        spec,
        cancel: cancel.clone(),
        file: args.file.clone(),
        asked: args.requirement.clone(),
        reference: !args.no_reference,
        limits: Limits {
            repeat: args.repeat.get(),
            plays: args.max_plays.get(),
            time: args.max_time,
            isolated: args.isolation == Isolate::Play,
        },
        repro: args.target.repro(&args.command),
    };
    let outcome = runtime.block_on(async {
        super::session::watch_for_interrupts(cancel.clone());
        job.shrink(&tree, plans, args.out.as_deref(), terminal).await
    });
    cancel.nothing_runs();
    runtime.shutdown_timeout(Duration::from_secs(2));
    outcome
}

/// What is to be shrunk, and how.
pub struct Job {
    /// The subject that it fails against.
    pub spec: SubjectSpec,
    /// How to play at it.
    pub run: Run,
    /// Ends it early.
    pub cancel: Cancel,
    /// The scenario's file, as shown to people.
    pub file: PathBuf,
    /// The requirement asked for: area and slug, or a whole id.
    pub asked: Option<String>,
    /// Whether our own sound mock has to pass.
    pub reference: bool,
    /// How far to go.
    pub limits: Limits,
    /// The command that plays a file at the same subject, without the file.
    pub repro: Repro,
}

impl Job {
    async fn shrink(
        &self,
        tree: &Tree,
        plans: Vec<Plan>,
        out: Option<&Path>,
        terminal: &mut Terminal,
    ) -> Result<Exit, CliError> {
        let mut editions: Vec<&'static str> = plans.iter().map(|p| p.edition).collect();
        editions.dedup();
        let edition = target::edition(&self.spec, &editions, &self.run, &self.cancel).await?;
        let plans: Vec<Plan> = plans.into_iter().filter(|p| p.edition == edition).collect();
        if plans.is_empty() {
            return Err(CliError::usage(format!("the scenario is not for the edition {edition}")));
        }
        let shrunk = match self.least(tree, plans, edition, terminal).await? {
            Outcome::Fails(shrunk) => shrunk,
            Outcome::Passes(why) => {
                terminal.result(&format!("{why}\n"));
                return Ok(Exit::OK);
            }
        };
        let text = write(&self.headed(&shrunk, out.unwrap_or(Path::new("FILE.yaml"))));
        match out {
            None => terminal.result(&text),
            Some(path) => {
                save(path, &text)?;
                terminal.result(&format!("{}: {}\n", path.display(), shrunk.summary()));
            }
        }
        Ok(if shrunk.stop == Some(Stop::Interrupted) { Exit::INTERRUPTED } else { Exit::FAILED })
    }

    /// The least of the first of these plays that fails. The time begins to run.
    ///
    /// # Errors
    /// Where it cannot be judged, or was stopped before it was seen to fail.
    pub async fn least(
        &self,
        tree: &Tree,
        plans: Vec<Plan>,
        edition: &'static str,
        terminal: &mut Terminal,
    ) -> Result<Outcome, CliError> {
        let began = Instant::now();
        let name = self.file.display().to_string();
        let mut trial = Plays::new(&name, self.spec.clone(), self.run.clone(), self.limits, self.cancel.clone());
        let outcome = self.with(&mut trial, tree, plans, edition, terminal).await;
        trial.end().await;
        if let Ok(Outcome::Fails(shrunk)) = &outcome {
            let (from, to) = (shrunk.from, Size::of(&shrunk.tree));
            terminal.progress(&format!(
                "{} steps became {}, {} parts became {}, in {} plays and {:.1} s",
                from.steps,
                to.steps,
                from.parts,
                to.parts,
                trial.count(),
                began.elapsed().as_secs_f64()
            ));
        }
        outcome
    }

    async fn with(
        &self,
        trial: &mut Plays,
        tree: &Tree,
        plans: Vec<Plan>,
        edition: &'static str,
        terminal: &mut Terminal,
    ) -> Result<Outcome, CliError> {
        let plan = match <[Plan; 1]>::try_from(plans) {
            Ok([only]) => only,
            Err(several) => self.first_to_fail(trial, several, terminal).await?,
        };
        let tree = narrow(&without_head(tree), &plan);
        let name = self.file.display().to_string();
        let narrowed = load_str(&name, &write(&tree));
        let Some(plan) = narrowed.plans.into_iter().next().filter(|_| narrowed.diagnostics.is_empty()) else {
            let message = format!("{} cannot be cut down to one play: {}", plan.id, first(&narrowed.diagnostics));
            return Err(CliError::usage(message).help("write its case and edition into a file of its own"));
        };
        let from = Size::of(&tree);
        terminal.progress(&format!("{}: {} steps, {} parts", plan.id, from.steps, from.parts));
        let seen = trial.see(&plan).await.map_err(stopped)?;
        let Some(requirement) = self.violated(&seen.plays)? else { return self.sound(seen) };
        let end = self.spec.role.subject;
        let Some(mut identity) = Identity::of(&seen.plays, end, requirement) else { return self.sound(seen) };
        let (failed, plays) = (seen.failed(&identity), seen.plays.len());
        terminal.progress(&format!("fails {failed} of {plays} times: {}", told(requirement)));
        trial.look_for(identity.clone(), &seen);
        let mut beside = false;
        if self.reference {
            let mock = reference(&self.spec, edition);
            let mut run = self.run.clone();
            run.options.patience = mock.timeouts.expect;
            match trial.compare(mock, run, &plan).await.map_err(stopped)? {
                None => terminal.detail("our own sound mock passes, and has to go on passing"),
                Some(why) => {
                    beside = true;
                    terminal.progress(&format!(
                        "our own sound mock does not pass, so only what fails in the same step counts: {why}"
                    ));
                    identity = identity.strictly(&seen.plays);
                    trial.look_for(identity.clone(), &seen);
                }
            }
        }
        let mut last = from;
        let mut tell = |size: Size, plays: u32| {
            if size != last {
                terminal.progress(&format!("{plays:>5} plays: {} steps, {} parts", size.steps, size.parts));
                last = size;
            }
        };
        let mut shrinker = Shrinker::new(self.spec.role, tree, trial, &mut tell);
        let mut stop = shrinker.run().await.err();
        let tree = shrinker.tree().clone();
        let found = |plays: &[Play]| {
            let of = |f: &&Found| f.requirement == requirement && f.fault == Fault::End(end);
            plays.iter().flat_map(|p| &p.findings).find(of).map(|f| f.message.clone())
        };
        let mut shrunk = Shrunk {
            tree,
            from,
            requirement,
            message: found(&seen.plays).unwrap_or_default(),
            seen: None,
            stop,
            beside,
        };
        let last = load_str(&name, &write(&shrunk.tree)).plans.pop().filter(|_| stop.is_none());
        if let Some(plan) = last {
            match trial.see(&plan).await {
                Ok(again) => {
                    shrunk.message = found(&again.plays).unwrap_or(shrunk.message);
                    shrunk.seen = Some((again.failed(&identity), again.plays.len()));
                }
                Err(ended) => stop = Some(ended),
            }
        }
        shrunk.stop = stop;
        Ok(Outcome::Fails(Box::new(shrunk)))
    }

    /// The first play of a file that fails as was asked for, each one played once before any is played again.
    async fn first_to_fail(
        &self,
        trial: &mut Plays,
        plans: Vec<Plan>,
        terminal: &mut Terminal,
    ) -> Result<Plan, CliError> {
        terminal.progress(&format!("looking for the first of {} plays that fails", plans.len()));
        for plan in &plans {
            let seen = trial.see(plan).await.map_err(stopped)?;
            if self.violated(&seen.plays).is_ok_and(|found| found.is_some()) {
                return Ok(plan.clone());
            }
        }
        // None does: the last one tells so.
        plans.into_iter().next_back().ok_or_else(|| CliError::usage("there is nothing to play"))
    }

    /// The requirement that is violated: the one asked for, else the first that binds, else the first.
    ///
    /// # Errors
    /// Where others are violated than the one asked for.
    fn violated(&self, plays: &[Play]) -> Result<Option<Option<RequirementId>>, CliError> {
        let subject = Fault::End(self.spec.role.subject);
        let found: Vec<Option<RequirementId>> =
            plays.iter().flat_map(|p| &p.findings).filter(|f| f.fault == subject).map(|f| f.requirement).collect();
        let Some(asked) = self.asked.as_deref() else {
            let binding = found.iter().find(|id| target::level(&self.spec, **id) == Level::Must);
            return Ok(binding.or(found.first()).copied());
        };
        let is_it =
            |id: &&Option<RequirementId>| id.is_some_and(|id| id == asked || id.ends_with(&format!("/{asked}")));
        match found.iter().find(is_it) {
            Some(id) => Ok(Some(*id)),
            None if found.is_empty() => Ok(None),
            None => {
                let mut others: Vec<&str> = found.iter().map(|id| id.unwrap_or("no requirement")).collect();
                others.sort_unstable();
                others.dedup();
                let message = format!("{asked} is not violated here, but {}", others.join(", "));
                Err(CliError::usage(message).help("ask for one of these with --requirement"))
            }
        }
    }

    /// It does not fail: it passes, or nobody can tell.
    fn sound(&self, seen: Seen) -> Result<Outcome, CliError> {
        if let Some(error) = seen.launch_error {
            return Err(super::session::unjudged(&error));
        }
        let (judged, plays) = (seen.judged(), seen.plays.len());
        if judged == 0 {
            let reason = seen.plays.iter().find_map(|p| p.reason.clone()).unwrap_or_default();
            return Err(CliError::unjudged(format!("it could not be played: {reason}")));
        }
        let others = if judged as usize == plays { String::new() } else { format!(" ({plays} were begun)") };
        Ok(Outcome::Passes(format!("it does not fail here: passed {judged} of {judged} times{others}")))
    }

    /// The result, with what it shows and how to play it said at its head.
    pub fn headed(&self, shrunk: &Shrunk, out: &Path) -> Tree {
        let to = Size::of(&shrunk.tree);
        let file = self.file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let mut head = vec![format!("{HEAD} from {file}: {} steps became {}.", shrunk.from.steps, to.steps)];
        match shrunk.requirement.and_then(|id| (self.spec.protocol.requirements)().iter().find(|r| r.id == id)) {
            Some(requirement) => {
                head.push(format!("It shows that {} violates {}", self.spec.name, requirement.id));
                head.push(format!("({}): {}", requirement.level.as_str(), requirement.statement));
            }
            None => head.push(format!("It shows that {} does not do what is expected here.", self.spec.name)),
        }
        head.push(format!("Seen: {}", shrunk.message));
        head.push(shrunk.summary());
        head.push(format!("Play it: {}", played_by(&self.repro, out)));
        let mut tree = shrunk.tree.clone();
        let line = |text: String| text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
        tree.above.splice(0..0, head.into_iter().map(line));
        tree
    }
}

/// Whether it fails.
pub enum Outcome {
    /// It does, and this is the least of it.
    Fails(Box<Shrunk>),
    /// Why there is nothing to shrink.
    Passes(String),
}

/// What came of it.
pub struct Shrunk {
    /// The smallest scenario.
    pub tree: Tree,
    from: Size,
    requirement: Option<RequirementId>,
    message: String,
    /// How often the result failed, in how many plays.
    seen: Option<(u32, usize)>,
    /// What ended it before nothing more could be taken out.
    stop: Option<Stop>,
    /// Whether our own sound mock does not pass either.
    beside: bool,
}

impl Shrunk {
    /// How far it is to be trusted, in a sentence.
    pub fn summary(&self) -> String {
        let minimal = match self.stop {
            None => "Nothing more can be taken out of it.",
            Some(Stop::Interrupted) => "It was interrupted: there may be more to take out.",
            Some(Stop::Time) => "The time was up: there may be more to take out.",
            Some(Stop::Plays) => "There were to be no more plays: there may be more to take out.",
        };
        let seen = self.seen.map(|(failed, plays)| format!(" It failed {failed} of {plays} times."));
        // It may expect what only some have, or what nobody owes.
        let beside = if self.beside { " wirecert's own mock does not pass it either." } else { "" };
        format!("{minimal}{}{beside}", seen.unwrap_or_default())
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

/// The command that plays a file at the same subject.
pub fn played_by(repro: &Repro, file: &Path) -> String {
    let mut repro = repro.clone();
    repro.before.insert(2.min(repro.before.len()), file.display().to_string());
    repro.command(None)
}

fn told(requirement: Option<RequirementId>) -> &'static str {
    requirement.unwrap_or("an expectation that proves no requirement")
}

fn first(diagnostics: &[crate::diagnostic::Diagnostic]) -> &str {
    diagnostics.first().map_or("it has several plays", |d| d.message.as_str())
}

/// The scenario without what an earlier shrinking said at its head.
fn without_head(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    let end = tree.above.iter().position(|line| line.starts_with("Play it: "));
    if let Some(end) = end.filter(|_| tree.above.first().is_some_and(|line| line.starts_with(HEAD))) {
        tree.above.drain(..=end);
    }
    tree
}

fn stopped(stop: Stop) -> CliError {
    match stop {
        Stop::Interrupted => CliError::interrupted(),
        Stop::Time => {
            CliError::unjudged("the time was up before it was seen to fail").help("give more with --max-time")
        }
        Stop::Plays => {
            CliError::unjudged("there were no plays left before it was seen to fail").help("give more with --max-plays")
        }
    }
}
