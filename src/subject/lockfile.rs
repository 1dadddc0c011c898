//! Finding a server through its lockfiles: the right one among torn, stale, wrong and many.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::net::TcpStream;
use tokio::time::timeout;

use serde_json::Value;

use crate::config::SubjectSpec;
use crate::protocol::{Edition, Lock, Reach};

/// The largest lockfile that is read, in bytes.
const MAX_SIZE: u64 = 1024 * 1024;
/// The longest token, in bytes: no head of a request has room for more than a few times that, and searching all that is
/// recorded for a token takes the longer the longer it is.
const MAX_TOKEN: usize = 8 * 1024;
/// How many lockfiles of a folder are looked at.
const MAX_FILES: usize = 4096;
/// How long one attempt to connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// A lockfile that a client would use.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    pub(super) content: Vec<u8>,
    pub(super) lock: Lock,
    /// The editions whose clients would use it.
    pub(super) editions: Vec<&'static dyn Edition>,
    modified: SystemTime,
}

/// What was found of one lockfile.
#[derive(Clone, Debug)]
pub(super) enum LockfileStatus {
    /// The lockfile is usable.
    Usable(Box<Candidate>),
    /// A client would ignore it, and why; its content, where it could be read.
    Useless { why: String, content: Option<Vec<u8>> },
}

/// Tells one state of a file from another.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    size: u64,
    inode: u64,
}

/// The subject's lockfile as it is now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockfileState {
    /// Whether it is there.
    pub exists: bool,
    /// The name of the lockfile.
    pub name: Option<String>,
    /// The JSON of the lockfile, where it parses.
    pub content: Option<Value>,
    /// Whether the process runs whose id its `pid` is; none where there is no such number.
    pub running: Option<bool>,
    /// Where the nearest of the folders that it names lies, seen from the workspace: `same`, `around`, `inside`,
    /// `relative` or `elsewhere`; none where it names no folder, or we know no workspace.
    pub folder: Option<&'static str>,
}

/// The folders in which a subject's lockfile may be, and what was seen there; by default there are none.
#[derive(Default)]
pub(super) struct LockfileWatcher {
    folders: Vec<PathBuf>,
    editions: Vec<&'static dyn Edition>,
    /// What was there before, and is none of the subject's as long as it stays as it is.
    before: HashMap<PathBuf, FileStamp>,
    seen: BTreeMap<PathBuf, (FileStamp, LockfileStatus)>,
    /// How many files there were beyond the bound.
    more: usize,
}

