//! The kinds of reports ([`ReportKind`]), and report files, which are written completely or not at all.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::atomic_file::{self, Readable};
use crate::judge::Report;
use crate::protocol::Requirement;

use super::{json, junit, plain, sarif, terminal};

/// A kind of report that can be written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// The JSON contract.
    Json,
    /// JUnit XML.
    Junit,
    /// SARIF 2.1.0.
    Sarif,
    /// What is printed at the end, in full and without colours.
    Text,
}

impl ReportKind {
    /// Every kind with its name.
    pub const ALL: [(&'static str, Self); 4] =
        [("json", Self::Json), ("junit", Self::Junit), ("sarif", Self::Sarif), ("text", Self::Text)];

    /// The report of this kind. `catalogue`: every requirement that a finding may name.
    pub fn render(self, report: &Report, catalogue: &[&Requirement]) -> String {
        match self {
            Self::Json => json(report),
            Self::Junit => junit(report),
            Self::Sarif => sarif(report, catalogue),
            Self::Text => plain(&terminal(report, catalogue, true)),
        }
    }
}

/// A report file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the report {}: {source}", path.display())]
pub struct WriteError {
    /// The file that was to be written.
    pub path: PathBuf,
    /// What went wrong.
    pub source: io::Error,
}

/// Writes a report. Folders that are not there are made. Readers see the old file or the new one, never half of
/// one; what is no regular file (a pipe, a device) is written to as it is.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), WriteError> {
    try_write(path, content.as_ref()).map_err(|source| WriteError { path: path.to_owned(), source })
}

fn try_write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&target).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        return fs::OpenOptions::new().write(true).open(&target)?.write_all(bytes);
    }
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match fs::create_dir_all(folder) {
        // Something of that name that is no folder.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(io::Error::from(io::ErrorKind::NotADirectory)),
        made => made,
    }?;
    atomic_file::write(&target, bytes, Readable::ByAll)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_made_and_nothing_else_is_left_behind() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b/report.json");
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        let root = tempfile::tempdir().unwrap();
        let (file, link) = (root.path().join("file"), root.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        write(Path::new("/dev/null"), "gone").unwrap();
    }

    #[test]
    fn what_stands_in_the_way_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        for path in [root.path().join("file/report.json"), root.path().to_owned()] {
            let error = write(&path, "x").unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot write the report {}: ", path.display())), "{error}");
        }
    }
}
