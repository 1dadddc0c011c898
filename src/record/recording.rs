//! [`Recording`]: starts the proxy and the trace writer, tells clients the address, and ends both. A [`Client`] is a
//! process that we start in order to record it; [`LiveJudge`] judges the trace meanwhile.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::config::fill;
use crate::judge::{FaultOwner, RawFinding, Recorded};
use crate::protocol::{Edition, Protocol, Reach, Requirement, Role};
use crate::subject::Descendants;
use crate::trace::{End, Event, EventKind, Exited, Header, Launched, Recorder, Sink};
use crate::wire::tcp::{self, Address};

use super::data_home::HomeOverlay;
use super::lockfile_mirror::LockfileMirror;
use super::proxy::ProxyListener;
use super::trace_writer::{PassedTraffic, TapHandle, TraceWriter};

/// Why a recording cannot start.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The address is in use, or not one of this machine.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The data home for the client cannot be made.
    #[error("cannot make a data home for the client in {}: {source}", folder.display())]
    DataHome {
        /// The folder.
        folder: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another error of the system.
    #[error("cannot begin to record: {0}")]
    System(io::Error),
}

/// How the client finds the server.
#[derive(Clone, Debug)]
pub enum Rendezvous {
    /// Through the lockfile of the server.
    Lockfiles(Lockfiles),
    /// By a URL that the client is given.
    Url {
        /// The address at which the proxy listens; port 0 is any free port.
        listen: SocketAddr,
        /// The address of the server.
        upstream: Address,
        /// The path of the server's URL, which is also that of the URL for clients.
        path: String,
    },
}

/// Where lockfiles are, and which of them are mirrored.
#[derive(Clone, Debug)]
pub struct Lockfiles {
    /// The data homes in which servers leave them, the strongest first; at least one.
    pub homes: Vec<PathBuf>,
    /// The user's home folder, where the client gets a home folder of its own, too.
    pub home: Option<PathBuf>,
    /// If set, only servers of this workspace are mirrored.
    pub workspace: Option<PathBuf>,
}

/// A running recording.
pub struct Recording {
    role: &'static Role,
    edition: &'static dyn Edition,
    writer: TraceWriter,
    tap: TapHandle,
    listeners: Listeners,
    /// The address for clients, if it is known.
    address: Option<SocketAddr>,
    path: String,
}

/// The proxies at which clients connect.
enum Listeners {
    Single {
        _listener: ProxyListener,
    },
    Mirrored {
        mirroring: JoinHandle<()>,
        folder: TempDir,
        overlays: Vec<HomeOverlay>,
        data_home: PathBuf,
        home: Option<PathBuf>,
    },
}

impl Recording {
    /// Starts a recording for servers of a role. When it returns, clients can connect.
    ///
    /// # Errors
    /// The address cannot be listened on, or the data home for the client cannot be made.
    pub async fn start(
        role: &'static Role,
        edition: &'static dyn Edition,
        rendezvous: Rendezvous,
        recorder: &Recorder,
    ) -> Result<Self, RecordError> {
        let traffic = match rendezvous {
            Rendezvous::Lockfiles(_) => PassedTraffic::WebSocket,
            Rendezvous::Url { .. } => PassedTraffic::Http,
        };
        let (writer, tap) = TraceWriter::start(recorder, traffic).map_err(RecordError::System)?;
        let (listeners, address, path) = match rendezvous {
            Rendezvous::Url { listen, upstream, path } => {
                let cannot = |source| RecordError::Listen { address: listen, source };
                let listener = tcp::listen(listen).map_err(cannot)?;
                let listener = ProxyListener::open(listener, upstream, tap.clone()).map_err(RecordError::System)?;
                let local = listener.local();
                (Listeners::Single { _listener: listener }, Some(local), path)
            }
            Rendezvous::Lockfiles(lockfiles) => {
                let (listeners, first) = mirror_lockfiles(&role.reach, edition, lockfiles, recorder, &tap).await?;
                (listeners, first, String::new())
            }
        };
        Ok(Self { role, edition, writer, tap, listeners, address, path })
    }

    /// Records an event that belongs to no connection.
    pub fn record(&self, what: EventKind) {
        self.tap.event(what);
    }

    /// The address for clients, if it is known: with lockfiles, only if a server runs already.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The URL for clients.
    pub fn url(&self) -> Option<String> {
        let scheme = match self.role.reach {
            Reach::Url { .. } => "http",
            Reach::Lockfile { .. } | Reach::Seeks { .. } => "ws",
        };
        self.address.map(|address| format!("{scheme}://{address}{}", self.path))
    }

