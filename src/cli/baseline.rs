//! The file that `--baseline` or the subject's description names.

use std::path::Path;

use crate::diagnostic::yaml;
use crate::judge::Baseline;

use super::CliError;
use super::deliver::catalogue;

/// Reads a baseline; an empty one where none is named.
///
/// # Errors
/// Wrong usage, with every fault of the file: it cannot be read, or names a requirement that there is not.
pub fn load(path: Option<&Path>) -> Result<Baseline, CliError> {
    let Some(path) = path else { return Ok(Baseline::default()) };
    let source = yaml::read(path)?;
    Ok(Baseline::parse(&source, catalogue().iter().map(|r| r.id))?)
}
