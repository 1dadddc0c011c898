//! One play in progress: its variables, its peer, its subject, what went wrong so far.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::config::SubjectSpec;
use crate::diagnostic::SourceSpan;
use crate::judge::{Absence, FaultOwner, MissKind, MissedExpectation, PlayPosition, RawFinding, RuleRun};
use crate::matcher::Schemas;
use crate::peer::{Peer, Setting};
use crate::protocol::{Level, Part, Protocol, RequirementId};
use crate::scenario::Plan;
use crate::subject::{RunDir, Running, ScenarioDir};
use crate::trace::{EventKind, Mark, NormalisationFacts, Recorder, Tail};
use crate::uri;
use crate::wire::tcp;

use super::driven_client::Alive;
use super::log::Log;
use super::timing::LagMeter;

/// More than any process id: Linux gives out less than 2^22, macOS less than 100,000.
const DEAD_PID: u32 = 0x7fff_0000;

/// The kind of observation of a process that ended.
const EXIT: &str = "exit";
/// How long a process may take to end, at most, where nothing says how long it takes.
const LONGEST_ENDING: Duration = Duration::from_millis(250);

/// Everything a step can reach.
pub struct Scene<'a> {
    /// The plan that is played.
    pub plan: &'a Plan,
    /// The protocol of the subject.
    pub protocol: &'static Protocol,
    /// The edition's schemas.
    pub schemas: &'a (dyn Schemas + Sync),
    /// The subject's description.
    pub spec: &'a SubjectSpec,
    /// Where the subject lives, where we started it.
    pub run_dir: Option<&'a RunDir>,
    /// The subject.
    pub subject: &'a mut Option<Running>,
    /// Where a driven client waits from one scenario to the next, if they share one.
    pub idle: Option<&'a mut Option<Running>>,
    /// Whether the client may wait in `idle` after this scenario: it was started as any other.
    pub shared: bool,
    /// The peer opposite the subject.
    pub peer: Box<dyn Peer>,
    /// This scenario's own folder of the workspace.
    pub scenario_dir: Option<ScenarioDir>,
    /// The trace.
    pub recorder: Recorder,
    /// What has been observed.
    pub log: Log,
    /// The last events, as lines.
    pub tail: Tail,
    /// Whether a client has shown itself.
    pub alive: Alive,
    /// The harness's own delay.
    pub lag: &'a LagMeter,
    /// How long to wait where a step does not say.
    pub patience: Duration,
    /// The longest wait, also where a step asks for more.
    pub longest: Option<Duration>,
    /// Variables and labels.
    pub vars: Map<String, Value>,
    /// Variables that have no value because rules found wrong what they were to be captured from.
    pub unusable: BTreeMap<String, MissedExpectation>,
    /// Whether a step of our peer has succeeded: then a server has been reached.
    pub reached: bool,
    /// What the rules have found so far.
    pub rules: Arc<Mutex<RuleRun>>,
    /// The event with which began what the next expectation waits for.
    pub since: Since,
    /// The results so far.
    pub outcome: PlayResult,
}

/// Where in the trace the cause of what is awaited begins: at the first step that does something after the last expectation
/// that came true.
#[derive(Clone, Copy, Debug, Default)]
pub struct Since {
    /// The event.
    pub event: u64,
    /// The last step that made the subject do something by itself: what it reports of that comes later.
    pub stimulus: u64,
    /// Whether the next step that does something begins anew.
    fresh: bool,
    /// The longest time that something took to come that was waited for.
    pub slowest: Duration,
}

impl Since {
    /// A step that does something begins at this event.
    pub fn acts(&mut self, event: u64) {
        if std::mem::take(&mut self.fresh) {
            self.event = event;
        }
    }

    /// An expectation came true that was waited for as long as this.
    pub fn came(&mut self, waited: Duration) {
        self.fresh = true;
        self.slowest = self.slowest.max(waited);
    }
}

/// The results of a play, before they are judged.
#[derive(Default)]
pub struct PlayResult {
    /// Requirements that an expectation decided.
    pub assessed: Vec<RequirementId>,
    /// What was expected not to come, and did not.
    pub absences: Vec<Absence>,
    /// What went wrong.
    pub findings: Vec<RawFinding>,
    /// Readings taken.
    pub notes: Vec<(Option<RequirementId>, String)>,
    /// Whether the scenario asked for the subject's end.
    pub end_expected: bool,
    /// What is known to differ from one run to the next, for snapshots.
    pub known: NormalisationFacts,
    /// The first process that was played at.
    pub position: Option<PlayPosition>,
    /// Whether another play at that process had passed before.
    pub after_success: bool,
}

impl PlayResult {
    /// Notes that this process is played at. The caller fills in the job.
    pub fn plays_at(&mut self, subject: &Running) {
        let (process, position) = subject.next_play();
        if self.position.is_none() {
            self.position = Some(PlayPosition { job: 0, process, position });
            self.after_success = subject.has_passed();
        }
    }
}

