//! A recording from its beginning to its end: [`Recording`].

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::protocol::{Reach, Role};
use crate::trace::{EventKind, Recorder};
use crate::wire::tcp::{self, Address};

use super::data_home::{HomeOverlay, Mirror};
use super::proxy::ProxyListener;
use super::trace_writer::{PassedTraffic, TapHandle, TraceWriter};

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The folder for the client cannot be made.
    #[error("cannot make a data home for the client in {}: {source}", folder.display())]
    DataHome {
        /// Where.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The machine is in the way.
    #[error("cannot begin to record: {0}")]
    System(io::Error),
}

/// How the two ends are brought together.
#[derive(Clone, Debug)]
pub enum Rendezvous {
    /// The server is found through its lockfile.
    Lockfiles(Lockfiles),
    /// The client is told an address.
    Url {
        /// Where we listen; a port of 0 is any free one.
        listen: SocketAddr,
        /// Where the server is.
        upstream: Address,
        /// The path of the server's URL, which clients get as it is.
        path: String,
    },
}

/// Where lockfiles are, and what of them counts.
#[derive(Clone, Debug)]
pub struct Lockfiles {
    /// The data homes in which servers leave them, the strongest first; at least one.
    pub homes: Vec<PathBuf>,
    /// The user's home folder, where the client is to get another one, too.
    pub home: Option<PathBuf>,
    /// Only servers that have to do with this folder.
    pub workspace: Option<PathBuf>,
}

/// A recording that is under way.
pub struct Recording {
    role: &'static Role,
    edition: &'static str,
    writer: TraceWriter,
    ear: TapHandle,
    doors: ProxyListeners,
    /// What is replaced in the client's command.
    address: Option<SocketAddr>,
    path: String,
}

/// Where clients come in.
enum ProxyListeners {
    One {
        _door: ProxyListener,
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
    /// Begins, for servers of a role. When it returns, clients can come in.
    ///
    /// # Errors
    /// The address cannot be listened on, or the data home for the client cannot be made.
    pub async fn start(
        role: &'static Role,
        edition: &'static str,
        way: Rendezvous,
        recorder: &Recorder,
    ) -> Result<Self, RecordError> {
        let carried = match way {
            Rendezvous::Lockfiles(_) => PassedTraffic::WebSocket,
            Rendezvous::Url { .. } => PassedTraffic::Http,
        };
        let (writer, ear) = TraceWriter::start(recorder, carried).map_err(RecordError::System)?;
        let (doors, address, path) = match way {
            Rendezvous::Url { listen, upstream, path } => {
                let cannot = |source| RecordError::Listen { address: listen, source };
                let listener = tcp::listen(listen).map_err(cannot)?;
                let door = ProxyListener::open(listener, upstream, ear.clone()).map_err(RecordError::System)?;
                let local = door.local();
                (ProxyListeners::One { _door: door }, Some(local), path)
            }
            Rendezvous::Lockfiles(lockfiles) => {
                let (doors, first) = mirrored(&role.reach, edition, lockfiles, recorder, &ear).await?;
                (doors, first, String::new())
            }
        };
        Ok(Self { role, edition, writer, ear, doors, address, path })
    }

    /// Records something that belongs to no connection.
    pub fn record(&self, what: EventKind) {
        self.ear.event(what);
    }

    /// Where clients come in, where that is known: of a server found through its lockfile, only if it runs by now.
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

    /// The variables that lead a client to us.
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut variables = vec![("WIRECERT_EDITION".to_owned(), self.edition.to_owned())];
        if let (Some(address), Some(url)) = (self.address, self.url()) {
            variables.push(("WIRECERT_URL".to_owned(), url));
            variables.push(("WIRECERT_PORT".to_owned(), address.port().to_string()));
            variables.push(("PORT".to_owned(), address.port().to_string()));
        }
        variables.extend(self.data_home_variables());
        variables
    }

    /// Those of them without which a client does not find us.
    pub fn data_home_variables(&self) -> Vec<(String, String)> {
        let ProxyListeners::Mirrored { data_home, home, .. } = &self.doors else { return vec![] };
        let names = self.role.reach.data_home().iter().copied().chain(["XDG_DATA_HOME"]);
        let mut variables: Vec<(String, String)> =
            names.map(|name| (name.to_owned(), data_home.display().to_string())).collect();
        variables.extend(home.iter().map(|home| ("HOME".to_owned(), home.display().to_string())));
        variables
    }

    /// What placeholders in a client's command stand for.
    pub fn places(&self) -> Vec<(&'static str, String)> {
        let mut places = vec![("edition", self.edition.to_owned())];
        if let (Some(address), Some(url)) = (self.address, self.url()) {
            places.extend([("port", address.port().to_string()), ("url", url)]);
        }
        if let ProxyListeners::Mirrored { data_home, .. } = &self.doors {
            places.push(("data_home", data_home.display().to_string()));
        }
        places
    }

    /// Ends: writes what was heard so far, and the end of the trace. Gives the folder that stays, because somebody left
    /// something in the data home made for the client that cannot be put where it belongs, and what.
    pub async fn end(self) -> Option<(PathBuf, Vec<PathBuf>)> {
        self.writer.finish().await;
        let ProxyListeners::Mirrored { mirroring, folder, overlays, .. } = self.doors else { return None };
        mirroring.abort();
        let left: Vec<PathBuf> = overlays.iter().flat_map(HomeOverlay::give_back).collect();
        (!left.is_empty()).then(|| (folder.keep(), left))
    }
}

/// Makes a data home for clients, and mirrors in it what servers there are.
async fn mirrored(
    reach: &Reach,
    edition: &'static str,
    lockfiles: Lockfiles,
    recorder: &Recorder,
    ear: &TapHandle,
) -> Result<(ProxyListeners, Option<SocketAddr>), RecordError> {
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
        // The one data home, whichever way a client looks for it.
        std::fs::remove_dir(overlay.own()).map_err(cannot(&folder))?;
        std::os::unix::fs::symlink(&data_home, overlay.own()).map_err(cannot(&folder))?;
        overlays.push(overlay);
        home = Some(folder);
    }
    let Lockfiles { homes, workspace, .. } = lockfiles;
    let mirror = Mirror::new(reach, edition, &homes, &own, workspace, recorder.clone(), ear.clone());
    let mut mirror = mirror.ok_or_else(|| RecordError::System(io::Error::other("such servers leave no lockfiles")))?;
    mirror.look().await;
    let first = mirror.doors().next();
    let mirroring = tokio::spawn(mirror.run());
    Ok((ProxyListeners::Mirrored { mirroring, folder: temporary, overlays, data_home, home }, first))
}
