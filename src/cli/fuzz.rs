//! `wirecert fuzz`: generated traffic, judged by the rules.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::certification::default_jobs;
use crate::config::{EditionChoice, SubjectSpec, own};
use crate::format::parse_bound;
use crate::fuzz::{
    Campaign, CaseViolation, FuzzEvent, FuzzResult, Generator, MemoryUse, Traffic, Walks, count_in_words,
};
use crate::peer;
use crate::play::Cancel;
use crate::protocol::{Edition, Level, RequirementId, role};
use crate::report::{self, ReportKind};
use crate::scenario::text::Tree;
use crate::shrink::{Limits, ShrinkJob, ShrinkOutcome};

use super::options::{self, TargetOptions};
use super::report::write_reports;
use super::shrink::{save, show};
use super::terminal::run_cancellable;
use super::{CliError, Exit, ReportTarget, Terminal};

/// The default number of cases.
const CASES: u64 = 200;

/// Play generated traffic at a subject: sound messages, and ones that are wrong on purpose.
///
/// Each case is a scenario, judged as any other: by the rules, by what it expects of sound messages, and by whether the subject still
/// serves at its end. With `--self`, our own sound mock is played at.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 1 a `must` is violated; 0 none is; 2 wrong usage; 3 a case could not be judged; \
    130 interrupted, what was found is reported.")]
pub struct Args {
    /// The role of the subject, such as amp-server.
    #[arg(value_name = "ROLE")]
    role: String,

    /// The seed: the same one gives the same cases. Any, if not given; it is reported.
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

    /// Play walks of the role's model: what users and peers do in any order, with what must be seen of each act.
    #[arg(long)]
    model: bool,

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
            return Err(super::certify::no_subject_error(&format!("fuzz {}", role.name), Some(role.name)));
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
    run.jobs = args.jobs.map_or_else(|| default_jobs(spec.role, &[]), NonZeroUsize::get);
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
        let generator = self.generator(edition)?;
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

    fn generator(&self, edition: &'static dyn Edition) -> Result<Generator, CliError> {
        let spec = &self.campaign.spec;
        if !self.args.model {
            let broken = |e: crate::fuzz::TrafficError| CliError::unjudged(e.to_string());
            return Ok(Generator::new(Traffic::of(spec.role, edition).map_err(broken)?, self.seed, spec));
        }
        let walks = Walks::of(spec.role, edition, spec).ok_or_else(|| {
            let roles = crate::protocol::protocols().iter().flat_map(|protocol| protocol.roles);
            let names: Vec<&str> = roles.filter(|role| role.model.is_some()).map(|role| role.name).collect();
            let message = format!("there is no model of {} in the edition {edition}", spec.role.name);
            CliError::usage(message)
                .help(format!("roles with a model: {}; without `--model` any role can be fuzzed", names.join(", ")))
        })?;
        Ok(Generator::of_walks(walks, self.seed))
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

/// How many cases that could not be judged are listed.
const SHOWN: usize = 100;

/// The results to be rendered.
struct FuzzRenderer<'a> {
    /// The subject.
    spec: &'a SubjectSpec,
    /// In which edition.
    edition: &'static dyn Edition,
    /// The seed of the cases.
    seed: u64,
    /// What came of them.
    result: &'a FuzzResult,
    /// The scenarios that were saved, each with a note.
    saved: &'a BTreeMap<Option<RequirementId>, String>,
}

impl FuzzRenderer<'_> {
    /// For people.
    fn text(&self) -> String {
        let result = self.result;
        let mut text = String::new();
        for (requirement, violation) in &result.found {
            let name = requirement.unwrap_or("an expectation without a requirement");
            let number = violation.case.number;
            text.push_str(&format!("violated ({}): {name}\n", violation.level.as_str()));
            text.push_str(&format!("  in {} cases, first in case {number}: {}\n", violation.count, violation.message));
            match self.saved.get(requirement) {
                Some(file) => text.push_str(&format!("  {file}\n")),
                None => text.push_str("  --out DIR saves a scenario that shows it\n"),
            }
        }
        let violated = match result.found.len() {
            0 => "no requirement violated".to_owned(),
            1 => "1 requirement violated".to_owned(),
            n => format!("{n} requirements violated"),
        };
        let mut rest = String::new();
        if result.skipped > 0 {
            rest.push_str(&format!(", {} skipped", result.skipped));
        }
        if !result.errors.is_empty() {
            rest.push_str(&format!(", {} could not be judged", result.errors.len()));
        }
        text.push_str(&format!("seed {}: {} cases judged{rest}; {violated}\n", self.seed, result.played));
        if let Some(taken) = result.memory.used() {
            text.push_str(&format!("note: {}\n", memory(&taken)));
        }
        text
    }

