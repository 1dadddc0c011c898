//! The options that say what to play at, of commands that play at one subject.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::config::{EditionChoice, SubjectSpec};
use crate::judge::Repro;
use crate::play::{Cancel, PlayOptions, Run, StopCondition, Traces};
use crate::protocol::{Level, RequirementId, parse_bound};
use crate::report::Silent;

use super::{CliError, SharedOptions};

/// Which subject, and how patient to be with it.
#[derive(Clone, Debug, Args)]
pub struct TargetOptions {
    /// The edition to judge by, or `auto` to detect it.
    #[arg(long, value_name = "EDITION", help_heading = "Subject")]
    pub edition: Option<String>,

    /// Describes the subject: how to start it, what it can be made to do.
    #[arg(long, value_name = "FILE", help_heading = "Subject")]
    pub subject: Option<PathBuf>,

    /// Attach to what is already running there.
    #[arg(long, value_name = "URL", help_heading = "Subject", conflicts_with = "lockfile")]
    pub url: Option<String>,

    /// Attach to what this lockfile belongs to.
    #[arg(long, value_name = "FILE", help_heading = "Subject")]
    pub lockfile: Option<PathBuf>,

    /// The subject is this JavaScript file, which Node loads.
    #[arg(long, value_name = "FILE", help_heading = "Subject", conflicts_with_all = ["url", "lockfile"])]
    pub module: Option<PathBuf>,

    /// The JSON file of the settings that a provider is given.
    #[arg(long, value_name = "FILE", help_heading = "Subject")]
    pub settings: Option<PathBuf>,

    /// The workspace of the subject attached to.
    #[arg(long, value_name = "DIR", help_heading = "Subject")]
    pub workspace: Option<PathBuf>,

    /// How long to wait for what the protocol obliges the subject to do, such as 1s.
    #[arg(long, value_name = "TIME", value_parser = parse_bound, help_heading = "Play")]
    pub timeout: Option<Duration>,

    /// Where to make the folders of the runs; a temporary place that is cleaned up, if not given.
    #[arg(long, value_name = "DIR", help_heading = "Play")]
    pub run_dir: Option<PathBuf>,
}

impl TargetOptions {
    /// The same among the options of commands that play many scenarios.
    pub fn shared(&self) -> SharedOptions {
        let it = self.clone();
        SharedOptions {
            edition: it.edition,
            subject: it.subject,
            url: it.url,
            lockfile: it.lockfile,
            module: it.module,
            settings: it.settings,
            workspace: it.workspace,
            timeout: it.timeout,
            run_dir: it.run_dir,
            ..SharedOptions::default()
        }
    }

    /// The one subject that the command line or `wirecert.yaml` describe; none where neither does, or with `--self` (`own`).
    ///
    /// # Errors
    /// Everything that is wrong with the description, and several subjects.
    pub fn subject(&self, role: &str, command: &[String], own: bool) -> Result<Option<SubjectSpec>, CliError> {
        let options = SharedOptions { own, ..self.shared() };
        let mut given = super::subjects::given(Some(role), command, &options)?;
        if given.len() > 1 {
            let names: Vec<&str> = given.iter().map(|spec| spec.name.as_str()).collect();
            return Err(CliError::usage(format!("there are several subjects of this role: {}", names.join(", ")))
                .help("give a file that describes one of them with --subject"));
        }
        Ok(given.pop())
    }

    /// `wirecert run` at the same subject, with `--self` our own mock (`own`), and what comes after its file.
    pub fn repro(&self, command: &[String], own: bool) -> Repro {
        super::subjects::repro("run", None, &SharedOptions { own, ..self.shared() }, command)
    }

    /// How to play at this subject.
    pub fn play(&self, spec: &SubjectSpec) -> Run {
        let patience = self.timeout.unwrap_or(spec.timeouts.expect);
        let options = PlayOptions { patience, longest: None, traces: Traces::None, strict: false, snapshotter: None };
        let until = StopCondition::AllPlayed;
        Run { options, jobs: 1, repeat: 1, retries: 0, until, weigh_every: None, longest_first: false }
    }
}

/// The edition to play in: the one said, else the only one, else the one that the subject is found to speak.
///
/// # Errors
/// Where it cannot be told, and where the subject cannot be started.
pub async fn edition(
    spec: &SubjectSpec,
    among: &[&'static str],
    run: &Run,
    cancel: &Cancel,
) -> Result<&'static str, CliError> {
    match (spec.edition, among) {
        (EditionChoice::Given(edition), _) => Ok(edition),
        (EditionChoice::Auto, [only]) => Ok(only),
        (EditionChoice::Auto, _) if spec.role.is_client() => {
            Err(CliError::usage("it is not said which edition the client speaks")
                .help(format!("say `--edition`: {}", among.join(" or "))))
        }
        (EditionChoice::Auto, _) => {
            let found = super::session::detect(spec, run.options.patience, &Silent, cancel).await?;
            let (edition, _, (_, subject)) = found;
            subject.stop().await;
            Ok(edition)
        }
    }
}

/// The level of a requirement; what proves nothing binds as well.
pub fn level(spec: &SubjectSpec, requirement: Option<RequirementId>) -> Level {
    let catalogue = (spec.protocol.requirements)();
    requirement.and_then(|id| catalogue.iter().find(|r| r.id == id)).map_or(Level::Must, |r| r.level)
}
