//! `wirecert certify`: the whole suite against a subject, and a verdict.

use crate::certification::Session;
use crate::config::{Access, SubjectSpec, own};
use crate::protocol::{Edition, protocols};

use super::session::run_session;
use super::watch::{WatchArguments, watch};
use super::{CliError, Exit, SharedOptions, Terminal, embedded};

/// So many of our own mocks are certified side by side.
const OWN: usize = 8;

/// Play the suite against a subject, and judge it.
///
/// Without a command, the subject is the one that `wirecert.yaml` in this folder describes. With `--self`, our own mocks
/// are certified, of all roles or one.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The role of the subject, such as amp-server.
    role: Option<String>,

    #[command(flatten)]
    options: SharedOptions,

    /// The command that starts the subject, after `--`. {workspace}, {port}, {data_home} and {run_dir} in it are
    /// replaced.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs `wirecert certify`; with `--watch`, again after each change.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let given =
        WatchArguments { scenarios: &[], role: args.role.as_deref(), command: &args.command, options: &args.options };
    watch(terminal, given, |terminal| once(&args, terminal))
}

fn once(args: &Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let given = super::selection::described_subjects(args.role.as_deref(), &args.command, &args.options)?;
    let own = given.is_empty();
    // A list is no verdict: what there is can be looked at before there is a subject.
    if own && !args.options.own && !args.options.list {
        let role = args.role.as_deref();
        return Err(super::selection::no_subject_error(&format!("certify {}", role.unwrap_or("ROLE")), role));
    }
    let subjects = if own { ours(args.role.as_deref(), &args.options)? } else { given };
    let repro = super::selection::repro("certify", args.role.as_deref(), &args.options, &args.command);
    let files = embedded::files().into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    let roles: Vec<&str> = subjects.iter().map(|spec| spec.role.name).collect();
    let plans = embedded::plans_of(&roles)?;
    // Our mocks are in nobody's way, and their clients mostly wait. What users bring is left alone with the machine.
    let side_by_side = if own && args.options.run_dir.is_none() { OWN } else { 1 };
    let options = args.options.session()?;
    let session = Session { subjects, side_by_side, plans, is_complete_suite: true, files, options, repro };
    run_session(&session, &args.options, terminal)
}

/// Our own mocks as subjects: of all roles or one, in all editions or one.
pub fn ours(role: Option<&str>, options: &SharedOptions) -> Result<Vec<SubjectSpec>, CliError> {
    let edition = options.edition.as_deref();
    let run_dir = options.run_dir.as_deref().map(std::path::absolute).transpose();
    let run_dir = run_dir.map_err(|e| CliError::usage(format!("the working directory is gone: {e}")))?;
    let mut subjects = vec![];
    for protocol in protocols() {
        for role in protocol
            .roles
            .iter()
            .filter(|r| role.is_none_or(|name| name == r.name) && crate::peer::mock(r.name).is_some())
        {
            let requested = |e: &&dyn Edition| edition.is_none_or(|id| id == "auto" || id == e.id());
            let editions = protocol.editions.iter().copied().filter(requested);
            subjects
                .extend(editions.map(|edition| own(protocol, role, edition, &[], crate::peer::described(role.name))));
        }
    }
    for spec in &mut subjects {
        if let Access::Launch(launch) = &mut spec.access {
            (launch.run_dir, launch.keep_run_dir) = (run_dir.clone(), options.keep_run_dir);
        }
    }
    if subjects.is_empty() {
        let known: Vec<&str> = protocols().iter().flat_map(|p| p.roles).map(|r| r.name).collect();
        return Err(CliError::usage("there is no such role and edition").help(format!("roles: {}", known.join(", "))));
    }
    Ok(subjects)
}
