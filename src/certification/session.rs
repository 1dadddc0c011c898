//! One run of scenarios against one or several subjects: what `certify` and `run` have in common.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use jiff::Zoned;

use crate::config::{Access, EditionChoice, SubjectSpec};
use crate::diagnostic::yaml;
use crate::judge::{
    Baseline, Note, Played, Report, Repro, RunOptions, ScenarioStatus, Scope, Selection, Shard, SnapshotResult,
    SubjectReport, SubjectRun, Suite, Unjudged, judge_subject,
};
use crate::play::{
    Cancel, FailedTraces, KeptTraces, PlayOptions, Run, StopCondition, SuiteError, Traces, least_waiting_time, suite,
};
use crate::protocol::{Edition, Requirement, Role, protocols};
use crate::report::Progress;
use crate::scenario::{Filter, Plan};
use crate::subject::RunError;
use crate::trace::Strength;

use super::edition::{check_access, contact_client, detect};
use super::repetition::{MIN_TIME, Repetition};
use super::storage::{SnapshotComparison, TraceStorage, folders, wanted_traces};

/// The default maximum of servers that are started side by side.
const SERVERS: usize = 4;
/// How many more of them are started at most where their plays have much to wait for, and the time for which there is one
/// more.
const WAITING_SERVERS: usize = 5;
const WAIT_OF_A_SERVER: Duration = Duration::from_millis(1500);
/// The default maximum of clients, and of servers of which more are started while the machine is idle.
const MOST_JOBS: usize = 16;

/// What is to be played against whom, and how.
pub struct Session {
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
    /// How it is played and judged.
    pub options: SessionOptions,
    /// The command that was run, for repeating parts of it.
    pub repro: Repro,
}

/// How a session plays and judges. What is `None` is taken from the description of each subject, or has a default.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// Which scenarios are played; all, where there is none.
    pub filter: Option<Filter>,
    /// The text of the filter, for the report.
    pub filter_text: Option<String>,
    /// Which part of them.
    pub shard: Option<Shard>,
    /// How many scenarios are played at a time.
    pub jobs: Option<NonZeroUsize>,
    /// How often each is played.
    pub repeat: Option<NonZeroU32>,
    /// How often a scenario is played again that could not be judged.
    pub retries: u32,
    /// How long is waited for what the protocol obliges the subject to do.
    pub patience: Option<Duration>,
    /// Whether the first failure ends the run.
    pub fail_fast: bool,
    /// Whether the evidence of findings is played once more.
    pub confirm: bool,
    /// How long that may take.
    pub confirm_time: Option<Duration>,
    /// Known violations.
    pub baseline: Option<PathBuf>,
    /// Whether a violated `should` counts like a `must`.
    pub strict: bool,
    /// The folder of the snapshots that traces are compared with.
    pub snapshots: Option<PathBuf>,
    /// How much of a trace snapshots keep.
    pub snapshot_strength: Option<Strength>,
    /// The folder of all traces.
    pub trace_dir: Option<PathBuf>,
}

/// What came of a session.
pub struct SessionOutcome {
    /// The report, with the subjects in the order of the session.
    pub report: Report,
    /// Whether a subject has no verdict because of how the session was used.
    pub misused: bool,
    /// The traces of failed plays.
    pub failed_traces: KeptTraces,
}

