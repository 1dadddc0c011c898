//! Running again whenever a file changes: `--watch`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::{MissedTickBehavior, interval};

use crate::config::{Access, FILE, SubjectSpec};
use crate::play::Cancel;
use crate::scenario::{files_below, load};

use super::certify::role_of;
use super::terminal::{cancel_on_signals, runtime};
use super::{CliError, Exit, SharedOptions, Terminal, certify};

/// How often the files are looked at: people do not notice the delay, and machines not the work.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// The arguments of a command that name the files which its run depends on.
#[derive(Clone, Copy)]
pub struct WatchArguments<'a> {
    /// Scenario files, and folders of them.
    pub scenarios: &'a [PathBuf],
    /// The role of the subject, where it is given.
    pub role: Option<&'a str>,
    /// The command that starts the subject; empty where none was given.
    pub command: &'a [String],
    /// The other options.
    pub options: &'a SharedOptions,
}

/// Runs once, and then again whenever a file changes that the run depends on, until it is interrupted. Where `--watch` was not
/// given, runs once.
///
/// Errors in a file are reported, and its next change is waited for.
///
/// # Errors
/// Those of the run, where it is the only one; and where there is no file to watch.
pub fn watch(
    terminal: &mut Terminal,
    given: WatchArguments<'_>,
    mut once: impl FnMut(&mut Terminal) -> Result<Exit, CliError>,
) -> Result<Exit, CliError> {
    if !given.options.watch {
        return once(terminal);
    }
    let runtime = runtime(None)?;
    let cancel = Cancel::default();
    // Heard from the beginning, so that an interrupt between two runs is not lost.
    runtime.block_on(async { cancel_on_signals(&cancel) });
    while !cancel.is_cancelled() {
        let watched = Watched::of(&given);
        // Looked at before the run, so that a change in the middle of it is seen after it.
        let mut known = watched.inputs();
        if known.is_empty() && watched.arguments().is_empty() {
            return Err(CliError::usage("there is no file to watch")
                .help("give a scenario file, a `wirecert.yaml`, a baseline, or a subject that is a file"));
        }
        let exit = match once(terminal) {
            Ok(exit) => exit,
            Err(error) => terminal.explain(&error),
        };
        if exit == Exit::INTERRUPTED {
            break;
        }
        known.add(watched.arguments());
        terminal.progress(&format!("watching {known} for changes; Ctrl-C ends"));
        match runtime.block_on(changed(&known, &watched, &cancel)) {
            Some(path) => terminal.progress(&format!("{} changed: running again", path.display())),
            None => break,
        }
    }
    Ok(Exit::INTERRUPTED)
}

/// Waits until a file is not as it was, and is not written to any more; gives the first such file, none where the
/// wait was interrupted.
async fn changed(known: &FileStamps, watched: &Watched, cancel: &Cancel) -> Option<PathBuf> {
    let mut ticks = interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last: Option<FileStamps> = None;
    loop {
        tokio::select! {
            () = cancel.cancelled() => return None,
            _ = ticks.tick() => {}
        }
        let mut now = watched.inputs();
        now.add(watched.arguments());
        if let Some(path) = known.first_difference(&now)
            && last.as_ref() == Some(&now)
        {
            return Some(path);
        }
        last = Some(now);
    }
}

/// The files that a run depends on, by who may change them.
pub struct Watched {
    /// Scenario files, and folders in which they come and go.
    scenarios: Vec<PathBuf>,
    /// What says how to play and judge, and the subjects' own programs.
    others: Vec<PathBuf>,
    /// Files among the words of commands: scripts, but also what a subject writes to.
    arguments: Vec<PathBuf>,
}

impl Watched {
    /// Those of a command line. Where the subject's description cannot be read, that file itself is among them.
    pub fn of(given: &WatchArguments<'_>) -> Self {
        let WatchArguments { scenarios, role, command, options } = *given;
        let (mut others, mut arguments) = (vec![], vec![]);
        if !options.own {
            others.extend(options.subject.clone().or_else(|| command.is_empty().then(|| PathBuf::from(FILE))));
        }
        // Where it is not said, the scenarios say it.
        let role = role.or_else(|| role_of(&load(scenarios).plans));
        let subjects = certify::described_subjects(role, command, options).unwrap_or_default();
        if subjects.is_empty() {
            others.extend(options.baseline.clone());
        }
        for spec in &subjects {
            others.extend(spec.baseline.clone());
            subject_files(spec, &mut others, &mut arguments);
        }
        Self { scenarios: scenarios.to_vec(), others, arguments }
    }

    /// The stamps of the files that only people change.
    pub fn inputs(&self) -> FileStamps {
        FileStamps::of(files_below(&self.scenarios).into_iter().chain(self.others.iter().cloned()))
    }

    /// The stamps of the files that the subject may change as well.
    pub fn arguments(&self) -> FileStamps {
        FileStamps::of(self.arguments.iter().cloned())
    }
}

/// The subject's own files.
fn subject_files(spec: &SubjectSpec, others: &mut Vec<PathBuf>, arguments: &mut Vec<PathBuf>) {
    let Access::Launch(launch) = &spec.access else { return };
    if let Some(module) = &launch.module {
        others.push(module.path.clone());
        others.extend(module.settings.clone());
        return;
    }
    let folder = spec.config_dir.display().to_string();
    let mut words = launch.command.0.iter().map(|word| spec.config_dir.join(word.replace("{config_dir}", &folder)));
    // A program that is found by its name alone is somebody else's.
    others.extend(words.next().filter(|program| program.is_file()));
    arguments.extend(words.filter(|path| path.is_file()));
}

/// When each file was written and how long it is; none for a file that does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileStamps(BTreeMap<PathBuf, Option<(SystemTime, u64)>>);

impl FileStamps {
    fn of(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let stamp = |path: &Path| {
            let meta = std::fs::metadata(path).ok()?;
            Some((meta.modified().ok()?, meta.len()))
        };
        Self(files.into_iter().map(|path| (path.clone(), stamp(&path))).collect())
    }

    /// Joins others to these.
    pub fn add(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Whether none of the files is there.
    pub fn is_empty(&self) -> bool {
        self.0.values().all(Option::is_none)
    }

    /// The first file that is not the same in both, or only in one of them.
    pub fn first_difference(&self, other: &Self) -> Option<PathBuf> {
        let paths = self.0.keys().chain(other.0.keys());
        paths.into_iter().find(|path| self.0.get(*path) != other.0.get(*path)).cloned()
    }
}

/// The names of a few files, the number of many.
impl fmt::Display for FileStamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there: Vec<String> =
            self.0.iter().filter(|(_, stamp)| stamp.is_some()).map(|(path, _)| path.display().to_string()).collect();
        if there.len() > 4 { write!(f, "{} files", there.len()) } else { f.write_str(&there.join(", ")) }
    }
}
