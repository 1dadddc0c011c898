//! One run of scenarios against one or several subjects: what `certify` and `run` have in common.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use jiff::Zoned;

use crate::config::{EditionChoice, SubjectSpec};
use crate::judge::{Baseline, Note, Played, Report, Repro, Scope, SubjectReport, SubjectRun, Suite, judge_subject};
use crate::peer;
use crate::play::{Cancel, Options, Run, start, suite};
use crate::protocol::Requirement;
use crate::report::Progress;
use crate::scenario::{Filter, Plan, filter};
use crate::subject::{RunDir, Running};
use crate::trace::{Clock, Recorder, Strength};

use super::progress::progress;
use super::snapshots::Comparison;
use super::{CliError, Exit, SharedOptions, Terminal};

/// The most subjects that are started side by side where nothing is said.
const JOBS: usize = 4;

/// What is to be played against whom.
pub struct Session<'a> {
    /// The subjects.
    pub subjects: Vec<SubjectSpec>,
    /// Every scenario there is to choose from, all roles and editions.
    pub plans: Vec<Plan>,
    /// Whether these are the whole suite, so that something can be said about completeness.
    pub whole: bool,
    /// What scenario files went into the digest of the suite: names and texts.
    pub files: Vec<(String, Vec<u8>)>,
    /// What the user asked for.
    pub options: &'a SharedOptions,
    /// The command that was run, for repeating parts of it.
    pub repro: Repro,
}

impl Session<'_> {
    /// Plays and judges everything, writes the reports, and gives the exit code.
    ///
    /// # Errors
    /// Where nothing can be played: a filter that matches nothing, a subject that cannot be started.
    pub fn run(mut self, terminal: &mut Terminal) -> Result<Exit, CliError> {
        let filter = self.options.filter.as_deref().map(Filter::parse).transpose()?;
        if self.options.list {
            return self.list(filter.as_ref(), terminal);
        }
        let runtime = runtime()?;
        let cancel = Cancel::default();
        let subjects = std::mem::take(&mut self.subjects);
        let progress = progress(self.options.progress, terminal);
        let outcome = runtime.block_on(async {
            let watching = watch_for_interrupts(cancel.clone());
            let mut reports = vec![];
            let mut first_error = None;
            for spec in &subjects {
                if cancel.is_cancelled() {
                    break;
                }
                match self.subject(spec, filter.as_ref(), progress.as_ref(), &cancel).await {
                    Ok(report) => reports.push(report),
                    Err(error) => {
                        // One subject that cannot be judged leaves the others their verdicts.
                        terminal.diagnostics(&error.diagnostics);
                        first_error.get_or_insert(error.exit);
                    }
                }
            }
            watching.abort();
            (reports, first_error)
        });
        runtime.shutdown_timeout(std::time::Duration::from_secs(2));
        let (reports, error) = outcome;
        self.report(reports, error, cancel.is_cancelled(), terminal)
    }

    /// The plans for a role and edition that were asked for, and whether that is all of them.
    fn select(&self, spec: &SubjectSpec, edition: &str, filter: Option<&Filter>) -> (Vec<Plan>, bool) {
        let of_role = |p: &&Plan| p.role == spec.role.name && p.edition == edition;
        let all: Vec<&Plan> = self.plans.iter().filter(of_role).collect();
        let catalogue = (spec.protocol.requirements)();
        let chosen: Vec<Plan> = all
            .iter()
            .filter(|plan| filter.is_none_or(|f| matches(f, plan, catalogue)))
            .enumerate()
            .filter(|(n, _)| self.options.shard.is_none_or(|shard| shard.takes(*n)))
            .map(|(_, plan)| (*plan).clone())
            .collect();
        let whole = self.whole && chosen.len() == all.len() && !all.is_empty();
        (chosen, whole)
    }

    async fn subject(
        &self,
        spec: &SubjectSpec,
        filter: Option<&Filter>,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<SubjectReport, CliError> {
        let baseline = super::baseline::load(self.options.baseline.as_deref().or(spec.baseline.as_deref()))?;
        let mut notes = vec![];
        let (edition, first) = match spec.edition {
            EditionChoice::Given(edition) => (edition, None),
            EditionChoice::Auto => {
                let (edition, how, first) = detect(spec, self.patience(spec), cancel).await?;
                progress.remark(&format!("edition `{edition}`: {how}"));
                notes.push(Note { requirement: None, text: format!("judged by edition `{edition}`: {how}") });
                (edition, Some(first))
            }
        };
        let (plans, whole) = self.select(spec, edition, filter);
        if plans.is_empty() {
            if let Some((_, subject)) = first {
                subject.stop().await;
            }
            let what = match (&self.options.filter, self.options.shard) {
                (None, None) => format!("there are no scenarios for the role {} in edition {edition}", spec.role.name),
                _ => format!("no scenario for {} in edition {edition} is left by what was asked for", spec.role.name),
            };
            return Err(CliError::usage(what).help("`--list` shows what there is; drop `--filter` or `--shard`"));
        }
        let title = format!("{} ({}, {edition})", spec.name, spec.role.name);
        progress.suite_started(&title, plans.len());
        let dir = self.options.snapshots.as_deref().or(spec.snapshots.as_deref());
        let snapshots = Comparison::new(dir, Strength::Exact, whole);
        let run = Run {
            options: Options {
                patience: self.patience(spec),
                trace_dir: self.options.trace_dir.clone().or(spec.trace_dir.clone()),
                strict: self.options.strict,
                snapshotter: snapshots.snapshotter(),
            },
            jobs: self.options.jobs.map_or_else(default_jobs, NonZeroUsize::get),
            repeat: self.options.repeat.map_or(1, std::num::NonZeroU32::get),
            retries: self.options.retries.unwrap_or(0),
            fail_fast: self.options.fail_fast,
        };
        let played = suite(spec, &plans, &run, first, progress, cancel).await;
        progress.suite_finished();
        let played = played.map_err(|error| match error {
            crate::play::SuiteError::Subject(error) => unjudged(&error),
        })?;
        let (compared, troubles) = snapshots.finish(&plans);
        notes.extend(troubles.into_iter().map(|text| Note { requirement: None, text }));
        Ok(self.judge(spec, edition, &played, whole, notes, compared, &baseline, cancel))
    }

    #[allow(clippy::too_many_arguments)]
    fn judge(
        &self,
        spec: &SubjectSpec,
        edition: &str,
        played: &[Played],
        whole: bool,
        notes: Vec<Note>,
        snapshots: Vec<crate::judge::SnapshotResult>,
        baseline: &Baseline,
        cancel: &Cancel,
    ) -> SubjectReport {
        let cut = cancel.is_cancelled() || played.iter().any(|p| p.plays.is_empty());
        let scope = match (cut, whole) {
            (true, _) => Scope::CutShort,
            (false, true) => Scope::Full,
            (false, false) => Scope::Partial,
        };
        let missing: Vec<String> = spec.missing.iter().map(|m| (*m).to_owned()).collect();
        judge_subject(&SubjectRun {
            name: spec.name.clone(),
            role: spec.role.name.to_owned(),
            end: spec.role.subject,
            edition: edition.to_owned(),
            catalogue: (spec.protocol.requirements)(),
            missing: &missing,
            baseline,
            today: Zoned::now().date(),
            scope,
            strict: self.options.strict,
            repro: self.repro.clone(),
            played,
            snapshots,
            notes,
        })
    }

    fn report(
        &self,
        subjects: Vec<SubjectReport>,
        error: Option<Exit>,
        interrupted: bool,
        terminal: &mut Terminal,
    ) -> Result<Exit, CliError> {
        let files = self.files.iter().map(|(name, text)| (name.as_str(), text.as_slice()));
        let catalogue: Vec<&Requirement> =
            crate::protocol::protocols().iter().flat_map(|p| (p.requirements)()).collect();
        let suite = Suite::of(files, catalogue);
        let mut notes = vec![];
        if interrupted {
            notes.push(Note { requirement: None, text: "interrupted: what is known so far".to_owned() });
        }
        let report = Report::of(suite, self.options.seed.unwrap_or(0), notes, subjects);
        let usage = !super::deliver::deliver(&report, &self.options.reports, terminal);
        let mut standing = report.standing();
        if error == Some(Exit::UNJUDGED) {
            standing.unjudged = true;
        }
        Ok(Exit::of(standing, interrupted, usage || error == Some(Exit::USAGE)))
    }

    fn list(&self, filter: Option<&Filter>, terminal: &mut Terminal) -> Result<Exit, CliError> {
        let mut any = false;
        for spec in &self.subjects {
            for edition in spec.protocol.editions {
                if !matches!(spec.edition, EditionChoice::Auto) && spec.edition.as_str() != edition.id {
                    continue;
                }
                for plan in self.select(spec, edition.id, filter).0 {
                    any = true;
                    terminal.result(&format!("{}\n    {}\n", plan.id, plan.title));
                }
            }
        }
        if any { Ok(Exit::OK) } else { Err(CliError::usage("no scenario is left by what was asked for")) }
    }

    fn patience(&self, spec: &SubjectSpec) -> std::time::Duration {
        self.options.timeout.unwrap_or(spec.timeouts.expect)
    }
}

