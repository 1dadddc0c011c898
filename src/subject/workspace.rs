//! Files that scenarios lay into the workspace and look at afterwards: never outside of their folder, never
//! through a link, never without a bound.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::SubjectError;

/// One scenario's own folder below the workspace.
#[derive(Clone, Debug)]
pub struct ScenarioDir {
    path: PathBuf,
    /// Removes it once the last clone is gone; none where the workspace is removed as a whole.
    _lent: Option<Arc<BorrowedFolder>>,
}

/// A folder in a workspace that is not ours.
#[derive(Debug)]
struct BorrowedFolder(PathBuf);

impl Drop for BorrowedFolder {
    fn drop(&mut self) {
        // What cannot be removed lies where the user sees it, under a name that shows whose it is.
        let _ = super::remove_tree::remove(&self.0);
    }
}

/// What a file looks like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileState {
    /// Whether it is there.
    pub exists: bool,
    /// The size in bytes, where it is a file.
    pub size: Option<u64>,
    /// The bytes of the file, where it is no larger than the bound.
    pub content: Option<Vec<u8>>,
}

/// Numbers the scenario folders of a workspace.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScenarioDirNumbers(Arc<AtomicU64>);

impl ScenarioDirNumbers {
    pub(crate) fn next(&self, workspace: &Path, label: &str) -> Result<ScenarioDir, SubjectError> {
        let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        let slug: String = label
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .take(40)
            .collect();
        ScenarioDir::create(workspace, &format!("{number}-{}", slug.trim_matches('-')))
    }
}

impl ScenarioDir {
    /// Makes the folder `name` below `workspace`.
    ///
    /// # Errors
    /// [`SubjectError::File`] where it cannot be made, or is there already.
    pub fn create(workspace: &Path, name: &str) -> Result<Self, SubjectError> {
        let path = workspace.join(name);
        std::fs::create_dir(&path).map_err(|e| SubjectError::file("make the folder", &path, e))?;
        Ok(Self { path, _lent: None })
    }

    /// Like [`ScenarioDir::create`], in a workspace that is not ours: what is in it is removed when the last clone is dropped.
    ///
    /// # Errors
    /// [`SubjectError::File`] where it cannot be made, or is there already.
    pub fn lend(workspace: &Path, name: &str) -> Result<Self, SubjectError> {
        let scenario_dir = Self::create(workspace, name)?;
        let lent = Arc::new(BorrowedFolder(scenario_dir.path.clone()));
        Ok(Self { _lent: Some(lent), ..scenario_dir })
    }

    /// Where it is: an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a file of it is.
    ///
    /// # Errors
    /// [`SubjectError::Path`] where the path leads elsewhere.
    pub fn file(&self, path: &str) -> Result<PathBuf, SubjectError> {
        parts(&self.path, path)?;
        Ok(self.path.join(path))
    }

    /// Writes a file, and the folders that it is in.
    ///
    /// # Errors
    /// [`SubjectError::Path`] where the path leads elsewhere, through a link perhaps; [`SubjectError::File`] where
    /// it cannot be written.
    pub fn write(&self, path: &str, content: &[u8]) -> Result<(), SubjectError> {
        write(&self.path, path, content)
    }

    /// Removes a file. That it is not there is no error.
    ///
    /// # Errors
    /// As [`ScenarioDir::write`].
    pub fn remove(&self, path: &str) -> Result<(), SubjectError> {
        let Some((folder, name)) = descend(&self.path, path, false)? else { return Ok(()) };
        match fs::unlinkat(&folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(SubjectError::file("remove", self.path.join(path), e.into())),
        }
    }

