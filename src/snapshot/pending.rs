//! Changed snapshots that wait for a person's word.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::file::{Document, SnapshotError, files};

/// A snapshot that would change: the file that pins it, and the pending file beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The pending file, `….snap.new`.
    pub path: PathBuf,
    /// The file it would become, `….snap`.
    pub target: PathBuf,
}

/// The pending file of a snapshot file.
pub(super) fn pending_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// What is pending below a folder, sorted; where a filter is given, only what has this text in its path.
///
/// # Errors
/// A folder cannot be listed.
pub fn pending(dir: &Path, filter: Option<&str>) -> Result<Vec<Pending>, SnapshotError> {
    let wanted = |path: &PathBuf| {
        let below = path.strip_prefix(dir).unwrap_or(path);
        filter.is_none_or(|text| below.to_string_lossy().contains(text))
    };
    let found = files(dir, ".snap.new")?.into_iter().filter(wanted);
    Ok(found.map(|path| Pending { target: path.with_extension(""), path }).collect())
}

impl Pending {
    /// The text that is pinned now, if any, and the one that is pending.
    ///
    /// # Errors
    /// A file cannot be read, or is no snapshot.
    pub fn texts(&self) -> Result<(Option<String>, String), SnapshotError> {
        let old = match Document::read_body(&self.target) {
            Err(SnapshotError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
            old => Some(old?),
        };
        Ok((old, Document::read_body(&self.path)?))
    }

    /// Makes it the snapshot.
    ///
    /// # Errors
    /// The pending file is no snapshot, or cannot be moved.
    pub fn accept(&self) -> Result<(), SnapshotError> {
        Document::read_body(&self.path)?;
        fs::rename(&self.path, &self.target).map_err(SnapshotError::io("write", &self.target))
    }

    /// Forgets it: the snapshot stays as it is.
    ///
    /// # Errors
    /// The pending file cannot be removed.
    pub fn reject(&self) -> Result<(), SnapshotError> {
        fs::remove_file(&self.path).map_err(SnapshotError::io("remove", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lay(dir: &Path, name: &str, body: &str) {
        fs::write(dir.join(name), format!("---\nsource: wirecert\n---\n{body}\n")).unwrap();
    }

    #[test]
    fn accepting_replaces_the_snapshot_and_rejecting_leaves_it() {
        let dir = tempfile::tempdir().unwrap();
        lay(dir.path(), "a.snap", "old");
        lay(dir.path(), "a.snap.new", "new");
        lay(dir.path(), "b.snap.new", "new");
        let all = pending(dir.path(), None).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].texts().unwrap(), (Some("old".into()), "new".into()));
        assert_eq!(all[1].texts().unwrap(), (None, "new".into()));
        assert_eq!(pending(dir.path(), Some("b")).unwrap(), [all[1].clone()]);
        all[0].accept().unwrap();
        all[1].reject().unwrap();
        assert_eq!(Document::read_body(&dir.path().join("a.snap")).unwrap(), "new");
        assert!(pending(dir.path(), None).unwrap().is_empty());
        assert!(!dir.path().join("b.snap").exists());
    }

    #[test]
    fn a_torn_pending_file_is_not_accepted() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.snap.new"), "---\nsour").unwrap();
        let error = pending(dir.path(), None).unwrap()[0].accept().unwrap_err().to_string();
        assert!(error.contains("its header has no end"), "{error}");
    }
}