/// Why a play stopped before its last step.
#[derive(Debug)]
pub enum Halt {
    /// An expectation failed; the finding is recorded.
    Failed,
    /// The play cannot be judged, for this reason.
    Error(String),
    /// The play cannot be judged, because the machine was too busy with others. Another time it may be.
    HeldUp(String),
    /// The subject was started again and did not become ready, or ended: what the next expectation is about did not come.
    NotReady {
        /// What was missing.
        why: String,
        /// Whether it is only its port that accepts no connection.
        found: bool,
    },
    /// A step would use what rules found wrong: this is what it cannot do.
    Unusable(Box<Failure>),
    /// The subject cannot be connected to: this failed, and what the next expectation is about if it could be before.
    Unreachable(Box<Failure>),
    /// The subject does not offer what the scenario is about, for this reason.
    Skip(String),
}

impl Scene<'_> {
    /// The step as a landmark in the trace.
    pub fn mark(&self, kind: &str, text: impl Into<String>) -> u64 {
        self.recorder.record(None, None, EventKind::Mark(Mark { mark: kind.into(), text: text.into() }))
    }

    /// Records that nothing came where nothing was to come, and what that proves.
    pub fn record_absence(&mut self, conn: Option<&str>, proves: &[RequirementId]) {
        let since = self.since.event;
        let absence = |requirement: &RequirementId| Absence { requirement, conn: conn.map(str::to_owned), since };
        self.outcome.absences.extend(proves.iter().map(absence));
    }

    /// Records that an expectation failed. Goes on where nothing binding was broken. Nothing can be said where the subject
    /// gave more than we take.
    pub fn fail(&mut self, mut failure: Failure) -> Result<(), Halt> {
        if let Some(what) = self.log.too_long() {
            return Err(Halt::Error(format!("the subject sent {what}")));
        }
        self.recorder.hide_text(&mut failure.message);
        for value in [&mut failure.expected, &mut failure.actual].into_iter().flatten() {
            self.recorder.hide_json(value);
        }
        let subject = self.spec.role.subject;
        let last_events = self.tail.lines_about(failure.missed.conn.as_deref(), failure.index);
        let known_after = self.tail.newest();
        let ids: Vec<Option<RequirementId>> = match failure.proves.as_slice() {
            [] => vec![None],
            ids => ids.iter().copied().map(Some).collect(),
        };
        for requirement in &ids {
            self.outcome.findings.push(RawFinding {
                requirement: *requirement,
                fault: FaultOwner::End(subject),
                step: Some(failure.step.clone()),
                place: Some(failure.place.clone()),
                message: failure.message.clone(),
                path: failure.path.clone(),
                expected: failure.expected.clone(),
                actual: failure.actual.clone(),
                index: failure.index,
                known_after,
                last_events: last_events.clone(),
                part: Part::Body,
                conn: failure.missed.conn.clone(),
                missed: Some(failure.missed.clone()),
            });
        }
        let binding = ids.iter().any(|id| id.is_none_or(|id| self.level(id) == Level::Must));
        if binding { Err(Halt::Failed) } else { Ok(()) }
    }

    /// A step that our side could not perform, as a missed expectation.
    pub fn unreachable(&self, verb: &'static str, way: MissKind) -> MissedExpectation {
        let selectors = Map::new();
        // What our server has to respond to came before, and may have been unusable.
        let since = if self.spec.role.is_client() { 0 } else { self.since.event };
        MissedExpectation {
            kind: verb,
            selectors,
            conn: None,
            came: false,
            way,
            outcomes: vec![],
            places: vec![],
            index: None,
            since,
        }
    }

    /// How long a driven client may take to show itself after each start.
    pub fn starting(&self) -> Duration {
        let launch = self.spec.launch().filter(|_| self.spec.role.is_client() && self.spec.is_driven());
        launch.map_or(Duration::ZERO, |launch| launch.ready.within)
    }

    /// How long to wait for what a step gives so long, if it does.
    pub fn limited_wait(&self, within: Option<Duration>) -> Duration {
        let wait = within.unwrap_or(self.patience);
        self.longest.map_or(wait, |longest| wait.min(longest))
    }

    /// How long an observation of this kind has to stay away before it counts as absent: this time, or longer where the
    /// subject was seen to take its time, which is then doubled. A process that ends waits for nothing that we withhold.
    pub fn quiet_time(&self, kind: &str, time: Duration) -> Duration {
        let longest = if kind == EXIT { LONGEST_ENDING } else { self.patience };
        let seen = (self.since.slowest * 2).min(longest);
        self.limited_wait(Some(time.max(seen)))
    }

    /// What is known to differ from one run to the next.
    pub fn normalisation_facts(&self) -> NormalisationFacts {
        let mut known = NormalisationFacts::default();
        let mut folder = |name: &str, path: Option<PathBuf>| {
            known.folders.extend(path.map(|path| (name.to_owned(), path.to_string_lossy().into_owned())));
        };
        // The longest first: the scenario's folder lies in the workspace, and that in the run directory.
        folder("workspace", self.scenario_dir.as_ref().map(|c| c.path().to_owned()));
        folder("root", self.subject.as_ref().and_then(|s| s.workspace().map(Path::to_owned)));
        folder("home", self.run_dir.map(RunDir::home));
        folder("run_dir", self.run_dir.map(|r| r.root().to_owned()));
        known.ports.extend(self.subject.as_ref().and_then(|s| s.lock()).map(|lock| lock.port));
        known.awaited = Some(self.log.awaited());
        known
    }

    /// The level of a requirement.
    pub fn level(&self, id: &str) -> Level {
        (self.protocol.requirements)().iter().find(|r| r.id == id).map_or(Level::Must, |r| r.level)
    }

    /// The setting of a peer that is to meet the subject as it is now.
    pub fn setting(&self) -> Setting {
        Setting {
            edition: self.plan.edition,
            recorder: self.recorder.clone(),
            server: self.subject.as_ref().and_then(|s| s.lock().cloned()),
            patience: self.patience,
            longest: self.longest,
            place: self.run_dir.map(super::one::subject_dirs),
            settings: self.spec.settings.clone(),
            described: self.spec.described.clone(),
            folder: self.scenario_dir.as_ref().map(|scenario_dir| scenario_dir.path().to_owned()),
        }
    }

    /// Sets the variables that locate the subject.
    pub fn locate(&mut self) {
        let scenario_dir = self.scenario_dir.as_ref().map(ScenarioDir::path);
        let root = self.subject.as_ref().and_then(Running::workspace);
        let mut vars = Map::new();
        vars.insert("edition".into(), self.plan.edition.id().into());
        vars.insert("role".into(), self.plan.role.into());
        vars.insert("settings".into(), self.spec.settings.clone().unwrap_or_else(|| json!({})));
        vars.insert("described".into(), self.spec.described.values().clone().into());
        if let Some(scenario_dir) = scenario_dir {
            vars.insert("workspace".into(), text(scenario_dir));
            vars.insert("workspace_uri".into(), file_uri(scenario_dir).into());
            let below = root.and_then(|root| scenario_dir.strip_prefix(root).ok());
            vars.extend(below.map(|below| ("corner".to_owned(), text(below))));
        }
        if let Some(root) = root {
            vars.insert("root".into(), text(root));
        }
        if let Some(run_dir) = self.run_dir {
            vars.insert("run_dir".into(), text(run_dir.root()));
        }
        if let Some(place) = self.run_dir.map(super::one::subject_dirs) {
            vars.insert("root".into(), text(&place.root));
            vars.insert("home".into(), text(&place.home));
            let link = self.run_dir.map(RunDir::workspace_by_link);
            vars.extend(link.map(|link| ("root_by_link".to_owned(), text(&link))));
            vars.insert("data_home".into(), text(&place.data_home));
        }
        vars.insert("dead_pid".into(), DEAD_PID.into());
        vars.extend(tcp::foreign_port().map(|port| ("foreign_port".to_owned(), port.into())));
        let third = self.spec.observe.unwrap_or_default() / 3;
        vars.insert("observe_third".into(), format!("{}ms", third.as_millis()).into());
        vars.insert("silence".into(), format!("{}ms", self.spec.timeouts.silence.as_millis()).into());
        vars.extend(self.subject.as_ref().and_then(Running::pid).map(|pid| ("pid".to_owned(), pid.into())));
        if let Some(lock) = self.subject.as_ref().and_then(Running::lock) {
            vars.insert("port".into(), lock.port.into());
            vars.insert("token".into(), lock.token.clone().into());
            vars.insert("token_beginning".into(), lock.token_beginning().into());
            vars.insert("token_miscased".into(), lock.token_miscased().into());
            vars.insert("token_encoded".into(), uri::encode(&lock.token, uri::UNRESERVED).into());
            let url = lock.url.clone().unwrap_or_else(|| format!("ws://127.0.0.1:{}", lock.port));
            vars.insert("url".into(), url.into());
        }
        self.vars.extend(vars);
    }
}

/// A failed step, as a finding needs it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What it was to prove.
    pub proves: Vec<RequirementId>,
    /// The step as a word.
    pub step: String,
    /// The position in the scenario file.
    pub place: SourceSpan,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where in the observation's JSON.
    pub path: Option<String>,
    /// What should have been there.
    pub expected: Option<Value>,
    /// What was there.
    pub actual: Option<Value>,
    /// The event that shows it.
    pub index: Option<u64>,
    /// What was awaited, and in which way it was missed.
    pub missed: MissedExpectation,
}

impl Scene<'_> {
    /// How long this play was held up on our side, at a time.
    pub fn held_up(&self) -> Duration {
        self.lag.worst()
    }

    /// How long it was held up, all delays added up.
    pub fn held_up_in_all(&self) -> Duration {
        self.lag.in_all()
    }
}

fn text(path: &Path) -> Value {
    path.to_string_lossy().into_owned().into()
}

/// The `file` URI of an absolute path (RFC 8089), everything but unreserved characters and `/` encoded.
pub fn file_uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    format!("file://{}", uri::encode(path.as_os_str().as_bytes(), uri::UNRESERVED_PATH))
}
