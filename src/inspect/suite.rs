//! Scenarios played at the inspected subject, one after the other: [`Suite`]. Each play has a trace of its own, which can be looked at
//! while it is recorded. A saved scenario that fails can be shrunk.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::config::SubjectSpec;
use crate::judge::{FaultOwner, Play, Repro};
use crate::play::{Cancel, Run, SubjectPool};
use crate::protocol::{Edition, area};
use crate::report::Silent;
use crate::scenario::{Filter, Plan, files_below, load};
use crate::trace::{Header, Sink};

use super::api::{PlayList, PlayProgress, PlayRequest, PlayState, ScenarioList, ScenarioSummary, TraceName};
use super::feed::Feed;

mod shrinking;

/// The most traces of plays that are kept; an older one makes room.
const MAX_TRACES: usize = 200;

/// The most plays that are remembered.
const MAX_PLAYS: usize = 10_000;

/// How long the end waits for the subject of the plays.
const END: Duration = Duration::from_secs(5);

/// Where the scenarios of a role come from.
pub type PlanSource = dyn Fn() -> Vec<Plan> + Send + Sync;

/// The subject that scenarios are played at, and how.
pub struct SuiteSubject {
    /// Its description.
    pub spec: SubjectSpec,
    /// The edition that it speaks.
    pub edition: &'static dyn Edition,
    /// How to play at it.
    pub run: Run,
    /// The command that plays a file at it, without the file.
    pub repro: Repro,
    /// The folder where stretches of the trace are saved.
    pub keep: PathBuf,
}

/// Plays scenarios at the subject, which is started once more for them unless it runs by itself.
pub struct Suite {
    subject: SuiteSubject,
    source: Box<PlanSource>,
    plans: OnceLock<Vec<Plan>>,
    state: Mutex<SuiteState>,
}

#[derive(Default)]
struct SuiteState {
    plays: Vec<PlayState>,
    /// The traces by the number of their play.
    traces: Vec<(u64, Feed)>,
    under_way: Option<(Cancel, JoinHandle<()>)>,
}

impl SuiteState {
    fn is_under_way(&self) -> bool {
        self.under_way.as_ref().is_some_and(|(_, task)| !task.is_finished())
    }
}

impl Suite {
    /// For a subject. `source` gives the scenarios of its role when they are first asked for.
    pub fn new(subject: SuiteSubject, source: Box<PlanSource>) -> Self {
        Self { subject, source, plans: OnceLock::new(), state: Mutex::default() }
    }

    /// What can be played. May take some time at the first call.
    pub fn scenarios(&self) -> ScenarioList {
        let summary = |plan: &Plan| ScenarioSummary {
            id: plan.id.clone(),
            area: area(&plan.id).unwrap_or_default().to_owned(),
            title: plan.title.clone(),
        };
        ScenarioList {
            playable: true,
            scenarios: self.plans().iter().map(summary).collect(),
            kept: self.kept_files().into_iter().map(|(name, _)| name).collect(),
        }
    }

    /// The scenarios in the folder where stretches are saved: the name of each, and its path.
    fn kept_files(&self) -> Vec<(String, PathBuf)> {
        let keep = &self.subject.keep;
        if !keep.is_dir() {
            return vec![];
        }
        let named = |path: PathBuf| Some((path.strip_prefix(keep).ok()?.display().to_string(), path));
        files_below(std::slice::from_ref(keep)).into_iter().filter_map(named).collect()
    }

    /// The plays so far.
    pub fn plays(&self) -> PlayList {
        let state = self.state();
        PlayList { plays: state.plays.clone(), under_way: state.is_under_way() }
    }

    /// The trace of a play, by its name.
    pub fn trace(&self, name: &str) -> Option<Feed> {
        let state = self.state();
        state.traces.iter().find(|(number, _)| trace_name(*number) == name).map(|(_, feed)| feed.clone())
    }

    /// The traces of plays.
    pub fn traces(&self) -> Vec<TraceName> {
        let state = self.state();
        let named = |(number, feed): &(u64, Feed)| {
            let play = state.plays.iter().find(|play| play.number == *number)?;
            let title = format!("play {number}: {}", play.name);
            Some(TraceName { name: trace_name(*number), title, connections: feed.connections() })
        };
        state.traces.iter().filter_map(named).collect()
    }

    /// Begins to play. Reads files: not for the event loop.
    ///
    /// # Errors
    /// Others are under way; nothing fits the request; a file that is no scenario for the subject.
    pub fn play(self: &Arc<Self>, request: &PlayRequest, runtime: &Handle) -> Result<(), String> {
        let plans = match (&request.filter, &request.kept) {
            (Some(filter), None) => self.filtered(filter)?,
            (None, Some(kept)) => self.kept(kept)?.1,
            _ => return Err("say either `filter` or `kept`".to_owned()),
        };
        let mut state = self.idle()?;
        let room = MAX_PLAYS.saturating_sub(plans.len());
        let old = state.plays.len().saturating_sub(room);
        state.plays.drain(..old);
        let first = state.plays.last().map_or(1, |play| play.number + 1);
        let waiting = |(number, plan): (u64, &Plan)| entry(number, &plan.id, &plan.title, PlayProgress::Waiting);
        state.plays.extend((first..).zip(&plans).map(waiting));
        let cancel = Cancel::default();
        let work = play_all(self.clone(), (first..).zip(plans).collect(), cancel.clone());
        state.under_way = Some((cancel, runtime.spawn(work)));
        Ok(())
    }

    /// Stops what is under way. What was not begun stays unplayed.
    pub fn stop(&self) {
        if let Some((cancel, _)) = &self.state().under_way {
            cancel.cancel();
        }
    }

