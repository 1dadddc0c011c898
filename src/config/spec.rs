//! The resolved description of one subject ([`SubjectSpec`]), and that of our own mocks ([`own`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fmt, fs, io};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::protocol::{Edition, Protocol, Reach, Role};
use crate::trace::Strength;

use super::Described;

/// The variable that every process of a subject has in its environment: the directory of its run.
pub const RUN_DIR_VARIABLE: &str = "WIRECERT_RUN_DIR";

/// A subject: what it is, how it is reached, and what it can be made to do. All paths are absolute.
#[derive(Clone)]
pub struct SubjectSpec {
    /// The name of the subject in reports.
    pub name: String,
    /// The protocol it speaks.
    pub protocol: &'static Protocol,
    /// The role that the subject plays in the protocol.
    pub role: &'static Role,
    /// The edition to judge it by.
    pub edition: EditionChoice,
    /// How the subject is reached.
    pub access: Access,
    /// Whether scenarios share a process.
    pub isolation: Isolation,
    /// For how long a client that cannot be driven is watched, where it is.
    pub observe: Option<Duration>,
    /// How to make it do things from outside, by the stimulus's name.
    pub stimuli: BTreeMap<&'static str, StimulusWay>,
    /// Capabilities that it does not claim.
    pub missing: Vec<&'static str>,
    /// The file of its known violations.
    pub baseline: Option<PathBuf>,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How much of it to keep.
    pub limits: Limits,
    /// The settings for requests that have none of their own: a JSON object.
    pub settings: Option<Value>,
    /// The keys that only subjects of this role have.
    pub described: Described,
    /// Where its snapshots are; they are compared only where this is set.
    pub snapshots: Option<PathBuf>,
    /// How much of a trace the snapshots keep, where it is given.
    pub snapshot_strength: Option<Strength>,
    /// Where traces are to be kept, if they are.
    pub trace_dir: Option<PathBuf>,
    /// The folder that the file it was read from is in, or the working directory: `{config_dir}`.
    pub config_dir: PathBuf,
}

impl SubjectSpec {
    /// How it is started, where we start it.
    pub fn launch(&self) -> Option<&Launch> {
        match &self.access {
            Access::Launch(launch) => Some(launch),
            Access::Attach { .. } => None,
        }
    }

    /// Whether the subject is a client that is driven over its stdin.
    pub fn is_driven(&self) -> bool {
        self.role.is_client() && self.observe.is_none()
    }

    /// Whether it says that it lacks this capability.
    pub fn lacks(&self, capability: &str) -> bool {
        self.missing.contains(&capability)
    }

    /// Whether it can be made to do this from outside.
    pub fn has_stimulus(&self, name: &str) -> bool {
        self.stimuli.contains_key(name)
    }

    /// Whether scenarios may lay files into its workspace.
    pub fn has_workspace(&self) -> bool {
        match &self.access {
            Access::Launch(_) => true,
            Access::Attach { workspace, .. } => workspace.is_some(),
        }
    }

    /// Whether two files in the workspace can have names that differ only in the case of their letters: on most systems they can,
    /// on macOS and Windows usually not. `false` also if that cannot be found out.
    pub fn is_case_sensitive(&self) -> bool {
        match &self.access {
            Access::Launch(_) => distinguishes_case(&env::temp_dir()),
            Access::Attach { workspace, .. } => workspace.as_deref().is_some_and(distinguishes_case),
        }
    }
}

/// Whether names in a folder that differ only in the case of their letters are those of different files.
fn distinguishes_case(folder: &Path) -> bool {
    let probe = tempfile::Builder::new().prefix("wirecert-lower-").tempfile_in(folder);
    probe.is_ok_and(|probe| {
        let other = probe.path().to_string_lossy().replace("wirecert-lower-", "WIRECERT-LOWER-");
        fs::symlink_metadata(other).is_err_and(|e| e.kind() == io::ErrorKind::NotFound)
    })
}