impl Session {
    /// Plays and judges everything. `on_error` gets at once the reason why a subject has no verdict.
    pub async fn run(
        &self,
        progress: &Arc<dyn Progress>,
        cancel: &Cancel,
        mut on_error: impl FnMut(&RunError),
    ) -> SessionOutcome {
        let failed = Arc::<FailedTraces>::default();
        let (subjects, options) = (&self.subjects, &self.options);
        let trace_dirs = folders(subjects, |spec| options.trace_dir.clone().or_else(|| spec.trace_dir.clone()));
        let snapshot_dirs = folders(subjects, |spec| options.snapshots.clone().or_else(|| spec.snapshots.clone()));
        let mut reports = vec![];
        let mut not_judged = vec![];
        // Clients mostly wait: other work can go on beside them for as long as they do.
        let mut order: Vec<(usize, &SubjectSpec)> = subjects.iter().enumerate().collect();
        if self.side_by_side > 1 {
            order.sort_by_key(|(_, spec)| !spec.role.is_client());
        }
        stream::iter(order)
            .map(async |(n, spec)| {
                if cancel.is_cancelled() {
                    return (n, Err(UnjudgedSubject::unreached()));
                }
                let (traces, snapshots) = (trace_dirs[n].clone(), snapshot_dirs[n].clone());
                let storage = TraceStorage { traces, snapshots, failed: &failed };
                (n, self.play_subject(spec, storage, progress, cancel).await)
            })
            .buffer_unordered(self.side_by_side)
            .for_each(|(n, judged)| {
                match judged {
                    Ok(report) => reports.push((n, report)),
                    Err(why) => {
                        // One subject that cannot be judged leaves the others their verdicts.
                        why.error.iter().for_each(&mut on_error);
                        not_judged.push((n, why));
                    }
                }
                std::future::ready(())
            })
            .await;
        reports.sort_by_key(|(n, _)| *n);
        let misused = not_judged.iter().any(|(_, why)| matches!(why.error, Some(RunError::Usage(_))));
        let unjudged = not_judged.iter().filter_map(|(n, why)| why.to_report(&subjects[*n])).collect();
        let files = self.files.iter().map(|(name, text)| (name.as_str(), text.as_slice()));
        let mut notes = vec![];
        if cancel.is_cancelled() {
            notes.push(Note { requirement: None, text: "interrupted: what is known so far".to_owned() });
        }
        let SessionOptions { strict, filter_text, shard, .. } = &self.options;
        let run_options = RunOptions { strict: *strict, filter: filter_text.clone(), shard: *shard };
        let reports = reports.into_iter().map(|(_, report)| report).collect();
        let report = Report::of(Suite::of(files, catalogue()), notes, reports).with_options(run_options, unjudged);
        SessionOutcome { report, misused, failed_traces: failed.kept() }
    }

    /// The scenarios that would be played against each subject, in each edition that comes into question.
    pub fn list(&self) -> Vec<Plan> {
        let of_subject = |spec: &SubjectSpec| -> Vec<Plan> {
            let editions = match spec.edition {
                EditionChoice::Given(edition) => vec![edition],
                EditionChoice::Auto => spec.protocol.editions.to_vec(),
            };
            editions.into_iter().flat_map(|edition| SelectedPlans::of(self, spec, edition).plans).collect()
        };
        self.subjects.iter().flat_map(of_subject).collect()
    }

    /// Leaves out the subjects that none of the scenarios asked for is about, in this shard or another. Tells whether any
    /// subject is left.
    pub fn retain_asked_for(&mut self) -> bool {
        let asked_for = |spec: &SubjectSpec| match spec.edition {
            EditionChoice::Given(edition) => !SelectedPlans::of(self, spec, edition).all_shards.is_empty(),
            EditionChoice::Auto => true,
        };
        let kept: Vec<bool> = self.subjects.iter().map(asked_for).collect();
        let mut kept = kept.into_iter();
        self.subjects.retain(|_| kept.next().unwrap_or_default());
        !self.subjects.is_empty()
    }