    /// The environment variables that lead a client to the proxy.
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut variables = vec![("WIRECERT_EDITION".to_owned(), self.edition.id().to_owned())];
        if let (Some(address), Some(url)) = (self.address, self.url()) {
            variables.push(("WIRECERT_URL".to_owned(), url));
            variables.push(("WIRECERT_PORT".to_owned(), address.port().to_string()));
            variables.push(("PORT".to_owned(), address.port().to_string()));
        }
        variables.extend(self.data_home_variables());
        variables
    }

    /// The variables of [`Recording::environment`] without which a client does not find the proxy.
    pub fn data_home_variables(&self) -> Vec<(String, String)> {
        let Listeners::Mirrored { data_home, home, .. } = &self.listeners else { return vec![] };
        let names = self.role.reach.data_home().iter().copied().chain(["XDG_DATA_HOME"]);
        let mut variables: Vec<(String, String)> =
            names.map(|name| (name.to_owned(), data_home.display().to_string())).collect();
        variables.extend(home.iter().map(|home| ("HOME".to_owned(), home.display().to_string())));
        variables
    }

    /// The values of the placeholders in a client's command.
    pub fn placeholders(&self) -> Vec<(&'static str, String)> {
        let mut placeholders = vec![("edition", self.edition.id().to_owned())];
        if let (Some(address), Some(url)) = (self.address, self.url()) {
            placeholders.extend([("port", address.port().to_string()), ("url", url)]);
        }
        if let Listeners::Mirrored { data_home, .. } = &self.listeners {
            placeholders.push(("data_home", data_home.display().to_string()));
        }
        placeholders
    }

    /// Ends the recording: writes the pending events and the end of the trace. Where files in the data home made for
    /// the client cannot be moved to the real one, their folder stays; returns that folder and the files.
    pub async fn end(self) -> Option<(PathBuf, Vec<PathBuf>)> {
        self.writer.finish().await;
        let Listeners::Mirrored { mirroring, folder, overlays, .. } = self.listeners else { return None };
        mirroring.abort();
        let left: Vec<PathBuf> = overlays.iter().flat_map(HomeOverlay::move_back).collect();
        (!left.is_empty()).then(|| (folder.keep(), left))
    }
}

/// Makes a data home for clients, and mirrors the lockfiles of servers into it.
async fn mirror_lockfiles(
    reach: &Reach,
    edition: &'static dyn Edition,
    lockfiles: Lockfiles,
    recorder: &Recorder,
    tap: &TapHandle,
) -> Result<(Listeners, Option<SocketAddr>), RecordError> {
    let below = match reach {
        Reach::Lockfile { folder, .. } => *folder,
        Reach::Seeks { .. } | Reach::Url { .. } => "",
    };
    let temporary = tempfile::Builder::new().prefix("wirecert-record-").tempdir().map_err(RecordError::System)?;
    let root = temporary.path().canonicalize().map_err(RecordError::System)?;
    let cannot = |folder: &Path| {
        let folder = folder.to_owned();
        move |source| RecordError::DataHome { folder, source }
    };
    let real = lockfiles.homes.last().cloned().unwrap_or_default();
    let data_home = root.join("data");
    let overlay = HomeOverlay::make(&real, &data_home, below).map_err(cannot(&data_home))?;
    let own = overlay.own().to_owned();
    let mut overlays = vec![overlay];
    let mut home = None;
    if let Some(real) = &lockfiles.home {
        let folder = root.join("home");
        let overlay = HomeOverlay::make(real, &folder, ".local/share").map_err(cannot(&folder))?;
        // The same data home, whether a client finds it by HOME or by XDG_DATA_HOME.
        std::fs::remove_dir(overlay.own()).map_err(cannot(&folder))?;
        std::os::unix::fs::symlink(&data_home, overlay.own()).map_err(cannot(&folder))?;
        overlays.push(overlay);
        home = Some(folder);
    }
    let Lockfiles { homes, workspace, .. } = lockfiles;
    let mirror = LockfileMirror::new(reach, edition, &homes, &own, workspace, recorder.clone(), tap.clone());
    let mut mirror = mirror.ok_or_else(|| RecordError::System(io::Error::other("such servers leave no lockfiles")))?;
    mirror.scan().await;
    let first = mirror.proxy_addresses().next();
    let mirroring = tokio::spawn(mirror.run());
    Ok((Listeners::Mirrored { mirroring, folder: temporary, overlays, data_home, home }, first))
}

/// How long a client may take to end, before a stronger signal is sent.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// How long the processes that it leaves behind may take to be gone.
const DESCENDANTS_TIMEOUT: Duration = Duration::from_secs(2);

/// Why a client could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start `{command}`: {source}")]
pub struct ClientError {
    /// The program that was to run.
    pub command: String,
    /// The error of the system.
    pub source: io::Error,
}

/// A running client process.
pub struct Client {
    child: Child,
    pid: u32,
    descendants: Descendants,
    stop_requested: bool,
}

