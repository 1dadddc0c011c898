//! Snapshot files: a short YAML header between two `---` lines, then the text.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

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
        /// What the system said.
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
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(SnapshotError::io("write", folder))?;
    let write = || -> io::Result<()> {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
        let mut file = builder.prefix(".wirecert-").tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(())
    };
    write().map_err(SnapshotError::io("write", path))
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
