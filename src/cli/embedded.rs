//! The suite that is embedded in the binary: the files below `scenarios/`.

use std::sync::LazyLock;

use flate2::read::ZlibDecoder;

use crate::diagnostic::Source;
use crate::scenario::{Loaded, Plan, load_texts};

use super::{CliError, Exit};

/// The files, as the build script packs them: of each the path, a NUL, the content, and a NUL.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scenarios.zlib"));

static SCENARIOS: LazyLock<String> = LazyLock::new(|| {
    std::io::read_to_string(ZlibDecoder::new(PACKED)).expect("what the build script packed can be unpacked")
});

/// Every embedded file with its path below `scenarios/`, sorted by path.
pub fn files() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    texts().map(|(path, text)| (path, text.as_bytes()))
}

fn texts() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut parts = SCENARIOS.split_terminator('\0');
    std::iter::from_fn(move || parts.next().zip(parts.next()))
}

/// Every embedded scenario as a text named `scenarios/<path>`, sorted by path.
pub fn sources() -> Vec<Source> {
    let scenarios = texts().filter(|(path, _)| path.ends_with(".yaml"));
    scenarios.map(|(path, text)| Source::new(format!("scenarios/{path}"), text)).collect()
}

/// The plans of the embedded scenarios of these roles.
///
/// # Errors
/// Where one of them is wrong: without it, a subject would pass that does not conform. A test holds that none is.
pub fn plans_of(roles: &[&str]) -> Result<Vec<Plan>, CliError> {
    let loaded = load(|role| roles.contains(&role));
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

#[cfg(test)]
mod tests {
    use crate::diagnostic::{Style, render_all};

    use super::*;

    #[test]
    fn what_is_embedded_is_what_is_on_disk_and_sound() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        for (path, text) in texts() {
            assert_eq!(std::fs::read_to_string(root.join(path)).ok().as_deref(), Some(text), "{path}");
        }
        assert!(sources().iter().all(|s| s.name().starts_with("scenarios/") && !s.text().is_empty()));
        let loaded = load(|_| true);
        assert!(loaded.diagnostics.is_empty(), "{}", render_all(&loaded.diagnostics, Style::Plain));
        for plan in loaded.plans {
            assert!(plan.file.starts_with(&format!("scenarios/{}/", plan.role)), "{} is for {}", plan.file, plan.role);
        }
    }
}