impl Client {
    /// Starts a command as a client of a recording, with its placeholders replaced and the variables that lead it to
    /// the proxy, in `folder` or else in the current folder.
    ///
    /// # Errors
    /// The command cannot be run.
    pub fn start(recording: &Recording, command: &[String], folder: Option<&Path>) -> Result<Self, ClientError> {
        let placeholders = recording.placeholders();
        let placeholder = |name: &str| placeholders.iter().find(|(n, _)| *n == name).map(|(_, value)| value.clone());
        let command: Vec<String> = command.iter().map(|word| fill(word, &placeholder)).collect();
        let (program, arguments) = command.split_first().map_or(("", &[][..]), |(p, a)| (p.as_str(), a));
        let mut prepared = Command::new(program);
        prepared.args(arguments).envs(recording.environment()).kill_on_drop(true);
        if let Some(folder) = folder {
            prepared.current_dir(folder);
            // Only an absolute path says where it is.
            if let Ok(folder) = std::path::absolute(folder) {
                prepared.env("PWD", folder);
            }
        }
        let child = prepared.spawn().map_err(|source| ClientError { command: program.to_owned(), source })?;
        let pid = child.id().unwrap_or_default();
        recording.record(EventKind::Launched(Launched { command, pid }));
        Ok(Self { child, pid, descendants: Descendants::of(pid), stop_requested: false })
    }

    /// Waits for the end of the client, and records it.
    pub async fn ended(&mut self, recording: &Recording) -> Exited {
        let status = self.child.wait().await.ok();
        let signal = status.as_ref().and_then(std::os::unix::process::ExitStatusExt::signal);
        let code = status.as_ref().and_then(ExitStatus::code);
        let exited = Exited { pid: self.pid, code, signal, asked: self.stop_requested };
        recording.record(EventKind::Exited(exited.clone()));
        exited
    }

    /// Ends the client: waits a little where it was `signalled` already, as by Ctrl-C in its terminal; then sends
    /// SIGTERM; then SIGKILL. Processes that it started and leaves behind are killed.
    pub async fn end(&mut self, recording: &Recording, signalled: bool) -> Exited {
        self.stop_requested = true;
        let signals = [None, Some(Signal::TERM), Some(Signal::KILL)];
        for signal in signals.into_iter().skip(usize::from(!signalled)) {
            self.descendants.note();
            let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
            if let (Some(signal), Some(pid)) = (signal, pid) {
                // Fails only where it has ended.
                let _ = kill_process(pid, signal);
            }
            if let Ok(exited) = timeout(STOP_TIMEOUT, self.ended(recording)).await {
                self.descendants.kill(DESCENDANTS_TIMEOUT);
                return exited;
            }
        }
        let exited = self.ended(recording).await;
        self.descendants.kill(DESCENDANTS_TIMEOUT);
        exited
    }
}

/// Judges a trace while it is recorded, and reports each finding at once as a line: time, end, requirement, message.
///
/// Clones share the findings: give one to a recorder, and query the other afterwards.
#[derive(Clone)]
pub struct LiveJudge(Arc<Mutex<LiveState>>);

struct LiveState {
    recorded: Recorded,
    reported: usize,
    catalogue: &'static [Requirement],
    report: Box<dyn FnMut(&str) + Send>,
}

impl LiveJudge {
    /// A judge by the rules of an edition. `report` gets each line, without its line end.
    pub fn new(
        protocol: &Protocol,
        edition: &'static dyn Edition,
        header: &Header,
        report: impl FnMut(&str) + Send + 'static,
    ) -> Self {
        let recorded = Recorded::new(edition).of(header);
        let catalogue = (protocol.requirements)();
        Self(Arc::new(Mutex::new(LiveState { recorded, reported: 0, catalogue, report: Box::new(report) })))
    }

    /// Gives access to the findings so far.
    pub fn with<T>(&self, look: impl FnOnce(&Recorded) -> T) -> T {
        look(&self.state().recorded)
    }

    fn state(&self) -> MutexGuard<'_, LiveState> {
        self.0.lock()
    }
}

impl Sink for LiveJudge {
    fn event(&mut self, event: &Arc<Event>) {
        let mut state = self.state();
        state.recorded.event(event);
        state.report_new();
    }

    fn end(&mut self) {
        let mut state = self.state();
        state.recorded.end(false);
        state.report_new();
    }
}

impl LiveState {
    fn report_new(&mut self) {
        let found = self.recorded.found();
        for found in &found[self.reported..] {
            let line = line(found, self.recorded.now(), self.catalogue);
            (self.report)(&line);
        }
        self.reported = found.len();
    }
}

/// A finding as a line; `now` in microseconds of the trace.
fn line(found: &RawFinding, now: u64, catalogue: &[Requirement]) -> String {
    let who = match found.fault {
        FaultOwner::End(End::Client) => "client",
        FaultOwner::End(End::Server) => "server",
        FaultOwner::Environment => "environment",
    };
    let id = found.requirement.unwrap_or_default();
    let level = catalogue.iter().find(|r| r.id == id).map_or("", |r| r.level.as_str());
    let message: String = found.message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let at = found.index.map(|index| format!(" (event {index})")).unwrap_or_default();
    format!("{:>9.3} s  {who:<6}  {level:<6}  {id}  {message}{at}", now as f64 / 1e6)
}