    async fn play_subject(
        &self,
        spec: &SubjectSpec,
        storage: TraceStorage<'_>,
        progress: &Arc<dyn Progress>,
        cancel: &Cancel,
    ) -> Result<SubjectReport, UnjudgedSubject> {
        let baseline = load_baseline(self.options.baseline.as_deref().or(spec.baseline.as_deref()))?;
        let traces = match storage.traces {
            Some(dir) => {
                usable(&dir)?;
                Traces::All(dir)
            }
            None => Traces::Failed(wanted_traces(storage.failed, &baseline)),
        };
        if let Access::Attach { workspace: Some(dir), .. } = &spec.access
            && !dir.is_dir()
        {
            let error = RunError::usage(format!("the workspace {} is no folder", dir.display()))
                .help("give the folder that the subject has open with --workspace, or leave that out");
            return Err(error.into());
        }
        let patience = self.options.patience.unwrap_or(spec.timeouts.expect);
        let mut notes = vec![];
        let (edition, first) = match spec.edition {
            _ if spec.role.is_client() => {
                (contact_client(spec, patience, progress.as_ref(), &mut notes, cancel).await?, None)
            }
            EditionChoice::Given(edition) => (edition, None),
            EditionChoice::Auto => {
                let (edition, how, first) = detect(spec, patience, progress.as_ref(), cancel).await?;
                progress.remark(&format!("edition `{edition}`: {how}"));
                notes.push(Note { requirement: None, text: format!("judged by edition `{edition}`: {how}") });
                (edition, Some(first))
            }
        };
        let selected = SelectedPlans::of(self, spec, edition);
        if selected.plans.is_empty() {
            if let Some((_, subject)) = first {
                subject.stop().await;
            }
            let what = match (&self.options.filter, self.options.shard) {
                (None, None) => format!("there are no scenarios for the role {} in edition {edition}", spec.role.name),
                _ => format!("no scenario for {} in edition {edition} is left by what was asked for", spec.role.name),
            };
            let error = RunError::usage(what).help("`--list` shows what there is; drop `--filter` or `--shard`");
            // Where other shards have some, nothing is left open by this one.
            return Err(UnjudgedSubject { error: Some(error), open: selected.all_shards.is_empty() });
        }
        let first = check_access(spec, edition, patience, first, progress.as_ref(), cancel).await?;
        let title = format!("{} ({}, {edition})", spec.name, spec.role.name);
        progress.suite_started(&title, selected.plans.len());
        let strength = self.options.snapshot_strength.or(spec.snapshot_strength);
        let snapshots = SnapshotComparison::new(storage.snapshots.as_deref(), strength, selected.all_shards_complete);
        let (jobs, spare_jobs) = match self.options.jobs {
            Some(jobs) => (jobs.get(), 0),
            None => {
                let jobs = default_jobs(spec.role, &selected.plans);
                (jobs, most_jobs().saturating_sub(jobs))
            }
        };
        let run = Run {
            options: PlayOptions {
                patience,
                longest: None,
                traces,
                strict: self.options.strict,
                snapshotter: snapshots.snapshotter(),
                watcher: None,
            },
            jobs,
            spare_jobs,
            repeat: self.options.repeat.map_or(1, NonZeroU32::get),
            retries: self.options.retries,
            until: if self.options.fail_fast { StopCondition::Failure } else { StopCondition::AllPlayed },
            weigh_every: None,
            // With one job too, so that it repeats what each of several played in the same order.
            longest_first: true,
            until_silent: true,
        };
        let plans: Arc<[Plan]> = selected.plans.clone().into();
        let begun = Instant::now();
        let played = suite(spec, plans, &run, first, progress.clone(), cancel).await;
        let took = begun.elapsed();
        progress.suite_finished();
        let played = played.map_err(|SuiteError::Subject(error)| RunError::from(error))?;
        let left = played.iter().filter(|played| played.plays.is_empty()).count();
        if left > 0 && run.until == StopCondition::AllPlayed && !cancel.is_cancelled() {
            let failed = |played: &&Played| played.plays.iter().any(|play| play.status != ScenarioStatus::Skipped);
            let tried = played.iter().filter(failed).count();
            let text =
                format!("nothing at all came from the subject in {tried} scenarios: the other {left} were not played");
            notes.push(Note { requirement: None, text });
        }
        let (compared, errors) = snapshots.finish(&selected.all_shards);
        notes.extend(errors.into_iter().map(|text| Note { requirement: None, text }));
        let mut report = self.judge(spec, edition, &played, &selected, notes, compared, &baseline, cancel);
        if self.options.confirm && !self.options.fail_fast {
            let (plans, repro) = (&selected.plans, &self.repro);
            let time = self.options.confirm_time.unwrap_or_else(|| took.max(MIN_TIME));
            let repeating = Repetition { spec, plans, run: &run, time, repro, cancel };
            repeating.repeat_findings(&mut report, progress.as_ref()).await;
        }
        Ok(report)
    }

    #[allow(clippy::too_many_arguments)]
    fn judge(
        &self,
        spec: &SubjectSpec,
        edition: &dyn Edition,
        played: &[Played],
        selected: &SelectedPlans,
        notes: Vec<Note>,
        snapshots: Vec<SnapshotResult>,
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
}

/// How many plays go on side by side at most.
fn most_jobs() -> usize {
    let cores = available_parallelism().map_or(1, NonZeroUsize::get);
    (cores * 6).min(MOST_JOBS)
}

/// How many plays go on side by side at first where nothing is said. Plays of a server wait now and then, and the more of them, the
/// longer these plans let time pass; clients are small, and their plays mostly wait for them to give up.
///
/// More than that gains nothing: measured with `certify --self` on two cores.
pub fn default_jobs(role: &Role, plans: &[Plan]) -> usize {
    let cores = available_parallelism().map_or(1, NonZeroUsize::get);
    if role.is_client() {
        return most_jobs();
    }
    let waiting: Duration = plans.iter().map(|plan| least_waiting_time(&plan.steps)).sum();
    let more = waiting.as_millis() / WAIT_OF_A_SERVER.as_millis();
    (cores * 3 / 2).clamp(1, SERVERS) + usize::try_from(more).unwrap_or(usize::MAX).min(WAITING_SERVERS)
}

/// Makes the folder for traces, and makes sure that files can be written there before anything is played.
fn usable(dir: &Path) -> Result<(), RunError> {
    let tried = std::fs::create_dir_all(dir).and_then(|()| tempfile::tempfile_in(dir).map(drop));
    tried.map_err(|e| {
        RunError::usage(format!("cannot keep traces in {}: {e}", dir.display()))
            .help("give --trace-dir a folder that can be written")
    })
}

/// Every requirement of every protocol.
pub fn catalogue() -> Vec<&'static Requirement> {
    protocols().iter().flat_map(|p| (p.requirements)()).collect()
}

