//! One play of one plan.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Map;

use crate::config::SubjectSpec;
use crate::judge::{AttributionContext, FaultOwner, Play, RawFinding, RuleRun, ScenarioStatus};
use crate::matcher::template::resolve_vars;
use crate::protocol::{Level, Protocol};
use crate::scenario::Plan;
use crate::subject::{RunDir, Running, Start};
use crate::trace::{
    Clock, EventKind, FileSink, Header, JudgementEnd, Mark, NormalisationFacts, Normaliser, Recorder, Sink, Tail,
    TraceFileStatus,
};

use super::draft::Draft;
use super::driven_client::Alive;
use super::files::{SawDeliberate, Traces, trace_path};
use super::log::Log;
use super::scene::{Halt, PlayResult, Scene, Since};
use super::sign_of_life::SignOfLife;
use super::subject_slot::{death_finding, ended_by_itself, late_exit};
use super::timing::{LagMeter, discount_harness_delay};
use super::{files, steps, timing};

/// How many of the last events a finding shows.
const TAIL: usize = 8;

/// Gets what a snapshot is made of, once for each play that passed: the plan, its normalised trace, and what is
/// known to differ from one run to the next.
pub type Snapshotter = dyn Fn(&Plan, &Normaliser, &NormalisationFacts) + Send + Sync;

/// Makes a sink for the trace of a play that is about to begin, from the header of the trace; none where it is not watched.
pub type Watcher = dyn Fn(&Header) -> Option<Box<dyn Sink>> + Send + Sync;

/// What all plays of a run have in common.
#[derive(Clone)]
pub struct PlayOptions {
    /// How long to wait where a step does not say.
    pub patience: Duration,
    /// The longest wait, also where a step asks for more; none where steps have the last word.
    pub longest: Option<Duration>,
    /// Which traces are kept.
    pub traces: Traces,
    /// Whether a violated `should` counts like a `must`.
    pub strict: bool,
    /// Gets each play that passed, where snapshots are wanted.
    pub snapshotter: Option<Arc<Snapshotter>>,
    /// Watches the traces while they are recorded, where somebody looks on.
    pub watcher: Option<Arc<Watcher>>,
}

/// Where a play takes place.
pub struct PlayContext<'a> {
    /// The subject's description.
    pub spec: &'a SubjectSpec,
    /// The run directory, where we start the subject.
    pub run_dir: Option<&'a RunDir>,
    /// The running subject; none where the play is to start one for itself.
    pub subject: &'a mut Option<Running>,
    /// Where a driven client waits from one play to the next, if they share one.
    pub idle: Option<&'a mut Option<Running>>,
    /// The harness's own delay.
    pub lag: &'a LagMeter,
}

/// How a play left its subject.
pub struct PlayOutcome {
    /// The play, for the judge.
    pub play: Play,
    /// The trace of the play, which has not ended: the conclusions about the play belong into it. None where nothing was
    /// played.
    pub(super) trace: Option<OpenTrace>,
    /// Whether the subject may be used again without a look at it: nothing went wrong, and we did nothing wrong that it may
    /// die of only now.
    pub clean: bool,
    /// The draft of the trace, where it is not known yet whether it will be kept.
    pub(super) draft: Option<Draft>,
}

impl From<Play> for PlayOutcome {
    /// The outcome where nothing was played.
    fn from(play: Play) -> Self {
        Self { play, trace: None, clean: true, draft: None }
    }
}

