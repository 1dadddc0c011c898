//! Comparison of texts with the files that pin them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::judge::SnapshotResult;
use crate::trace::Strength;

use super::file::{Document, SnapshotError, files, pending_path, trim, write_atomically};

/// A text to be compared with its file.
#[derive(Clone, Debug)]
pub struct Snapshot<'a> {
    /// The id of the scenario, `<role>/<edition>/<area>/<name>`: where the file stands below its folder.
    pub id: &'a str,
    /// How much of the trace the text keeps.
    pub strength: Strength,
    /// What the scenario shows, in a sentence.
    pub title: &'a str,
    /// The scenario's file.
    pub file: &'a str,
    /// The text.
    pub text: &'a str,
}

impl Snapshot<'_> {
    /// Where the file stands below the folder of snapshots: the id, character by character harmless in a file name.
    pub fn path(&self, dir: &Path) -> PathBuf {
        let harmless = |c: char| if c.is_ascii_alphanumeric() || "-_.[]=+@".contains(c) { c } else { '_' };
        let mut path = dir.to_owned();
        let mut parts = self.id.split('/').filter(|part| !part.is_empty()).peekable();
        while let Some(part) = parts.next() {
            let mut name: String = part.chars().map(harmless).collect();
            if name.starts_with('.') {
                name.insert(0, '_');
            }
            if parts.peek().is_none() {
                name += match self.strength {
                    Strength::Exact => ".snap",
                    Strength::Shape => ".shape.snap",
                };
            }
            path.push(name);
        }
        path
    }
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedSnapshot {
    /// The snapshot's file.
    pub file: PathBuf,
    /// How it compared.
    pub outcome: SnapshotOutcome,
    /// The pending file that was written.
    pub pending: Option<PathBuf>,
}

/// How a text compared with its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotOutcome {
    /// The text is the same.
    Same,
    /// The text has changed.
    Changed {
        /// What the file says.
        old: String,
    },
    /// There is no file.
    Missing,
}

impl ComparedSnapshot {
    /// For the report.
    pub fn to_result(&self) -> SnapshotResult {
        let status = match self.outcome {
            SnapshotOutcome::Same => "same",
            SnapshotOutcome::Changed { .. } => "changed",
            SnapshotOutcome::Missing => "missing",
        };
        SnapshotResult { file: self.file.display().to_string(), status: status.to_owned() }
    }
}

/// Holds a text against its file below `dir`. Unless `ci`, what differs becomes a pending file, and a pending file
/// that an earlier run left is removed where nothing differs any more.
///
/// # Errors
/// A file cannot be read or written, or is no snapshot.
pub fn compare(dir: &Path, snapshot: &Snapshot<'_>, ci: bool) -> Result<ComparedSnapshot, SnapshotError> {
    let file = snapshot.path(dir);
    let outcome = match Document::read_body(&file) {
        Ok(old) if old == trim(snapshot.text) => SnapshotOutcome::Same,
        Ok(old) => SnapshotOutcome::Changed { old },
        Err(SnapshotError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => SnapshotOutcome::Missing,
        Err(error) => return Err(error),
    };
    let mut pending = None;
    if !ci {
        let path = pending_path(&file);
        if outcome == SnapshotOutcome::Same {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(SnapshotError::io("remove", &path)(error));
                }
                _ => {}
            }
        } else {
            let document = Document {
                description: snapshot.title.to_owned(),
                input_file: snapshot.file.to_owned(),
                body: snapshot.text.to_owned(),
            };
            write_atomically(&path, &document.to_text())?;
            pending = Some(path);
        }
    }
    Ok(ComparedSnapshot { file, outcome, pending })
}