impl LockfileWatcher {
    /// Looks into the role's folder below each of these data homes.
    pub(super) fn new(spec: &SubjectSpec, data_homes: &[PathBuf]) -> Self {
        // Others write none.
        let Reach::Lockfile { folder, .. } = spec.role.reach else { return Self::default() };
        let mut folders: Vec<PathBuf> = vec![];
        for home in data_homes {
            let folder = home.join(folder);
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        Self { folders, editions: super::ready::editions(spec), ..Self::default() }
    }

    /// The editions that it may speak.
    pub(super) fn editions(&self) -> &[&'static dyn Edition] {
        &self.editions
    }

    /// Takes what is there now as none of the subject's.
    pub(super) fn ignore_present(&mut self) {
        self.before = self.files().into_iter().collect();
    }

    /// The folders, for people.
    pub(super) fn place(&self) -> String {
        self.folders.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(" or ")
    }

    /// Looks again. Files that have not changed are not read again.
    pub(super) fn look(&mut self) {
        let files = self.files();
        // They are sorted.
        self.seen.retain(|path, _| files.binary_search_by(|(p, _)| p.cmp(path)).is_ok());
        for (path, stamp) in files {
            if self.before.get(&path) == Some(&stamp) || self.seen.get(&path).is_some_and(|(s, _)| *s == stamp) {
                continue;
            }
            let found = self.examine(&path);
            self.seen.insert(path, (stamp, found));
        }
    }

    /// Those that a client would use, best first: those of `is_member`'s processes, those that name no process, those
    /// of a live one, the others; the newest first among equals. Only the best class is given.
    pub(super) fn candidates(&self, is_member: impl Fn(u32) -> bool, is_alive: impl Fn(u32) -> bool) -> Vec<Candidate> {
        let rank = |candidate: &Candidate| match candidate.lock.pid {
            Some(pid) if is_member(pid) => 3,
            None => 2,
            Some(pid) if is_alive(pid) => 1,
            Some(_) => 0,
        };
        let mut ranked: Vec<(u8, Candidate)> = self.usable().map(|c| (rank(c), c.clone())).collect();
        let best = ranked.iter().map(|(rank, _)| *rank).max().unwrap_or_default();
        ranked.retain(|(rank, _)| *rank == best);
        ranked.sort_by_key(|(_, candidate)| std::cmp::Reverse(candidate.modified));
        ranked.into_iter().map(|(_, candidate)| candidate).collect()
    }

    /// Every one that a client would use.
    pub(super) fn usable(&self) -> impl Iterator<Item = &Candidate> {
        self.seen
            .values()
            .filter_map(|(_, found)| if let LockfileStatus::Usable(c) = found { Some(&**c) } else { None })
    }

    /// The content of every one that was seen, whether of use or not, up to a bound. Of those that name a process only where
    /// it `is_member`.
    pub(super) fn contents(&self, is_member: impl Fn(u32) -> bool) -> impl Iterator<Item = (&Path, Option<&[u8]>)> {
        self.seen.iter().take(16).filter_map(move |(path, (_, found))| match found {
            LockfileStatus::Usable(candidate) if candidate.lock.pid.is_some_and(|pid| !is_member(pid)) => None,
            LockfileStatus::Usable(candidate) => Some((path.as_path(), Some(candidate.content.as_slice()))),
            LockfileStatus::Useless { content, .. } => Some((path.as_path(), content.as_deref())),
        })
    }

    /// What was seen, one fact each, for people: "lockfile 8123.json: `port` is a string".
    pub(super) fn facts(&self) -> Vec<String> {
        const SHOWN: usize = 5;
        let mut facts: Vec<String> = vec![];
        for (path, (_, found)) in self.seen.iter().take(SHOWN) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            facts.push(match found {
                LockfileStatus::Useless { why, .. } => format!("lockfile {name} is there but: {why}"),
                LockfileStatus::Usable(c) => {
                    format!("lockfile {name} is there but nothing accepts at port {}", c.lock.port)
                }
            });
        }
        let hidden = self.seen.len().saturating_sub(SHOWN) + self.more;
        if hidden > 0 {
            facts.push(format!("and {hidden} more lockfiles"));
        }
        if !self.before.is_empty() {
            facts.push(format!("{} older lockfiles were passed over: they were there before", self.before.len()));
        }
        facts
    }

    /// Reads one.
    pub(super) fn examine(&self, path: &Path) -> LockfileStatus {
        let (content, modified) = match read_bounded(path) {
            Ok(read) => read,
            Err(why) => return LockfileStatus::Useless { why: why.to_string(), content: None },
        };
        let mut editions = vec![];
        let mut lock = None;
        let mut why = String::new();
        for edition in &self.editions {
            match edition.read_lockfile(&content) {
                Ok(read) => {
                    editions.push(*edition);
                    lock.get_or_insert(read);
                }
                Err(reason) if why.is_empty() => why = reason,
                Err(_) => {}
            }
        }
        match lock {
            Some(lock) if lock.token.len() > MAX_TOKEN => {
                LockfileStatus::Useless { why: "its token is longer than 8 KiB".to_owned(), content: Some(content) }
            }
            Some(lock) => {
                LockfileStatus::Usable(Box::new(Candidate { path: path.to_owned(), content, lock, editions, modified }))
            }
            None => LockfileStatus::Useless { why, content: Some(content) },
        }
    }

