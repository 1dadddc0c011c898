//! Copies of the lockfiles of running servers, with the ports of our proxy: a [`LockfileMirror`] keeps them in the data home
//! that is made for a client.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::net::TcpListener;

use crate::atomic_file::{self, Readable};
use crate::protocol::{Edition, Lock, Protocol, Reach};
use crate::subject::read_bounded;
use crate::trace::{EventKind, FileChange, Mark, Payload, Recorder};
use crate::wire::tcp::Address;

use super::proxy::ProxyListener;
use super::trace_writer::TapHandle;

/// The interval between two scans.
const SCAN_INTERVAL: Duration = Duration::from_millis(20);
/// How many lockfiles are read at most.
const MAX_LOCKFILES: usize = 256;

/// Mirrors folders of lockfiles into one of ours. Dropping it leaves all files as they are.
pub struct LockfileMirror {
    /// The folders in which servers leave their lockfiles.
    sources: Vec<PathBuf>,
    /// Our folder.
    own: PathBuf,
    /// If set, only servers of this workspace are mirrored.
    workspace: Option<PathBuf>,
    edition: &'static dyn Edition,
    port_key: &'static str,
    recorder: Recorder,
    tap: TapHandle,
    seen: BTreeMap<PathBuf, MirroredLockfile>,
}

/// A lockfile that was seen.
struct MirroredLockfile {
    stamp: FileStamp,
    /// The path of our copy; none where there is none, or where it has been removed.
    copy: Option<PathBuf>,
    /// The port of the server, and the proxy to it.
    proxy: Option<(u16, ProxyListener)>,
}

/// Identifies one state of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    size: u64,
    inode: u64,
}

impl LockfileMirror {
    /// Mirrors the lockfiles below these data homes into `own`. None where servers of this reach leave no lockfiles.
    pub fn new(
        reach: &Reach,
        edition: &'static dyn Edition,
        homes: &[PathBuf],
        own: &Path,
        workspace: Option<PathBuf>,
        recorder: Recorder,
        tap: TapHandle,
    ) -> Option<Self> {
        let Reach::Lockfile { folder, port_key, .. } = reach else { return None };
        Some(Self {
            sources: homes.iter().map(|home| home.join(folder)).collect(),
            own: own.to_owned(),
            workspace,
            edition,
            port_key,
            recorder,
            tap,
            seen: BTreeMap::new(),
        })
    }

    /// Scans until the future is dropped.
    pub async fn run(mut self) {
        let mut ticks = tokio::time::interval(SCAN_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.scan().await;
        }
    }

    /// Scans the folders once.
    pub async fn scan(&mut self) {
        let files = files(&self.sources);
        let gone: Vec<PathBuf> =
            self.seen.keys().filter(|path| !files.iter().any(|(p, _)| p == *path)).cloned().collect();
        for path in gone {
            if let Some(seen) = self.seen.remove(&path) {
                self.record_file(&path, "removed", None);
                // A client may have removed it already.
                let _ = seen.copy.map(fs::remove_file);
            }
        }
        for (path, stamp) in files {
            match self.seen.get_mut(&path) {
                Some(seen) if seen.stamp == stamp => {
                    if let Some(copy) = seen.copy.take_if(|copy| !copy.exists()) {
                        self.record_file(&copy, "removed", None);
                    }
                }
                before => {
                    let (copy, proxy) = before.map_or((None, None), |seen| (seen.copy.take(), seen.proxy.take()));
                    self.mirror(path, stamp, copy, proxy).await;
                }
            }
        }
    }

