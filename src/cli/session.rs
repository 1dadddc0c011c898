//! One run of scenarios against one or several subjects: what `certify` and `run` have in common.

mod repeated;
mod traces;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Instant;

use futures_util::{StreamExt as _, stream};
use jiff::Zoned;
use tokio::signal::unix::{SignalKind, signal};

use crate::config::{Access, EditionChoice, SubjectSpec, Target};
use crate::judge::{
    Baseline, Note, Played, Report, Repro, RunOptions, Scope, SubjectReport, SubjectRun, Suite, Unjudged, judge_subject,
};
use crate::peer;
use crate::play::{Cancel, PlayOptions, Run, StopCondition, Traces, contact, serves, start, suite};
use crate::protocol::{Edition, Requirement, Role};
use crate::report::Progress;
use crate::scenario::{Filter, Plan};
use crate::subject::{RunDir, Running};
use crate::trace::{Clock, Recorder};

use super::deliver::progress;
use super::selection::{SelectedPlans, UnjudgedSubject};
use super::{CliError, Exit, SharedOptions, Terminal};
use repeated::Repetition;
use traces::{SnapshotComparison, TraceStorage, folders};

pub use super::selection::matches;

/// The default maximum of servers that are started side by side.
const SERVERS: usize = 4;
/// The default maximum of clients.
const CLIENTS: usize = 16;

