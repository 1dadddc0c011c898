//! The data home made for a client: a [`HomeOverlay`] of the real one, in which one folder is our own.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::atomic_file::create_private_folder;

/// A folder that looks like another one, except for one folder below it that is our own. It has links to the entries of
/// the real folder; the folders on the path to our own folder are ours.
#[derive(Debug)]
pub struct HomeOverlay {
    /// The folders of ours on the path; the last one is our own folder.
    ours: Vec<PathBuf>,
    /// The real folder that each of them looks like.
    real: Vec<PathBuf>,
}

impl HomeOverlay {
    /// Makes `folder` look like `real`, with a folder of our own at `below`, a relative path.
    ///
    /// # Errors
    /// A folder cannot be read, or not be made.
    pub fn make(real: &Path, folder: &Path, below: &str) -> io::Result<Self> {
        let (mut ours, mut reals) = (vec![], vec![]);
        let (mut real, mut at) = (real.to_owned(), folder.to_owned());
        for name in below.split('/') {
            create_private_folder(&at)?;
            link_entries(&real, &at, name)?;
            ours.push(at.clone());
            reals.push(real.clone());
            real.push(name);
            at.push(name);
        }
        create_private_folder(&at)?;
        ours.push(at);
        reals.push(real);
        Ok(Self { ours, real: reals })
    }

    /// Our own folder.
    pub fn own(&self) -> &Path {
        self.ours.last().map_or(Path::new(""), PathBuf::as_path)
    }

    /// Moves files that were written here to the real folder. Returns the paths that could not be moved, which stay.
    pub fn move_back(&self) -> Vec<PathBuf> {
        let Some((_, on_the_way)) = self.ours.split_last() else { return vec![] };
        let mut left = vec![];
        for (folder, real) in on_the_way.iter().zip(&self.real) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let is_link = entry.file_type().is_ok_and(|t| t.is_symlink());
                if is_link || self.ours.contains(&entry.path()) {
                    continue;
                }
                if move_to(&entry.path(), &real.join(entry.file_name())).is_err() {
                    left.push(entry.path());
                }
            }
        }
        left.sort();
        left
    }
}

/// Copies a file or folder to another path, replacing a file of that name.
fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    if !from.is_dir() {
        // Under another name first, so that an existing file is replaced at once.
        let mut part = to.as_os_str().to_owned();
        part.push(".wirecert-part");
        fs::copy(from, &part)?;
        return fs::rename(part, to);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        match entry.file_type()?.is_symlink() {
            true => symlink(fs::read_link(entry.path())?, to.join(entry.file_name()))?,
            false => move_to(&entry.path(), &to.join(entry.file_name()))?,
        }
    }
    Ok(())
}

/// Links every entry of a folder into another one, except for one name.
fn link_entries(from: &Path, to: &Path, but: &str) -> io::Result<()> {
    let entries = match fs::read_dir(from) {
        Ok(entries) => entries,
        // There is no real folder.
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name() != but {
            symlink(fs::canonicalize(from)?.join(entry.file_name()), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_there_but_for_our_own_folder_and_what_is_written_goes_where_it_belongs() {
        let dir = tempfile::tempdir().unwrap();
        let (real, ours) = (dir.path().join("real"), dir.path().join("ours"));
        fs::create_dir_all(real.join("amp/ide")).unwrap();
        fs::write(real.join("amp/ide/1.json"), "hidden").unwrap();
        fs::write(real.join("amp/login"), "who").unwrap();
        fs::write(real.join("other"), "x").unwrap();
        let overlay = HomeOverlay::make(&real, &ours, "amp/ide").unwrap();
        assert_eq!(overlay.own(), ours.join("amp/ide"));
        assert_eq!(fs::read_dir(overlay.own()).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(ours.join("amp/login")).unwrap(), "who");
        assert_eq!(fs::read_to_string(ours.join("other")).unwrap(), "x");
        fs::create_dir_all(ours.join("amp/threads")).unwrap();
        fs::write(ours.join("amp/threads/1"), "y").unwrap();
        fs::write(ours.join("other"), "written through").unwrap();
        // As a program does that replaces a file at once.
        fs::write(ours.join("amp/.login"), "me").unwrap();
        fs::rename(ours.join("amp/.login"), ours.join("amp/login")).unwrap();
        assert!(overlay.move_back().is_empty());
        fs::remove_dir_all(&ours).unwrap();
        assert_eq!(fs::read_to_string(real.join("other")).unwrap(), "written through");
        assert_eq!(fs::read_to_string(real.join("amp/login")).unwrap(), "me");
        assert_eq!(fs::read_to_string(real.join("amp/threads/1")).unwrap(), "y");
        assert_eq!(fs::read_to_string(real.join("amp/ide/1.json")).unwrap(), "hidden");
    }

    #[test]
    fn what_cannot_be_put_where_it_belongs_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (real, ours) = (dir.path().join("real"), dir.path().join("ours"));
        fs::create_dir_all(&real).unwrap();
        let overlay = HomeOverlay::make(&real, &ours, "amp/ide").unwrap();
        fs::write(ours.join("late"), "x").unwrap();
        fs::create_dir_all(real.join("late")).unwrap();
        assert_eq!(overlay.move_back(), [ours.join("late")]);
    }

    #[test]
    fn what_is_not_there_looks_like_an_empty_folder() {
        let dir = tempfile::tempdir().unwrap();
        let overlay = HomeOverlay::make(&dir.path().join("none"), &dir.path().join("ours"), "a/b").unwrap();
        assert!(overlay.own().is_dir());
    }
}
