//! Discovery: which editors there are, by their lockfiles, and which of them is the agent's.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::amp::lockfile::{self, SCANNED_PORTS};
use crate::protocol::{Edition as _, Lock};

use super::deviations::Deviations;

/// How many files of the folder are looked at.
const MAX_FILES: usize = 10_000;
/// How much of one is read, in bytes.
const MAX_SIZE: u64 = 1 << 20;

/// What a client can do otherwise with the lockfiles that it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscoverySwitch {
    /// Without a variable, lockfiles are looked for in `~/.config`.
    IgnoresHome,
    /// `XDG_DATA_HOME` is not heeded.
    IgnoresXdg,
    /// `AMP_DATA_HOME` is not heeded.
    IgnoresAmpDataHome,
    /// An empty `XDG_DATA_HOME` is taken for the working directory.
    TakesEmptyXdg,
    /// A relative `XDG_DATA_HOME` is resolved against the working directory.
    TakesRelativeXdg,
    /// Lockfiles are looked for in `amp`, not in `amp/ide`.
    LooksElsewhere,
    /// Lockfiles that were last modified more than a day ago are taken for leftovers.
    IgnoresOld,
    /// The port is taken from the name of the lockfile.
    PortFromName,
    /// Lockfiles count whose process has ended.
    IgnoresPid,
    /// A lockfile that does not parse keeps it from all others.
    BlockedByTorn,
    /// A lockfile with a key missing or of the wrong type keeps it from all others.
    BlockedByIncomplete,
    /// A lockfile needs no more than a port and a token.
    TakesIncomplete,
    /// A lockfile with a key that it does not know is passed over.
    RefusesExtraKeys,
    /// A file or folder that is no lockfile keeps it from all of them.
    BlockedByForeignFiles,
    /// Only the first lockfile counts.
    FirstOnly,
    /// Only ports from 8000 to 8100 count.
    RangeOnly,
    /// It removes lockfiles of processes that have ended.
    RemovesDead,
}

/// What a client can do otherwise where it chooses an editor by the folders that it has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceSwitch {
    /// It connects to any editor, whatever that has open.
    AnyWorkspace,
    /// An editor with a folder around its own does not count.
    NotAround,
    /// An editor with a folder inside its own does not count.
    NotInside,
    /// Folders are compared letter by letter.
    ComparesTexts,
    /// Of an editor's folders the first one counts.
    FirstFolderOnly,
    /// The editor with the very folder counts no more than those around or inside it.
    ExactNotPreferred,
    /// Links in the paths of folders are not followed.
    LinksNotFollowed,
}

/// Where a client looks for editors.
#[derive(Clone, Debug)]
pub struct SearchScope {
    /// The data home.
    pub data_home: PathBuf,
    /// The folder that the client works in.
    pub workspace: PathBuf,
}

/// A lockfile that counts.
#[derive(Clone, Debug)]
pub struct DiscoveredEditor {
    /// The path of the lockfile.
    pub path: PathBuf,
    /// The content of the lockfile.
    pub lock: Lock,
}

/// The lockfiles of the editors to connect to, in the order in which they are to be tried.
///
/// In `cli` there is one or none: among the editors that are alive, the one that has open what the client works in,
/// else the one that has open a folder around or inside it; where several are left, their user has to choose
/// (docs/amp.md, Choosing an editor). In `guide` every lockfile counts (quick reference, section 1).
pub fn editors(edition: &AmpEdition, scope: &SearchScope, deviations: &Deviations) -> Vec<DiscoveredEditor> {
    let folder = if deviations.has(DiscoverySwitch::LooksElsewhere) { "amp" } else { lockfile::FOLDER };
    let mut found = lockfiles(edition, &scope.data_home.join(folder), deviations);
    if deviations.has(DiscoverySwitch::RangeOnly) {
        found.retain(|f| (SCANNED_PORTS.0..=SCANNED_PORTS.1).contains(&f.lock.port));
    }
    if deviations.has(DiscoverySwitch::FirstOnly) {
        found.truncate(1);
    }
    match edition.lockfile.has("workspaceFolders") && !deviations.has(WorkspaceSwitch::AnyWorkspace) {
        true => choose(edition, found, &scope.workspace, deviations),
        false => found,
    }
}