/// What is to be played against whom.
pub struct Session<'a> {
    /// The subjects.
    pub subjects: Vec<SubjectSpec>,
    /// How many of them are played against side by side; at least one.
    pub side_by_side: usize,
    /// Every scenario there is to choose from, all roles and editions.
    pub plans: Vec<Plan>,
    /// Whether these are the whole suite, so that something can be said about completeness.
    pub is_complete_suite: bool,
    /// What scenario files went into the digest of the suite: names and texts.
    pub files: Vec<(String, Vec<u8>)>,
    /// The options of the user.
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
        let kept = traces::new_failed_traces();
        let subjects = std::mem::take(&mut self.subjects);
        let options = self.options;
        let trace_dirs = folders(&subjects, |spec| options.trace_dir.clone().or_else(|| spec.trace_dir.clone()));
        let snapshot_dirs = folders(&subjects, |spec| options.snapshots.clone().or_else(|| spec.snapshots.clone()));
        let progress = progress(self.options.progress, terminal);
        let outcome = runtime.block_on(async {
            watch_for_interrupts(cancel.clone());
            let mut reports = vec![];
            let mut not_judged = vec![];
            // Clients mostly wait: whoever works beside them is to be found for as long as they do.
            let mut order: Vec<(usize, &SubjectSpec)> = subjects.iter().enumerate().collect();
            if self.side_by_side > 1 {
                order.sort_by_key(|(_, spec)| !spec.role.is_client());
            }
            let judged = stream::iter(order)
                .map(async |(n, spec)| {
                    if cancel.is_cancelled() {
                        return (n, Err(UnjudgedSubject::unreached()));
                    }
                    let kept = TraceStorage {
                        traces: trace_dirs[n].clone(),
                        snapshots: snapshot_dirs[n].clone(),
                        failed: &kept,
                    };
                    (n, self.play_subject(spec, filter.as_ref(), kept, &progress, &cancel).await)
                })
                .buffer_unordered(self.side_by_side)
                .for_each(|(n, judged)| {
                    match judged {
                        Ok(report) => reports.push((n, report)),
                        Err(why) => {
                            // One subject that cannot be judged leaves the others their verdicts.
                            terminal.diagnostics(&why.error.diagnostics);
                            not_judged.push((n, why));
                        }
                    }
                    std::future::ready(())
                });
            reporting_interrupts(judged, progress.as_ref(), &cancel).await;
            reports.sort_by_key(|(n, _)| *n);
            (reports.into_iter().map(|(_, report)| report).collect(), not_judged)
        });
        cancel.nothing_runs();
        let (reports, not_judged) = outcome;
        let misused = not_judged.iter().any(|(_, why)| why.error.exit == Exit::USAGE);
        let unjudged = not_judged.iter().filter_map(|(n, why)| why.to_report(&subjects[*n])).collect();
        let exit = self.report(reports, unjudged, misused, &cancel, terminal);
        traces::note_failed_traces(&kept, terminal);
        runtime.shutdown_timeout(std::time::Duration::from_secs(2));
        exit
    }

    async fn play_subject(
        &self,
        spec: &SubjectSpec,
        filter: Option<&Filter>,
        kept: TraceStorage<'_>,
        progress: &Arc<dyn Progress>,
        cancel: &Cancel,
    ) -> Result<SubjectReport, UnjudgedSubject> {
        let baseline = super::deliver::load_baseline(self.options.baseline.as_deref().or(spec.baseline.as_deref()))?;
        let traces = match kept.traces {
            Some(dir) => {
                usable(&dir)?;
                Traces::All(dir)
            }
            None => Traces::Failed(traces::wanted_traces(kept.failed, &baseline)),
        };
        if let Access::Attach { workspace: Some(dir), .. } = &spec.access
            && !dir.is_dir()
        {
            return Err(CliError::usage(format!("the workspace {} is no folder", dir.display()))
                .help("give the folder that the subject has open with --workspace, or leave that out")
                .into());
        }
        let mut notes = vec![];
        let (edition, first) = match spec.edition {
            _ if spec.role.is_client() => {
                (self.contact_client(spec, progress.as_ref(), &mut notes, cancel).await?, None)
            }
            EditionChoice::Given(edition) => (edition, None),
            EditionChoice::Auto => {
                let (edition, how, first) = detect(spec, self.patience(spec), progress.as_ref(), cancel).await?;
                progress.remark(&format!("edition `{edition}`: {how}"));
                notes.push(Note { requirement: None, text: format!("judged by edition `{edition}`: {how}") });
                (edition, Some(first))
            }
        };
        let selected = SelectedPlans::of(self, spec, edition, filter);
        if selected.plans.is_empty() {
            if let Some((_, subject)) = first {
                subject.stop().await;
            }
            let what = match (&self.options.filter, self.options.shard) {
                (None, None) => format!("there are no scenarios for the role {} in edition {edition}", spec.role.name),
                _ => format!("no scenario for {} in edition {edition} is left by what was asked for", spec.role.name),
            };
            let error = CliError::usage(what).help("`--list` shows what there is; drop `--filter` or `--shard`");
            // Where other shards have some, nothing is left open by this one.
            return Err(UnjudgedSubject { error, open: selected.all_shards.is_empty() });
        }
        let first = self.check_access(spec, edition, first, progress.as_ref(), cancel).await?;
        let title = format!("{} ({}, {edition})", spec.name, spec.role.name);
        progress.suite_started(&title, selected.plans.len());
        let strength = self.options.snapshot_strength.map(Into::into).or(spec.snapshot_strength);
        let snapshots = SnapshotComparison::new(kept.snapshots.as_deref(), strength, selected.all_shards_complete);
        let jobs = self.options.jobs.map_or_else(|| default_jobs(spec.role), NonZeroUsize::get);
        let run = Run {
            options: PlayOptions {
                patience: self.patience(spec),
                longest: None,
                traces,
                strict: self.options.strict,
                snapshotter: snapshots.snapshotter(),
            },
            jobs,
            repeat: self.options.repeat.map_or(1, std::num::NonZeroU32::get),
            retries: self.options.retries.unwrap_or(0),
            until: if self.options.fail_fast { StopCondition::Failure } else { StopCondition::AllPlayed },
            weigh_every: None,
            // With one job too, so that it repeats what each of several played in the same order.
            longest_first: true,
        };
        let plans: Arc<[Plan]> = selected.plans.clone().into();
        let begun = Instant::now();
        let played = suite(spec, plans, &run, first, progress.clone(), cancel).await;
        let took = begun.elapsed();
        progress.suite_finished();
        let played = played.map_err(|error| match error {
            crate::play::SuiteError::Subject(error) => unjudged(&error),
        })?;
        let (compared, errors) = snapshots.finish(&selected.all_shards);
        notes.extend(errors.into_iter().map(|text| Note { requirement: None, text }));
        let mut report = self.judge(spec, edition, &played, &selected, notes, compared, &baseline, cancel);
        if !self.options.fail_fast && !self.options.no_confirm {
            let (plans, repro) = (&selected.plans, &self.repro);
            let time = self.options.confirm_time.unwrap_or_else(|| took.max(repeated::MIN_TIME));
            let repeating = Repetition { spec, plans, run: &run, time, repro, cancel };
            repeating.repeat_findings(&mut report, progress.as_ref()).await;
        }
        Ok(report)
    }

    /// Meets a client for the first time: makes sure that it can be driven, and finds out its edition where that is not
    /// said.
    async fn contact_client(
        &self,
        spec: &SubjectSpec,
        progress: &dyn Progress,
        notes: &mut Vec<Note>,
        cancel: &Cancel,
    ) -> Result<&'static dyn Edition, CliError> {
        let unclear = || {
            let known: Vec<&str> = spec.protocol.edition_ids().collect();
            CliError::usage("it cannot be told which edition the client speaks: it made no request")
                .help(format!("say `--edition`: {}", known.join(" or ")))
        };
        let given = match spec.edition {
            EditionChoice::Given(edition) => Some(edition),
            EditionChoice::Auto => None,
        };
        let sole = match spec.protocol.editions {
            [only] => Some(*only),
            _ => None,
        };
        if spec.observe.is_some() {
            return given.or(sole).ok_or_else(unclear);
        }
        let met = tokio::select! {
            met = contact(spec, given.unwrap_or(spec.protocol.default_edition()), self.patience(spec)) => met,
            () = cancel.cancelled() => return Err(CliError::interrupted()),
        };
        let met = met.map_err(|error| unjudged(&error))?;
        if let Some(edition) = given {
            return Ok(edition);
        }
        let Some(edition) = met.edition else { return sole.ok_or_else(unclear) };
        let how = "its first request is in that edition's envelope";
        progress.remark(&format!("edition `{edition}`: {how}"));
        notes.push(Note { requirement: None, text: format!("judged by edition `{edition}`: {how}") });
        Ok(edition)
    }

    /// Makes sure that the secret of a URL opens the subject. Whether it is the right one, only the user knows: nothing
    /// that follows from a wrong one is the subject's fault.
    async fn check_access(
        &self,
        spec: &SubjectSpec,
        edition: &'static dyn Edition,
        first: Option<StartedSubject>,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Option<StartedSubject>, CliError> {
        let Access::Attach { target: Target::Url(_), .. } = &spec.access else { return Ok(first) };
        let patience = self.patience(spec);
        let tried = async {
            let first = match first {
                Some(first) => first,
                None => {
                    let recorder = Recorder::new(Clock::start(), vec![]);
                    start(spec, None, recorder, progress).await.map_err(|error| unjudged(&error))?
                }
            };
            serves(spec, edition, &first.1, patience).await.map_err(|error| {
                CliError::unjudged(format!("the subject at the URL does not serve us: {error}"))
                    .help("check the token in the URL, or give --lockfile FILE, which has the right one")
            })?;
            Ok(Some(first))
        };
        tokio::select! {
            first = tried => first,
            () = cancel.cancelled() => Err(CliError::interrupted()),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn judge(
        &self,
        spec: &SubjectSpec,
        edition: &'static dyn Edition,
        played: &[Played],
        selected: &SelectedPlans,
        notes: Vec<Note>,
        snapshots: Vec<crate::judge::SnapshotResult>,
        baseline: &Baseline,
        cancel: &Cancel,
    ) -> SubjectReport {
        let cut = cancel.is_cancelled() || played.iter().any(|p| p.plays.is_empty());
        let scope = match (cut, selected.complete) {
            (true, _) => Scope::CutShort,
            (false, true) => Scope::Full,
            (false, false) => Scope::Partial,
        };
        let missing: Vec<String> = spec.missing.iter().map(|m| (*m).to_owned()).collect();
        judge_subject(&SubjectRun {
            name: spec.name.clone(),
            role: spec.role.name.to_owned(),
            end: spec.role.subject,
            edition: edition.id().to_owned(),
            catalogue: (spec.protocol.requirements)(),
            missing: &missing,
            baseline,
            today: Zoned::now().date(),
            scope,
            selection: selected.selection(),
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
        unjudged: Vec<Unjudged>,
        misused: bool,
        cancel: &Cancel,
        terminal: &mut Terminal,
    ) -> Result<Exit, CliError> {
        let files = self.files.iter().map(|(name, text)| (name.as_str(), text.as_slice()));
        let catalogue: Vec<&Requirement> =
            crate::protocol::protocols().iter().flat_map(|p| (p.requirements)()).collect();
        let suite = Suite::of(files, catalogue);
        let mut notes = vec![];
        if cancel.is_cancelled() {
            notes.push(Note { requirement: None, text: "interrupted: what is known so far".to_owned() });
        }
        let SharedOptions { strict, filter, shard, .. } = self.options;
        let run_options = RunOptions { strict: *strict, filter: filter.clone(), shard: *shard };
        let report = Report::of(suite, notes, subjects).with_options(run_options, unjudged);
        let usage = !super::deliver::deliver(&report, &self.options.reports, terminal);
        Ok(Exit::of(report.standing(), cancel.is_cancelled(), usage || misused))
    }

    fn list(&self, filter: Option<&Filter>, terminal: &mut Terminal) -> Result<Exit, CliError> {
        let mut any = false;
        for spec in &self.subjects {
            let editions = match spec.edition {
                EditionChoice::Given(edition) => vec![edition],
                EditionChoice::Auto => spec.protocol.editions.to_vec(),
            };
            for edition in editions {
                for plan in SelectedPlans::of(self, spec, edition, filter).plans {
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

/// Plays of a server now and then wait; clients are small, and their plays mostly wait for them to give up.
///
/// More than that gains nothing: measured with `certify --self` on two cores, where 3 and 12 are the fastest.
pub fn default_jobs(role: &Role) -> usize {
    let cores = available_parallelism().map_or(1, NonZeroUsize::get);
    if role.is_client() { (cores * 6).min(CLIENTS) } else { (cores * 3 / 2).clamp(1, SERVERS) }
}

type StartedSubject = (Option<RunDir>, Running);

/// Starts the subject and finds out which edition it speaks. The subject is kept for the play.
pub async fn detect(
    spec: &SubjectSpec,
    patience: std::time::Duration,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<(&'static dyn Edition, String, StartedSubject), CliError> {
    let recorder = Recorder::with_secret_keys(Clock::start(), spec.protocol.secret_keys, vec![]);
    let started = tokio::select! {
        started = start(spec, None, recorder.clone(), progress) => started,
        () = cancel.cancelled() => return Err(CliError::interrupted()),
    };
    let first = started.map_err(|error| unjudged(&error))?;
    let probe = peer::kind(spec.role.name)
        .and_then(|kind| kind.probe.as_ref())
        .ok_or_else(|| CliError::usage(format!("the edition of a {} cannot be detected", spec.role.name)))?;
    let lock = first.1.lock().cloned().ok_or_else(|| CliError::usage("the edition of a client cannot be detected"))?;
    let detected = tokio::select! {
        detected = (probe.detect)(lock, patience, recorder) => detected,
        () = cancel.cancelled() => {
            first.1.stop().await;
            return Err(CliError::interrupted());
        }
    };
    Ok((detected.edition, detected.how, first))
}

/// Makes the folder for traces, and makes sure that files can be written there before anything is played.
fn usable(dir: &Path) -> Result<(), CliError> {
    let tried = std::fs::create_dir_all(dir).and_then(|()| tempfile::tempfile_in(dir).map(drop));
    tried.map_err(|e| {
        CliError::usage(format!("cannot keep traces in {}: {e}", dir.display()))
            .help("give --trace-dir a folder that can be written")
    })
}

/// The error of a subject that cannot be started or reached.
pub fn unjudged(error: &crate::subject::SubjectError) -> CliError {
    CliError { diagnostics: vec![error.diagnostic()], exit: Exit::UNJUDGED }
}

/// What runs everything that waits for sockets, processes and time.
pub fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| CliError::unjudged(format!("the asynchronous runtime could not be started: {e}")))?;
    let context = runtime.enter();
    // Writing beyond a limit on the size of files is to be an error like a full disk, not the end of us. Where that
    // cannot be had, it stays as it is. What is listened for once stays so.
    drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())));
    drop(context);
    Ok(runtime)
}

/// Waits for something, and says so at once where the run is ended meanwhile: stopping subjects takes its time.
async fn reporting_interrupts<T>(work: impl Future<Output = T>, progress: &dyn Progress, cancel: &Cancel) -> T {
    tokio::pin!(work);
    tokio::select! {
        biased;
        () = cancel.cancelled() => progress.interrupted(),
        done = &mut work => {
            // It may have come, and ended everything, while the work was looked at.
            if cancel.is_cancelled() {
                progress.interrupted();
            }
            return done;
        }
    }
    work.await
}

/// Cancels the run at Ctrl-C, SIGTERM or SIGHUP.
///
/// While subjects run, a second one changes nothing: stopping them is bounded in time. Once none is left, it ends
/// the process: a report may go to a pipe that nobody reads.
pub fn watch_for_interrupts(cancel: Cancel) {
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        // Registered at once, so that no moment is left in which it would end us with subjects running.
        let Ok(mut signals) = signal(kind) else { continue };
        let cancel = cancel.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if cancel.is_cancelled() && !cancel.something_runs() {
                    std::process::exit(Exit::INTERRUPTED.0.into());
                }
                cancel.cancel();
            }
        });
    }
}