/// Plays a plan once.
pub async fn play(plan: &Plan, play_context: PlayContext<'_>, options: &PlayOptions) -> PlayOutcome {
    let began = Instant::now();
    play_context.lag.begin();
    let traced = match Traced::start(plan, play_context.spec, options) {
        Ok(traced) => traced,
        Err(reason) => return Play::error(reason).into(),
    };
    let own = play_context.subject.is_none();
    let mut play_context = play_context;
    let (halt, mut outcome) = match perform(plan, &mut play_context, options, &traced).await {
        Ok((halt, outcome)) => (halt, outcome),
        Err(reason) => (Some(Halt::Error(reason)), PlayResult::default()),
    };
    let mut exited = play_context.subject.as_ref().and_then(Running::exited);
    // It may die only now of what came; a subject that goes on is looked at by whoever plays at it next.
    let suspect = traced.deliberate.is_so() || halt.is_some() || !outcome.findings.is_empty();
    if own
        && exited.is_none()
        && suspect
        && !outcome.end_expected
        && let Some(subject) = play_context.subject.as_ref()
    {
        exited = late_exit(subject, play_context.spec, plan.edition, options.patience).await;
    }
    if let Some(exited) = exited.filter(|exited| !outcome.end_expected && !exited.asked) {
        outcome
            .findings
            .push(death_finding(&exited, play_context.spec, plan.edition).with_last_events_of(&traced.tail));
    }
    if own && let Some(subject) = play_context.subject.take() {
        subject.expect_exit();
        subject.stop().await;
    }
    let (deliberate, draft) = (traced.deliberate.is_so(), traced.draft.clone());
    let (mut play, trace) = traced.finish(plan, &play_context, options, halt, outcome);
    play.duration = began.elapsed();
    let made_contact = play_context.spec.role.attribution.later.iter().all(|later| {
        let is_met = |id: &&str| id.strip_suffix(later.shown_by).is_some_and(|rest| rest.ends_with('/'));
        play.assessed.iter().any(is_met)
    });
    if let Some(subject) = &play_context.subject
        && play.status == ScenarioStatus::Passed
        && made_contact
    {
        subject.note_passed();
    }
    let clean = !deliberate && matches!(play.status, ScenarioStatus::Passed | ScenarioStatus::Skipped);
    PlayOutcome { play, trace: Some(trace), clean, draft }
}

/// The trace of a play that is over, open for what is found in it.
pub struct OpenTrace {
    recorder: Recorder,
    file: Option<TraceFileStatus>,
    /// What our own peer did wrong unasked.
    ours: Vec<RawFinding>,
}

impl OpenTrace {
    /// Whether it is written to a file that stays whatever is found.
    pub fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// Writes down what was found in the play, and ends the trace.
    pub fn end(self, play: &mut Play) {
        // What our own peer did wrong may come of what the subject did, unless nothing is known of that.
        let ours = self.ours.iter().filter(|_| play.status == ScenarioStatus::Error);
        let mut findings = 0;
        for found in play.findings.iter().chain(ours) {
            self.recorder.conclude(EventKind::Finding(found.recorded()));
            findings += 1;
        }
        self.recorder.conclude(EventKind::Judged(JudgementEnd { findings }));
        self.recorder.end();
        let lost = self.file.and_then(|file| file.outcome().err());
        if let (Some(lost), ScenarioStatus::Passed) = (lost, play.status) {
            play.status = ScenarioStatus::Error;
            play.reason = Some(lost.to_string());
        }
    }
}

/// The trace of one play, and those who read it as it comes about.
struct Traced {
    recorder: Recorder,
    log: Log,
    tail: Tail,
    deliberate: SawDeliberate,
    alive: Alive,
    sign: SignOfLife,
    rules: Arc<Mutex<RuleRun>>,
    file: Option<TraceFileStatus>,
    draft: Option<Draft>,
    normaliser: Option<Normaliser>,
    protocol: &'static Protocol,
}

