//! `wirecert verify`: whether a certificate and a JSON report belong together, and whether the verdict follows from what the
//! report lists.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::certification::catalogue;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::clean;
use crate::judge::{Report, Scope, Suite, digest, judge_again};
use crate::report::{self, Certificate, NOT_PROVEN};

use super::report::parse;
use super::{CliError, Exit, Terminal, embedded};

/// The version of the certificates that are read.
const VERSION: u64 = 1;

/// So many differences between a certificate and its report are reported.
const MAX_DIFFERENCES: usize = 10;

/// Check that a certificate and a JSON report belong together, and that the verdict follows from what the report lists.
///
/// The exit code is 2 where they do not belong together, and otherwise that of the run. A certificate is not signed: the command
/// says what it does not prove.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The certificate, as written by `--report certificate=FILE`.
    certificate: PathBuf,

    /// The JSON report that the same run wrote, by `--report json=FILE`.
    #[arg(long, value_name = "FILE")]
    report: PathBuf,
}

/// Runs `wirecert verify`.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let bytes = read(&args.report, "report")?;
    let certificate = read_certificate(&args.certificate)?;
    let report = parse(&bytes, &args.report)?;
    let faults = faults(&args, &certificate, &report, &digest(&bytes));
    if !faults.is_empty() {
        return Err(faults.into());
    }
    terminal.result(&description(&args, &certificate));
    Ok(Exit::of(report.standing(), false, false))
}

/// Everything that keeps a certificate and a report from belonging together; only the first reason where others follow from it.
fn faults(args: &Args, certificate: &Certificate, report: &Report, report_digest: &str) -> Vec<Diagnostic> {
    let (file, report_file) = (args.certificate.display(), args.report.display());
    if certificate.report.digest != report_digest {
        let message = format!(
            "{file}: /report/digest is {}, and that of {report_file} is {report_digest}",
            certificate.report.digest
        );
        return vec![fault(message).help(
            "give the JSON report that the same run wrote, as it was written: another layout is another digest",
        )];
    }
    let own = env!("CARGO_PKG_VERSION");
    if certificate.suite.version != own {
        let message = format!("{file}: /suite/version is {}, and this is wirecert {own}", certificate.suite.version);
        return vec![
            fault(message).help(format!(
                "verify it with wirecert {}: another one may judge otherwise",
                certificate.suite.version
            )),
        ];
    }
    if is_whole(certificate) && certificate.suite.digest != own_suite().digest {
        let message = format!(
            "{file}: /suite/digest is {}, and that of the suite of this wirecert is {}",
            certificate.suite.digest,
            own_suite().digest
        );
        return vec![fault(message).help("verify it with the build of wirecert that wrote it")];
    }
    let mut faults = judge_again(report, &report_file.to_string());
    let made = Certificate::of(report, report_digest.to_owned());
    let differences = certificate.differences(&made);
    let more = differences.len().saturating_sub(MAX_DIFFERENCES);
    faults.extend(differences.into_iter().take(MAX_DIFFERENCES).map(|difference| {
        fault(format!("{file}: {difference}"))
            .help("the certificate was changed after it was written: take the one that the run wrote")
    }));
    if more > 0 {
        faults.push(fault(format!("{file}: and {more} more differences")));
    }
    faults
}

/// Whether the verdict on a subject is that of the whole suite.
fn is_whole(certificate: &Certificate) -> bool {
    certificate.subjects.iter().any(|subject| subject.scope == Scope::Full)
}

/// The suite that is embedded in this program.
fn own_suite() -> Suite {
    Suite::of(embedded::files(), catalogue())
}

/// What was found, and what it does not prove.
fn description(args: &Args, certificate: &Certificate) -> String {
    let (file, report_file) = (args.certificate.display(), args.report.display());
    let suite = &certificate.suite;
    let of = match suite.digest == own_suite().digest {
        true => "the one of this program",
        false => "other scenarios than those of this program",
    };
    let mut lines = vec![
        format!("{file} and {report_file} belong together, and the verdict follows from what the report lists."),
        format!("  suite    wirecert {}, {}: {of}", suite.version, suite.digest),
        format!("  report   {}", certificate.report.digest),
    ];
    let selection = &certificate.selection;
    lines.extend(selection.filter.as_ref().map(|filter| format!("  filter   {filter}")));
    lines.extend(selection.shard.map(|shard| format!("  shard    {shard}")));
    let levels: Vec<&str> = certificate.levels.iter().map(|level| level.as_str()).collect();
    lines.push(format!("  binding  {}", levels.join(", ")));
    for subject in &certificate.subjects {
        let verdict = serde_json::to_value(subject.verdict).unwrap_or_default();
        let verdict = verdict.as_str().unwrap_or_default().replace('_', " ");
        let (must, excused) = (subject.requirements.must, subject.excused.len() as u64);
        let known = subject.baseline.iter().flat_map(|baseline| &baseline.lines).filter(|line| line.used).count();
        lines.push(format!("{verdict}  {} ({}, edition {})", subject.name, subject.role, subject.edition));
        lines.push(format!(
            "  `must`: {} met, {} violated, {} excused, {} not assessed; {} excused in all; {} of the baseline used",
            must.met,
            must.violated,
            must.excused,
            must.not_assessed,
            report::counted(excused, "requirement"),
            report::counted(known as u64, "line"),
        ));
    }
    for unjudged in &certificate.unjudged {
        lines.push(format!("not judged  {} ({}): {}", unjudged.name, unjudged.role, unjudged.reason));
    }
    lines.push("This does not prove:".to_owned());
    lines.extend(NOT_PROVEN.map(|what| format!("  {what}")));
    lines.into_iter().map(|line| clean(&line) + "\n").collect()
}

fn fault(message: String) -> Diagnostic {
    Diagnostic::error("verify", message)
}

fn read(file: &Path, what: &str) -> Result<Vec<u8>, Diagnostic> {
    fs::read(file).map_err(|e| {
        let help = format!("give the file that `--report {}=FILE` wrote", if what == "report" { "json" } else { what });
        fault(format!("cannot read the {what} {}: {e}", file.display())).help(help)
    })
}

fn read_certificate(file: &Path) -> Result<Certificate, Diagnostic> {
    let bytes = read(file, "certificate")?;
    let fault = |why: String| {
        fault(format!("cannot read the certificate {}: {why}", file.display()))
            .help("give a certificate, as written by `--report certificate=FILE`")
    };
    let value: Value = serde_json::from_slice(&bytes).map_err(|e| fault(format!("it is no JSON: {e}")))?;
    match value.get("version").and_then(Value::as_u64) {
        Some(VERSION) => {}
        Some(version) => return Err(fault(format!("it is of version {version}, and this wirecert reads {VERSION}"))),
        None => return Err(fault("it does not say its version".to_owned())),
    }
    serde_json::from_value(value).map_err(|e| fault(format!("it is not as `wirecert schema certificate` says: {e}")))
}