    /// Looks at a file as it is now, reading no more than `limit` bytes of it. Of a folder only its presence is reported.
    ///
    /// # Errors
    /// [`SubjectError::Path`] where the path leads elsewhere or to something that is neither a file nor a folder;
    /// [`SubjectError::File`] where it cannot be read.
    pub fn read(&self, path: &str, limit: u64) -> Result<FileState, SubjectError> {
        let Some((folder, name)) = descend(&self.path, path, false)? else { return Ok(FileState::default()) };
        // Without NONBLOCK, opening a pipe without a writer would hang.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match fs::openat(&folder, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::NAMETOOLONG) => return Ok(FileState::default()),
            Err(e) => return Err(refused("read", &self.path, path, e)),
        };
        let failed = |e| SubjectError::file("read", self.path.join(path), e);
        let meta = file.metadata().map_err(failed)?;
        if meta.is_dir() {
            return Ok(FileState { exists: true, ..FileState::default() });
        }
        if !meta.is_file() {
            return Err(outside(&self.path, path, "it is neither a regular file nor a folder"));
        }
        let mut content = vec![];
        file.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(failed)?;
        let read = content.len() as u64;
        let whole = read <= limit;
        Ok(FileState {
            exists: true,
            size: Some(if whole { read } else { meta.len() }),
            content: whole.then_some(content),
        })
    }
}

/// Writes a file below `root`, and the folders that it is in; follows no link.
pub(crate) fn write(root: &Path, path: &str, content: &[u8]) -> Result<(), SubjectError> {
    let Some((folder, name)) = descend(root, path, true)? else { return Err(outside(root, path, "it has no folder")) };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::openat(&folder, name, flags, Mode::from(0o644)).map_err(|e| refused("write", root, path, e))?;
    File::from(file).write_all(content).map_err(|e| SubjectError::file("write", root.join(path), e))
}

/// Whether a path may be used below a root: why not, if not.
pub(crate) fn problem(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        Some("it is empty")
    } else if path.contains('\0') {
        Some("it holds a NUL")
    } else if path.starts_with('/') {
        Some("it begins with `/`; a path below it is wanted")
    } else if path.split('/').any(|part| part == "..") {
        Some("it holds `..`")
    } else if path.split('/').any(|part| part.is_empty() || part == ".") {
        Some("it holds an empty part or `.`")
    } else {
        None
    }
}

fn parts<'a>(root: &Path, path: &'a str) -> Result<(Vec<&'a str>, &'a str), SubjectError> {
    if let Some(problem) = problem(path) {
        return Err(outside(root, path, problem));
    }
    let mut folders: Vec<&str> = path.split('/').collect();
    let name = folders.pop().unwrap_or_default();
    Ok((folders, name))
}

