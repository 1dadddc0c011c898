//! What a subject's commands find around them: environment, working directory, the meaning of placeholders; for a
//! JavaScript module also the arguments of Node, and what explains why it cannot be loaded.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::net::TcpSocket;

use crate::config::{ALL_PARAMS, CommandLine, Module, RUN_DIR_VARIABLE, SubjectSpec, fill};
use crate::protocol::Reach;

use super::{Start, SubjectError};

/// The variable that marks every process of a subject.
const MARKER: &str = RUN_DIR_VARIABLE;

/// What a subject is told of the terminal that it runs in.
const TERMINAL: &str = "xterm-256color";

/// Surroundings of one launch, or of one subject that was there before.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    /// Variables to set, or to remove.
    variables: BTreeMap<String, Option<String>>,
    placeholders: BTreeMap<&'static str, String>,
    /// Where commands run.
    pub(super) folder: PathBuf,
}

impl Surroundings {
    /// The surroundings of a subject that we start.
    pub(super) fn of_launch(start: &Start<'_>) -> Result<Self, SubjectError> {
        let spec = start.spec;
        let (port, url) = match &start.server {
            Some(server) => (port_of(server).unwrap_or_default(), server.clone()),
            None => {
                let port = free_port()?;
                (port, url(spec, port))
            }
        };
        let placeholders = placeholders(start, port, &url);
        let mut variables = variables(start, port, &url);
        if let Some(launch) = spec.launch() {
            if launch.pty.is_some() {
                variables.insert("TERM".to_owned(), Some(TERMINAL.to_owned()));
            }
            for (name, value) in &launch.env {
                let filled = value.as_ref().map(|v| fill(v, &|name| placeholders.get(name).cloned()));
                variables.insert(name.clone(), filled);
            }
        }
        variables.extend(start.env.clone());
        Ok(Self { variables, placeholders, folder: start.workspace() })
    }

    /// The surroundings of a subject that runs already, at this port: nothing is changed.
    pub(super) fn of_attached(spec: &SubjectSpec, workspace: Option<&Path>, port: u16) -> Self {
        let folder = workspace.map_or_else(|| spec.config_dir.clone(), Path::to_owned);
        let placeholders = BTreeMap::from([
            ("port", port.to_string()),
            ("url", url(spec, port)),
            ("edition", spec.edition.as_str().to_owned()),
            ("config_dir", spec.config_dir.display().to_string()),
            ("workspace", folder.display().to_string()),
            ("wirecert", this_binary()),
        ]);
        Self { variables: BTreeMap::new(), placeholders, folder }
    }

    /// A command with its placeholders replaced.
    pub(super) fn command(&self, template: &CommandLine) -> Vec<String> {
        template.fill(&|name| self.placeholders.get(name).cloned())
    }

    /// The path of the control socket.
    pub(super) fn control_socket(&self, template: &str) -> PathBuf {
        self.folder.join(fill(template, &|name| self.placeholders.get(name).cloned()))
    }

    /// Where a server that we start is to be reached by URL.
    pub(super) fn url(&self, template: Option<&str>) -> String {
        let own = || self.placeholders.get("url").cloned().unwrap_or_default();
        template.map_or_else(own, |template| fill(template, &|name| self.placeholders.get(name).cloned()))
    }

    /// A stimulus's command; its parameters come before our own names. Strings are put in as they are, other values as
    /// JSON, a parameter that is not given as nothing; `{params}` is all of them as one JSON object.
    pub(super) fn stimulus(&self, template: &CommandLine, params: &Map<String, Value>) -> Vec<String> {
        template.fill(&|name| match params.get(name) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(value) => Some(value.to_string()),
            None if name == ALL_PARAMS.0 => serde_json::to_string(params).ok(),
            None => Some(self.placeholders.get(name).cloned().unwrap_or_default()),
        })
    }

    /// The value that a variable has for the subject's processes.
    pub(super) fn variable(&self, name: &str) -> Option<OsString> {
        match self.variables.get(name) {
            Some(value) => value.as_ref().map(OsString::from),
            None => std::env::var_os(name),
        }
    }

    /// `NAME=value` of the variable by which its processes are known.
    pub(super) fn marker(&self) -> String {
        format!("{MARKER}={}", self.variables.get(MARKER).cloned().flatten().unwrap_or_default())
    }

    /// A command ready to be started: environment, working directory, a process group of its own.
    pub(super) fn prepare(&self, command: &[String]) -> tokio::process::Command {
        let mut prepared = self.prepare_in_group(command);
        prepared.process_group(0);
        prepared
    }

    /// The same in our process group, for what begins a group of its own as it starts.
    pub(super) fn prepare_in_group(&self, command: &[String]) -> tokio::process::Command {
        let (program, arguments) = command.split_first().map_or(("", &[][..]), |(p, a)| (p.as_str(), a));
        let mut prepared = tokio::process::Command::new(program);
        // A program may trust the variable more than the system's word for where it is.
        prepared.args(arguments).current_dir(&self.folder).env("PWD", &self.folder);
        for (name, value) in &self.variables {
            match value {
                Some(value) => prepared.env(name, value),
                None => prepared.env_remove(name),
            };
        }
        prepared
    }
}

