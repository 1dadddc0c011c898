//! Which subjects a command is about.

use crate::config::{Environment, Flags, SubjectFile, SubjectSpec, resolve};
use crate::judge::Repro;

use super::{CliError, Exit, SharedOptions};

/// The subjects that the command line or `wirecert.yaml` describe; none where neither does.
///
/// # Errors
/// Everything that is wrong with the description.
pub fn given(
    role_name: Option<&str>,
    command: &[String],
    options: &SharedOptions,
) -> Result<Option<Vec<SubjectSpec>>, CliError> {
    let file = match &options.subject {
        Some(path) => SubjectFile::Given(path.clone()),
        None if options.own => SubjectFile::None,
        None => SubjectFile::Found,
    };
    let flags = Flags {
        role: role_name.map(str::to_owned),
        edition: options.edition.clone(),
        command: command.to_vec(),
        url: options.url.clone(),
        lockfile: options.lockfile.clone(),
        workspace: options.workspace.clone(),
        baseline: options.baseline.clone(),
        snapshots: options.snapshots.clone(),
        trace_dir: options.trace_dir.clone(),
        run_dir: options.run_dir.clone(),
        keep_run_dir: false,
        timeout: options.timeout,
    };
    let around =
        Environment::here().map_err(|e| CliError::usage(format!("the working directory cannot be used: {e}")))?;
    let subjects =
        resolve(&file, &flags, &around).map_err(|diagnostics| CliError { diagnostics, exit: Exit::USAGE })?;
    Ok(Some(subjects).filter(|subjects| !subjects.is_empty()))
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
    flag("--lockfile", options.lockfile.as_ref().map(|p| p.display().to_string()));
    flag("--workspace", options.workspace.as_ref().map(|p| p.display().to_string()));
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
