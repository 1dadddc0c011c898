//! A subject that is up: [`Running`].

mod stop;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use crate::config::{Access, Launch, SubjectSpec};
use crate::matcher::as_integer;
use crate::protocol::{Edition, Lock, Reach};
use crate::trace::{Exited, Recorder};

use super::lockfile::LockfileState;
use super::output::ProcessTap;
use super::process::{SubjectProcess, Uses};
use super::surroundings::Surroundings;
use super::table::{self, ProcessorTimes};
use super::{RunDir, SubjectError, lockfile, ready, surroundings, tree};

use stop::CLIENT_EXIT_WAIT;
pub use stop::StopResult;

/// What to start a subject with.
#[derive(Clone)]
pub struct Start<'a> {
    /// The subject.
    pub spec: &'a SubjectSpec,
    /// The run directory. Starting again in the same one keeps what the subject left there.
    pub run_dir: &'a RunDir,
    /// The scenario it is started for alone, by its id; none where several share it.
    pub scenario: Option<&'a str>,
    /// The folder that it works in, where that is not the workspace of the run directory.
    pub workspace: Option<PathBuf>,
    /// Further environment variables; none removes one. They override all others.
    pub env: &'a BTreeMap<String, Option<String>>,
    /// The URL of the server that a client is to find, where it gets one: `{url}`, and `WIRECERT_URL`.
    pub server: Option<String>,
    /// The trace.
    pub recorder: Recorder,
}

/// No further environment variables.
static NO_ENV: BTreeMap<String, Option<String>> = BTreeMap::new();

impl<'a> Start<'a> {
    /// A start for no scenario, without further variables, in the workspace of the run directory, and for no server.
    pub fn new(spec: &'a SubjectSpec, run_dir: &'a RunDir, recorder: Recorder) -> Self {
        Self { spec, run_dir, scenario: None, workspace: None, env: &NO_ENV, server: None, recorder }
    }

    /// The folder that it works in.
    pub(super) fn workspace(&self) -> PathBuf {
        self.workspace.clone().unwrap_or_else(|| self.run_dir.workspace())
    }
}

/// A subject that is up: started by us, or attached to. Dropping it ends the process tree that we started.
pub struct Running {
    spec: SubjectSpec,
    surroundings: Surroundings,
    /// None where we did not start the subject.
    process: Option<SubjectProcess>,
    tap: ProcessTap,
    uses: Uses,
    /// None where the subject is a client: nobody connects to it.
    lock: Option<Lock>,
    lockfile: Option<PathBuf>,
    editions: Vec<&'static dyn Edition>,
    workspace: Option<PathBuf>,
}

impl Running {
    /// Starts the subject and waits until it is ready. Writes `Launched`, its output and its lockfile to the trace.
    ///
    /// # Errors
    /// Where it cannot be started, ends, or does not become ready in time. Nothing of it is left running then, and
    /// the lockfiles that it did write are in the trace, so that rules can judge them.
    pub async fn launch(start: Start<'_>) -> Result<Self, SubjectError> {
        let Some(launch) = start.spec.launch() else {
            return Err(SubjectError::Unable("this subject runs already, and is not started by us".to_owned()));
        };
        start.spec.described.secrets().for_each(|secret| start.recorder.add_secret(secret));
        let surroundings = Surroundings::of_launch(&start)?;
        let tap = ProcessTap::new(start.recorder.clone(), start.spec.limits.output);
        match start.spec.role.reach {
            Reach::Seeks { .. } => return Self::launch_client(&start, launch, surroundings, tap),
            Reach::Url { .. } => return Self::launch_by_url(&start, launch, surroundings, tap).await,
            Reach::Lockfile { .. } => {}
        }
        let mut watcher = ready::lockfile_watcher(start.spec, &surroundings);
        let command = surroundings.command(&launch.command);
        let misplaced = ready::misplaced_arguments(
            command.get(1..).unwrap_or_default(),
            &start.spec.config_dir,
            &surroundings.folder,
        );
        let process = SubjectProcess::start(command, &surroundings, tap.clone(), false, launch.pty)?;
        let found = match ready::wait_for_lockfile(&mut watcher, &process, launch.ready.within, &misplaced).await {
            Ok(found) => found,
            Err(error) => {
                // Of those that name a process which runs and is none of the subject's, it is not the author.
                let others = |pid: u32| tree::is_alive(pid) && !process.tree().contains(pid);
                for (path, content) in watcher.contents(|pid| !others(pid)) {
                    tap.record_file(path, "read", content);
                }
                process.finish().await;
                return Err(error);
            }
        };
        start.recorder.add_secret(&found.lock.token);
        tap.record_file(&found.path, "read", Some(&found.content));
        Ok(Self {
            spec: start.spec.clone(),
            surroundings,
            process: Some(process),
            tap,
            uses: Uses::default(),
            lock: Some(found.lock),
            lockfile: Some(found.path),
            editions: found.editions,
            workspace: Some(start.workspace()),
        })
    }

