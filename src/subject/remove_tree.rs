//! Removing folders that a subject has filled: however deep they are, with a bounded number of open files and without
//! recursion. The main functions are [`remove`] and [`empty`].

use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{self, AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

/// How the names of folders begin that were moved to the top.
const MOVED: &str = ".wirecert-moved-";
/// How often a folder is emptied that something is put into meanwhile.
const ATTEMPTS: usize = 8;

/// Removes a folder and everything in it. Links are removed, not followed.
///
/// # Errors
/// The first thing that could not be removed; the rest is removed all the same.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    empty(folder)?;
    std::fs::remove_dir(folder)
}

/// Removes everything in a folder. A folder in a folder that is not empty is moved to the top and emptied there: a path never
/// becomes longer, and no more than three folders are open at a time.
///
/// # Errors
/// As [`remove`].
pub(super) fn empty(folder: &Path) -> io::Result<()> {
    let top = open(fs::CWD, folder).or_else(|_| {
        fs::chmodat(fs::CWD, folder, Mode::RWXU, AtFlags::empty())?;
        open(fs::CWD, folder)
    })?;
    let mut removal = Removal { top, queue: VecDeque::new(), moved: 0 };
    let mut failed = removal.folder(None);
    while let Some(name) = removal.queue.pop_front() {
        failed = failed.and(removal.moved_folder(&name));
    }
    Ok(failed?)
}

/// One removal.
struct Removal {
    top: OwnedFd,
    /// Folders in `top` that are not empty.
    queue: VecDeque<CString>,
    /// How many folders were moved to `top`.
    moved: u64,
}

impl Removal {
    /// Removes a folder in `top`.
    fn moved_folder(&mut self, name: &CStr) -> Result<(), Errno> {
        let mut gone = Ok(());
        for _ in 0..ATTEMPTS {
            let _ = fs::chmodat(&self.top, name, Mode::RWXU, AtFlags::empty());
            let folder = open(&self.top, name)?;
            self.folder(Some(&folder))?;
            gone = fs::unlinkat(&self.top, name, AtFlags::REMOVEDIR);
            if !matches!(gone, Err(Errno::NOTEMPTY | Errno::EXIST)) {
                break;
            }
        }
        gone
    }

    /// Removes what is in a folder, or in `top` if there is none. What is left are folders that wait in the queue.
    fn folder(&mut self, folder: Option<&OwnedFd>) -> Result<(), Errno> {
        let mut failed = Ok(());
        for entry in Dir::read_from(folder.unwrap_or(&self.top))? {
            let name = entry?.file_name().to_owned();
            if !matches!(name.to_bytes(), b"." | b"..") {
                let gone = self.entry(folder, name);
                failed = failed.and(gone.or_else(|e| if e == Errno::NOENT { Ok(()) } else { Err(e) }));
            }
        }
        failed
    }

    fn entry(&mut self, folder: Option<&OwnedFd>, name: CString) -> Result<(), Errno> {
        let at = folder.unwrap_or(&self.top);
        match fs::unlinkat(at, &name, AtFlags::empty()) {
            // Linux says the first of a folder, POSIX the second.
            Err(Errno::ISDIR | Errno::PERM) => {}
            gone => return gone,
        }
        match fs::unlinkat(at, &name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ACCESS) => {}
            gone => return gone,
        }
        let Some(folder) = folder else {
            self.queue.push_back(name);
            return Ok(());
        };
        // Without rights to it, it cannot be moved.
        let _ = fs::chmodat(folder, &name, Mode::RWXU, AtFlags::empty());
        let to = self.fresh_name()?;
        fs::renameat(folder, &name, &self.top, &to)?;
        self.queue.push_back(to);
        Ok(())
    }

    /// A name that nothing in `top` has.
    fn fresh_name(&mut self) -> Result<CString, Errno> {
        loop {
            self.moved += 1;
            let name = CString::new(format!("{MOVED}{}", self.moved)).map_err(|_| Errno::INVAL)?;
            match fs::statat(&self.top, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => return Ok(name),
                Err(e) => return Err(e),
                Ok(_) => {}
            }
        }
    }
}

fn open(at: impl std::os::fd::AsFd, path: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    fs::openat(at, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_deeper_than_a_path_is_long_goes_and_what_links_lead_to_stays() {
        let base = tempfile::tempdir().unwrap();
        let (folder, precious) = (base.path().join("folder"), base.path().join("precious"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&precious, "kept").unwrap();
        symlink(&precious, folder.join("file-link")).unwrap();
        symlink(base.path(), folder.join("folder-link")).unwrap();
        std::fs::create_dir(folder.join(format!("{MOVED}1"))).unwrap();
        let mut at = open(fs::CWD, &folder).unwrap();
        for depth in 0..10_000 {
            if depth % 100 == 0 {
                fs::symlinkat(base.path(), &at, "link").unwrap();
            }
            fs::mkdirat(&at, "inner", Mode::RWXU).unwrap();
            at = open(&at, "inner").unwrap();
        }
        remove(&folder).unwrap();
        assert!(!folder.exists());
        assert_eq!(std::fs::read_to_string(precious).unwrap(), "kept");
    }

    #[test]
    fn a_folder_without_rights_goes() {
        use std::os::unix::fs::PermissionsExt;
        let base = tempfile::tempdir().unwrap();
        let closed = base.path().join("folder/closed");
        std::fs::create_dir_all(closed.join("inner")).unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
        remove(&base.path().join("folder")).unwrap();
        assert!(!base.path().join("folder").exists());
    }
}
