//! `wirecert run`: given scenario files against a subject.

use std::path::PathBuf;

use crate::certification::Session;
use crate::config::SubjectSpec;
use crate::scenario::{Plan, load};

use super::session::run_session;
use super::watch::{WatchArguments, watch};
use super::{CliError, Exit, SharedOptions, Terminal};

/// Play given scenario files against a subject.
///
/// The role is that of the scenarios, unless `wirecert.yaml` or `--subject` says it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Scenario files, or folders of them.
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    options: SharedOptions,

    /// The command that starts the subject, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs `wirecert run`; with `--watch`, again after each change.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let given = WatchArguments { scenarios: &args.paths, role: None, command: &args.command, options: &args.options };
    watch(terminal, given, |terminal| once(&args, terminal))
}

/// The role of these scenarios, where they have one role.
pub fn role_of(plans: &[Plan]) -> Option<&'static str> {
    let first = plans.first()?.role;
    plans.iter().all(|plan| plan.role == first).then_some(first)
}

fn once(args: &Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let loaded = load(&args.paths);
    if !loaded.diagnostics.is_empty() {
        // One bad file hides nothing of the others, but a run that leaves it out would look greener than it is.
        return Err(loaded.diagnostics.into());
    }
    let role = role_of(&loaded.plans);
    let given = super::selection::described_subjects(role, &args.command, &args.options)?;
    let subjects = if given.is_empty() {
        if !args.options.own && !args.options.list {
            let paths: Vec<String> = args.paths.iter().map(|p| p.display().to_string()).collect();
            return Err(super::selection::no_subject_error(&format!("run {}", paths.join(" ")), role));
        }
        let mut ours = super::certify::ours(role, &args.options)?;
        let played = |ours: &SubjectSpec| {
            loaded.plans.iter().any(|p| p.role == ours.role.name && p.edition.id() == ours.edition.as_str())
        };
        // Those for which there is nothing to play would be an error. Where that is all of them, it is one.
        if ours.iter().any(played) {
            ours.retain(played);
        }
        ours
    } else {
        given
    };
    let files = loaded.plans.iter().map(|plan| plan.file.clone()).collect::<std::collections::BTreeSet<_>>();
    let files = files.into_iter().map(|f| (f.clone(), std::fs::read(&f).unwrap_or_default())).collect();
    let mut repro = super::selection::repro("run", None, &args.options, &args.command);
    let paths = args.paths.iter().map(|p| p.display().to_string());
    repro.before.splice(2..2, paths);
    let (plans, options) = (loaded.plans, args.options.session()?);
    let session = Session { subjects, side_by_side: 1, plans, is_complete_suite: false, files, options, repro };
    run_session(&session, &args.options, terminal)
}
