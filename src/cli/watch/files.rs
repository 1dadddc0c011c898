//! Which files a run depends on, and what they were like.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::config::{Access, FILE, SubjectSpec};
use crate::scenario::{files_below, load};

use super::super::run::role_of;
use super::super::subjects;
use super::Given;

/// The files that a run depends on.
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
    pub fn of(given: &Given<'_>) -> Self {
        let Given { scenarios, role, command, options } = *given;
        let (mut others, mut arguments) = (vec![], vec![]);
        if !options.own {
            others.extend(options.subject.clone().or_else(|| command.is_empty().then(|| PathBuf::from(FILE))));
        }
        // Where it is not said, the scenarios say it.
        let role = role.or_else(|| role_of(&load(scenarios).plans));
        let subjects = subjects::given(role, command, options).unwrap_or_default();
        if subjects.is_empty() {
            others.extend(options.baseline.clone());
        }
        for spec in &subjects {
            others.extend(spec.baseline.clone());
            of_subject(spec, &mut others, &mut arguments);
        }
        Self { scenarios: scenarios.to_vec(), others, arguments }
    }

    /// What they are like that only people change.
    pub fn inputs(&self) -> FileStamps {
        FileStamps::of(files_below(&self.scenarios).into_iter().chain(self.others.iter().cloned()))
    }

    /// What those are like that the subject may change as well.
    pub fn arguments(&self) -> FileStamps {
        FileStamps::of(self.arguments.iter().cloned())
    }
}

/// The subject's own files.
fn of_subject(spec: &SubjectSpec, others: &mut Vec<PathBuf>, arguments: &mut Vec<PathBuf>) {
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

/// What files are like: when each was written and how long it is; nothing of one that is not there.
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