    /// The addresses of the proxies.
    pub fn proxy_addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.seen.values().filter_map(|seen| seen.proxy.as_ref().map(|(_, proxy)| proxy.local()))
    }

    /// Mirrors a file that is new or has changed.
    async fn mirror(
        &mut self,
        path: PathBuf,
        stamp: FileStamp,
        before: Option<PathBuf>,
        proxy: Option<(u16, ProxyListener)>,
    ) {
        let Ok((content, _)) = read_bounded(&path) else {
            // Removed again, or not readable.
            self.seen.insert(path, MirroredLockfile { stamp, copy: before, proxy });
            return;
        };
        let lock = self.edition.read_lockfile(&content);
        if let Ok(lock) = &lock {
            // Before any of it is recorded.
            self.recorder.add_secret(&lock.token);
        }
        if lock.as_ref().is_ok_and(|lock| !self.concerns_workspace(lock)) {
            self.seen.insert(path, MirroredLockfile { stamp, copy: None, proxy: None });
            return;
        }
        self.record_file(&path, "read", Some(&content));
        let (text, name, proxy) = match lock {
            Ok(lock) => {
                let proxy = match proxy {
                    Some((port, proxy)) if port == lock.port => Some((port, proxy)),
                    _ => self.open_proxy(lock.port).await,
                };
                let Some((port, proxy)) = proxy else {
                    self.seen.insert(path, MirroredLockfile { stamp, copy: before, proxy: None });
                    return;
                };
                let text = with_port(&content, self.port_key, proxy.local().port());
                // A lockfile that is named after its port is named after the port of the proxy.
                let by_port = path.file_stem().is_some_and(|stem| *stem == *port.to_string());
                let name = by_port.then(|| format!("{}.json", proxy.local().port()));
                (text, name, Some((port, proxy)))
            }
            // A broken lockfile is copied as it is.
            Err(_) => (content, None, None),
        };
        let name = name.unwrap_or_else(|| path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        let copy = self.free_copy(&path, &name);
        if let Some(before) = before.filter(|before| *before != copy) {
            let _ = fs::remove_file(before);
        }
        match atomic_file::write(&copy, &text, Readable::ByOwner) {
            Ok(()) => {
                if let Some((port, proxy)) = &proxy {
                    self.record_mark("offered", format!("the server at port {port} is offered at {}", proxy.local()));
                }
                self.seen.insert(path, MirroredLockfile { stamp, copy: Some(copy), proxy });
            }
            Err(e) => {
                self.record_mark("unoffered", format!("{} cannot be written: {e}", copy.display()));
                self.seen.insert(path, MirroredLockfile { stamp, copy: None, proxy });
            }
        }
    }

    /// Where a copy of this name goes. Two data homes may have a file of the same name.
    fn free_copy(&self, path: &Path, name: &str) -> PathBuf {
        let taken =
            |copy: &PathBuf| self.seen.iter().any(|(other, seen)| other != path && seen.copy.as_ref() == Some(copy));
        let numbered = (1..).map(|n| self.own.join(format!("{n}-{name}")));
        let mut candidates = std::iter::once(self.own.join(name)).chain(numbered);
        candidates.find(|copy| !taken(copy)).unwrap_or_else(|| self.own.join(name))
    }

    /// Whether a server belongs to the workspace. A server that names no folder may.
    fn concerns_workspace(&self, lock: &Lock) -> bool {
        let Some(workspace) = &self.workspace else { return true };
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let wanted = real(workspace);
        lock.folders.is_empty()
            || lock
                .folders
                .iter()
                .map(|folder| real(Path::new(folder)))
                .any(|folder| folder.starts_with(&wanted) || wanted.starts_with(&folder))
    }

    /// Opens a proxy to the server at a port.
    async fn open_proxy(&self, port: u16) -> Option<(u16, ProxyListener)> {
        let opened = match listen(self.edition.ports()).await {
            Ok(listener) => ProxyListener::open(listener, Address::new("localhost", port), self.tap.clone()),
            Err(e) => Err(e),
        };
        match opened {
            Ok(proxy) => Some((port, proxy)),
            Err(e) => {
                self.record_mark("unoffered", format!("no port for the server at port {port}: {e}"));
                None
            }
        }
    }

    fn record_file(&self, path: &Path, change: &str, content: Option<&[u8]>) {
        let content = content.map(Payload::from);
        let path = path.display().to_string();
        self.tap.event(EventKind::File(FileChange { path, change: change.to_owned(), content }));
    }

    fn record_mark(&self, mark: &str, text: String) {
        self.tap.event(EventKind::Mark(Mark { mark: mark.to_owned(), text }));
    }
}

