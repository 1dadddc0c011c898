//! The fresh folder that a subject lives in.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::config::{Launch, Module, SeedFile};

use super::workspace::{self, ScenarioDir};
use super::{SubjectError, error, remove_tree};

/// A run directory: `workspace/` for the files that the subject works on, and `home/`, which stands for the
/// user's home folder, with the data home inside. Removed when dropped, unless it is to be kept.
pub struct RunDir {
    root: PathBuf,
    // Held for its `Drop`; none once the folder is to stay.
    temporary: Option<TempDir>,
    scenario_dirs: workspace::ScenarioDirNumbers,
}

impl RunDir {
    /// Makes a fresh one for this launch, with the files that it asks for.
    ///
    /// # Errors
    /// [`SubjectError::File`] where the place cannot be written (read-only, full, missing), and
    /// [`SubjectError::Path`] where a seeded file would lie outside.
    pub fn create(launch: &Launch) -> Result<Self, SubjectError> {
        let base = launch.run_dir.clone().unwrap_or_else(std::env::temp_dir);
        fs::create_dir_all(&base).map_err(|e| SubjectError::file("make the folder", &base, e))?;
        let temporary = tempfile::Builder::new()
            .prefix("wirecert-")
            .tempdir_in(&base)
            .map_err(|e| SubjectError::file("make a run directory in", &base, e))?;
        // Subjects compare paths after resolving links, so they get only resolved paths.
        let root = temporary.path().canonicalize().map_err(|e| SubjectError::file("resolve", temporary.path(), e))?;
        let dir = Self { root, temporary: Some(temporary), scenario_dirs: workspace::ScenarioDirNumbers::default() };
        dir.make_folders()?;
        let link = dir.workspace_by_link();
        std::os::unix::fs::symlink(dir.workspace(), &link)
            .map_err(|e| SubjectError::file("make the link", &link, e))?;
        if let Some(module) = &launch.module {
            workspace::write(&dir.root, Module::HOST, module.host.as_bytes())?;
        }
        seed(&dir.home(), &launch.home)?;
        seed(&dir.workspace(), &launch.files)?;
        Ok(if launch.keep_run_dir { dir.keep() } else { dir })
    }

    /// Makes it as if it were fresh, for a subject that goes on living in it: what was put there since is removed, what
    /// the launch asks for is laid anew.
    ///
    /// # Errors
    /// As [`RunDir::create`], and [`SubjectError::File`] where something cannot be removed.
    pub fn renew(&self, launch: &Launch) -> Result<(), SubjectError> {
        let kept: Vec<PathBuf> = self.folders().into_iter().chain([self.workspace_by_link()]).collect();
        clear(&self.root, &kept).map_err(|e| SubjectError::file("empty", &self.root, e))?;
        self.make_folders()?;
        seed(&self.home(), &launch.home)?;
        seed(&self.workspace(), &launch.files)
    }

    /// The folders that every subject finds.
    fn folders(&self) -> [PathBuf; 5] {
        [self.workspace(), self.data_home(), self.config_home(), self.cache_home(), self.state_home()]
    }

    fn make_folders(&self) -> Result<(), SubjectError> {
        let make =
            |folder: &PathBuf| fs::create_dir_all(folder).map_err(|e| SubjectError::file("make the folder", folder, e));
        self.folders().iter().try_for_each(make)
    }

    /// Leaves the folder where it is when this is dropped.
    #[must_use]
    pub fn keep(mut self) -> Self {
        if let Some(temporary) = self.temporary.take() {
            let _ = temporary.keep();
        }
        self
    }

    /// Whether the folder stays when this is dropped.
    pub fn is_kept(&self) -> bool {
        self.temporary.is_none()
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the files are that the subject works on; its working directory.
    pub fn workspace(&self) -> PathBuf {
        self.root.join("workspace")
    }

    /// What stands for the user's home folder.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Another path to [`RunDir::workspace`]: through a symbolic link.
    pub fn workspace_by_link(&self) -> PathBuf {
        self.root.join("link-to-workspace")
    }

    /// Where programs keep their data, by the XDG base directory specification.
    pub fn data_home(&self) -> PathBuf {
        self.home().join(".local").join("share")
    }

    /// Where programs keep their settings.
    pub fn config_home(&self) -> PathBuf {
        self.home().join(".config")
    }

    /// Where programs keep what they can do without.
    pub fn cache_home(&self) -> PathBuf {
        self.home().join(".cache")
    }

    /// Where programs keep their state.
    pub fn state_home(&self) -> PathBuf {
        self.home().join(".local").join("state")
    }

    /// A fresh folder of the workspace for one scenario. The label is for people who look into the folder.
    ///
    /// # Errors
    /// [`SubjectError::File`] where it cannot be made.
    pub fn scenario_dir(&self, label: &str) -> Result<ScenarioDir, SubjectError> {
        // The subject can put a link in its place, which would lead out.
        let workspace = self.workspace();
        let is_folder = fs::symlink_metadata(&workspace).is_ok_and(|meta| meta.is_dir());
        if !is_folder {
            let gone = "the workspace is gone: the subject, or somebody else, removed it or put something in its place";
            let gone = std::io::Error::other(gone);
            return Err(SubjectError::file("make a folder in", workspace, gone));
        }
        self.scenario_dirs.next(&workspace, label)
    }

    /// Removes the folder now, unless it is to be kept.
    ///
    /// # Errors
    /// [`SubjectError::File`] where something in it cannot be removed.
    pub fn remove(mut self) -> Result<(), SubjectError> {
        match self.temporary.take() {
            Some(temporary) => {
                // What this leaves, the next line reports.
                let _ = remove_tree::empty(&self.root);
                temporary.close().map_err(|e| SubjectError::file("remove", &self.root, e))
            }
            None => Ok(()),
        }
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if self.temporary.is_some() {
            let _ = remove_tree::empty(&self.root);
        }
    }
}

/// Removes everything in a folder but for these paths, and the folders that they are in. Links are not followed.
fn clear(folder: &Path, but: &[PathBuf]) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, is_folder) = (entry.path(), entry.file_type()?.is_dir());
        match is_folder {
            false if but.contains(&path) => {}
            true if but.iter().any(|kept| kept.starts_with(&path)) => clear(&path, but)?,
            true => remove_tree::remove(&path)?,
            false => fs::remove_file(&path)?,
        }
    }
    Ok(())
}

fn seed(root: &Path, files: &[SeedFile]) -> Result<(), error::SubjectError> {
    files.iter().try_for_each(|file| workspace::write(root, &file.path, &file.content))
}
