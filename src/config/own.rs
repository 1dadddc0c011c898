//! Our own mock of a role as a subject: described as any other would be in `wirecert.yaml`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use crate::protocol::{Field, Protocol, Reach, Role, Shape};

use super::{Access, CommandLine, Described, EditionChoice, Isolation, Launch, SubjectSpec};

/// Beside the workspace, in which mock and stimuli run: a socket's whole path may be too long for the system.
const CONTROL: &str = "../control.sock";

/// Long enough for our own mocks: they wait for ever, or are wrong on purpose after less.
const SILENCE: Duration = Duration::from_millis(200);

/// The mock that `wirecert mock ROLE` starts, steered through a control socket. `flags` are added to its command
/// line, such as `--flaw NAME`; `described` is what it is described with by the keys of its role.
pub fn own(
    protocol: &'static Protocol,
    role: &'static Role,
    edition: &'static str,
    flags: &[String],
    described: Described,
) -> SubjectSpec {
    let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    let mut command = words(&["{wirecert}", "mock", role.name, "--edition", edition, "--workspace", "{workspace}"]);
    // No `--data-home`: like any subject it is to find its data home by the environment, which scenarios vary.
    if !role.is_client() {
        command.extend(words(&["--control", CONTROL]));
    }
    // What is reached by its URL listens where it is told.
    if matches!(role.reach, Reach::Url { .. }) {
        command.extend(words(&["--port", "{port}"]));
    }
    command.extend(flags.iter().cloned());
    let stimuli = role.stimuli.iter().map(|verb| {
        let mut argv = words(&["{wirecert}", "mock", role.name, "--steer", CONTROL, verb.name]);
        argv.extend(fields(&verb.shape).iter().map(argument));
        (verb.name, CommandLine(argv))
    });
    SubjectSpec {
        name: format!("wirecert mock {}", role.name),
        protocol,
        role,
        edition: EditionChoice::Given(edition),
        access: Access::Launch(Launch::of(CommandLine(command))),
        // One that is wrong on purpose may be so for the rest of its life.
        isolation: if role.is_client() && !flags.is_empty() { Isolation::Scenario } else { Isolation::Run },
        observe: None,
        stimuli: stimuli.collect::<BTreeMap<_, _>>(),
        missing: vec![],
        baseline: None,
        timeouts: super::Timeouts { silence: SILENCE, ..super::Timeouts::of(role) },
        limits: super::Limits::default(),
        // It needs none.
        settings: Some(json!({})),
        described,
        snapshots: None,
        snapshot_strength: None,
        trace_dir: None,
        config_dir: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
    }
}

fn fields(shape: &Shape) -> &'static [Field] {
    match shape {
        Shape::Object(fields) => fields,
        _ => &[],
    }
}

/// `key={key}` for a string, `key:={key}` for other JSON.
fn argument(field: &Field) -> String {
    let sign = if matches!(field.shape, Shape::String) { "=" } else { ":=" };
    format!("{0}{sign}{{{0}}}", field.name)
}
