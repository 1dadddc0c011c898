//! Scenario files: found, read, checked, and given ids that are theirs alone.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Source, Span, yaml};

use super::{Plan, check};

/// What came of reading scenario files.
#[derive(Default)]
pub struct Loaded {
    /// The plans of all files without faults, in the order of the files, editions and cases.
    pub plans: Vec<Plan>,
    /// Everything that is wrong with the others.
    pub diagnostics: Vec<Diagnostic>,
}

/// The most files below the paths given.
const MAX_FILES: usize = 20_000;

/// The number of texts for which it is worth to start another thread.
const MANY: usize = 32;

/// The deepest folder that is looked into.
const MAX_DEPTH: usize = 32;

/// Reads scenario files and folders of them. Folders are walked in sorted order for `*.yaml` and `*.yml`; names that begin
/// with a dot are passed over. A file given twice is read once.
///
/// The id of a plan is `<role>/<edition>/<area>/<name>`. Area and name are the path below the last folder that is named as
/// the role (and below one named as an edition in it), else below the folder given; a file that lies in no folder
/// there has the area `user`.
pub fn load(paths: &[PathBuf]) -> Loaded {
    let mut loaded = Loaded::default();
    let mut seen = BTreeSet::new();
    for path in paths {
        if path.is_dir() {
            let mut files = vec![];
            if let Err(fault) = walk(path, 0, &mut files) {
                loaded.diagnostics.push(fault);
            }
            if files.is_empty() {
                let message = format!("there are no scenario files (*.yaml, *.yml) below {}", path.display());
                loaded.diagnostics.push(Diagnostic::error("scenario/no-files", message));
            }
            for file in files {
                let below = file.strip_prefix(path).unwrap_or(&file).to_owned();
                if seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())) {
                    loaded.file(&file, &below);
                }
            }
        } else if seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            let below = path.file_name().map(PathBuf::from).unwrap_or_default();
            loaded.file(path, &below);
        }
    }
    loaded.finish()
}

/// The scenario files that [`load`] would read: those given, and those below the folders given. What cannot be read is left
/// out.
pub fn files_below(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = vec![];
    for path in paths {
        if path.is_dir() {
            // The reader of the files reports what is wrong.
            let _ = walk(path, 0, &mut files);
        } else {
            files.push(path.clone());
        }
    }
    files
}

/// Reads scenarios that are in memory: each with the name that errors show and its path in the tree of scenarios.
pub fn load_texts<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Loaded {
    let texts: Vec<(&str, &str)> = texts.into_iter().collect();
    let read_here = |texts: &[(&str, &str)]| {
        let mut loaded = Loaded::default();
        for (path, text) in texts {
            loaded.text(Source::new(*path, *text), Path::new(path), Path::new(path));
        }
        loaded
    };
    // Where there is no thread for all, each text asks for one, and says so where there is none.
    let read = |texts: &[(&str, &str)]| yaml::roomy(|| read_here(texts)).unwrap_or_else(|_| read_here(texts));
    // A whole suite takes long enough to be read by all cores, each a part of it.
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let part = texts.len().div_ceil(cores).max(MANY);
    let parts = std::thread::scope(|scope| {
        let read = &read;
        let reading: Vec<_> = texts.chunks(part).skip(1).map(|texts| scope.spawn(move || read(texts))).collect();
        let first = texts.chunks(part).next().map(read).unwrap_or_default();
        let rest = reading.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(first).chain(rest).collect::<Vec<_>>()
    });
    let mut loaded = Loaded::default();
    for part in parts {
        loaded.plans.extend(part.plans);
        loaded.diagnostics.extend(part.diagnostics);
    }
    loaded.finish()
}

/// Reads one scenario that is in memory; `name` is shown by errors, and its last part gives the plans their names.
pub fn load_str(name: &str, text: &str) -> Loaded {
    load_texts([(name, text)])
}

impl Loaded {
    fn file(&mut self, path: &Path, below: &Path) {
        match yaml::read(path) {
            Ok(source) => self.text(source, path, below),
            Err(fault) => self.diagnostics.push(fault),
        }
    }

