//! `wirecert report`: what can be done with reports once they are written.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::judge::{Report, ShardReport, merge};

use super::{CliError, Exit, ReportTarget, Terminal, deliver};

/// The version of the JSON contract that is read.
const VERSION: u64 = 1;

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Merge(Merge),
}

/// Put the JSON reports of all shards of a run together, into one report with one verdict.
///
/// The verdict, the exit code and the reports are those that the run would have had without `--shard`.
#[derive(Debug, clap::Args)]
struct Merge {
    /// The reports, as written by `--shard I/N --report json=FILE`; one for each shard.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Write a report: json, junit, sarif or text; repeatable. The path `-` is stdout.
    #[arg(long = "report", value_name = "KIND=PATH")]
    reports: Vec<ReportTarget>,
}

/// Runs `wirecert report`.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let Action::Merge(Merge { files, reports }) = args.action;
    let (mut parts, mut faults) = (vec![], vec![]);
    for file in &files {
        match read(file) {
            Ok(report) => parts.push(ShardReport { file: file.display().to_string(), report }),
            Err(fault) => faults.push(fault),
        }
    }
    if !faults.is_empty() {
        return Err(faults.into());
    }
    let report = merge(&parts)?;
    let delivered = deliver(&report, &reports, terminal);
    Ok(Exit::of(report.standing(), false, !delivered))
}

/// Reads a JSON report.
fn read(file: &Path) -> Result<Report, Diagnostic> {
    let fault = |why: String| {
        Diagnostic::error("report", format!("cannot read the report {}: {why}", file.display()))
            .help("give JSON reports, as written by `--report json=FILE`")
    };
    let text = fs::read(file).map_err(|e| fault(e.to_string()))?;
    let value: Value = serde_json::from_slice(&text).map_err(|e| fault(format!("it is no JSON: {e}")))?;
    match value.get("version").and_then(Value::as_u64) {
        Some(VERSION) => {}
        Some(version) => return Err(fault(format!("it is of version {version}, and this wirecert reads {VERSION}"))),
        None => return Err(fault("it does not say its version".to_owned())),
    }
    serde_json::from_value(value).map_err(|e| fault(format!("it is not as `wirecert schema report` says: {e}")))
}