/// The edition of the servers that run now, according to their lockfiles: the first edition of the protocol in which a
/// lockfile is valid. None where there is no such edition.
pub fn edition_of(protocol: &Protocol, reach: &Reach, homes: &[PathBuf]) -> Option<&'static dyn Edition> {
    let Reach::Lockfile { folder, .. } = reach else { return None };
    let sources: Vec<PathBuf> = homes.iter().map(|home| home.join(folder)).collect();
    let contents: Vec<Vec<u8>> =
        files(&sources).into_iter().filter_map(|(path, _)| Some(read_bounded(&path).ok()?.0)).collect();
    let reads = |edition: &&dyn Edition| contents.iter().any(|content| edition.read_lockfile(content).is_ok());
    protocol.editions.iter().copied().find(reads)
}

/// The lockfiles in some folders.
fn files(folders: &[PathBuf]) -> Vec<(PathBuf, FileStamp)> {
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let mut files: Vec<(PathBuf, FileStamp)> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| {
            let meta = fs::metadata(&path).ok();
            let (modified, size) =
                (meta.as_ref().and_then(|m| m.modified().ok()), meta.as_ref().map_or(0, |m| m.len()));
            (path, FileStamp { modified, size, inode: meta.map_or(0, |m| m.ino()) })
        })
        .take(MAX_LOCKFILES)
        .collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files
}

/// Listens at a free port of 127.0.0.1: if possible, one of `ports`.
async fn listen(ports: Option<RangeInclusive<u16>>) -> io::Result<TcpListener> {
    for port in ports.into_iter().flatten() {
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            return Ok(listener);
        }
    }
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await
}

/// The content of a lockfile with another port in it.
fn with_port(content: &[u8], key: &str, port: u16) -> Vec<u8> {
    match serde_json::from_slice(content) {
        Ok(serde_json::Value::Object(mut keys)) => {
            keys.insert(key.to_owned(), port.into());
            serde_json::Value::Object(keys).to_string().into_bytes()
        }
        _ => content.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use crate::record::trace_writer::{PassedTraffic, TraceWriter};

    use super::*;

    #[tokio::test]
    async fn lockfiles_of_one_name_in_two_data_homes_are_both_copied() {
        let dir = tempfile::tempdir().unwrap();
        let (homes, own) = (["a", "b"].map(|home| dir.path().join(home)), dir.path().join("own"));
        let (protocol, role) = crate::protocol::role("amp-server").unwrap();
        let (edition, reach) = (protocol.default_edition(), &role.reach);
        fs::create_dir_all(&own).unwrap();
        for home in &homes {
            fs::create_dir_all(home.join("amp/ide")).unwrap();
            fs::write(home.join("amp/ide/8000.json"), home.display().to_string()).unwrap();
        }
        let recorder = Recorder::new(crate::trace::Clock::start(), vec![]);
        let (_writer, tap) = TraceWriter::start(&recorder, PassedTraffic::WebSocket).unwrap();
        let mut mirror = LockfileMirror::new(reach, edition, &homes, &own, None, recorder, tap).unwrap();
        mirror.scan().await;
        let copies = fs::read_dir(&own).unwrap().map(|copy| fs::read_to_string(copy.unwrap().path()).unwrap());
        let sources: std::collections::BTreeSet<String> = homes.iter().map(|home| home.display().to_string()).collect();
        assert_eq!(copies.collect::<std::collections::BTreeSet<_>>(), sources);
    }
}