    fn files(&mut self) -> Vec<(PathBuf, FileStamp)> {
        let mut files = vec![];
        self.more = 0;
        for folder in &self.folders {
            let Ok(entries) = fs::read_dir(folder) else { continue };
            for entry in entries.flatten() {
                let path = entry.path();
                if path.extension().is_none_or(|e| e != "json") {
                    continue;
                }
                if files.len() == MAX_FILES {
                    self.more += 1;
                    continue;
                }
                let meta = fs::metadata(&path).ok();
                files.push((path, stamp(meta.as_ref())));
            }
        }
        files.sort_by(|a, b| a.0.cmp(&b.0));
        files
    }
}

fn stamp(meta: Option<&Metadata>) -> FileStamp {
    FileStamp {
        modified: meta.and_then(|m| m.modified().ok()),
        size: meta.map_or(0, Metadata::len),
        inode: meta.map_or(0, MetadataExt::ino),
    }
}

/// Reads a regular file of sane size, never waiting for a writer.
pub(crate) fn read_bounded(path: &Path) -> io::Result<(Vec<u8>, SystemTime)> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut content = vec![];
    file.take(MAX_SIZE + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_SIZE {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok((content, meta.modified()?))
}

/// Where the nearest of these folders lies, seen from a workspace: it is the `same`, lies `around` it or `inside` it, is
/// `relative`, so that it stands for another folder in each process that reads it, or lies `elsewhere`. Links are followed as
/// far as paths exist, and whole names are compared. A URI is no path, and names nothing here. None where there are no folders.
pub(super) fn nearest(folders: &[String], workspace: &Path) -> Option<&'static str> {
    const NEAREST_FIRST: [&str; 5] = ["same", "around", "inside", "relative", "elsewhere"];
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let workspace = real(workspace);
    let place = |folder: &String| {
        let path = Path::new(folder);
        match real(path) {
            _ if folder.contains("://") => 4,
            _ if !path.is_absolute() => 3,
            real if real == workspace => 0,
            real if workspace.starts_with(&real) => 1,
            real if real.starts_with(&workspace) => 2,
            _ => 4,
        }
    };
    folders.iter().map(place).min().map(|place| NEAREST_FIRST[place])
}

/// Whether a program accepts connections at this port of the loopback interface.
pub(super) async fn accepts(port: u16) -> bool {
    let addresses: [SocketAddr; 2] = [(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()];
    for address in addresses {
        if matches!(timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await, Ok(Ok(_))) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_of_several_folders_counts_by_whichever_path_it_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        fs::create_dir_all(path("w/inner")).unwrap();
        fs::create_dir(path("w-2")).unwrap();
        std::os::unix::fs::symlink(path("w"), path("link")).unwrap();
        let workspace = PathBuf::from(path("w"));
        let nearest = |folders: &[&str]| {
            let folders: Vec<String> = folders.iter().map(|folder| (*folder).to_owned()).collect();
            super::nearest(&folders, &workspace)
        };
        assert_eq!(nearest(&[]), None);
        for same in [path("w"), path("w/"), path("link"), path("w/../w/.")] {
            assert_eq!(nearest(&[&same]), Some("same"), "{same}");
        }
        assert_eq!(nearest(&["/"]), Some("around"));
        assert_eq!(nearest(&[&format!("{}/", dir.path().display())]), Some("around"));
        assert_eq!(nearest(&[&path("w/inner")]), Some("inside"));
        assert_eq!(nearest(&[&path("w/not-there-yet")]), Some("inside"));
        for other in [path("w-2"), format!("file://{}", path("w")), "/somewhere/else".to_owned()] {
            assert_eq!(nearest(&[&other]), Some("elsewhere"), "{other}");
        }
        for relative in [".", ""] {
            assert_eq!(nearest(&[relative]), Some("relative"), "{relative}");
        }
        assert_eq!(nearest(&["/", &path("w-2"), &path("w")]), Some("same"));
    }
}
