//! Snapshot files (a short YAML header between two `---` lines, then the text), and pending ones that a person has to
//! accept or reject.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::atomic_file::{self, Readable};

/// The largest file that is read.
const MAX_FILE: u64 = 64 << 20;

/// A snapshot file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// `read`, `write`, `remove`, `list`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is no snapshot.
    #[error(
        "{} is no snapshot: {problem}; restore it from version control, or remove it and accept it anew",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl SnapshotError {
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}

/// A snapshot as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// What is pinned, in a sentence.
    pub description: String,
    /// The file of the scenario that produced it.
    pub input_file: String,
    /// The text, without line ends at its end.
    pub body: String,
}

impl Document {
    /// The file's content.
    pub fn to_text(&self) -> String {
        // A JSON string is a YAML string in double quotes.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let (description, input_file) = (quoted(&self.description), quoted(&self.input_file));
        let body = trim(&self.body);
        format!("---\nsource: wirecert\ndescription: {description}\ninput_file: {input_file}\n---\n{body}\n")
    }

    /// Reads a file. Only the body is needed, and the header may be any that insta writes.
    ///
    /// # Errors
    /// The file cannot be read, is too large, is not UTF-8 or has no header.
    pub fn read_body(path: &Path) -> Result<String, SnapshotError> {
        let format = |problem| SnapshotError::Format { path: path.to_owned(), problem };
        if fs::metadata(path).map_err(SnapshotError::io("read", path))?.len() > MAX_FILE {
            return Err(format("it is larger than 64 MiB"));
        }
        let bytes = fs::read(path).map_err(SnapshotError::io("read", path))?;
        let text = String::from_utf8(bytes).map_err(|_| format("it is not UTF-8"))?.replace("\r\n", "\n");
        let rest = text.strip_prefix("---\n").ok_or_else(|| format("it has no header"))?;
        let body = match rest.strip_prefix("---\n") {
            Some(body) => body,
            None => rest.split_once("\n---\n").ok_or_else(|| format("its header has no end"))?.1,
        };
        Ok(trim(body).to_owned())
    }
}

/// A text without line ends at its end: they carry no meaning, and editors add and drop them.
pub(super) fn trim(text: &str) -> &str {
    text.trim_end_matches('\n')
}

/// Writes a file so that no reader ever sees half of it. Creates the folders on the way.
pub(super) fn write_atomically(path: &Path, text: &str) -> Result<(), SnapshotError> {
    atomic_file::write(path, text.as_bytes(), Readable::ByAll).map_err(SnapshotError::io("write", path))
}

/// Every file below a folder whose name ends like this, sorted. Links are not followed. No folder: no files.
pub(super) fn files(dir: &Path, suffix: &str) -> Result<Vec<PathBuf>, SnapshotError> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(SnapshotError::io("list", &folder))?,
        };
        for entry in entries {
            let entry = entry.map_err(SnapshotError::io("list", &folder))?;
            let kind = entry.file_type().map_err(SnapshotError::io("list", &folder))?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && entry.file_name().to_string_lossy().ends_with(suffix) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A snapshot that would change: the file that pins it, and the pending file beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingSnapshot {
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
pub fn pending(dir: &Path, filter: Option<&str>) -> Result<Vec<PendingSnapshot>, SnapshotError> {
    let wanted = |path: &PathBuf| {
        let below = path.strip_prefix(dir).unwrap_or(path);
        filter.is_none_or(|text| below.to_string_lossy().contains(text))
    };
    let found = files(dir, ".snap.new")?.into_iter().filter(wanted);
    Ok(found.map(|path| PendingSnapshot { target: path.with_extension(""), path }).collect())
}

impl PendingSnapshot {
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