/// The lockfiles in a folder, by name; those that say nothing of use are left out, and in `cli` those of processes that
/// have ended.
fn lockfiles(edition: &AmpEdition, folder: &Path, deviations: &Deviations) -> Vec<DiscoveredEditor> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let mut paths: Vec<PathBuf> = entries.take(MAX_FILES).filter_map(|entry| entry.ok().map(|e| e.path())).collect();
    paths.sort();
    let mut found = vec![];
    for path in paths {
        let is_lockfile = path.extension().is_some_and(|e| e == "json");
        let content = if is_lockfile { read(&path) } else { None };
        let Some(content) = content else {
            if deviations.has(DiscoverySwitch::BlockedByForeignFiles) {
                return vec![];
            }
            continue;
        };
        if deviations.has(DiscoverySwitch::IgnoresOld) && is_old(&path) {
            continue;
        }
        let lock =
            edition.read_lockfile(&content).or_else(|e| match deviations.has(DiscoverySwitch::TakesIncomplete) {
                true => lockfile::read(&[], &content).map(|lock| Lock { folders: folders(&lock.content), ..lock }),
                false => Err(e),
            });
        let lock = match lock {
            Ok(lock) => lock,
            Err(_) if blocked(&content, deviations) => return vec![],
            Err(_) => continue,
        };
        let alive = !edition.lockfile.has("pid") || deviations.has(DiscoverySwitch::IgnoresPid);
        if alive || lock.pid.is_none_or(is_alive) {
            found.extend(apply_flaws(edition, DiscoveredEditor { path, lock }, deviations));
        } else if deviations.has(DiscoverySwitch::RemovesDead) {
            // Another client may have done so before.
            let _ = std::fs::remove_file(&path);
        }
    }
    found
}

/// Whether a file was last modified more than a day ago.
fn is_old(path: &Path) -> bool {
    let modified = std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let age = modified.and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age > Duration::from_secs(24 * 60 * 60))
}

/// Whether a flaw lets a useless file keep the client from all others.
fn blocked(content: &[u8], deviations: &Deviations) -> bool {
    let torn = serde_json::from_slice::<serde_json::Value>(content).is_err();
    deviations.has(if torn { DiscoverySwitch::BlockedByTorn } else { DiscoverySwitch::BlockedByIncomplete })
}

/// A lockfile as flaws have it understood.
fn apply_flaws(edition: &AmpEdition, mut found: DiscoveredEditor, deviations: &Deviations) -> Option<DiscoveredEditor> {
    let keys = found.lock.content.as_object().map_or(0, serde_json::Map::len);
    if deviations.has(DiscoverySwitch::RefusesExtraKeys) && keys > edition.lockfile.members.len() {
        return None;
    }
    if deviations.has(DiscoverySwitch::PortFromName) {
        let name = found.path.file_stem().and_then(|name| name.to_str());
        found.lock.port = name.and_then(|name| name.parse().ok())?;
    }
    Some(found)
}

/// The content of a file; none of what is no file: opening a pipe would wait for a writer.
fn read(path: &Path) -> Option<Vec<u8>> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut content = vec![];
    File::open(path).ok()?.take(MAX_SIZE).read_to_end(&mut content).ok()?;
    Some(content)
}