impl Traced {
    fn start(plan: &Plan, spec: &SubjectSpec, options: &PlayOptions) -> Result<Self, String> {
        let protocol = spec.protocol;
        let log = Log::new(plan.edition.observer(spec.role.subject));
        let tail = Tail::new(TAIL);
        let rules = Arc::new(Mutex::new(RuleRun::new(plan.edition).with_processes_of(spec.role.subject)));
        let deliberate = SawDeliberate::default();
        let alive = Alive::default();
        let sign = SignOfLife::new(spec.role.subject);
        let mut sinks: Vec<Box<dyn Sink>> = vec![
            Box::new(tail.clone()),
            Box::new(deliberate.clone()),
            Box::new(alive.clone()),
            Box::new(sign.clone()),
            Box::new(rules.clone()),
        ];
        let (mut file, mut draft) = (None, None);
        let header = || {
            Header::new(protocol.name, plan.edition.id())
                .with_subject(spec.role.subject, &spec.name)
                .with_scenario(&plan.id)
        };
        if let Traces::All(dir) = &options.traces {
            let path = trace_path(dir, &plan.id);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(|e| format!("could not make {}: {e}", parent.display()))?;
            }
            let (sink, written) = FileSink::create(&path, &header()).map_err(|e| e.to_string())?;
            sinks.push(Box::new(sink));
            file = Some(written);
        } else if let Traces::Failed(_) = &options.traces {
            let begun = Draft::new(&header(), &plan.id)?;
            sinks.push(Box::new(begun.clone()));
            draft = Some(begun);
        }
        sinks.extend(options.watcher.as_ref().and_then(|watcher| watcher(&header())));
        let normaliser = options.snapshotter.as_ref().map(|_| Normaliser::default());
        if let Some(normaliser) = &normaliser {
            sinks.push(Box::new(normaliser.clone()));
        }
        // The log comes last: a task that it wakes finds the other sinks up to date.
        sinks.push(log.sink());
        let recorder = Recorder::with_secret_keys(Clock::start(), protocol.secret_keys, sinks);
        spec.described.secrets().for_each(|secret| recorder.add_secret(secret));
        let text = plan.id.clone();
        recorder.record(None, None, EventKind::Mark(Mark { mark: "scenario".into(), text }));
        Ok(Self { recorder, log, tail, deliberate, alive, sign, rules, file, draft, normaliser, protocol })
    }

    /// Closes the trace and joins the findings of expectations and rules.
    fn finish(
        self,
        plan: &Plan,
        play_context: &PlayContext<'_>,
        options: &PlayOptions,
        halt: Option<Halt>,
        outcome: PlayResult,
    ) -> (Play, OpenTrace) {
        self.recorder.close();
        let mut trace = OpenTrace { recorder: self.recorder.clone(), file: self.file.clone(), ours: vec![] };
        let mut judged = {
            let mut rules = self.rules.lock();
            rules.end();
            rules.judgements().clone()
        };
        discount_harness_delay(&mut judged, play_context.lag.in_all());
        let mut ours = judged.ours();
        let mut play = Play::new(ScenarioStatus::Passed);
        play.assessed = outcome.assessed.clone();
        play.assessed.extend(&judged.assessed);
        play.notes = outcome.notes.clone();
        play.place = outcome.known.clone();
        play.position = outcome.position;
        play.heard = self.sign.is_seen();
        play.notes.extend(judged.notes);
        play.uses = judged.uses;
        play.findings = outcome.findings.clone();
        for violation in judged.violations {
            if violation.blame == play_context.spec.role.subject {
                play.findings.push(violation.into());
            } else {
                ours.get_or_insert(format!("our own peer broke {}: {}", violation.requirement, violation.message));
                trace.ours.push(violation.into());
            }
        }
        let context = AttributionContext {
            attribution: play_context.spec.role.attribution,
            catalogue: (self.protocol.requirements)(),
            edition: plan.edition.id(),
            subject: FaultOwner::End(play_context.spec.role.subject),
            proves: &plan.requirements,
            assessed: &play.assessed,
            absences: &outcome.absences,
            refusals: &judged.refusals,
            after_success: outcome.after_success,
        };
        let attributed = context.attribute(std::mem::take(&mut play.findings));
        (play.findings, play.blocked) = (attributed.findings, attributed.blocked);
        for found in play.findings.iter_mut().filter(|found| found.last_events.is_empty()) {
            found.last_events = self.tail.lines_about(found.conn.as_deref(), found.index);
        }
        if let Some(file) = &self.file {
            play.trace = Some(file.path().display().to_string());
        }
        let lost = self.file.as_ref().and_then(|f| f.outcome().err()).map(|e| e.to_string());
        let dropped = self.log.dropped();
        let flood =
            (dropped > 0).then(|| format!("the subject sent more than can be judged: {dropped} messages too many"));
        let binding = |found: &RawFinding| {
            let level = found
                .requirement
                .and_then(|id| (self.protocol.requirements)().iter().find(|r| r.id == id).map(|r| r.level));
            level.is_none_or(|level| level == Level::Must || (options.strict && level == Level::Should))
        };
        let error = match &halt {
            Some(Halt::Error(reason) | Halt::HeldUp(reason) | Halt::NotReady { why: reason, .. }) => {
                Some(reason.clone())
            }
            // What rules saw on the way counts all the same.
            Some(Halt::Skip(reason)) if !play.findings.iter().any(binding) => {
                play.status = ScenarioStatus::Skipped;
                play.reason = Some(reason.clone());
                return (play, trace);
            }
            _ => lost.or(ours).or(flood),
        };
        let own = play.findings.iter().find(|f| binding(f) && f.missed.is_some());
        if let Some(found) = own {
            play.status = ScenarioStatus::Failed;
            play.reason = Some(found.message.clone());
        } else if let Some(blocked) = play.blocked.first() {
            let by = blocked.because.map(|id| format!("{id}: ")).unwrap_or_default();
            play.status = ScenarioStatus::Blocked;
            play.reason = Some(format!("blocked by {by}{}", blocked.message));
        } else if let Some(found) = play.findings.iter().find(|f| binding(f)) {
            play.status = ScenarioStatus::Failed;
            play.reason = Some(found.message.clone());
        } else if let Some(reason) = error {
            play.status = ScenarioStatus::Error;
            play.reason = Some(reason);
        }
        if let Some(Halt::HeldUp(reason)) = &halt {
            play.hold_up(&plan.requirements, reason);
        }
        if let (Some(snapshotter), Some(normaliser)) = (&options.snapshotter, &self.normaliser)
            && play.status == ScenarioStatus::Passed
        {
            snapshotter(plan, normaliser, &outcome.known);
        }
        (play, trace)
    }
}