    /// Stops what is under way, and waits for the subject of the plays to end.
    pub async fn end(&self) {
        self.stop();
        let under_way = self.state().under_way.take();
        if let Some((_, task)) = under_way {
            // Whatever is left of it ends with the program.
            let _ = timeout(END, task).await;
        }
    }

    fn plans(&self) -> &[Plan] {
        self.plans.get_or_init(|| {
            let mut plans = (self.source)();
            plans.retain(|plan| self.is_for_subject(plan));
            plans
        })
    }

    fn is_for_subject(&self, plan: &Plan) -> bool {
        plan.role == self.subject.spec.role.name && plan.edition == self.subject.edition
    }

    fn filtered(&self, filter: &str) -> Result<Vec<Plan>, String> {
        let filter = Filter::parse(filter).map_err(|error| format!("the filter is wrong: {}", error.message))?;
        let catalogue = (self.subject.spec.protocol.requirements)();
        let plans: Vec<Plan> = self.plans().iter().filter(|plan| filter.takes(plan, catalogue)).cloned().collect();
        if plans.is_empty() { Err("the filter leaves no scenario".to_owned()) } else { Ok(plans) }
    }

    /// A file in the folder where stretches are saved, and its plans for the subject.
    fn kept(&self, name: &str) -> Result<(PathBuf, Vec<Plan>), String> {
        let known = self.kept_files().into_iter().find(|(kept, _)| kept == name);
        let missing = || format!("there is no scenario {name:.80} in {}", self.subject.keep.display());
        let (_, path) = known.ok_or_else(missing)?;
        let loaded = load(std::slice::from_ref(&path));
        if let Some(fault) = loaded.diagnostics.first() {
            return Err(format!("{name} is no scenario: {}", fault.message));
        }
        let plans: Vec<Plan> = loaded.plans.into_iter().filter(|plan| self.is_for_subject(plan)).collect();
        match plans.is_empty() {
            true => Err(format!("{name} is not for {} {}", self.subject.spec.role.name, self.subject.edition)),
            false => Ok((path, plans)),
        }
    }

    /// The state, where nothing is under way.
    fn idle(&self) -> Result<MutexGuard<'_, SuiteState>, String> {
        let state = self.state();
        match state.is_under_way() {
            true => Err("plays are under way; wait for them, or stop them".to_owned()),
            false => Ok(state),
        }
    }

    /// The trace of a play that begins.
    fn watch(&self, number: u64, header: &Header) -> Option<Box<dyn Sink>> {
        let SuiteSubject { spec, edition, .. } = &self.subject;
        // Where the trace cannot be written, the play is judged all the same.
        let feed = Feed::of_play(header, spec.protocol, *edition).ok()?;
        let mut state = self.state();
        state.traces.retain(|(other, _)| *other != number);
        let old = (state.traces.len() + 1).saturating_sub(MAX_TRACES);
        let gone: Vec<u64> = state.traces.drain(..old).map(|(number, _)| number).collect();
        state.plays.iter_mut().filter(|play| gone.contains(&play.number)).for_each(|play| play.trace = None);
        state.traces.push((number, feed.clone()));
        if let Some(play) = state.plays.iter_mut().find(|play| play.number == number) {
            play.trace = Some(trace_name(number));
        }
        Some(Box::new(feed))
    }

    fn note(&self, number: u64, change: impl FnOnce(&mut PlayState)) {
        if let Some(play) = self.state().plays.iter_mut().find(|play| play.number == number) {
            change(play);
        }
    }

    fn state(&self) -> MutexGuard<'_, SuiteState> {
        self.state.lock()
    }
}

fn trace_name(number: u64) -> String {
    format!("play-{number}")
}

fn entry(number: u64, name: &str, title: &str, progress: PlayProgress) -> PlayState {
    PlayState {
        number,
        name: name.to_owned(),
        title: title.to_owned(),
        progress,
        status: None,
        reason: None,
        violated: vec![],
        took: None,
        trace: None,
        kept: None,
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Plays one after the other, at one process as far as it stays clean.
async fn play_all(suite: Arc<Suite>, plays: Vec<(u64, Plan)>, cancel: Cancel) {
    let SuiteSubject { spec, run, .. } = &suite.subject;
    let current = Arc::new(Mutex::new(0_u64));
    let mut run = run.clone();
    let (watched, looks_on): (_, Weak<Suite>) = (current.clone(), Arc::downgrade(&suite));
    run.options.watcher = Some(Arc::new(move |header: &Header| {
        let number = *watched.lock();
        looks_on.upgrade()?.watch(number, header)
    }));
    let mut pool = SubjectPool::new(spec.clone(), run, Arc::new(Silent), cancel.clone());
    for (number, plan) in &plays {
        if cancel.is_cancelled() {
            suite.note(*number, |play| play.progress = PlayProgress::Stopped);
            continue;
        }
        suite.note(*number, |play| play.progress = PlayProgress::Playing);
        *current.lock() = *number;
        let began = Instant::now();
        let played = pool.play(plan).await;
        let took = milliseconds(began.elapsed());
        suite.note(*number, |play| match played {
            None => play.progress = PlayProgress::Stopped,
            Some(played) => tell(play, played, FaultOwner::End(spec.role.subject), took),
        });
    }
    pool.clear().await;
}

/// Writes down how a play went.
fn tell(play: &mut PlayState, played: Play, subject: FaultOwner, took: u64) {
    let violated = played.findings.iter().filter(|found| found.fault == subject).filter_map(|found| found.requirement);
    play.violated = violated.map(str::to_owned).collect();
    play.violated.sort_unstable();
    play.violated.dedup();
    play.progress = PlayProgress::Over;
    play.status = Some(played.status);
    play.reason = played.reason;
    play.took = Some(took);
}