    fn text(&mut self, source: Source, path: &Path, below: &Path) {
        let root = match yaml::parse(&source) {
            Ok(root) => root,
            Err(faults) => return self.diagnostics.extend(faults),
        };
        let (plays, faults) = check::checked_plans(&source, &root);
        self.diagnostics.extend(faults);
        for play in plays {
            let mut plan = play.plan;
            plan.id = id(&plan, path, below);
            if let Some(case) = play.case {
                plan.id.push_str(&format!("[{case}]"));
            }
            self.plans.push(plan);
        }
    }

    /// Takes out plans whose id another one has already.
    fn finish(mut self) -> Self {
        let mut first: BTreeMap<String, String> = BTreeMap::new();
        let mut reported = BTreeSet::new();
        let mut faults = vec![];
        self.plans.retain(|plan| match first.get(&plan.id) {
            None => {
                first.insert(plan.id.clone(), plan.file.clone());
                true
            }
            Some(file) => {
                if reported.insert((file.clone(), plan.file.clone())) {
                    let message = format!("{} and {file} have the same id, {}", plan.file, plan.id);
                    let mut fault = Diagnostic::error("scenario/duplicate-id", message);
                    if let Some(step) = plan.steps.first() {
                        fault = fault.at(step.place.source.place(Span::default()), "");
                    }
                    faults.push(fault.help("rename one of the files, or the folder it lies in"));
                }
                false
            }
        });
        self.diagnostics.append(&mut faults);
        self
    }
}

/// The id of a plan, without its case.
fn id(plan: &Plan, path: &Path, below: &Path) -> String {
    let folders = |path: &Path| -> Vec<String> {
        let parent = path.parent().unwrap_or(Path::new(""));
        parent.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let all = folders(path);
    let mut area = match all.iter().rposition(|folder| folder == plan.role) {
        Some(at) => all[at + 1..].to_vec(),
        None => folders(below),
    };
    area.retain(|folder| folder != "." && folder != "/");
    if area.first().is_some_and(|folder| folder == plan.edition.id()) {
        area.remove(0);
    }
    if area.is_empty() {
        area.push("user".to_owned());
    }
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{}/{}/{}/{stem}", plan.role, plan.edition, area.join("/"))
}

fn walk(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Diagnostic> {
    let failed = |e: std::io::Error| {
        Diagnostic::error("scenario/unreadable", format!("could not read the folder {}: {e}", folder.display()))
    };
    let too = |what: &str| {
        Diagnostic::error("scenario/unreadable", format!("{} has {what}", folder.display()))
            .help("give the folders that have scenarios in them")
    };
    if depth > MAX_DEPTH {
        return Err(too("folders nested too deep, or links that lead back to it"));
    }
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(failed)?
        .map(|e| e.map(|e| e.path()))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    entries.sort();
    for entry in entries {
        let hidden = entry.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
        let is_scenario = entry.extension().is_some_and(|e| e == "yaml" || e == "yml");
        if hidden {
            continue;
        }
        if entry.is_dir() {
            // Links to folders may lead in circles.
            if !entry.is_symlink() {
                walk(&entry, depth + 1, files)?;
            }
        } else if is_scenario {
            if files.len() == MAX_FILES {
                return Err(too("too many scenario files"));
            }
            files.push(entry);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_texts_plans_and_faults_keep_their_order() {
        let text = "wirecert: 1\ntitle: T\nrole: openctx-provider\nsteps:\n  - connect: {}\n";
        let sound = include_str!("../../scenarios/openctx-provider/http/content-type.yaml");
        let names: Vec<String> = (0..20 * MANY).map(|n| format!("openctx-provider/a/{n:05}.yaml")).collect();
        let texts = names.iter().enumerate().map(|(n, name)| (name.as_str(), if n % 7 == 0 { text } else { sound }));
        let loaded = load_texts(texts);
        let files: Vec<&str> = loaded.plans.iter().map(|plan| plan.file.as_str()).collect();
        assert!(files.is_sorted() && files.len() >= 17 * MANY, "{} plans", files.len());
        let places: Vec<String> = loaded.diagnostics.iter().map(|fault| format!("{fault:?}")).collect();
        let named = |n: usize| places.iter().position(|place| place.contains(&names[n]));
        assert!(named(0) < named(7) && named(7) < named(14 * MANY), "{:?}", places.first());
    }
}