fn placeholders(start: &Start<'_>, port: u16, url: &str) -> BTreeMap<&'static str, String> {
    let Start { spec, run_dir, .. } = start;
    BTreeMap::from([
        ("port", port.to_string()),
        ("url", url.to_owned()),
        ("workspace", start.workspace().display().to_string()),
        ("run_dir", run_dir.root().display().to_string()),
        ("data_home", run_dir.data_home().display().to_string()),
        ("edition", spec.edition.as_str().to_owned()),
        ("config_dir", spec.config_dir.display().to_string()),
        ("wirecert", this_binary()),
    ])
}

fn variables(start: &Start<'_>, port: u16, url: &str) -> BTreeMap<String, Option<String>> {
    let Start { spec, run_dir, scenario, .. } = start;
    let path = |path: PathBuf| path.display().to_string();
    let data_home = path(run_dir.data_home());
    let mut variables = BTreeMap::from([
        ("HOME", path(run_dir.home())),
        ("XDG_DATA_HOME", data_home.clone()),
        ("XDG_CONFIG_HOME", path(run_dir.config_home())),
        ("XDG_CACHE_HOME", path(run_dir.cache_home())),
        ("XDG_STATE_HOME", path(run_dir.state_home())),
        ("WIRECERT_WORKSPACE", path(start.workspace())),
        (MARKER, path(run_dir.root().to_owned())),
        ("WIRECERT_PORT", port.to_string()),
        ("WIRECERT_URL", url.to_owned()),
        ("WIRECERT_EDITION", spec.edition.as_str().to_owned()),
        ("WIRECERT_SCENARIO", scenario.unwrap_or_default().to_owned()),
        ("PORT", port.to_string()),
    ]);
    let names = spec.role.reach.data_home();
    variables.extend(names.iter().map(|name| (*name, data_home.clone())));
    variables.into_iter().map(|(name, value)| (name.to_owned(), Some(value))).collect()
}

/// The address of a server of this role at a port.
fn url(spec: &SubjectSpec, port: u16) -> String {
    match spec.role.reach {
        Reach::Lockfile { .. } | Reach::Seeks { .. } => format!("ws://127.0.0.1:{port}"),
        Reach::Url { path, .. } => format!("http://127.0.0.1:{port}{path}"),
    }
}

/// The port that a URL names.
fn port_of(url: &str) -> Option<u16> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    authority.rsplit_once(':')?.1.parse().ok()
}

/// The first port that is given to a subject; those below are of well-known services.
const FIRST_PORT: u32 = 10_000;
/// The number of ports that are tried.
const TRIES: u32 = 64;

/// A port that is free at the moment. Until the subject listens there it is not bound; so it is one that the system does
/// not give to programs that request any port, as our own servers do, and no two of ours are the same for long.
fn free_port() -> Result<u16, SubjectError> {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let ports = any_from().saturating_sub(FIRST_PORT);
    for _ in 0..if ports < 1000 { 0 } else { TRIES } {
        // Each process of ours begins elsewhere.
        let at = std::process::id().wrapping_mul(7919).wrapping_add(LAST.fetch_add(1, Ordering::Relaxed)) % ports;
        let port = u16::try_from(FIRST_PORT + at).unwrap_or_default();
        if bind_port(port).is_ok() {
            return Ok(port);
        }
    }
    any_port()
}

/// The first of the ports that the system gives to programs that request any port; 0 where that is not known.
fn any_from() -> u32 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    range.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or_default()
}

fn any_port() -> Result<u16, SubjectError> {
    bind_port(0)
        .and_then(|socket| socket.local_addr())
        .map(|address| address.port())
        .map_err(|e| SubjectError::Unable(format!("could not find a free port on 127.0.0.1: {e}")))
}

/// A socket that is bound to a port and does not listen. A process that another thread starts at this moment holds it, too,
/// until it runs its own program: nobody may take it for a server, and the subject has to be able to listen beside it.
fn bind_port(port: u16) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
    Ok(socket)
}

