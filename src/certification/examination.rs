//! Whether a subject can be judged, without judging it: [`examine`] starts it, tries its stimuli, and tells what of the suite would
//! be skipped.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::config::{EditionChoice, SubjectSpec};
use crate::format::{Field, Shape};
use crate::play::{Cancel, missing, start};
use crate::protocol::Edition;
use crate::report::Silent;
use crate::scenario::Plan;
use crate::subject::{RunError, Running, ScenarioDir, SubjectError};
use crate::trace::{Clock, Recorder};

use super::detect;
use super::edition::{StartedSubject, contact_client};

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// As it should be, with a fact worth knowing.
    Good(String),
    /// It will do, but something may be skipped or slow.
    Poor(String),
    /// Certifying cannot work: what is wrong, and what to do.
    Bad(String, String),
}

/// Starts the subject, or attaches to it, tries each of its stimuli once, and stops it. Gives what was tried, each with what came
/// of it. `plans`: the suite. Nothing is judged.
pub async fn examine(spec: &SubjectSpec, plans: &[Plan], cancel: &Cancel) -> Vec<(String, CheckResult)> {
    let mut found = vec![];
    let begun = Instant::now();
    let met = meet(spec, cancel).await;
    let took = begun.elapsed().as_secs_f64();
    let edition = match met {
        Ok((edition, how, started)) => {
            found.push(("start".to_owned(), CheckResult::Good(format!("edition {edition}{how}, after {took:.1}s"))));
            if let Some((run_dir, running)) = started {
                found.extend(stimuli(spec, &running).await);
                running.stop().await;
                drop(run_dir);
            }
            edition
        }
        Err(error) => {
            found.push(("start".to_owned(), bad(&error)));
            match spec.edition {
                EditionChoice::Given(edition) => edition,
                EditionChoice::Auto => spec.protocol.default_edition(),
            }
        }
    };
    found.extend(skipped(spec, plans, edition));
    found
}

/// A subject that was started, its edition, and how that is known.
type Met = (&'static dyn Edition, String, Option<StartedSubject>);

async fn meet(spec: &SubjectSpec, cancel: &Cancel) -> Result<Met, RunError> {
    let patience = spec.timeouts.expect;
    if spec.role.is_client() {
        let edition = contact_client(spec, patience, &Silent, &mut vec![], cancel).await?;
        return Ok((edition, String::new(), None));
    }
    match spec.edition {
        EditionChoice::Auto => {
            let (edition, how, started) = detect(spec, patience, &Silent, cancel).await?;
            Ok((edition, format!(" ({how})"), Some(started)))
        }
        EditionChoice::Given(edition) => {
            let recorder = Recorder::with_secret_keys(Clock::start(), spec.protocol.secret_keys, vec![]);
            let started = tokio::select! {
                started = start(spec, None, recorder, &Silent) => started?,
                () = cancel.cancelled() => return Err(RunError::Interrupted),
            };
            Ok((edition, String::new(), Some(started)))
        }
    }
}

fn bad(error: &RunError) -> CheckResult {
    let first = error.diagnostics().into_iter().next();
    let (mut message, help) = first.map(|d| (d.message, d.help.join("; "))).unwrap_or_default();
    // Its own words tell most.
    for note in error.diagnostics().into_iter().flat_map(|d| d.notes) {
        message += &format!("\n{note}");
    }
    CheckResult::Bad(message, help)
}

/// Tries the stimuli in the order of the role, with a file of ours.
async fn stimuli(spec: &SubjectSpec, running: &Running) -> Vec<(String, CheckResult)> {
    let mut found = vec![];
    let folder = running.workspace().and_then(|workspace| ScenarioDir::lend(workspace, "wirecert-doctor").ok());
    let file = folder
        .as_ref()
        .and_then(|folder| folder.write("hello.txt", b"hello\n").ok().map(|()| folder.path().join("hello.txt")));
    let path = file.map(|file| file.display().to_string()).unwrap_or_default();
    let mut verbs: Vec<_> = (spec.role.stimuli)().iter().filter(|verb| spec.has_stimulus(verb.name)).collect();
    // A file that was closed is not selected in, and after the subject has quit there is nothing left to try.
    verbs.sort_by_key(|verb| ["close", "quit"].iter().position(|last| *last == verb.name));
    for verb in verbs {
        let params: Map<String, Value> =
            verb.shape.fields().iter().map(|field| (field.name.to_owned(), example(field, &path))).collect();
        let begun = Instant::now();
        let result = match running.stimulate(verb.name, &params).await {
            Ok(()) => CheckResult::Good(format!("done after {:.1}s", begun.elapsed().as_secs_f64())),
            Err(error @ SubjectError::Incapable { .. }) => CheckResult::Poor(error.to_string()),
            Err(error) => bad(&error.into()),
        };
        found.push((format!("stimulus {}", verb.name), result));
    }
    found
}

/// A value that a parameter may have.
fn example(field: &Field, path: &str) -> Value {
    match &field.shape {
        Shape::Integer { min, .. } => (*min).max(0).into(),
        Shape::List(_) => json!([]),
        _ if field.name == "path" => path.into(),
        _ => "hello from wirecert".into(),
    }
}

/// What of the suite would be skipped, by reason.
fn skipped(spec: &SubjectSpec, plans: &[Plan], edition: &dyn Edition) -> Vec<(String, CheckResult)> {
    let of_it: Vec<&Plan> = plans.iter().filter(|p| p.role == spec.role.name && p.edition == edition).collect();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for reason in of_it.iter().filter_map(|plan| missing(plan, spec)) {
        *reasons.entry(reason).or_default() += 1;
    }
    let played = of_it.len() - reasons.values().sum::<usize>();
    let mut found =
        vec![("suite".to_owned(), CheckResult::Good(format!("{played} of {} scenarios can be played", of_it.len())))];
    found.extend(reasons.into_iter().map(|(reason, n)| {
        let scenarios = if n == 1 { "1 scenario is".to_owned() } else { format!("{n} scenarios are") };
        ("skipped".to_owned(), CheckResult::Poor(format!("{scenarios} skipped: {reason}")))
    }));
    found
}
