//! Which subjects a command is about.

use crate::config::{Access, CommandLine, EditionChoice, Isolation, Launch, SubjectSpec};
use crate::judge::Repro;
use crate::protocol::{protocols, role};

use super::{CliError, SharedOptions};

/// The subjects that the command line or `wirecert.yaml` describe; none where neither does.
///
/// # Errors
/// Everything that is wrong with the description.
pub fn given(
    role_name: Option<&str>,
    command: &[String],
    options: &SharedOptions,
) -> Result<Option<Vec<SubjectSpec>>, CliError> {
    if command.is_empty() {
        return Ok(None);
    }
    let name = role_name.ok_or_else(|| CliError::usage("a command needs the role of what it starts"))?;
    let (protocol, role) = role(name).ok_or_else(|| {
        let known: Vec<&str> = protocols().iter().flat_map(|p| p.roles).map(|r| r.name).collect();
        CliError::usage(format!("there is no role `{name}`")).help(format!("roles: {}", known.join(", ")))
    })?;
    let edition = match options.edition.as_deref() {
        None | Some("auto") => EditionChoice::Auto,
        Some(id) => match protocol.editions.iter().find(|e| e.id == id) {
            Some(edition) => EditionChoice::Given(edition.id),
            None => return Err(CliError::usage(format!("there is no edition `{id}` of {}", protocol.name))),
        },
    };
    Ok(Some(vec![SubjectSpec {
        name: command[0].clone(),
        protocol,
        role,
        edition,
        access: Access::Launch(Launch::of(CommandLine(command.to_vec()))),
        isolation: Isolation::Run,
        stimuli: std::collections::BTreeMap::new(),
        missing: vec![],
        baseline: None,
        timeouts: crate::config::Timeouts::default(),
        limits: crate::config::Limits::default(),
        snapshots: None,
        trace_dir: None,
        config_dir: std::env::current_dir().unwrap_or_default(),
    }]))
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
