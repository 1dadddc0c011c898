//! The lockfile, by which clients find the editor, and the data home where it is.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use crate::atomic_file::{self, Readable, create_private_folder};
use crate::peer::amp::editor::deviations::{EditorDeviations, EditorEffect};
use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::amp::lockfile::{FOLDER, LockfileValues};

/// What an editor can do otherwise with its lockfile: where it is, when it is written and removed, which token it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockfileSwitch {
    /// The lockfile is in `amp`, not in `amp/ide`.
    Elsewhere,
    /// The lockfile is called `editor.json`.
    FixedName,
    /// Only half of the lockfile is written.
    Torn,
    /// The lockfile is empty.
    Empty,
    /// The lockfile stays when the editor exits.
    Left,
    /// The lockfile comes a third of a second after the port accepts connections.
    Late,
    /// The lockfile is half written for a third of a second.
    InTwoWrites,
    /// Without variables the data home is `~/.config`.
    IgnoresHome,
    /// `XDG_DATA_HOME` is not looked at.
    IgnoresXdg,
    /// `AMP_DATA_HOME` is not looked at.
    IgnoresAmpDataHome,
    /// An empty `XDG_DATA_HOME` is taken for the working directory.
    TakesEmptyXdg,
    /// A relative `XDG_DATA_HOME` is resolved against the working directory.
    TakesRelativeXdg,
    /// The lockfile is in `~/.local/share` whatever variables say.
    HomeOnly,
    /// The token has seven characters.
    ShortToken,
    /// The token is the same at each start.
    SameToken,
    /// The token needs no percent-encoding.
    PlainToken,
    /// The editor leaves a mark that it runs, and has no lockfile when it finds one.
    BlockedByOwnTrace,
    /// The editor has no lockfile when there is another one.
    BlockedByLockfiles,
    /// The editor ends when there is another one.
    EndedByLockfiles,
    /// The editor removes all lockfiles when it starts.
    RemovesOtherLockfiles,
}

/// The data home; a flaw may overlook what names it.
pub fn editor_data_home(deviations: &EditorDeviations, env: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let misread = MisreadVariables {
        amp: deviations.has(LockfileSwitch::IgnoresAmpDataHome) || deviations.has(LockfileSwitch::HomeOnly),
        xdg: deviations.has(LockfileSwitch::IgnoresXdg) || deviations.has(LockfileSwitch::HomeOnly),
        home: deviations.has(LockfileSwitch::IgnoresHome),
        empty: deviations.has(LockfileSwitch::TakesEmptyXdg),
        relative: deviations.has(LockfileSwitch::TakesRelativeXdg),
    };
    data_home(misread, env)
}

/// A lockfile of ours.
#[derive(Debug)]
pub struct Lockfile {
    path: PathBuf,
    leave: bool,
    /// Whether it has been removed; held while it is written or removed.
    removed: Arc<Mutex<bool>>,
}

/// How late a freedom has the lockfile, or the rest of it.
const WRITE_DELAY: Duration = Duration::from_millis(330);

impl Lockfile {
    /// Writes the lockfile below a data home, at once and readable by its owner only; none where a flaw has no lockfile.
    pub fn write(
        data_home: &Path,
        edition: &AmpEdition,
        deviations: &EditorDeviations,
        content: &LockfileValues<'_>,
    ) -> io::Result<Option<Self>> {
        let folder = data_home.join(if deviations.has(LockfileSwitch::Elsewhere) { "amp" } else { FOLDER });
        create_private_folder(&folder)?;
        if deviations.has(LockfileSwitch::RemovesOtherLockfiles) {
            for other in lockfiles(&folder)? {
                let _ = std::fs::remove_file(other);
            }
        }
        if deviations.has(LockfileSwitch::BlockedByLockfiles) && !lockfiles(&folder)?.is_empty() {
            return Ok(None);
        }
        if deviations.has(LockfileSwitch::EndedByLockfiles) && !lockfiles(&folder)?.is_empty() {
            return Err(io::Error::other("another editor has its lockfile there"));
        }
        let running = data_home.join("amp/.running");
        if deviations.has(LockfileSwitch::BlockedByOwnTrace) {
            if running.exists() {
                return Ok(None);
            }
            std::fs::write(&running, "")?;
        }
        let keys = content_json(edition, deviations, content);
        let port = keys["port"].as_u64().unwrap_or(content.port.into());
        let mut text = keys.to_string();
        if deviations.has(LockfileSwitch::Torn) {
            text.truncate(text.len() / 2);
        }
        let name = if deviations.has(LockfileSwitch::FixedName) { "editor".to_owned() } else { port.to_string() };
        let path = folder.join(format!("{name}.json"));
        if deviations.has(LockfileSwitch::Empty) {
            text.clear();
        }
        let lockfile = Self { path, leave: deviations.has(LockfileSwitch::Left), removed: Arc::default() };
        let halves = deviations.has(LockfileSwitch::InTwoWrites);
        if halves {
            atomic_file::write(&lockfile.path, &text.as_bytes()[..text.len() / 2], Readable::ByOwner)?;
        }
        if halves || deviations.has(LockfileSwitch::Late) {
            lockfile.write_later(text);
        } else {
            atomic_file::write(&lockfile.path, text.as_bytes(), Readable::ByOwner)?;
        }
        Ok(Some(lockfile))
    }

