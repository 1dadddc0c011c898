//! `wirecert init`: a commented `wirecert.yaml` to begin with, for the project in the folder where it can tell what that
//! is, and the job of a CI service. The main type is [`InitArgs`].

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::protocol::{Protocol, Role, protocols};

use self::project::Project;
use self::template::{Known, template};
use super::reference::known_role;
use super::{CliError, Exit, Terminal};

mod project;
mod template;

/// Arguments of `init`.
#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// What the subject is, such as `amp-server`. If not given, it is taken from the project in this folder: a Neovim
    /// plugin, an Emacs package, a JavaScript provider or a Python server.
    role: Option<String>,

    /// The file to write.
    #[arg(long, value_name = "FILE", default_value = "wirecert.yaml")]
    out: PathBuf,

    /// Write the job of a CI service as well.
    #[arg(long, value_name = "SERVICE")]
    ci: Option<CiService>,
}

/// A CI service for which there is a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum CiService {
    /// GitHub Actions, in `.github/workflows/wirecert.yml`
    Github,
    /// GitLab CI, in `.gitlab-ci.yml`
    Gitlab,
}

impl CiService {
    /// The file of its jobs, and what is in it.
    fn job(self) -> (&'static str, &'static str) {
        match self {
            Self::Github => (".github/workflows/wirecert.yml", include_str!("init/github.yml")),
            Self::Gitlab => (".gitlab-ci.yml", include_str!("init/gitlab.yml")),
        }
    }
}

/// Writes the files. One that is there is never replaced, and nothing is written if one is there.
pub fn init(args: InitArgs, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let folder = args.out.parent().unwrap_or(Path::new(""));
    let projects = project::find(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let (protocol, role) = match &args.role {
        Some(role) => known_role(role)?,
        None => role_of(&projects)?,
    };
    let project = projects.iter().find(|project| project.role() == role.name);
    let mut files = vec![(args.out.clone(), subject(protocol, role, project))];
    if let Some((name, script)) = project.and_then(Project::script) {
        files.push((folder.join(name), script));
    }
    if let Some((path, job)) = args.ci.map(CiService::job) {
        files.push((folder.join(path), job.to_owned()));
    }
    if let Some((path, _)) = files.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
        return Err(is_there(path));
    }
    for (path, text) in &files {
        write(path, text)?;
    }
    let names: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    let next = match project {
        Some(project) => format!(" for {project}; run: wirecert doctor, wirecert certify"),
        None => "; edit `launch`, then run: wirecert certify".to_owned(),
    };
    terminal.progress(&format!("wrote {}{next}", names.join(", ")));
    Ok(Exit::OK)
}

/// The role of the only project that was found.
fn role_of(projects: &[Project]) -> Result<(&'static Protocol, &'static Role), CliError> {
    match projects {
        [project] => known_role(project.role()),
        [] => {
            let names: Vec<&str> = protocols().iter().flat_map(|p| p.roles.iter().map(|role| role.name)).collect();
            Err(CliError::usage("nothing in this folder tells what the subject is".to_owned())
                .help(format!("say its role: wirecert init {}", names.join("|"))))
        }
        several => {
            let found: Vec<String> = several.iter().map(|project| format!("{project} ({})", project.role())).collect();
            Err(CliError::usage(format!("this folder has {}", found.join(" and ")))
                .help(format!("say which role it is about: wirecert init {}", several[0].role())))
        }
    }
}

/// The text of the subject's file.
fn subject(protocol: &Protocol, role: &Role, project: Option<&Project>) -> String {
    match project {
        Some(project) => template(protocol, role, &project.name(), &project.known(role)),
        None => template(protocol, role, "my-subject", &Known::nothing(role)),
    }
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let cannot = |e: std::io::Error| CliError::usage(format!("cannot write {}: {e}", path.display()));
    if let Some(folder) = path.parent().filter(|folder| folder.ends_with(".github/workflows")) {
        std::fs::create_dir_all(folder).map_err(cannot)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map_err(cannot),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(is_there(path)),
        Err(e) => Err(cannot(e)),
    }
}

fn is_there(path: &Path) -> CliError {
    CliError::usage(format!("{} is there already", path.display()))
        .help("nothing was written; move it away, or choose another file with --out")
}