/// Reads a baseline; an empty one where none is named.
///
/// # Errors
/// Every fault of the file: it cannot be read, or names a requirement that there is not.
pub fn load_baseline(path: Option<&Path>) -> Result<Baseline, RunError> {
    let Some(path) = path else { return Ok(Baseline::default()) };
    let source = yaml::read(path)?;
    Ok(Baseline::parse(&source, catalogue().iter().map(|r| r.id))?)
}

/// What a scenario requires that is for clients that are only watched.
const OBSERVED: &str = "observed";

/// The plans that were selected for a role and edition.
pub(super) struct SelectedPlans {
    /// The plans to be played in this shard.
    pub plans: Vec<Plan>,
    /// The plans of all shards together.
    pub all_shards: Vec<Plan>,
    /// Whether `plans` are the complete suite.
    pub complete: bool,
    /// Whether `all_shards` are the complete suite.
    pub all_shards_complete: bool,
}

impl SelectedPlans {
    /// Of the plans of a session, those for a subject.
    pub fn of(session: &Session, spec: &SubjectSpec, edition: &dyn Edition) -> Self {
        let observed = |p: &Plan| p.requires.iter().any(|need| need == OBSERVED);
        // A client that is only watched plays what is made for that, and nothing else.
        let of_role =
            |p: &&Plan| p.role == spec.role.name && p.edition == edition && observed(p) == spec.observe.is_some();
        let all: Vec<&Plan> = session.plans.iter().filter(of_role).collect();
        let catalogue = (spec.protocol.requirements)();
        let (filter, shard) = (session.options.filter.as_ref(), session.options.shard);
        let wanted = |plan: &&&Plan| filter.is_none_or(|f| f.takes(plan, catalogue));
        let all_shards: Vec<Plan> = all.iter().filter(wanted).map(|&plan| plan.clone()).collect();
        let taken = |(n, _): &(usize, &Plan)| shard.is_none_or(|shard| shard.takes(*n));
        let plans: Vec<Plan> = all_shards.iter().enumerate().filter(taken).map(|(_, plan)| plan.clone()).collect();
        let is_suite = |n: usize| session.is_complete_suite && spec.observe.is_none() && n == all.len() && n > 0;
        Self { complete: is_suite(plans.len()), all_shards_complete: is_suite(all_shards.len()), plans, all_shards }
    }

    /// What the judge is to know of it.
    pub fn selection(&self) -> Selection {
        Selection { scenarios: self.all_shards.len(), whole: self.all_shards_complete }
    }
}

/// A subject that a session gives no verdict about, and why.
pub(super) struct UnjudgedSubject {
    /// The error that prevented the verdict; none where the run ended before it came to the subject.
    pub error: Option<RunError>,
    /// Whether that leaves something open: not where all of its scenarios belong to other shards.
    pub open: bool,
}

impl UnjudgedSubject {
    /// The run was ended before it came to the subject.
    pub fn unreached() -> Self {
        Self { error: None, open: true }
    }

    /// The entry of the report, unless all of its scenarios belong to other shards.
    pub fn to_report(&self, spec: &SubjectSpec) -> Option<Unjudged> {
        let reason = self.error.as_ref().and_then(RunError::brief);
        self.open.then(|| Unjudged {
            name: spec.name.clone(),
            role: spec.role.name.to_owned(),
            edition: spec.edition.as_str().to_owned(),
            reason: reason.unwrap_or_else(|| "the run ended before it".to_owned()),
        })
    }
}

impl<E: Into<RunError>> From<E> for UnjudgedSubject {
    fn from(error: E) -> Self {
        Self { error: Some(error.into()), open: true }
    }
}