    /// Writes it later, unless it has been removed by then.
    fn write_later(&self, text: String) {
        let (path, removed) = (self.path.clone(), self.removed.clone());
        tokio::spawn(async move {
            tokio::time::sleep(WRITE_DELAY).await;
            let removed = removed.lock();
            if !*removed {
                // Who waits for it finds out.
                let _ = atomic_file::write(&path, text.as_bytes(), Readable::ByOwner);
            }
        });
    }

    /// The path of the lockfile.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it, unless a flaw leaves it behind. May be called again.
    pub fn remove(&self) {
        let mut removed = self.removed.lock();
        *removed = true;
        if !self.leave {
            // Gone already is as good.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn content_json(edition: &AmpEdition, deviations: &EditorDeviations, content: &LockfileValues<'_>) -> Value {
    let mut keys = Value::Object(edition.lockfile.content(content));
    let change = |effect| if let EditorEffect::Lockfile(change) = effect { Some(change) } else { None };
    // A file has no mark of what is wrong on purpose.
    let _ = deviations.rewrite(&mut keys, change);
    keys
}

fn lockfiles(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = std::fs::read_dir(folder)?.filter_map(|entry| entry.ok().map(|e| e.path()));
    Ok(paths.filter(|p| p.extension().is_some_and(|e| e == "json")).collect())
}

/// What a flawed program makes of the environment variables that name the data home; nothing by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct MisreadVariables {
    /// `AMP_DATA_HOME` is ignored.
    pub amp: bool,
    /// `XDG_DATA_HOME` is ignored.
    pub xdg: bool,
    /// The default folder `.local/share` below the home folder is ignored: `.config` is taken instead.
    pub home: bool,
    /// An empty `XDG_DATA_HOME` is taken for the working directory.
    pub empty: bool,
    /// A relative `XDG_DATA_HOME` is resolved against the working directory.
    pub relative: bool,
}

/// The folder below which all data of the kind lies: `AMP_DATA_HOME`, else (on Linux) `XDG_DATA_HOME`, else
/// `~/.local/share`. None where there is no home either. Empty and relative values do not count (XDG Base Directory
/// Specification).
pub fn data_home(misread: MisreadVariables, env: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| env(name).map(PathBuf::from);
    let path = |name: &str| set(name).filter(|path| path.is_absolute());
    let amp = || path("AMP_DATA_HOME").filter(|_| !misread.amp);
    let has_xdg = cfg!(not(any(target_os = "macos", windows)));
    let xdg = || {
        let path = set("XDG_DATA_HOME").filter(|_| has_xdg && !misread.xdg)?;
        let is_empty = path.as_os_str().is_empty();
        let taken = path.is_absolute() || if is_empty { misread.empty } else { misread.relative };
        taken.then(|| if is_empty { PathBuf::from(".") } else { path })
    };
    let below = if misread.home { ".config" } else { ".local/share" };
    amp().or_else(xdg).or_else(|| path("HOME").map(|home| home.join(below)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::amp::editions::CLI;

    #[test]
    fn a_lockfile_is_private_whole_and_gone_when_removed() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let folder = Path::new("/w");
        let content = LockfileValues { folder, port: 4711, name: "ed", token: "a-secret-token", pid: 7 };
        let written = Lockfile::write(dir.path(), &CLI, &EditorDeviations::default(), &content).unwrap().unwrap();
        assert_eq!(written.path(), dir.path().join("amp/ide/4711.json"));
        assert_eq!(std::fs::metadata(written.path()).unwrap().permissions().mode() & 0o777, 0o600);
        let read: Value = serde_json::from_slice(&std::fs::read(written.path()).unwrap()).unwrap();
        let expected = json!({
            "workspaceFolders": ["/w"], "port": 4711, "ideName": "ed", "authToken": "a-secret-token", "pid": 7,
        });
        assert_eq!(read, expected);
        written.remove();
        written.remove();
        assert_eq!(std::fs::read_dir(dir.path().join("amp/ide")).unwrap().count(), 0);
    }

    #[test]
    fn the_strongest_variable_that_names_an_absolute_folder_wins() {
        let home = |set: &[(&str, &str)]| {
            let set: Vec<(String, OsString)> = set.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
            let env = move |name: &str| set.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone());
            data_home(MisreadVariables::default(), env)
        };
        let all = [("AMP_DATA_HOME", "/amp"), ("XDG_DATA_HOME", "/xdg"), ("HOME", "/home/me")];
        assert_eq!(home(&all), Some("/amp".into()));
        assert_eq!(home(&all[2..]), Some("/home/me/.local/share".into()));
        assert_eq!(home(&[("AMP_DATA_HOME", ""), ("HOME", "/h")]), Some("/h/.local/share".into()));
        #[cfg(target_os = "linux")]
        assert_eq!(home(&all[1..]), Some("/xdg".into()));
        assert_eq!(home(&[]), None);
    }
}
