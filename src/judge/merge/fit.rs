//! Whether reports are those of all shards of one run.

use crate::diagnostic::Diagnostic;

use super::super::{Report, RunOptions, Shard};
use super::{Fitting, Part, fault};

/// How many missing shards are named.
const NAMED: usize = 8;

/// The parts by the number of their shard.
///
/// # Errors
/// Every report that is not that of a shard, or belongs to another run; shards that are missing or given twice.
pub(super) fn fitting(parts: &[Part]) -> Result<Vec<Fitting<'_>>, Vec<Diagnostic>> {
    let (mut fitting, mut faults) = (vec![], vec![]);
    for part in parts {
        match of_shard(part) {
            Ok(shard) => fitting.push(Fitting { file: &part.file, shard, report: &part.report }),
            Err(fault) => faults.push(fault),
        }
    }
    if let Some((first, others)) = fitting.split_first() {
        faults.extend(others.iter().flat_map(|other| differences(first, other)));
    }
    if faults.is_empty() {
        fitting.sort_by_key(|part| part.shard);
        faults.extend(twice(&fitting));
        faults.extend(missing(&fitting));
    }
    if faults.is_empty() { Ok(fitting) } else { Err(faults) }
}

/// Which shard a report is of.
fn of_shard(part: &Part) -> Result<Shard, Diagnostic> {
    let (file, suite) = (&part.file, &part.report.suite);
    let own = env!("CARGO_PKG_VERSION");
    if suite.version != own {
        let message = format!("{file} was written by wirecert {}, and this is wirecert {own}", suite.version);
        return Err(fault(message).help(format!("merge it with wirecert {}", suite.version)));
    }
    let help = "give the reports of `certify --shard I/N --report json=FILE`, one for each shard";
    match &part.report.run {
        None => Err(fault(format!("{file} is not the report of a run that can be parted into shards")).help(help)),
        Some(RunOptions { shard: None, .. }) => Err(fault(format!("{file} is the report of a run without shards"))
            .help(help)
            .help("its verdict stands alone: there is nothing to be merged with it")),
        Some(RunOptions { shard: Some(shard), .. }) if !shard.is_sound() => {
            Err(fault(format!("{file} says that it is shard {shard}, which cannot be")).help(help))
        }
        Some(RunOptions { shard: Some(shard), .. }) => Ok(*shard),
    }
}

/// What two reports were asked for or judged by differently.
fn differences(one: &Fitting<'_>, other: &Fitting<'_>) -> Vec<Diagnostic> {
    let (a, b) = (terms(one.report), terms(other.report));
    let differs = |((what, said, help), (_, otherwise, _)): (Term, Term)| {
        (said != otherwise).then(|| {
            let message = format!(
                "{} and {} differ in {what}: {said} in the one, {otherwise} in the other",
                one.file, other.file
            );
            fault(message).help(help)
        })
    };
    a.into_iter().zip(b).filter_map(differs).collect()
}

/// What the shards of a run have in common: what it is, its value, and what to do where it differs.
type Term = (&'static str, String, &'static str);

fn terms(report: &Report) -> [Term; 5] {
    let asked = report.run.clone().unwrap_or_default();
    let again = "play all shards with the same scenarios, requirements and options, and merge their reports";
    let parts = asked.shard.map_or(0, |shard| shard.of);
    [
        ("the suite", format!("{} {}", report.suite.name, report.suite.digest), again),
        ("the number of shards", parts.to_string(), "give the reports of one run: all shards I/N with the same N"),
        ("--strict", if asked.strict { "given" } else { "not given" }.to_owned(), again),
        ("--filter", asked.filter.map_or("none".to_owned(), |filter| format!("`{filter}`")), again),
        ("the version of the report", report.version.to_string(), again),
    ]
}

fn twice(parts: &[Fitting<'_>]) -> Vec<Diagnostic> {
    let same = parts.chunk_by(|a, b| a.shard == b.shard).filter(|same| same.len() > 1);
    let told = |same: &[Fitting<'_>]| {
        let files: Vec<&str> = same.iter().map(|part| part.file).collect();
        fault(format!("shard {} is given {} times: {}", same[0].shard, same.len(), files.join(", ")))
            .help("give one report for each shard")
    };
    same.map(told).collect()
}

fn missing(parts: &[Fitting<'_>]) -> Option<Diagnostic> {
    let of = parts.first()?.shard.of;
    let given = |index: &usize| parts.iter().any(|part| part.shard.index == *index);
    let missing: Vec<String> =
        (1..=of).filter(|index| !given(index)).take(NAMED).map(|index| format!("{index}/{of}")).collect();
    let first = missing.first()?;
    let files: Vec<String> = parts.iter().map(|part| format!("{} is {}", part.file, part.shard)).collect();
    let more = if missing.len() == NAMED { ", …" } else { "" };
    let message = format!("not every shard is there, {}{more} missing: {}", missing.join(", "), files.join(", "));
    Some(fault(message).help(format!("play it, too, with `--shard {first} --report json=FILE`, and give all reports")))
}