fn this_binary() -> String {
    std::env::current_exe().map_or_else(|_| "wirecert".to_owned(), |path| path.display().to_string())
}

/// How long a call of a module may take before the response is an error.
const MODULE_CALL_TIMEOUT: Duration = if cfg!(test) { Duration::from_secs(2) } else { Duration::from_secs(60) };
/// The file in which the host reports why it cannot load a module, below the run directory.
const REFUSAL_FILE: &str = "module-refused.json";
/// The most that is read of that, in bytes.
const MAX_REFUSAL: u64 = 1024 * 1024;

/// Why the host cannot respond for a module.
#[derive(Deserialize)]
struct ModuleRefusal {
    problem: String,
    help: String,
}

/// The arguments with which a module's host answers at this port. The host has to lie in the run directory already.
///
/// # Errors
/// [`SubjectError::Module`] where the module is not there.
pub(super) fn module_arguments(module: &Module, port: u16, run_dir: &Path) -> Result<Vec<String>, SubjectError> {
    let refusal = run_dir.join(REFUSAL_FILE);
    // That of an earlier launch.
    let _ = std::fs::remove_file(&refusal);
    let found = std::fs::metadata(&module.path);
    if !found.as_ref().is_ok_and(std::fs::Metadata::is_file) {
        let problem = found.map_or_else(|e| e.to_string(), |_| "it is no file".to_owned());
        let help = "check the path; a module that is made by a build has to be built first".to_owned();
        return Err(module_error(module, problem, help, vec![]));
    }
    let text = |path: &Path| path.display().to_string();
    let mut arguments = vec!["--port".to_owned(), port.to_string(), "--module".to_owned(), text(&module.path)];
    if let Some(settings) = &module.settings {
        arguments.extend(["--settings".to_owned(), text(settings)]);
    }
    arguments.extend([
        "--refusal".to_owned(),
        text(&refusal),
        "--within".to_owned(),
        MODULE_CALL_TIMEOUT.as_millis().to_string(),
    ]);
    Ok(arguments)
}

/// The error of the module, instead of that of the process that was to load it.
pub(super) fn explain_module_error(failed: SubjectError, module: &Module, run_dir: &Path) -> SubjectError {
    match failed {
        SubjectError::NotStarted { source, .. } => {
            let problem = format!("Node, which is to load it, could not be started: {source}");
            let help = "install Node.js 18 or later, so that `node` is in a folder of PATH".to_owned();
            module_error(module, problem, help, vec![])
        }
        SubjectError::Ended { how, output, .. } => {
            let (problem, help) = module_refusal(&run_dir.join(REFUSAL_FILE)).unwrap_or_else(|| {
                let help = "load it by hand: node --input-type=module -e 'await import(\"FILE\")'".to_owned();
                (format!("Node ended while it was loaded: {how}"), help)
            });
            module_error(module, problem, help, output)
        }
        SubjectError::NotReady { within, output, .. } => {
            let problem = format!("it was not loaded within {}", super::error::show(within));
            let help = "if it only needs longer, give it `ready: { within: 60s }` in its subject file".to_owned();
            module_error(module, problem, help, output)
        }
        other => other,
    }
}

fn module_refusal(path: &PathBuf) -> Option<(String, String)> {
    let size = std::fs::metadata(path).ok()?.len();
    let bytes = std::fs::read(path).ok().filter(|_| size <= MAX_REFUSAL)?;
    serde_json::from_slice(&bytes).ok().map(|ModuleRefusal { problem, help }| (problem, help))
}

fn module_error(module: &Module, problem: String, help: String, output: Vec<String>) -> SubjectError {
    SubjectError::Module { path: module.path.clone(), problem, output, help: vec![help] }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn ports_are_free_each_another_one_and_none_that_the_system_gives_away() {
        let ports: HashSet<u16> = (0..200).map(|_| free_port().unwrap()).collect();
        assert_eq!(ports.len(), 200);
        let given_away = any_from();
        if given_away > FIRST_PORT + 1000 {
            assert!(ports.iter().all(|port| (FIRST_PORT..given_away).contains(&u32::from(*port))));
        }
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, free_port().unwrap())).unwrap();
        assert_ne!(free_port().unwrap(), taken.local_addr().unwrap().port());
    }

    #[test]
    fn a_port_that_is_looked_at_accepts_no_connection_and_leaves_the_subject_room() {
        let looked_at = bind_port(0).unwrap();
        let port = looked_at.local_addr().unwrap().port();
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err());
        assert!(
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok(),
            "the standard library shares addresses, as most do"
        );
    }
}
