//! What surrounds every run: the progress display, and the delivery of reports; and `wirecert report`: what can be done with
//! reports once they are written.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anstream::AutoStream;
use serde_json::Value;

use crate::certification::catalogue;
use crate::diagnostic::Diagnostic;
use crate::judge::{Report, ShardReport, merge};
use crate::report::{self, Lines, Progress, ReportKind, Silent, TerminalProgress};

use super::options::{REPORT_HELP, check_targets};
use super::{CliError, Exit, ProgressKind, ReportTarget, Terminal};

/// Prints the report and writes it to every target. Gives whether all could be written; what could not be is reported,
/// and never keeps the rest from being delivered.
///
/// The report for people goes to stdout, unless a target claims that with the path `-`: then it goes to stderr.
pub fn deliver(report: &Report, targets: &[ReportTarget], terminal: &mut Terminal) -> bool {
    let catalogue = catalogue();
    let verbose = terminal.output().verbosity > 0;
    let text = report::terminal(report, &catalogue, verbose);
    write_reports(&text, targets, |kind: ReportKind| kind.render(report, &catalogue), terminal)
}

/// Prints a text for people, and writes to every target what it asks for, as [`deliver`] does. Gives whether all could be
/// written.
pub(super) fn write_reports(
    text: &str,
    targets: &[ReportTarget],
    content: impl Fn(ReportKind) -> String,
    terminal: &mut Terminal,
) -> bool {
    if targets.iter().any(|target| target.path.as_os_str() == "-") {
        terminal.aside(text);
    } else {
        terminal.result(text);
    }
    let mut all = true;
    for target in targets {
        let content = content(target.kind);
        if target.path.as_os_str() == "-" {
            terminal.result(&content);
        } else if let Err(error) = report::write(&target.path, &content) {
            let help = "the verdict stands; run again with another --report path to have the file";
            terminal.diagnostics(&[Diagnostic::error("report", error.to_string()).help(help)]);
            all = false;
        }
    }
    all
}

/// The progress to show on stderr: what `--progress` says, and with `auto` a bar on a terminal that can draw one,
/// lines elsewhere. `-q` silences it.
pub fn progress(kind: ProgressKind, terminal: &Terminal) -> Arc<dyn Progress> {
    let output = terminal.output();
    let can_draw = terminal.is_watched() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    let bar = match kind {
        ProgressKind::Auto => can_draw,
        ProgressKind::Bar => true,
        ProgressKind::Lines => false,
        ProgressKind::None => return Arc::new(Silent),
    };
    if output.verbosity < 0 {
        return Arc::new(Silent);
    }
    let stderr = AutoStream::new(std::io::stderr(), output.color);
    if bar {
        Arc::new(TerminalProgress::new(catalogue(), stderr.current_choice() != anstream::ColorChoice::Never))
    } else {
        Arc::new(Lines::new(Box::new(stderr), catalogue()))
    }
}

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

    #[arg(long = "report", value_name = "KIND=PATH", help = REPORT_HELP)]
    reports: Vec<ReportTarget>,
}

/// Runs `wirecert report`.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let Action::Merge(Merge { files, reports }) = args.action;
    check_targets(&reports)?;
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
    let fault = |why| unreadable(file, why);
    let text = fs::read(file).map_err(|e| fault(e.to_string()))?;
    parse(&text, file)
}

/// Reads the text of a JSON report. `file`: where it is from.
///
/// # Errors
/// Where it is no JSON report of the version that is read.
pub(super) fn parse(text: &[u8], file: &Path) -> Result<Report, Diagnostic> {
    let fault = |why| unreadable(file, why);
    let value: Value = serde_json::from_slice(text).map_err(|e| fault(format!("it is no JSON: {e}")))?;
    match value.get("version").and_then(Value::as_u64) {
        Some(VERSION) => {}
        Some(version) => return Err(fault(format!("it is of version {version}, and this wirecert reads {VERSION}"))),
        None => return Err(fault("it does not say its version".to_owned())),
    }
    serde_json::from_value(value).map_err(|e| fault(format!("it is not as `wirecert schema report` says: {e}")))
}

fn unreadable(file: &Path, why: String) -> Diagnostic {
    Diagnostic::error("report", format!("cannot read the report {}: {why}", file.display()))
        .help("give JSON reports, as written by `--report json=FILE`")
}
