//! The suite that is embedded in the binary: the files below `scenarios/`.

use include_dir::{Dir, include_dir};

use crate::diagnostic::Source;
use crate::scenario::{Loaded, Plan, load_texts};

use super::{CliError, Exit};

static SCENARIOS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/scenarios");

/// Every embedded file with its path below `scenarios/`, sorted by path.
pub fn files() -> Vec<(&'static str, &'static [u8])> {
    let mut found = vec![];
    collect(&SCENARIOS, &mut found);
    found.sort_unstable();
    found
}

/// Every embedded scenario as a text named `scenarios/<path>`, sorted by path.
pub fn sources() -> Vec<Source> {
    let scenario = |(path, bytes): (&str, &[u8])| {
        let text = std::str::from_utf8(bytes).ok().filter(|_| path.ends_with(".yaml"))?;
        Some(Source::new(format!("scenarios/{path}"), text))
    };
    files().into_iter().filter_map(scenario).collect()
}

/// The plans of every embedded scenario.
///
/// # Errors
/// Where one of them is wrong: without it, a subject would pass that does not conform. A test holds that none is.
pub fn plans() -> Result<Vec<Plan>, CliError> {
    sound(load(|_| true))
}

/// The plans of the embedded scenarios of these roles.
///
/// # Errors
/// As of [`plans`].
pub fn plans_of(roles: &[&str]) -> Result<Vec<Plan>, CliError> {
    sound(load(|role| roles.contains(&role)))
}

fn sound(loaded: Loaded) -> Result<Vec<Plan>, CliError> {
    if loaded.diagnostics.is_empty() {
        Ok(loaded.plans)
    } else {
        Err(CliError { diagnostics: loaded.diagnostics, exit: Exit::USAGE })
    }
}

/// Reads the scenarios of some roles: each has a folder of its name.
fn load(wanted: impl Fn(&str) -> bool) -> Loaded {
    let mut sources = sources();
    sources.retain(|source| source.name().split('/').nth(1).is_some_and(&wanted));
    load_texts(sources.iter().map(|source| (source.name(), source.text())))
}

fn collect(dir: &'static Dir<'static>, found: &mut Vec<(&'static str, &'static [u8])>) {
    found.extend(dir.files().filter_map(|file| Some((file.path().to_str()?, file.contents()))));
    dir.dirs().for_each(|dir| collect(dir, found));
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::{Style, render_all};

    use super::*;

    #[test]
    fn every_embedded_scenario_is_sound() {
        let faults = load(|_| true).diagnostics;
        assert!(faults.is_empty(), "{}", render_all(&faults, Style::Plain));
    }

    #[test]
    fn what_is_embedded_is_what_is_on_disk() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        for (path, bytes) in files() {
            assert_eq!(std::fs::read(root.join(path)).ok().as_deref(), Some(bytes), "{path}");
        }
        assert!(sources().iter().all(|s| s.name().starts_with("scenarios/") && !s.text().is_empty()));
        for plan in plans().expect("they are sound") {
            assert!(plan.file.starts_with(&format!("scenarios/{}/", plan.role)), "{} is for {}", plan.file, plan.role);
        }
    }
}
