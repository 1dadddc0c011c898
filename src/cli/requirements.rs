//! `wirecert requirements`: the catalogue, or one entry explained.

use crate::protocol::protocols;

use super::{CliError, Exit, Terminal};

/// Arguments of `requirements`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs it.
pub fn run(_: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    for r in protocols().iter().flat_map(|p| (p.requirements)()) {
        terminal.result(&format!("{:6} {}  {}\n", r.level.as_str(), r.id, r.statement));
    }
    Ok(Exit::OK)
}