    /// Starts a client. It is ready when it runs: whether it finds us is for scenarios to say.
    fn launch_client(
        start: &Start<'_>,
        launch: &Launch,
        surroundings: Surroundings,
        tap: ProcessTap,
    ) -> Result<Self, SubjectError> {
        let command = surroundings.command(&launch.command);
        let process = SubjectProcess::start(command, &surroundings, tap.clone(), start.spec.is_driven(), launch.pty)?;
        Ok(Self {
            spec: start.spec.clone(),
            surroundings,
            process: Some(process),
            tap,
            uses: Uses::default(),
            lock: None,
            lockfile: None,
            editions: vec![],
            workspace: Some(start.workspace()),
        })
    }

    /// Starts a server that is reached by URL, and waits until its port accepts.
    async fn launch_by_url(
        start: &Start<'_>,
        launch: &Launch,
        surroundings: Surroundings,
        tap: ProcessTap,
    ) -> Result<Self, SubjectError> {
        let started = Self::start_by_url(start, launch, surroundings, tap).await;
        match &launch.module {
            Some(module) => {
                started.map_err(|error| surroundings::explain_module_error(error, module, start.run_dir.root()))
            }
            None => started,
        }
    }

    async fn start_by_url(
        start: &Start<'_>,
        launch: &Launch,
        surroundings: Surroundings,
        tap: ProcessTap,
    ) -> Result<Self, SubjectError> {
        let url = surroundings.url(launch.url.as_deref());
        let lock = ready::parse_url(start.spec, &url)?;
        let mut command = surroundings.command(&launch.command);
        if let Some(module) = &launch.module {
            command.extend(surroundings::module_arguments(module, lock.port, start.run_dir.root())?);
        }
        let misplaced = ready::misplaced_arguments(
            command.get(1..).unwrap_or_default(),
            &start.spec.config_dir,
            &surroundings.folder,
        );
        let process = SubjectProcess::start(command, &surroundings, tap.clone(), false, launch.pty)?;
        if let Err(error) = ready::wait_for_port(lock.port, &process, launch.ready.within, &misplaced).await {
            process.finish().await;
            return Err(error);
        }
        Ok(Self {
            spec: start.spec.clone(),
            surroundings,
            process: Some(process),
            tap,
            uses: Uses::default(),
            lock: Some(lock),
            lockfile: None,
            editions: ready::editions(start.spec),
            workspace: Some(start.workspace()),
        })
    }

    /// Has a driven client do something, and writes the `Call` to the trace. Gives the number of the call; what comes
    /// of it is a `Returned` in the trace.
    ///
    /// # Errors
    /// [`SubjectError::Unable`] where it is not driven, was requested to end, or does not read its stdin.
    pub fn call(&self, call: &str, params: Value, settings: Option<Value>) -> Result<u64, SubjectError> {
        let called = match self.process.as_ref().and_then(SubjectProcess::driver) {
            Some(driver) => driver.call(&self.tap, call, params, settings),
            None => Err("it is not driven".to_owned()),
        };
        called.map_err(|why| SubjectError::Unable(format!("the subject cannot be asked for `{call}`: {why}")))
    }

    /// Has a driven client that we started reset its state and wait, so that it can [`Running::begin`] anew with
    /// another scenario. Gives whether it did so in time.
    pub async fn reset(&self) -> bool {
        match &self.process {
            Some(process) => process.reset(CLIENT_EXIT_WAIT).await,
            None => false,
        }
    }

    /// Has a client that was [`Running::reset`] begin anew: for the scenario, the server and the trace of `start`, whose
    /// run directory is its own. Returns whether the request could be sent; if not, it is of no more use.
    pub fn begin(&self, start: &Start<'_>) -> bool {
        start.spec.described.secrets().for_each(|secret| start.recorder.add_secret(secret));
        let server = start.server.as_deref();
        self.process.as_ref().is_some_and(|process| process.begin(start.recorder.clone(), start.scenario, server))
    }

    /// Requests a driven client to end: by the line for that, or by the end of its stdin.
    pub fn dismiss(&self, by_line: bool) {
        self.expect_exit();
        if let Some(driver) = self.process.as_ref().and_then(SubjectProcess::driver) {
            if by_line {
                driver.close();
            } else {
                driver.end();
            }
        }
    }

    /// Finds a subject that runs already.
    ///
    /// # Errors
    /// [`SubjectError::NotFound`] where it is not there, or does not accept a connection.
    pub async fn attach(spec: &SubjectSpec, recorder: Recorder) -> Result<Self, SubjectError> {
        let Access::Attach { target, workspace } = &spec.access else {
            return Err(SubjectError::Unable("this subject is to be started, not attached to".to_owned()));
        };
        let found = ready::find_running(spec, target).await?;
        spec.described.secrets().for_each(|secret| recorder.add_secret(secret));
        recorder.add_secret(&found.lock.token);
        let tap = ProcessTap::new(recorder, spec.limits.output);
        if let Some((path, content)) = &found.file {
            tap.record_file(path, "read", Some(content));
        }
        Ok(Self {
            surroundings: Surroundings::of_attached(spec, workspace.as_deref(), found.lock.port),
            spec: spec.clone(),
            process: None,
            tap,
            uses: Uses::default(),
            lock: Some(found.lock),
            lockfile: found.file.map(|(path, _)| path),
            editions: found.editions,
            workspace: workspace.clone(),
        })
    }