/// Prepares the scene and performs the steps. Returns why it stopped early, if it did.
async fn perform(
    plan: &Plan,
    play_context: &mut PlayContext<'_>,
    options: &PlayOptions,
    traced: &Traced,
) -> Result<(Option<Halt>, PlayResult), String> {
    let recorder = traced.recorder.clone();
    match play_context.subject {
        Some(subject) => {
            subject.lock().iter().for_each(|lock| recorder.add_secret(&lock.token));
            subject.record_to(recorder.clone());
        }
        // Scenarios say when a client is started: when there is something for it to find.
        None if play_context.spec.role.is_client() => {}
        None => {
            let run_dir = play_context.run_dir.ok_or("it needs a process of its own, and we did not start this one")?;
            let start = Start { scenario: Some(&plan.id), ..Start::new(play_context.spec, run_dir, recorder.clone()) };
            match Running::launch(start).await {
                Ok(running) => *play_context.subject = Some(running),
                Err(error) => {
                    let busy = steps::busy_start(play_context.lag, &error).map(Halt::HeldUp);
                    return Ok((Some(busy.unwrap_or_else(|| Halt::Error(error.brief()))), PlayResult::default()));
                }
            }
        }
    }
    let scenario_dir = files::scenario_dir(plan, play_context)?;
    let kind = crate::peer::kind(plan.role).ok_or_else(|| format!("no peer stands opposite {}", plan.role))?;
    let longest = options.longest.into_iter().chain(play_context.spec.timeouts.longest).min();
    let setting = crate::peer::Setting {
        edition: plan.edition,
        recorder: recorder.clone(),
        server: play_context.subject.as_ref().and_then(|s| s.lock().cloned()),
        patience: options.patience,
        longest,
        place: play_context.run_dir.map(subject_dirs),
        settings: play_context.spec.settings.clone(),
        described: play_context.spec.described.clone(),
        folder: scenario_dir.as_ref().map(|scenario_dir| scenario_dir.path().to_owned()),
    };
    let mut scene = Scene {
        plan,
        protocol: traced.protocol,
        schemas: plan.edition,
        spec: play_context.spec,
        run_dir: play_context.run_dir,
        subject: &mut *play_context.subject,
        idle: play_context.idle.take(),
        shared: false,
        peer: (kind.new)(setting),
        scenario_dir,
        recorder,
        log: traced.log.clone(),
        tail: traced.tail.clone(),
        alive: traced.alive.clone(),
        lag: play_context.lag,
        patience: options.patience,
        longest,
        vars: Map::from_iter([("began".to_owned(), Timestamp::now().to_string().into())]),
        unusable: BTreeMap::new(),
        reached: false,
        rules: traced.rules.clone(),
        since: Since::default(),
        outcome: PlayResult::default(),
    };
    scene.locate();
    let vars = resolve_vars(&plan.vars, &scene.vars).map_err(|e| e.to_string())?;
    scene.vars.extend(vars);
    scene.outcome.known = scene.normalisation_facts();
    if let Some(subject) = scene.subject.as_ref() {
        scene.outcome.plays_at(subject);
    }
    files::write_seed_files(&mut scene)?;
    let bound = timing::bound_of_play(plan, options.patience) + play_context.spec.observe.unwrap_or_default();
    let bound = bound.saturating_add(scene.starting());
    let lag = scene.lag;
    let deadline = lag.deadline(bound);
    let mut halt = {
        let played = steps::perform(&mut scene, &plan.steps);
        tokio::pin!(played);
        loop {
            let Some(left) = deadline.left() else {
                let why = format!("it did not end within its bound of {bound:?}");
                break Some(if steps::was_busy(lag) { Halt::HeldUp(why) } else { Halt::Error(why) });
            };
            match tokio::time::timeout(left, &mut played).await {
                Ok(result) => break result.err(),
                Err(_) => continue,
            }
        }
    };
    if !plan.finally.is_empty() {
        scene.mark("step", "finally");
        let tidied = tokio::time::timeout(bound, steps::perform(&mut scene, &plan.finally)).await;
        let error = match tidied {
            Ok(result) => result.err(),
            Err(_) => Some(Halt::Error(format!("`finally` did not end within {bound:?}"))),
        };
        halt = halt.or(error);
    }
    let mut gone = None;
    if play_context.spec.role.is_client() {
        gone = release_client(&mut scene, traced, halt.is_none()).await;
    }
    scene.peer.finish().await;
    Ok((halt.or(gone.map(Halt::Error)), scene.outcome))
}