/// Snapshots below `dir` that no scenario of a full run compared itself with.
///
/// # Errors
/// A folder cannot be listed.
pub fn unreferenced(dir: &Path, referenced: &BTreeSet<PathBuf>) -> Result<Vec<SnapshotResult>, SnapshotError> {
    let unused = files(dir, ".snap")?.into_iter().filter(|file| !referenced.contains(file));
    let result = |file: PathBuf| SnapshotResult { file: file.display().to_string(), status: "unreferenced".to_owned() };
    Ok(unused.map(result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(text: &str) -> Snapshot<'_> {
        let (id, title) = ("amp-server/cli/read-file/unsaved[long]", "A \"file\" is read");
        Snapshot { id, strength: Strength::Exact, title, file: "scenarios/unsaved.yaml", text }
    }

    fn tree(dir: &Path) -> Vec<String> {
        let relative = |path: PathBuf| path.strip_prefix(dir).unwrap().display().to_string();
        files(dir, "").unwrap().into_iter().map(relative).collect()
    }

    const FILE: &str = "amp-server/cli/read-file/unsaved[long].snap";
    const PENDING: &str = "amp-server/cli/read-file/unsaved[long].snap.new";

    #[test]
    fn a_new_text_is_missing_and_becomes_pending_then_same_once_accepted_then_changed() {
        let dir = tempfile::tempdir().unwrap();
        let compared = compare(dir.path(), &snapshot("a\n"), false).unwrap();
        assert_eq!(compared.outcome, SnapshotOutcome::Missing);
        assert_eq!(tree(dir.path()), [PENDING]);
        assert_eq!(
            fs::read_to_string(dir.path().join(PENDING)).unwrap(),
            "---\nsource: wirecert\ndescription: \"A \\\"file\\\" is read\"\ninput_file: \"scenarios/unsaved.yaml\"\n\
             ---\na\n"
        );

        super::super::pending(dir.path(), None).unwrap().remove(0).accept().unwrap();
        assert_eq!(compare(dir.path(), &snapshot("a"), false).unwrap().outcome, SnapshotOutcome::Same);
        assert_eq!(tree(dir.path()), [FILE]);

        let changed = compare(dir.path(), &snapshot("b"), false).unwrap();
        assert_eq!(changed.outcome, SnapshotOutcome::Changed { old: "a".into() });
        assert_eq!(changed.to_result().status, "changed");
        assert_eq!(tree(dir.path()), [FILE, PENDING]);

        assert_eq!(compare(dir.path(), &snapshot("a"), false).unwrap().outcome, SnapshotOutcome::Same);
        assert_eq!(tree(dir.path()), [FILE], "what is pending goes once nothing differs");
    }

    #[test]
    fn insta_reads_an_accepted_snapshot_and_finds_the_same_text_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let text = "connection main\n  → {\"a\": \"---\"}\n---\n  closed\n";
        let snapshot = Snapshot { id: "echo", title: "A \"quoted\": title # with \\ and ü\t…", ..snapshot(text) };
        compare(dir.path(), &snapshot, false).unwrap();
        super::super::pending(dir.path(), None).unwrap().remove(0).accept().unwrap();
        let mut settings = insta::Settings::new();
        settings.set_snapshot_path(dir.path());
        settings.set_prepend_module_to_snapshot(false);
        settings.bind(|| insta::assert_snapshot!("echo", text));
        assert_eq!(tree(dir.path()), ["echo.snap"], "insta had nothing to say");
    }

    #[test]
    fn in_ci_nothing_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let compared = compare(dir.path(), &snapshot("a\n"), true).unwrap();
        assert_eq!((compared.outcome, compared.pending), (SnapshotOutcome::Missing, None));
        assert!(tree(dir.path()).is_empty());
    }

    #[test]
    fn a_snapshot_that_nothing_compared_itself_with_is_unreferenced() {
        let dir = tempfile::tempdir().unwrap();
        for (id, text) in [("a/b", "1"), ("a/c", "2")] {
            compare(dir.path(), &Snapshot { id, ..snapshot(text) }, false).unwrap();
        }
        super::super::pending(dir.path(), None).unwrap().into_iter().for_each(|p| p.accept().unwrap());
        let used = BTreeSet::from([dir.path().join("a/b.snap")]);
        let unused = unreferenced(dir.path(), &used).unwrap();
        assert_eq!(unused.len(), 1);
        assert!(unused[0].file.ends_with("a/c.snap") && unused[0].status == "unreferenced");
    }

    #[test]
    fn an_id_cannot_lead_out_of_its_folder() {
        let hostile = Snapshot { id: "../..//etc/\0pass wd", ..snapshot("") };
        assert_eq!(hostile.path(Path::new("s")), Path::new("s/_../_../etc/_pass_wd.snap"));
    }

    #[test]
    fn what_is_no_snapshot_says_so_and_a_header_with_unknown_keys_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = snapshot("").path(dir.path());
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "no header\n").unwrap();
        let error = compare(dir.path(), &snapshot("a"), false).unwrap_err().to_string();
        assert!(error.contains("is no snapshot: it has no header; restore it"), "{error}");
        fs::write(&file, "---\r\nsource: src/x.rs\r\nassertion_line: 3\r\nexpression: y\r\n---\r\na\r\n---\r\nb\r\n")
            .unwrap();
        assert_eq!(compare(dir.path(), &snapshot("a\n---\nb"), false).unwrap().outcome, SnapshotOutcome::Same);
    }
}