fn matches(filter: &Filter, plan: &Plan, catalogue: &[Requirement]) -> bool {
    let requirements: Vec<&Requirement> = catalogue.iter().filter(|r| plan.requirements.contains(&r.id)).collect();
    filter.matches(filter::Candidate { id: &plan.id, requirements: &requirements })
}

fn default_jobs() -> usize {
    available_parallelism().map_or(1, NonZeroUsize::get).min(JOBS)
}

type First = (Option<RunDir>, Running);

/// Starts the subject and finds out which edition it speaks. The subject is kept for the play.
async fn detect(
    spec: &SubjectSpec,
    patience: std::time::Duration,
    cancel: &Cancel,
) -> Result<(&'static str, String, First), CliError> {
    let recorder = Recorder::with_secret_keys(Clock::start(), spec.protocol.secret_keys, vec![]);
    let started = tokio::select! {
        started = start(spec, None, recorder.clone()) => started,
        () = cancel.cancelled() => return Err(CliError::interrupted()),
    };
    let first = started.map_err(|error| unjudged(&error))?;
    let kind = peer::kind(spec.role.name)
        .ok_or_else(|| CliError::usage(format!("no peer stands opposite the role {}", spec.role.name)))?;
    let crate::peer::Detected { edition, how } = (kind.detect)(first.1.lock().clone(), patience, recorder).await;
    Ok((edition, how, first))
}

fn unjudged(error: &crate::subject::SubjectError) -> CliError {
    CliError { diagnostics: vec![error.diagnostic()], exit: Exit::UNJUDGED }
}

/// What runs everything that waits for sockets, processes and time.
pub fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| CliError::unjudged(format!("the asynchronous runtime could not be started: {e}")))
}

/// Cancels the run at Ctrl-C or SIGTERM.
pub fn watch_for_interrupts(cancel: Cancel) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).ok();
        loop {
            let term = async {
                match terminate.as_mut() {
                    Some(signal) => _ = signal.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                () = term => {}
            }
            // Stopping the subjects is bounded in time, so there is nothing that a second one could hasten.
            cancel.cancel();
        }
    })
}