impl fmt::Debug for SubjectSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubjectSpec")
            .field("name", &self.name)
            .field("role", &self.role.name)
            .field("edition", &self.edition)
            .field("access", &self.access)
            .field("isolation", &self.isolation)
            .field("observe", &self.observe)
            .field("stimuli", &self.stimuli)
            .field("missing", &self.missing)
            .field("baseline", &self.baseline)
            .field("timeouts", &self.timeouts)
            .field("limits", &self.limits)
            // They may hold credentials.
            .field("settings", &self.settings.is_some())
            .field("described", &self.described)
            .field("snapshots", &self.snapshots)
            .field("snapshot_strength", &self.snapshot_strength)
            .field("trace_dir", &self.trace_dir)
            .field("config_dir", &self.config_dir)
            .finish()
    }
}

/// Which edition a subject is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditionChoice {
    /// The edition that the subject is detected to speak.
    Auto,
    /// This edition.
    Given(&'static dyn Edition),
}

impl EditionChoice {
    /// The edition's id, or `auto`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Given(edition) => edition.id(),
        }
    }
}

/// How to get at a subject.
#[derive(Clone, Debug)]
pub enum Access {
    /// We start the subject.
    Launch(Launch),
    /// The subject runs already, and is neither started nor stopped by us.
    Attach {
        /// Where it is.
        target: Target,
        /// The folder that it has open, where scenarios may lay files.
        workspace: Option<PathBuf>,
    },
}

/// Where a subject that runs already is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// At this URL, which carries the secret where the protocol wants one: `ws://127.0.0.1:1234?auth=…`.
    Url(String),
    /// Where this lockfile says.
    Lockfile(PathBuf),
    /// Where the newest live lockfile below this data home (the user's own) says.
    DataHome(PathBuf),
}

/// How a subject is started and stopped.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What to run, without a shell.
    pub command: CommandLine,
    /// The JavaScript module that the command is to load, where the subject is one.
    pub module: Option<Box<Module>>,
    /// Where it is to be reached, of a server that is reached by URL; may hold placeholders. Its role's own where none.
    pub url: Option<String>,
    /// The terminal that it runs in; it has none by default.
    pub pty: Option<TerminalSize>,
    /// Environment variables with the last word; none removes a variable. Values may hold placeholders.
    pub env: BTreeMap<String, Option<String>>,
    /// Files to be in its home folder before it starts.
    pub home: Vec<SeedFile>,
    /// Files to be in its workspace before it starts.
    pub files: Vec<SeedFile>,
    /// What to wait for.
    pub ready: Ready,
    /// How to stop it.
    pub stop: Stop,
    /// Where run directories are made; the system's temporary folder where none.
    pub run_dir: Option<PathBuf>,
    /// Whether run directories are left for inspection.
    pub keep_run_dir: bool,
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// How many lines it has.
    pub rows: u16,
    /// How many characters a line has.
    pub columns: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { rows: 24, columns: 80 }
    }
}

/// A JavaScript module as a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The file.
    pub path: PathBuf,
    /// The file of its settings.
    pub settings: Option<PathBuf>,
    /// The program that loads the module and serves it; it lies in the run directory as [`Module::HOST`].
    pub host: &'static str,
}

impl Module {
    /// The name under which its host lies in the run directory.
    pub const HOST: &str = "module.mjs";
}

/// A command with placeholders such as `{workspace}`, one string for each argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine(pub Vec<String>);

/// How a subject is made to do something from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StimulusWay {
    /// A command is run.
    Command(CommandLine),
    /// A line is sent to the control socket at this path, which may have placeholders. A relative one begins in the
    /// folder that the subject runs in.
    Socket(String),
}

/// A file to be there from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedFile {
    /// Relative path, `/` between its parts, no `..`.
    pub path: String,
    /// The content of the file.
    pub content: Vec<u8>,
}

/// When a subject counts as started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// How long that may take.
    pub within: Duration,
}

/// How a subject is stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The way to request the stop.
    pub how: StopHow,
    /// How long it may take before it is killed.
    pub within: Duration,
}

