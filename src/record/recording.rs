//! [`Recording`]: starts the proxy and the trace writer, tells clients the address, and ends both.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::protocol::{Edition, Reach, Role};
use crate::trace::{EventKind, Recorder};
use crate::wire::tcp::{self, Address};

use super::data_home::{HomeOverlay, Mirror};
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
    let mirror = Mirror::new(reach, edition, &homes, &own, workspace, recorder.clone(), tap.clone());
    let mut mirror = mirror.ok_or_else(|| RecordError::System(io::Error::other("such servers leave no lockfiles")))?;
    mirror.scan().await;
    let first = mirror.proxy_addresses().next();
    let mirroring = tokio::spawn(mirror.run());
    Ok((Listeners::Mirrored { mirroring, folder: temporary, overlays, data_home, home }, first))
}
