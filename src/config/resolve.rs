//! From file, flags and environment to subjects: [`resolve`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::diagnostic::yaml::{self, Kind, Node};
use crate::diagnostic::{Diagnostic, Source, nearest};
use crate::format::{Checker, Field, Shape};
use crate::trace::Strength;

use super::SubjectSpec;
use super::file::roles;
use super::subject::{self, Context};

/// The file that describes the subjects of a project.
pub const FILE: &str = "wirecert.yaml";

/// A name that is often written by mistake, and is not read.
const MISNAMED: &str = "wirecert.yml";

/// Where subjects are described.
#[derive(Clone, Debug)]
pub enum SubjectFile {
    /// In this file, which the user named.
    Given(PathBuf),
    /// In the [`FILE`] of the working directory, if it is there and has what was asked for.
    Found,
    /// Nowhere but in the flags.
    None,
}

/// The subjects that file and flags describe: flags beat the file, the file beats defaults. None where neither
/// describes any.
///
/// # Errors
/// Everything that is wrong with the file and the flags, all at once; and where the file is there under a wrong name, which
/// must not go unnoticed.
pub fn resolve(
    file: &SubjectFile,
    flags: &Flags,
    environment: &Environment,
) -> Result<Vec<SubjectSpec>, Vec<Diagnostic>> {
    let path = match file {
        SubjectFile::Given(path) => Some(path.clone()),
        SubjectFile::Found if environment.folder.join(FILE).exists() => Some(PathBuf::from(FILE)),
        SubjectFile::Found if environment.folder.join(MISNAMED).exists() => {
            return Err(vec![
                Diagnostic::error("subject/file", format!("there is a `{MISNAMED}` here, which is not read"))
                    .help(format!("rename it to `{FILE}`, or name it with `--subject {MISNAMED}`")),
            ]);
        }
        SubjectFile::Found => None,
        SubjectFile::None => None,
    };
    let given = matches!(file, SubjectFile::Given(_));
    let role = flags.role.as_deref().map(known_role).transpose().map_err(|fault| vec![fault])?;
    if let Some(path) = path {
        let source = yaml::read(&environment.folder.join(&path)).map_err(|fault| vec![fault])?;
        // Errors show the path as the user gave it.
        let source = Source::new(path.display().to_string(), source.text());
        let folder = environment.folder.join(&path).parent().map_or_else(|| environment.folder.clone(), Path::to_owned);
        let folder = folder.canonicalize().unwrap_or(folder);
        let found = read_subjects(&source, flags, environment, &folder)?;
        if !found.is_empty() || (given && role.is_none()) {
            return single_with_access(found, flags);
        }
        if given {
            let role = role.unwrap_or_default();
            return Err(vec![Diagnostic::error("subject/role", format!("{} has no {role}", path.display()))]);
        }
    }
    from_flags(role, flags, environment)
}

fn from_flags(
    role: Option<&str>,
    flags: &Flags,
    environment: &Environment,
) -> Result<Vec<SubjectSpec>, Vec<Diagnostic>> {
    match (role, flags.have_access()) {
        (_, false) => Ok(vec![]),
        (None, true) => {
            let roles = roles().collect::<Vec<_>>().join(", ");
            Err(vec![
                Diagnostic::error("subject/role", "it is not said which role the subject plays")
                    .help(format!("put it first, as in `wirecert certify ROLE -- COMMAND`; there are: {roles}")),
            ])
        }
        (Some(_), true) => {
            let empty = Source::new("the command line", "{}");
            read_subjects(&empty, flags, environment, &environment.folder)
        }
    }
}

/// A command, URL or lockfile on the command line is about one subject.
fn single_with_access(found: Vec<SubjectSpec>, flags: &Flags) -> Result<Vec<SubjectSpec>, Vec<Diagnostic>> {
    if found.len() > 1 && flags.have_access() {
        let names = found.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(vec![
            Diagnostic::error("subject/several", "a command, URL or lockfile is given, but several subjects described")
                .note(format!("they are: {names}"))
                .help("choose by role, or describe the one in a file of its own and give that with `--subject FILE`"),
        ]);
    }
    Ok(found)
}

/// The subjects of a file's text; only those of the requested role, if there is one.
fn read_subjects(
    source: &Source,
    flags: &Flags,
    environment: &Environment,
    folder: &Path,
) -> Result<Vec<SubjectSpec>, Vec<Diagnostic>> {
    let tree = yaml::parse(source)?;
    let mut checker = Checker::new(source, "subject");
    let context = Context { flags, environment, folder };
    let mut found = vec![];
    for node in nodes(&mut checker, &tree) {
        found.extend(subject::read(&mut checker, node, &context));
    }
    let mut names = std::collections::HashSet::new();
    for spec in &found {
        if !names.insert(&spec.name) {
            let message = format!("two subjects are called `{}`", spec.name);
            let fault = checker.fault("name", tree.span, message, "in this file");
            fault.help.push("give each a `name` of its own".to_owned());
        }
    }
    if checker.faults.is_empty() {
        return Ok(found);
    }
    let position = |fault: &Diagnostic| fault.labels.first().map_or(usize::MAX, |label| label.place.span.start);
    checker.faults.sort_by_key(position);
    Err(checker.faults)
}

/// The subjects of a file: itself, or those below `subjects`.
fn nodes<'n>(checker: &mut Checker<'_>, tree: &'n Node) -> Vec<&'n Node> {
    const SEVERAL: &[Field] = &[Field::required("subjects", Shape::Any, "Several subjects.")];
    if tree.kind == Kind::Null {
        checker.fault("type", tree.span, "there is nothing in this file", "expected a subject: `role`, `launch`…");
        return vec![];
    }
    let Some(several) = tree.get("subjects") else { return vec![tree] };
    checker.object("a file with `subjects`", tree, SEVERAL, None);
    match several.value.as_list() {
        Some(list) if !list.is_empty() => list.iter().collect(),
        _ => {
            let message = format!("`subjects` is {}", several.value.kind_name());
            checker.fault("type", several.value.span, message, "expected a list of at least one subject");
            vec![]
        }
    }
}

fn known_role(name: &str) -> Result<&'static str, Diagnostic> {
    roles().find(|role| *role == name).ok_or_else(|| {
        let mut fault = Diagnostic::error("subject/unknown", format!("there is no role `{name}`"));
        fault.help.extend(nearest(name, roles()).map(|role| format!("did you mean `{role}`?")));
        fault.note(format!("there are: {}", roles().collect::<Vec<_>>().join(", ")))
    })
}

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
    /// Whether the flags say how to reach a subject.
    pub fn have_access(&self) -> bool {
        !self.command.is_empty() || self.url.is_some() || self.lockfile.is_some() || self.module.is_some()
    }
}

/// The environment in which wirecert runs.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The working directory.
    pub folder: PathBuf,
    /// The value of an environment variable.
    pub variable: fn(&str) -> Option<OsString>,
}

impl Environment {
    /// The environment of this process.
    ///
    /// # Errors
    /// Where the working directory is gone.
    pub fn here() -> std::io::Result<Self> {
        Ok(Self { folder: std::env::current_dir()?, variable: |name| std::env::var_os(name) })
    }
}
