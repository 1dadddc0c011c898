//! What the command line says about subjects.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::trace::Strength;

/// The part of the command line that describes the subject. What is `None`, empty or false was not given.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The role to certify.
    pub role: Option<String>,
    /// `--edition`.
    pub edition: Option<String>,
    /// The command after `--`.
    pub command: Vec<String>,
    /// `--url`: a URL, or `running`.
    pub url: Option<String>,
    /// `--lockfile`.
    pub lockfile: Option<PathBuf>,
    /// `--module`.
    pub module: Option<PathBuf>,
    /// `--settings`.
    pub settings: Option<PathBuf>,
    /// `--workspace`.
    pub workspace: Option<PathBuf>,
    /// `--baseline`.
    pub baseline: Option<PathBuf>,
    /// `--snapshots`.
    pub snapshots: Option<PathBuf>,
    /// `--snapshot-strength`.
    pub snapshot_strength: Option<Strength>,
    /// `--trace-dir`.
    pub trace_dir: Option<PathBuf>,
    /// `--run-dir`: where run directories are made.
    pub run_dir: Option<PathBuf>,
    /// Whether run directories are left for inspection.
    pub keep_run_dir: bool,
    /// `--observe`.
    pub observe: Option<Duration>,
    /// `--timeout`.
    pub timeout: Option<Duration>,
}

impl Flags {
    /// Whether they say how to get at a subject.
    pub fn have_access(&self) -> bool {
        !self.command.is_empty() || self.url.is_some() || self.lockfile.is_some() || self.module.is_some()
    }
}

/// What is around wirecert itself.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The working directory.
    pub folder: PathBuf,
    /// The value of an environment variable.
    pub variable: fn(&str) -> Option<OsString>,
}

impl Environment {
    /// That of this process.
    ///
    /// # Errors
    /// Where the working directory is gone.
    pub fn here() -> std::io::Result<Self> {
        Ok(Self { folder: std::env::current_dir()?, variable: |name| std::env::var_os(name) })
    }
}
