//! What surrounds every run: the baseline, the progress display, and the delivery of reports.

use std::sync::Arc;

use anstream::AutoStream;

use crate::certification::catalogue;
use crate::diagnostic::Diagnostic;
use crate::judge::Report;
use crate::report::{self, Lines, Progress, ReportKind, Silent, TerminalProgress};

use super::{ProgressKind, ReportTarget, Terminal};

/// Prints the report and writes it to every target. Gives whether all could be written; what could not be is told,
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