/// How a subject is requested to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopHow {
    /// By this signal to its process group: `TERM`, `INT`, `HUP`, `KILL`.
    Signal(&'static str),
    /// By running a command.
    Command(CommandLine),
}

/// Whether scenarios share a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// One subject for each job, restarted where a scenario killed or soiled it.
    Run,
    /// A process for each scenario.
    Scenario,
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For what an expectation awaits, where it does not say so itself.
    pub expect: Duration,
    /// For a stimulus's command to end.
    pub stimulus: Duration,
    /// How long nothing comes where a client has to bear that.
    pub silence: Duration,
    /// The longest wait, also where a scenario asks for more; none where scenarios have the last word.
    pub longest: Option<Duration>,
}

/// How much of a subject to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of each output stream kept in one trace, from its beginning; a quarter as much is kept of its end.
    pub output: u64,
    /// The largest file that is looked at, in bytes.
    pub file: u64,
}

impl Launch {
    /// A launch of this command with the defaults for everything else.
    pub fn of(command: CommandLine) -> Self {
        Self {
            command,
            module: None,
            url: None,
            pty: None,
            env: BTreeMap::new(),
            home: vec![],
            files: vec![],
            ready: Ready::default(),
            stop: Stop::default(),
            run_dir: None,
            keep_run_dir: false,
        }
    }
}

impl Default for Ready {
    fn default() -> Self {
        Self { within: Duration::from_secs(10) }
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self { how: StopHow::Signal("TERM"), within: Duration::from_secs(5) }
    }
}

impl Timeouts {
    /// The default timeouts of a subject of this role.
    pub fn of(role: &Role) -> Self {
        let [stimulus, silence] = [10, 6].map(Duration::from_secs);
        Self { expect: role.patience, stimulus, silence, longest: None }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { output: 64 * 1024, file: 16 * 1024 * 1024 }
    }
}

/// Beside the workspace, in which the mock runs: a socket's whole path may be too long for the system.
const CONTROL: &str = "../control.sock";

/// Long enough for our own mocks: they wait for ever, or are wrong on purpose after less.
const SILENCE: Duration = Duration::from_millis(200);

/// The mock that `wirecert mock ROLE` starts, steered through a control socket. `flags` are added to its command
/// line, such as `--flaw NAME`; `described` is what it is described with by the keys of its role.
pub fn own(
    protocol: &'static Protocol,
    role: &'static Role,
    edition: &'static dyn Edition,
    flags: &[String],
    described: Described,
) -> SubjectSpec {
    let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    let mut command =
        words(&["{wirecert}", "mock", role.name, "--edition", edition.id(), "--workspace", "{workspace}"]);
    // No `--data-home`: like any subject it is to find its data home by the environment, which scenarios vary.
    if !role.is_client() {
        command.extend(words(&["--control", CONTROL]));
    }
    // What is reached by its URL listens where the URL says.
    if matches!(role.reach, Reach::Url { .. }) {
        command.extend(words(&["--port", "{port}"]));
    }
    command.extend(flags.iter().cloned());
    SubjectSpec {
        name: format!("wirecert mock {}", role.name),
        protocol,
        role,
        edition: EditionChoice::Given(edition),
        access: Access::Launch(Launch::of(CommandLine(command))),
        // One that is wrong on purpose may be so for the rest of its life.
        isolation: if role.is_client() && !flags.is_empty() { Isolation::Scenario } else { Isolation::Run },
        observe: None,
        stimuli: (role.stimuli)().iter().map(|verb| (verb.name, StimulusWay::Socket(CONTROL.to_owned()))).collect(),
        missing: vec![],
        baseline: None,
        timeouts: super::Timeouts { silence: SILENCE, ..super::Timeouts::of(role) },
        limits: super::Limits::default(),
        // It needs none.
        settings: Some(json!({})),
        described,
        snapshots: None,
        snapshot_strength: None,
        trace_dir: None,
        config_dir: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
    }
}