/// Ends a client before the servers that it works with, so that it does not look for them. A client that scenarios share
/// is only reset, as long as nothing went wrong and it is busy with nothing. Gives why one that is only watched cannot be judged,
/// where it ended by itself.
async fn release_client(scene: &mut Scene<'_>, traced: &Traced, clean: bool) -> Option<String> {
    let subject = scene.subject.take()?;
    let mut gone = None;
    if let Some(exited) = subject.exited().filter(|exited| !scene.outcome.end_expected && !exited.asked) {
        match exited.code.filter(|_| scene.spec.observe.is_some()) {
            // It may well be done.
            Some(0) => {}
            // Nothing that is wrong was sent to it: it may have ended for reasons of its own.
            Some(code) => {
                let mut why = ended_by_itself(code, &subject.last_output());
                scene.recorder.hide_text(&mut why);
                gone = Some(why);
            }
            None => scene
                .outcome
                .findings
                .push(death_finding(&exited, scene.spec, scene.plan.edition).with_last_events_of(&traced.tail)),
        }
    }
    let clean = clean && !traced.alive.is_busy() && scene.outcome.findings.is_empty() && !scene.outcome.end_expected;
    if let Some(idle) = scene.idle.as_mut().filter(|_| clean && scene.shared)
        && subject.reset().await
    {
        **idle = Some(subject);
        return gone;
    }
    subject.expect_exit();
    subject.stop().await;
    gone
}

/// The directories of a subject that has this run directory.
pub fn subject_dirs(run_dir: &RunDir) -> crate::peer::SubjectDirs {
    crate::peer::SubjectDirs { root: run_dir.workspace(), home: run_dir.home(), data_home: run_dir.data_home() }
}