    /// For programs: version 1.
    fn json(&self) -> String {
        let result = self.result;
        let violations: Vec<Value> = result
            .found
            .iter()
            .map(|(requirement, violation)| {
                json!({
                    "requirement": requirement,
                    "level": violation.level.as_str(),
                    "message": violation.message,
                    "cases": violation.count,
                    "first_case": violation.case.number,
                    "saved": self.saved.get(requirement),
                })
            })
            .collect();
        let errors = result.errors.iter().take(SHOWN).map(|(case, why)| json!({ "case": case, "reason": why }));
        let taken = result.memory.used();
        let value = json!({
            "version": 1,
            "subject": self.spec.name,
            "role": self.spec.role.name,
            "edition": self.edition.id(),
            "seed": self.seed,
            "counts": {
                "judged": result.played,
                "skipped": result.skipped,
                "error": result.errors.len(),
                "violated": result.found.len(),
            },
            "violations": violations,
            "errors": errors.collect::<Vec<Value>>(),
            "memory": taken,
            "notes": taken.iter().map(memory).collect::<Vec<String>>(),
        });
        format!("{value:#}\n")
    }
}

/// What a subject took, in a sentence.
fn memory(taken: &MemoryUse) -> String {
    let peak = format!("the subject's processes had {} of memory at most", size(taken.peak_bytes as f64));
    match taken.growth_per_case_bytes {
        Some(growth) if growth.abs() >= 1.0 => {
            let way = if growth > 0.0 { "more" } else { "less" };
            let (runs, cases) = (taken.subjects, taken.cases);
            let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
            format!(
                "{peak}, and {} {way} with each case, in the mean of {cases} cases in {runs} of it",
                size(growth.abs())
            )
        }
        Some(_) => format!("{peak}, and no more with each case"),
        None => peak,
    }
}

/// A number of bytes, as people say it.
fn size(bytes: f64) -> String {
    match bytes {
        b if b < 1024.0 => format!("{b:.0} bytes"),
        b if b < 1024.0 * 1024.0 => format!("{:.1} KiB", b / 1024.0),
        b => format!("{:.1} MiB", b / (1024.0 * 1024.0)),
    }
}

/// How far the shrinking of one failure goes.
const SHRINK: Limits = Limits { repeat: 2, plays: 1500, time: Duration::from_secs(90), isolated: true };

impl FuzzRun<'_> {
    /// Saves a scenario for each violated requirement. Gives the files with notes on them.
    async fn save(
        &self,
        edition: &'static dyn Edition,
        result: &FuzzResult,
        terminal: &mut Terminal,
    ) -> Result<BTreeMap<Option<RequirementId>, String>, CliError> {
        let mut saved = BTreeMap::new();
        let Some(dir) = &self.args.out else { return Ok(saved) };
        for (requirement, violation) in &result.found {
            let slug = requirement
                .map_or("no-requirement".to_owned(), |id| id.split('/').skip(2).collect::<Vec<_>>().join("-"));
            let path = dir.join(format!("{slug}-seed{}-case{}.yaml", self.seed, violation.case.number));
            let note = if self.args.no_shrink || self.campaign.cancel.is_cancelled() {
                save(&path, &violation.case.text)?;
                "as it was generated".to_owned()
            } else {
                self.shrink(edition, *requirement, violation, &path, terminal).await?
            };
            saved.insert(*requirement, format!("{}: {note}", path.display()));
        }
        Ok(saved)
    }

    async fn shrink(
        &self,
        edition: &'static dyn Edition,
        requirement: Option<RequirementId>,
        violation: &CaseViolation,
        path: &Path,
        terminal: &mut Terminal,
    ) -> Result<String, CliError> {
        let job = ShrinkJob {
            spec: self.campaign.spec.clone(),
            run: self.campaign.run.clone(),
            cancel: self.campaign.cancel.clone(),
            file: path.to_owned(),
            requested: requirement.map(str::to_owned),
            reference: true,
            limits: SHRINK,
            repro: self.args.target.repro(&self.args.command, self.args.own),
        };
        let case = &violation.case;
        let source = crate::diagnostic::Source::new(path.display().to_string(), case.text.clone());
        let tree = Tree::parse(&source)?;
        match job.least(&tree, vec![case.plan.clone()], edition, &mut |event| show(&event, terminal)).await {
            Ok(ShrinkOutcome::Fails(shrunk)) => {
                save(path, &crate::scenario::text::write(&job.headed(&shrunk, path)))?;
                Ok(shrunk.summary())
            }
            // A violation seen once stands, also where it takes what was played before it.
            Ok(ShrinkOutcome::Passes(_)) => {
                save(path, &case.text)?;
                Ok("alone, in a fresh process, it was not seen again: as it was generated".to_owned())
            }
            Err(error) => {
                save(path, &case.text)?;
                let why =
                    error.diagnostics().into_iter().next().map_or("it could not be shrunk".to_owned(), |d| d.message);
                Ok(format!("as it was generated: {why}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_in_units_that_people_use() {
        let taken = |growth| MemoryUse { peak_bytes: 3 << 20, growth_per_case_bytes: growth, cases: 80, subjects: 2 };
        let peak = "the subject's processes had 3.0 MiB of memory at most";
        assert_eq!(memory(&taken(None)), peak);
        assert_eq!(memory(&taken(Some(0.2))), format!("{peak}, and no more with each case"));
        let grew = format!("{peak}, and 2.5 KiB more with each case, in the mean of 80 cases in 2 runs of it");
        assert_eq!(memory(&taken(Some(2560.0))), grew);
        let fell = format!("{peak}, and 100 bytes less with each case, in the mean of 80 cases in 2 runs of it");
        assert_eq!(memory(&taken(Some(-100.0))), fell);
    }
}
