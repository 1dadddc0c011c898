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
    let claimed = targets.iter().any(|t| t.path.as_os_str() == "-");
    let verbose = terminal.output().verbosity > 0;
    let text = report::terminal(report, &catalogue, verbose);
    if claimed {
        terminal.aside(&text)
    } else {
        terminal.result(&text)
    }
    let mut all = true;
    for target in targets {
        let text = match target.kind {
            Kind::Json => report::json(report),
            Kind::Junit => report::junit(report),
            Kind::Text => report::plain(&report::terminal(report, &catalogue, true)),
        };
        if target.path.as_os_str() == "-" {
            terminal.result(&text);
        } else if let Err(error) = report::write(&target.path, &text) {
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