/// Whether there is a process of this id, ours or not.
fn is_alive(pid: u32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

fn choose(
    edition: &AmpEdition,
    found: Vec<DiscoveredEditor>,
    workspace: &Path,
    deviations: &Deviations,
) -> Vec<DiscoveredEditor> {
    let has = |switch| deviations.has(switch);
    let resolve_links =
        |path: &Path| if has(WorkspaceSwitch::LinksNotFollowed) { path.to_owned() } else { resolve_links(path) };
    let ours = resolve_links(workspace);
    let first = if has(WorkspaceSwitch::FirstFolderOnly) { 1 } else { usize::MAX };
    // Of whole names: `/a/bc` is not inside `/a/b`.
    let within = |inner: &Path, outer: &Path| match has(WorkspaceSwitch::ComparesTexts) {
        true => inner.to_string_lossy().starts_with(&*outer.to_string_lossy()),
        false => inner.starts_with(outer),
    };
    // An empty path would contain every other one.
    let related = |folder: &PathBuf| {
        folder.is_absolute()
            && (*folder == ours
                || (within(&ours, folder) && !has(WorkspaceSwitch::NotAround))
                || (within(folder, &ours) && !has(WorkspaceSwitch::NotInside)))
    };
    let (same, others): (Vec<_>, Vec<_>) = found
        .into_iter()
        .map(|found| {
            (found.lock.folders.iter().take(first).map(|f| resolve_links(Path::new(f))).collect::<Vec<_>>(), found)
        })
        .filter(|(folders, _)| folders.iter().any(related))
        .partition(|(folders, _)| folders.contains(&ours));
    let left = match () {
        () if has(WorkspaceSwitch::ExactNotPreferred) => same.into_iter().chain(others).collect(),
        () if same.is_empty() => others,
        () => same,
    };
    let mut left: Vec<DiscoveredEditor> = left.into_iter().map(|(_, found)| found).collect();
    if left.len() > 1 && deviations.has(DiscoverySwitch::TakesIncomplete) {
        let incomplete =
            |found: &DiscoveredEditor| edition.read_lockfile(found.lock.content.to_string().as_bytes()).is_err();
        left.retain(incomplete);
    }
    if left.len() > 1 {
        left.clear();
    }
    left
}

/// A path with its links followed, as far as it exists.
fn resolve_links(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The folders of a lockfile, whatever else it lacks; any folder where it names none.
fn folders(content: &serde_json::Value) -> Vec<String> {
    let named = content.get("workspaceFolders").and_then(serde_json::Value::as_array);
    let named: Vec<String> = named.into_iter().flatten().filter_map(|f| f.as_str().map(str::to_owned)).collect();
    if named.is_empty() {
        std::env::current_dir().map(|d| d.display().to_string()).into_iter().collect()
    } else {
        named
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::protocol::amp::editions::{CLI, GUIDE};

    use super::*;

    struct Machine {
        dir: tempfile::TempDir,
    }

    impl Machine {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(dir.path().join("amp/ide")).unwrap();
            std::fs::create_dir_all(dir.path().join("w/inner")).unwrap();
            std::fs::create_dir_all(dir.path().join("other")).unwrap();
            Self { dir }
        }

        fn file(&self, name: &str, content: &str) {
            std::fs::write(self.dir.path().join("amp/ide").join(name), content).unwrap();
        }

        fn lockfile(&self, port: u16, change: Value) {
            let folder = self.dir.path().join("w");
            let mut keys = json!({
                "port": port, "authToken": "a-secret", "pid": std::process::id(), "ideName": "ed",
                "workspaceFolders": [folder],
            });
            for (key, value) in change.as_object().unwrap() {
                keys[key] = value.clone();
            }
            self.file(&format!("{port}.json"), &keys.to_string());
        }

        fn folder(&self, name: &str) -> Value {
            json!({"workspaceFolders": [self.dir.path().join(name)]})
        }

        fn ports(&self, edition: &AmpEdition, deviations: &Deviations) -> Vec<u16> {
            let scope = SearchScope { data_home: self.dir.path().to_owned(), workspace: self.dir.path().join("w") };
            editors(edition, &scope, deviations).iter().map(|found| found.lock.port).collect()
        }

        fn ports_of_cli(&self) -> Vec<u16> {
            self.ports(&CLI, &Deviations::default())
        }
    }

    #[test]
    fn files_that_are_no_lockfile_of_a_living_editor_are_passed_over() {
        let machine = Machine::new();
        machine.file("1.json", "{\"port\": 80");
        machine.file("2.txt", "{}");
        std::fs::create_dir(machine.dir.path().join("amp/ide/3.json")).unwrap();
        machine.lockfile(4, json!({"pid": i32::MAX}));
        machine.lockfile(5, json!({"pid": "5"}));
        assert_eq!(machine.ports_of_cli(), [0; 0]);
        machine.lockfile(6, json!({}));
        assert_eq!(machine.ports_of_cli(), [6]);
        assert!(machine.dir.path().join("amp/ide/4.json").exists());
    }

    #[test]
    fn the_same_folder_wins_over_one_around_or_inside_it_and_of_several_none_is_taken() {
        let machine = Machine::new();
        machine.lockfile(1, machine.folder("other"));
        assert_eq!(machine.ports_of_cli(), [0; 0]);
        machine.lockfile(2, machine.folder("w/inner"));
        assert_eq!(machine.ports_of_cli(), [2]);
        machine.lockfile(3, machine.folder(""));
        assert_eq!(machine.ports_of_cli(), [0; 0]);
        machine.lockfile(4, machine.folder("w"));
        assert_eq!(machine.ports_of_cli(), [4]);
        machine.lockfile(5, machine.folder("w/"));
        assert_eq!(machine.ports_of_cli(), [0; 0]);
    }

    #[test]
    fn the_root_lies_around_every_folder_and_an_empty_path_around_none() {
        let machine = Machine::new();
        machine.lockfile(1, json!({"workspaceFolders": ["", "."]}));
        assert_eq!(machine.ports_of_cli(), [0; 0]);
        machine.lockfile(2, json!({"workspaceFolders": ["/"]}));
        assert_eq!(machine.ports_of_cli(), [2]);
    }

    #[test]
    fn folders_are_compared_by_their_real_paths_and_by_whole_names() {
        let machine = Machine::new();
        std::os::unix::fs::symlink(machine.dir.path().join("w"), machine.dir.path().join("link")).unwrap();
        std::fs::create_dir(machine.dir.path().join("wider")).unwrap();
        machine.lockfile(1, machine.folder("wider"));
        assert_eq!(machine.ports_of_cli(), [0; 0]);
        machine.lockfile(2, machine.folder("link"));
        assert_eq!(machine.ports_of_cli(), [2]);
    }

    #[test]
    fn in_the_guide_every_lockfile_with_a_port_and_a_token_counts() {
        let machine = Machine::new();
        machine.file("8001.json", "{\"port\": 8001, \"authToken\": \"t\"}");
        machine.file("8000.json", "{\"port\": 8000, \"authToken\": \"t\", \"pid\": 2147483647}");
        machine.file("8002.json", "{\"port\": 8002}");
        assert_eq!(machine.ports(&GUIDE, &Deviations::default()), [8000, 8001]);
    }
}
