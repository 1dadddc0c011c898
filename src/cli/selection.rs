//! Which subjects a command is about.

use crate::config::{Environment, FILE, Flags, SubjectFile, SubjectSpec, resolve};
use crate::judge::Repro;

use super::{CliError, SharedOptions};

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