/// Opens the folder that a file is in, one part at a time, so that no link on the way is followed. None where a
/// folder is missing and none is to be made.
fn descend<'a>(root: &Path, path: &'a str, make: bool) -> Result<Option<(OwnedFd, &'a str)>, SubjectError> {
    let (folders, name) = parts(root, path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder =
        fs::open(root, flags, Mode::empty()).map_err(|e| SubjectError::file("open the folder", root, e.into()))?;
    for part in folders {
        if make {
            match fs::mkdirat(&folder, part, Mode::from(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(e) => return Err(SubjectError::file("make the folder of", root.join(path), e.into())),
            }
        }
        folder = match fs::openat(&folder, part, flags | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(next) => next,
            Err(Errno::NOENT | Errno::NAMETOOLONG) if !make => return Ok(None),
            Err(Errno::NOTDIR) if !make && is_file(&folder, part) => return Ok(None),
            Err(e) => return Err(refused("open the folder of", root, path, e)),
        };
    }
    Ok(Some((folder, name)))
}

/// Whether it is a regular file, and no link to one: nothing can be below it.
fn is_file(folder: &OwnedFd, name: &str) -> bool {
    let stat = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

fn refused(action: &'static str, root: &Path, path: &str, error: Errno) -> SubjectError {
    match error {
        Errno::LOOP => outside(root, path, "there is a symbolic link on the way"),
        Errno::NOTDIR => outside(root, path, "there is a file or a symbolic link where a folder should be"),
        other => SubjectError::file(action, root.join(path), other.into()),
    }
}

fn outside(root: &Path, path: &str, problem: &str) -> SubjectError {
    SubjectError::Path { path: path.to_owned(), root: root.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn scenario_dir() -> (tempfile::TempDir, ScenarioDir) {
        let root = tempfile::tempdir().unwrap();
        let scenario_dir =
            ScenarioDirNumbers::default().next(root.path(), "amp-server/cli/read-file/Un saved[2]").unwrap();
        (root, scenario_dir)
    }

    #[test]
    fn scenario_folders_are_numbered_and_named_for_people() {
        let (root, scenario_dir) = scenario_dir();
        assert_eq!(scenario_dir.path(), root.path().join("1-un-saved-2"));
    }

    #[test]
    fn a_scenario_folder_in_a_workspace_that_is_not_ours_goes_with_its_last_user_and_nothing_else_does() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("theirs"), "").unwrap();
        let scenario_dir = ScenarioDir::lend(root.path(), "wirecert-1-1").unwrap();
        scenario_dir.write("a/b", b"").unwrap();
        symlink(root.path(), scenario_dir.path().join("out")).unwrap();
        let clone = scenario_dir.clone();
        drop(scenario_dir);
        assert!(clone.path().join("a/b").exists());
        drop(clone);
        let left: Vec<_> = std::fs::read_dir(root.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["theirs"]);
    }

    #[test]
    fn what_cannot_be_there_does_not_exist() {
        let (_root, scenario_dir) = scenario_dir();
        write(&scenario_dir.path, "a.txt", b"a").unwrap();
        let long = "n".repeat(300);
        for path in ["a.txt/b.txt", "a.txt/b/c.txt", &long, &format!("{long}/a.txt"), "none/a.txt"] {
            assert_eq!(scenario_dir.read(path, 10).unwrap(), FileState::default(), "{path}");
        }
        symlink("a.txt", scenario_dir.path.join("link")).unwrap();
        assert!(scenario_dir.read("link/b.txt", 10).is_err());
    }

    #[test]
    fn what_is_written_is_read_back_with_its_size() {
        let (_root, scenario_dir) = scenario_dir();
        scenario_dir.write("a/b.bin", b"\xff\x00").unwrap();
        let state = FileState { exists: true, size: Some(2), content: Some(vec![0xff, 0]) };
        assert_eq!(scenario_dir.read("a/b.bin", 2).unwrap(), state);
        assert_eq!(scenario_dir.read("a/b.bin", 1).unwrap(), FileState { content: None, ..state });
        scenario_dir.remove("a/b.bin").unwrap();
        scenario_dir.remove("a/b.bin").unwrap();
        assert_eq!(scenario_dir.read("a/b.bin", 9).unwrap(), FileState::default());
        assert_eq!(scenario_dir.read("nowhere/b", 9).unwrap(), FileState::default());
    }

    #[test]
    fn no_path_leads_out() {
        let (_root, scenario_dir) = scenario_dir();
        for path in ["../x", "/etc/passwd", "a/../../x", "", "a//b", "./a", "a\0b"] {
            assert!(matches!(scenario_dir.write(path, b""), Err(SubjectError::Path { .. })), "{path:?}");
            assert!(matches!(scenario_dir.read(path, 1), Err(SubjectError::Path { .. })), "{path:?}");
            assert!(matches!(scenario_dir.remove(path), Err(SubjectError::Path { .. })), "{path:?}");
        }
    }

    #[test]
    fn no_link_leads_out() {
        let (root, scenario_dir) = scenario_dir();
        std::fs::write(root.path().join("secret"), "s").unwrap();
        symlink(root.path(), scenario_dir.path().join("folder")).unwrap();
        symlink(root.path().join("secret"), scenario_dir.path().join("file")).unwrap();
        for path in ["folder/secret", "file"] {
            assert!(matches!(scenario_dir.write(path, b""), Err(SubjectError::Path { .. })), "{path:?}");
            assert!(matches!(scenario_dir.read(path, 9), Err(SubjectError::Path { .. })), "{path:?}");
        }
        assert_eq!(std::fs::read(root.path().join("secret")).unwrap(), b"s");
    }

    #[test]
    fn a_pipe_is_no_file_and_hangs_nobody_and_of_a_folder_it_is_reported_that_it_is_there() {
        let (_root, scenario_dir) = scenario_dir();
        let made = std::process::Command::new("mkfifo").arg(scenario_dir.path().join("pipe")).status().unwrap();
        assert!(made.success());
        std::fs::create_dir(scenario_dir.path().join("folder")).unwrap();
        assert!(matches!(scenario_dir.read("pipe", 9), Err(SubjectError::Path { .. })));
        assert_eq!(scenario_dir.read("folder", 9).unwrap(), FileState { exists: true, ..FileState::default() });
        assert!(scenario_dir.write("pipe", b"x").is_err());
    }
}
