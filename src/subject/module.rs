//! Subjects that are JavaScript modules: what Node is told to do, and what is told where it cannot.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::config::Module;

use super::SubjectError;

/// How long a call of a module may take before it is answered with an error.
const CALL: Duration = if cfg!(test) { Duration::from_secs(2) } else { Duration::from_secs(60) };
/// Where the host says why it cannot answer for a module, below the run directory.
const REFUSAL: &str = "module-refused.json";
/// The most that is read of that, in bytes.
const MAX_REFUSAL: u64 = 1024 * 1024;

/// Why the host cannot answer for a module.
#[derive(Deserialize)]
struct Refusal {
    problem: String,
    help: String,
}

/// The arguments with which a module's host answers at this port. The host has to lie in the run directory already.
///
/// # Errors
/// [`SubjectError::Module`] where the module is not there.
pub(super) fn arguments(module: &Module, port: u16, run_dir: &Path) -> Result<Vec<String>, SubjectError> {
    let refusal = run_dir.join(REFUSAL);
    // That of an earlier launch.
    let _ = std::fs::remove_file(&refusal);
    let found = std::fs::metadata(&module.path);
    if !found.as_ref().is_ok_and(std::fs::Metadata::is_file) {
        let problem = found.map_or_else(|e| e.to_string(), |_| "it is no file".to_owned());
        let help = "check the path; a module that is made by a build has to be built first".to_owned();
        return Err(error(module, problem, help, vec![]));
    }
    let text = |path: &Path| path.display().to_string();
    let mut arguments = vec!["--port".to_owned(), port.to_string(), "--module".to_owned(), text(&module.path)];
    if let Some(settings) = &module.settings {
        arguments.extend(["--settings".to_owned(), text(settings)]);
    }
    arguments.extend(["--refusal".to_owned(), text(&refusal), "--within".to_owned(), CALL.as_millis().to_string()]);
    Ok(arguments)
}

/// What went wrong, said of the module instead of the process that was to load it.
pub(super) fn explained(failed: SubjectError, module: &Module, run_dir: &Path) -> SubjectError {
    match failed {
        SubjectError::NotStarted { source, .. } => {
            let problem = format!("Node, which is to load it, could not be started: {source}");
            let help = "install Node.js 18 or later, so that `node` is in a folder of PATH".to_owned();
            error(module, problem, help, vec![])
        }
        SubjectError::Ended { how, output, .. } => {
            let (problem, help) = refusal(&run_dir.join(REFUSAL)).unwrap_or_else(|| {
                let help = "load it by hand: node --input-type=module -e 'await import(\"FILE\")'".to_owned();
                (format!("Node ended while it was loaded: {how}"), help)
            });
            error(module, problem, help, output)
        }
        SubjectError::NotReady { within, output, .. } => {
            let problem = format!("it was not loaded within {}", super::error::show(within));
            let help = "if it only needs longer, give it `ready: { within: 60s }` in its subject file".to_owned();
            error(module, problem, help, output)
        }
        other => other,
    }
}

fn refusal(path: &PathBuf) -> Option<(String, String)> {
    let size = std::fs::metadata(path).ok()?.len();
    let bytes = std::fs::read(path).ok().filter(|_| size <= MAX_REFUSAL)?;
    serde_json::from_slice(&bytes).ok().map(|Refusal { problem, help }| (problem, help))
}

fn error(module: &Module, problem: String, help: String, output: Vec<String>) -> SubjectError {
    SubjectError::Module { path: module.path.clone(), problem, output, help: vec![help] }
}
