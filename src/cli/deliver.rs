//! Hands a report to whoever asked for it.

use crate::diagnostic::Diagnostic;
use crate::judge::Report;
use crate::protocol::{Requirement, protocols};
use crate::report::{self, Kind};

use super::{ReportTarget, Terminal};

/// Prints the report and writes it to every target. Gives whether all could be written; what could not be is told,
/// and never keeps the rest from being delivered.
///
/// The report for people goes to stdout, unless a target claims that with the path `-`: then it goes to stderr.
pub fn deliver(report: &Report, targets: &[ReportTarget], terminal: &mut Terminal) -> bool {
    let catalogue = catalogue();
    let verbose = terminal.output().verbosity > 0;
    let text = report::terminal(report, &catalogue, verbose);
    let content = |kind| match kind {
        Kind::Json => report::json(report),
        Kind::Junit => report::junit(report),
        Kind::Sarif => report::sarif(report, &catalogue),
        Kind::Text => report::plain(&report::terminal(report, &catalogue, true)),
    };
    hand_out(&text, targets, content, terminal)
}

/// Prints a text for people, and writes to every target what it asks for, as [`deliver`] does. Gives whether all could be
/// written.
pub(super) fn hand_out(
    text: &str,
    targets: &[ReportTarget],
    content: impl Fn(Kind) -> String,
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

/// Every requirement of every protocol.
pub(super) fn catalogue() -> Vec<&'static Requirement> {
    protocols().iter().flat_map(|p| (p.requirements)()).collect()
}