    /// Counts a play. Gives the number of the process, in the order of their start, and as how manieth play this is for it.
    pub fn next_play(&self) -> (u64, u64) {
        self.uses.next()
    }

    /// Notes that a play at this process passed.
    pub fn note_passed(&self) {
        self.uses.note_passed();
    }

    /// Whether a play at this process passed.
    pub fn has_passed(&self) -> bool {
        self.uses.has_passed()
    }

    /// Where a client finds it; none where it is one itself.
    pub fn lock(&self) -> Option<&Lock> {
        self.lock.as_ref()
    }

    /// The editions whose clients would accept its lockfile, in the protocol's order; all that it may be judged by
    /// where it was not found through one. Never empty.
    pub fn editions(&self) -> &[&'static dyn Edition] {
        &self.editions
    }

    /// The workspace that it works on, where we know one.
    pub fn workspace(&self) -> Option<&Path> {
        self.workspace.as_deref()
    }

    /// The id of the main process, where it is known.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(SubjectProcess::pid).or(self.lock.as_ref()?.pid)
    }

    /// Whether we started it, so that it can be stopped, signalled and started again.
    pub fn is_ours(&self) -> bool {
        self.process.is_some()
    }

    /// Whether it is still there: its process, or for one that is not ours, the process that accepts at its port.
    pub async fn alive(&self) -> bool {
        match &self.process {
            Some(process) => process.exited().is_none() && tree::is_alive(process.pid()),
            None => match &self.lock {
                Some(lock) => lockfile::accepts(lock.port).await,
                None => false,
            },
        }
    }

    /// How much memory its processes have in all that is not swapped out, in bytes (what several of them share counts for
    /// each); of one that we did not start, its main process where it is known. None where the system does not report it.
    pub fn memory(&self) -> Option<u64> {
        match &self.process {
            Some(process) => process.tree().memory(),
            None => table::resident(&[self.lock.as_ref()?.pid?]),
        }
    }

    /// What its processes got of the machine's processors since they began. None where the system does not report it, or we did
    /// not start it.
    pub fn processor_times(&self) -> Option<ProcessorTimes> {
        self.process.as_ref()?.tree().processor_times()
    }

    /// How its main process ended, if it did.
    pub fn exited(&self) -> Option<Exited> {
        self.process.as_ref().and_then(SubjectProcess::exited)
    }

    /// Waits for its main process to end; none where it does not within this time, or is not ours.
    pub async fn wait(&self, within: Duration) -> Option<Exited> {
        let process = self.process.as_ref()?;
        timeout(within, process.ended()).await.ok().flatten()
    }

    /// Notes that the end of the process is expected from here on (it was requested to quit), so that it is no crash.
    pub fn expect_exit(&self) {
        if let Some(process) = &self.process {
            process.will_exit();
        }
    }

    /// Records the output of the process, and its end, in another trace from here on.
    pub fn record_to(&self, recorder: Recorder) {
        self.spec.described.secrets().for_each(|secret| recorder.add_secret(secret));
        if let Some(lock) = &self.lock {
            recorder.add_secret(&lock.token);
        }
        self.tap.record_to(recorder);
    }

    /// The lockfile as it is now.
    pub fn lockfile(&self) -> LockfileState {
        let Some(path) = &self.lockfile else { return LockfileState::default() };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        match lockfile::read_bounded(path) {
            Ok((content, _)) => {
                let folder = self.workspace().and_then(|workspace| self.nearest_folder(&content, workspace));
                let content: Option<Value> = serde_json::from_slice(&content).ok();
                let pid = content.as_ref().and_then(|content| as_integer(content.get("pid")?.as_number()?));
                let running = pid.map(|pid| u32::try_from(pid).is_ok_and(tree::is_alive));
                LockfileState { exists: true, name, content, running, folder }
            }
            Err(_) => LockfileState { exists: path.exists(), name, ..LockfileState::default() },
        }
    }

    /// Where the nearest folder of a lockfile lies, seen from the workspace.
    fn nearest_folder(&self, content: &[u8], workspace: &Path) -> Option<&'static str> {
        let lock = self.editions.iter().find_map(|edition| edition.read_lockfile(content).ok())?;
        lockfile::nearest(&lock.folders, workspace)
    }

    /// The path of its lockfile, where it was found through one.
    pub fn lockfile_path(&self) -> Option<&Path> {
        self.lockfile.as_deref()
    }

    /// The last lines of output, the newest last, for people. The secret of the subject is not in them.
    pub fn last_output(&self) -> Vec<String> {
        let secret = self.lock.as_ref().map(|lock| lock.token.as_str()).filter(|token| !token.is_empty());
        let hide = |line: String| match secret {
            Some(secret) => line.replace(secret, "<token>"),
            None => line,
        };
        self.tap.recent().into_iter().map(hide).collect()
    }
}
