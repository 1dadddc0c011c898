//! `wirecert certify` and `wirecert run`: the embedded suite or given scenario files against the subjects that the command
//! line or `wirecert.yaml` describe, in one [`Session`] with its reports.

use std::path::PathBuf;

use parking_lot::Mutex;

use crate::certification::Session;
use crate::config::{Access, Environment, FILE, Flags, SubjectFile, SubjectSpec, own, resolve};
use crate::judge::Repro;
use crate::play::{Cancel, KeptTraces};
use crate::protocol::{Edition, protocols};
use crate::report::Progress;
use crate::scenario::{Plan, load};
use crate::subject::RunError;

use super::options::check_targets;
use super::report::{deliver, progress};
use super::terminal::run_cancellable;
use super::watch::{WatchArguments, watch};
use super::{CliError, Exit, SharedOptions, Terminal, embedded};

/// So many of our own mocks are certified side by side.
const OWN: usize = 8;

/// Play the suite against a subject, and judge it.
///
/// Without a command, the subject is the one that `wirecert.yaml` in this folder describes. With `--self`, our own mocks
/// are certified, of all roles or one.
#[derive(Debug, clap::Args)]
pub struct CertifyArgs {
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
pub fn certify(args: CertifyArgs, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let given =
        WatchArguments { scenarios: &[], role: args.role.as_deref(), command: &args.command, options: &args.options };
    watch(terminal, given, |terminal| certify_once(&args, terminal))
}

fn certify_once(args: &CertifyArgs, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let given = described_subjects(args.role.as_deref(), &args.command, &args.options)?;
    let own = given.is_empty();
    // A list is no verdict: what there is can be looked at before there is a subject.
    if own && !args.options.own && !args.options.list {
        let role = args.role.as_deref();
        return Err(no_subject_error(&format!("certify {}", role.unwrap_or("ROLE")), role));
    }
    let subjects = if own { ours(args.role.as_deref(), &args.options)? } else { given };
    let repro = repro("certify", args.role.as_deref(), &args.options, &args.command);
    let files = embedded::files().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    let roles: Vec<&str> = subjects.iter().map(|spec| spec.role.name).collect();
    let plans = embedded::plans_of(&roles)?;
    // Our mocks are in nobody's way, and their clients mostly wait. What users bring is left alone with the machine.
    let side_by_side = if own && args.options.run_dir.is_none() { OWN } else { 1 };
    let options = args.options.session()?;
    let mut session = Session { subjects, side_by_side, plans, is_complete_suite: true, files, options, repro };
    if own && !session.retain_asked_for() {
        return Err(CliError::usage("no scenario is left by what was asked for")
            .help("`--list` shows what there is, with the ids that `--filter` goes by"));
    }
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

/// Play given scenario files against a subject.
///
/// The role is that of the scenarios, unless `wirecert.yaml` or `--subject` says it.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
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
pub fn run(args: RunArgs, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let given = WatchArguments { scenarios: &args.paths, role: None, command: &args.command, options: &args.options };
    watch(terminal, given, |terminal| run_once(&args, terminal))
}

/// The role of these scenarios, where they have one role.
pub fn role_of(plans: &[Plan]) -> Option<&'static str> {
    let first = plans.first()?.role;
    plans.iter().all(|plan| plan.role == first).then_some(first)
}

fn run_once(args: &RunArgs, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let loaded = load(&args.paths);
    if !loaded.diagnostics.is_empty() {
        // One bad file hides nothing of the others, but a run that leaves it out would look greener than it is.
        return Err(loaded.diagnostics.into());
    }
    let role = role_of(&loaded.plans);
    let given = described_subjects(role, &args.command, &args.options)?;
    let subjects = if given.is_empty() {
        if !args.options.own && !args.options.list {
            let paths: Vec<String> = args.paths.iter().map(|p| p.display().to_string()).collect();
            return Err(no_subject_error(&format!("run {}", paths.join(" ")), role));
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
    let mut repro = repro("run", None, &args.options, &args.command);
    let paths = args.paths.iter().map(|p| p.display().to_string());
    repro.before.splice(2..2, paths);
    let (plans, options) = (loaded.plans, args.options.session()?);
    let session = Session { subjects, side_by_side: 1, plans, is_complete_suite: false, files, options, repro };
    run_session(&session, &args.options, terminal)
}

/// Runs a session, writes the reports, and gives the exit code. With `--list`, lists the scenarios instead.
///
/// # Errors
/// `--list` where no scenario is left; an asynchronous runtime that does not start.
pub fn run_session(session: &Session, options: &SharedOptions, terminal: &mut Terminal) -> Result<Exit, CliError> {
    if options.list {
        let plans = session.list();
        for plan in &plans {
            terminal.result(&format!("{}\n    {}\n", plan.id, plan.title));
        }
        return match plans.is_empty() {
            true => Err(CliError::usage("no scenario is left by what was asked for")),
            false => Ok(Exit::OK),
        };
    }
    check_targets(&options.reports)?;
    let cancel = Cancel::default();
    remove_last_traces();
    let progress = progress(options.progress, terminal);
    run_cancellable(&cancel, async || {
        let on_error = |error: &RunError| terminal.diagnostics(&error.diagnostics());
        let session = session.run(&progress, &cancel, on_error);
        let outcome = reporting_interrupts(session, progress.as_ref(), &cancel).await;
        // From here on a signal ends the process.
        cancel.nothing_runs();
        let written = deliver(&outcome.report, &options.reports, terminal);
        note_failed_traces(outcome.failed_traces, terminal);
        Ok(Exit::of(outcome.report.standing(), cancel.is_cancelled(), !written || outcome.misused))
    })
}

/// The folder of the traces of the last session of this process: with `--watch` there are several.
static LAST_TRACES: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Removes the traces of failed plays that the session before this one has kept.
fn remove_last_traces() {
    if let Some(folder) = LAST_TRACES.lock().take() {
        // What cannot be removed is in a temporary folder.
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Prints where the failed traces are, if there are any.
fn note_failed_traces(failed_traces: KeptTraces, terminal: &mut Terminal) {
    if let Some(error) = failed_traces.error {
        terminal.progress(&error);
    }
    let Some(folder) = failed_traces.folder else { return };
    let place = folder.display();
    terminal.progress(&match (failed_traces.traces, failed_traces.left_out) {
        (1, 0) => format!("the trace of the play that failed or could not be judged is in {place}"),
        (n, 0) => format!("the traces of the {n} plays that failed or could not be judged are in {place}"),
        (n, more) => format!(
            "the traces of the first {n} of {} plays that failed or could not be judged are in {place}; \
             --trace-dir DIR keeps all",
            n + more
        ),
    });
    *LAST_TRACES.lock() = Some(folder);
}

/// Waits for something, and says so at once where the run is ended meanwhile: stopping subjects takes its time.
async fn reporting_interrupts<T>(work: impl Future<Output = T>, progress: &dyn Progress, cancel: &Cancel) -> T {
    tokio::pin!(work);
    tokio::select! {
        biased;
        () = cancel.cancelled() => progress.interrupted(),
        done = &mut work => {
            // It may have come, and ended everything, while the work was looked at.
            if cancel.is_cancelled() {
                progress.interrupted();
            }
            return done;
        }
    }
    work.await
}

/// The subjects that the command line or `wirecert.yaml` describe; none where neither does, or with `--self`.
///
/// # Errors
/// Everything that is wrong with the description.
pub fn described_subjects(
    role: Option<&str>,
    command: &[String],
    options: &SharedOptions,
) -> Result<Vec<SubjectSpec>, CliError> {
    if options.own {
        if !command.is_empty() {
            return Err(CliError::usage("`--self` certifies our own mocks, and a command was given as well")
                .help("leave out one of the two"));
        }
        if options.observe.is_some() {
            return Err(CliError::usage("`--self` certifies our own mocks, which are driven and never only observed")
                .help("leave out `--observe`, or name the command of the client that is to be observed"));
        }
        return Ok(vec![]);
    }
    let environment =
        Environment::here().map_err(|e| CliError::usage(format!("the working directory is gone: {e}")))?;
    let file = options.subject.clone().map_or(SubjectFile::Found, SubjectFile::Given);
    let flags = Flags {
        observe: options.observe,
        role: role.map(str::to_owned),
        edition: options.edition.clone(),
        command: command.to_vec(),
        url: options.url.clone(),
        lockfile: options.lockfile.clone(),
        module: options.module.clone(),
        settings: options.settings.clone(),
        workspace: options.workspace.clone(),
        baseline: options.baseline.clone(),
        snapshots: options.snapshots.clone(),
        snapshot_strength: options.snapshot_strength.map(Into::into),
        trace_dir: options.trace_dir.clone(),
        run_dir: options.run_dir.clone(),
        keep_run_dir: options.keep_run_dir,
        timeout: options.timeout,
    };
    Ok(resolve(&file, &flags, &environment)?)
}

/// The error where no subject is given. Our own mocks are never taken by default: a user who forgot to name the
/// subject, or started the command in another folder, would take their verdict for that of the subject.
///
/// `before`: what of the command line goes before the subject, such as `certify ROLE`. `role`: that of the subject, where it
/// is known.
pub fn no_subject_error(before: &str, role: Option<&str>) -> CliError {
    let word = role.unwrap_or("ROLE");
    let described = std::path::Path::new(FILE).exists();
    let what = match role {
        Some(role) if described => format!("{FILE} describes no {role}, and no command was given"),
        _ => format!("there is no subject: no command was given, and there is no {FILE} in this folder"),
    };
    let file = match described {
        true => format!("or describe it in {FILE}, below `subjects`"),
        false => format!("or describe it in a {FILE}: `wirecert init {word}` writes one"),
    };
    CliError::usage(what)
        .help(format!("give the command that starts it: `wirecert {before} -- COMMAND`"))
        .help(file)
        .help(format!("or ask for wirecert's own mocks: `wirecert {} --self`", before.trim_end_matches(" ROLE")))
}

/// The words around a filter that repeat one scenario of this command.
pub fn repro(verb: &str, role: Option<&str>, options: &SharedOptions, command: &[String]) -> Repro {
    let mut before: Vec<String> = vec!["wirecert".into(), verb.into()];
    before.extend(role.map(str::to_owned));
    let mut flag = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            before.push(name.to_owned());
            before.push(value);
        }
    };
    flag("--edition", options.edition.clone());
    flag("--subject", options.subject.as_ref().map(|p| p.display().to_string()));
    flag("--url", options.url.as_deref().map(without_query));
    flag("--lockfile", options.lockfile.as_ref().map(|p| p.display().to_string()));
    flag("--module", options.module.as_ref().map(|p| p.display().to_string()));
    flag("--settings", options.settings.as_ref().map(|p| p.display().to_string()));
    flag("--workspace", options.workspace.as_ref().map(|p| p.display().to_string()));
    flag("--observe", options.observe.map(|time| format!("{time:?}")));
    flag("--timeout", options.timeout.map(|time| format!("{time:?}")));
    if options.own {
        before.push("--self".into());
    }
    let after = if command.is_empty() {
        vec![]
    } else {
        std::iter::once("--".to_owned()).chain(command.iter().cloned()).collect()
    };
    Repro { before, after }
}

/// An address as it may be shown: its query may hold a secret, and is left for the reader to fill in.
fn without_query(url: &str) -> String {
    url.split_once('?').map_or_else(|| url.to_owned(), |(address, _)| format!("{address}?…"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn before(options: &SharedOptions) -> Vec<String> {
        repro("certify", Some("a-role"), options, &[]).before.split_off(3)
    }

    #[test]
    fn a_scenario_is_repeated_in_the_way_in_which_it_was_played() {
        let watched = SharedOptions {
            observe: Some(Duration::from_secs(90)),
            timeout: Some(Duration::from_millis(1500)),
            ..SharedOptions::default()
        };
        assert_eq!(before(&watched), ["--observe", "90s", "--timeout", "1.5s"]);
        let attached = SharedOptions { url: Some("http://127.0.0.1:3000/".into()), ..SharedOptions::default() };
        assert_eq!(before(&attached), ["--url", "http://127.0.0.1:3000/"]);
    }

    #[test]
    fn the_secret_of_an_address_is_not_repeated() {
        let attached = SharedOptions { url: Some("ws://127.0.0.1:1?auth=secret".into()), ..SharedOptions::default() };
        assert_eq!(before(&attached), ["--url", "ws://127.0.0.1:1?…"]);
    }
}
