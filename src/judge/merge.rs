//! Reports of shards, put together: [`merge`].
//!
//! The reports must be those of all shards of one run. The shards' scenarios are judged once more as if one run had played
//! them, by the same [conclusions](super::conclusion); so a merged report is as strict as that of an unsharded run.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::Diagnostic;

use super::conclusion::{Inputs, Required, conclude};
use super::subject::JudgedScenario;
use super::{BaselineLine, Note, Report, RunOptions, RunScope, Scope, Shard, SnapshotResult, SubjectReport, Unjudged};

/// The report of one shard.
#[derive(Clone, Debug)]
pub struct ShardReport {
    /// The path of the report, as shown to people.
    pub file: String,
    /// The report.
    pub report: Report,
}

/// A part of which it is known that it belongs to the others.
#[derive(Clone, Copy)]
struct CheckedShard<'a> {
    file: &'a str,
    shard: Shard,
    report: &'a Report,
}

/// Puts the reports of all shards of one run together, in whatever order they are given.
///
/// # Errors
/// Everything that keeps the reports from being those of all shards of one run, with what to do about it.
pub fn merge(parts: &[ShardReport]) -> Result<Report, Vec<Diagnostic>> {
    let parts = check_shards(parts)?;
    let Some(first) = parts.first().map(|part| part.report) else {
        return Err(vec![merge_error("there is no report to be merged").help("name the JSON reports of all shards")]);
    };
    let (subjects, faults) = subjects(&parts);
    if !faults.is_empty() {
        return Err(faults);
    }
    let notes: Vec<Note> = distinct(parts.iter().flat_map(|part| &part.report.notes));
    let unjudged: Vec<Unjudged> = distinct(parts.iter().flat_map(|part| &part.report.unjudged));
    let options = super::RunOptions { shard: None, ..first.run.clone().unwrap_or_default() };
    Ok(Report::of(first.suite.clone(), notes, subjects).with_options(options, unjudged))
}

fn merge_error(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("merge", message)
}

/// What several parts say, without repetition, in order.
fn distinct<'a, T: Clone + PartialEq + 'a>(items: impl Iterator<Item = &'a T>) -> Vec<T> {
    let mut list: Vec<T> = vec![];
    for item in items {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
    list
}

/// How many missing shards are named.
const NAMED: usize = 8;

/// The parts by the number of their shard.
///
/// # Errors
/// Every report that is not that of a shard, or belongs to another run; shards that are missing or given twice.
fn check_shards(parts: &[ShardReport]) -> Result<Vec<CheckedShard<'_>>, Vec<Diagnostic>> {
    let (mut fitting, mut faults) = (vec![], vec![]);
    for part in parts {
        match of_shard(part) {
            Ok(shard) => fitting.push(CheckedShard { file: &part.file, shard, report: &part.report }),
            Err(fault) => faults.push(fault),
        }
    }
    if let Some((first, others)) = fitting.split_first() {
        faults.extend(others.iter().flat_map(|other| differences(first, other)));
    }
    if faults.is_empty() {
        fitting.sort_by_key(|part| part.shard);
        faults.extend(repeated_shards(&fitting));
        faults.extend(missing_shards(&fitting));
    }
    if faults.is_empty() { Ok(fitting) } else { Err(faults) }
}

/// Which shard a report is of.
fn of_shard(part: &ShardReport) -> Result<Shard, Diagnostic> {
    let (file, suite) = (&part.file, &part.report.suite);
    let own = env!("CARGO_PKG_VERSION");
    if suite.version != own {
        let message = format!("{file} was written by wirecert {}, and this is wirecert {own}", suite.version);
        return Err(merge_error(message).help(format!("merge it with wirecert {}", suite.version)));
    }
    let help = "give the reports of `certify --shard I/N --report json=FILE`, one for each shard";
    match &part.report.run {
        None => {
            Err(merge_error(format!("{file} is not the report of a run that can be parted into shards")).help(help))
        }
        Some(RunOptions { shard: None, .. }) => {
            Err(merge_error(format!("{file} is the report of a run without shards"))
                .help(help)
                .help("its verdict stands alone: there is nothing to be merged with it"))
        }
        Some(RunOptions { shard: Some(shard), .. }) if !shard.is_sound() => {
            Err(merge_error(format!("{file} says that it is shard {shard}, which cannot be")).help(help))
        }
        Some(RunOptions { shard: Some(shard), .. }) => Ok(*shard),
    }
}

/// What two reports were asked for or judged by differently.
fn differences(one: &CheckedShard<'_>, other: &CheckedShard<'_>) -> Vec<Diagnostic> {
    let (a, b) = (terms(one.report), terms(other.report));
    let differs = |((what, value, help), (_, other_value, _)): (ComparedOption, ComparedOption)| {
        (value != other_value).then(|| {
            let message = format!(
                "{} and {} differ in {what}: {value} in the one, {other_value} in the other",
                one.file, other.file
            );
            merge_error(message).help(help)
        })
    };
    a.into_iter().zip(b).filter_map(differs).collect()
}

/// What the shards of a run have in common: what it is, its value, and what to do where it differs.
type ComparedOption = (&'static str, String, &'static str);

fn terms(report: &Report) -> [ComparedOption; 5] {
    let options = report.run.clone().unwrap_or_default();
    let again = "play all shards with the same scenarios, requirements and options, and merge their reports";
    let parts = options.shard.map_or(0, |shard| shard.of);
    [
        ("the suite", format!("{} {}", report.suite.name, report.suite.digest), again),
        ("the number of shards", parts.to_string(), "give the reports of one run: all shards I/N with the same N"),
        ("--strict", if options.strict { "given" } else { "not given" }.to_owned(), again),
        ("--filter", options.filter.map_or("none".to_owned(), |filter| format!("`{filter}`")), again),
        ("the version of the report", report.version.to_string(), again),
    ]
}

fn repeated_shards(parts: &[CheckedShard<'_>]) -> Vec<Diagnostic> {
    let same = parts.chunk_by(|a, b| a.shard == b.shard).filter(|same| same.len() > 1);
    let repeated = |same: &[CheckedShard<'_>]| {
        let files: Vec<&str> = same.iter().map(|part| part.file).collect();
        merge_error(format!("shard {} is given {} times: {}", same[0].shard, same.len(), files.join(", ")))
            .help("give one report for each shard")
    };
    same.map(repeated).collect()
}

fn missing_shards(parts: &[CheckedShard<'_>]) -> Option<Diagnostic> {
    let of = parts.first()?.shard.of;
    let is_present = |index: &usize| parts.iter().any(|part| part.shard.index == *index);
    let missing: Vec<String> =
        (1..=of).filter(|index| !is_present(index)).take(NAMED).map(|index| format!("{index}/{of}")).collect();
    let first = missing.first()?;
    let files: Vec<String> = parts.iter().map(|part| format!("{} is {}", part.file, part.shard)).collect();
    let more = if missing.len() == NAMED { ", …" } else { "" };
    let message = format!("not every shard is there, {}{more} missing: {}", missing.join(", "), files.join(", "));
    Some(
        merge_error(message)
            .help(format!("play it, too, with `--shard {first} --report json=FILE`, and give all reports")),
    )
}

/// What identifies a subject: name, role, edition.
type SubjectKey<'a> = (&'a str, &'a str, &'a str);

/// The report of one shard on a subject.
type ShardSubject<'a> = (CheckedShard<'a>, &'a SubjectReport, &'a RunScope);

/// Every subject of the run, judged as one run would have, and all that keeps one from being judged.
fn subjects(parts: &[CheckedShard<'_>]) -> (Vec<SubjectReport>, Vec<Diagnostic>) {
    let keys: Vec<SubjectKey<'_>> =
        distinct(parts.iter().flat_map(|p| &p.report.subjects).map(key).collect::<Vec<_>>().iter());
    let (mut subjects, mut faults) = (vec![], vec![]);
    for key in keys {
        match subject_parts(parts, key).and_then(|(pieces, all)| subject(&pieces, all)) {
            Ok(subject) => subjects.push(subject),
            Err(found) => faults.extend(found),
        }
    }
    (subjects, faults)
}

fn key(subject: &SubjectReport) -> SubjectKey<'_> {
    (&subject.name, &subject.role, &subject.edition)
}

fn subject_label((name, role, edition): SubjectKey<'_>) -> String {
    format!("{name} ({role}, edition {edition})")
}

/// What the shards say of a subject, and whether all do that should: one may have found that it cannot be judged.
fn subject_parts<'a>(
    parts: &[CheckedShard<'a>],
    wanted: SubjectKey<'_>,
) -> Result<(Vec<ShardSubject<'a>>, bool), Vec<Diagnostic>> {
    let (mut pieces, mut silent, mut faults) = (vec![], vec![], vec![]);
    for part in parts {
        let mut of_it = part.report.subjects.iter().filter(|s| key(s) == wanted);
        match (of_it.next(), of_it.next()) {
            (None, _) => silent.push(*part),
            (Some(subject), None) => match &subject.basis {
                Some(basis) => pieces.push((*part, subject, basis)),
                None => faults.push(broken(part, wanted, "it does not say what its verdict rests on")),
            },
            (Some(_), Some(_)) => faults.push(
                merge_error(format!("{} has two subjects that are called {}", part.file, subject_label(wanted)))
                    .help("give each subject in `wirecert.yaml` a name of its own, and play the shards again"),
            ),
        }
    }
    let scenarios = pieces.first().map_or(0, |(_, _, basis)| basis.scenarios);
    let (name, role, edition) = wanted;
    let mut all = true;
    for part in silent.iter().filter(|part| part.shard.share(scenarios) > 0) {
        let tells =
            |u: &super::Unjudged| u.name == name && u.role == role && (u.edition == edition || u.edition == "auto");
        if part.report.unjudged.iter().any(tells) {
            all = false;
        } else {
            let there: Vec<String> = part.report.subjects.iter().map(|s| subject_label(key(s))).collect();
            let there = if there.is_empty() { "no subject".to_owned() } else { there.join(", ") };
            faults.push(
                merge_error(format!("{} says nothing of {}, only of {there}", part.file, subject_label(wanted)))
                    .help("give every shard the same subjects and editions, and play it again"),
            );
        }
    }
    if faults.is_empty() { Ok((pieces, all)) } else { Err(faults) }
}

/// A report that no run of ours writes.
fn broken(part: &CheckedShard<'_>, subject: SubjectKey<'_>, why: &str) -> Diagnostic {
    merge_error(format!("{} is not whole: of {}, {why}", part.file, subject_label(subject)))
        .help(format!("play it again with `--shard {} --report json=FILE`", part.shard))
}

/// Judges a subject by what all shards have of it.
fn subject(pieces: &[ShardSubject<'_>], all: bool) -> Result<SubjectReport, Vec<Diagnostic>> {
    let Some(first) = pieces.first() else { return Err(vec![]) };
    let mut faults: Vec<Diagnostic> = pieces[1..].iter().filter_map(|other| differs(first, other)).collect();
    faults.extend(pieces.iter().filter_map(incomplete));
    faults.extend(played_twice(pieces));
    if !faults.is_empty() {
        return Err(faults);
    }
    let (part, report, basis) = first;
    let scope = match pieces.iter().any(|(_, _, basis)| basis.scope == Scope::CutShort) || !all {
        true => Scope::CutShort,
        false if basis.whole => Scope::Full,
        false => Scope::Partial,
    };
    let (snapshots, unreferenced) = snapshots(pieces, scope);
    Ok(conclude(Inputs {
        name: report.name.clone(),
        role: report.role.clone(),
        edition: report.edition.clone(),
        strict: part.report.run.as_ref().is_some_and(|options| options.strict),
        owed: owed_requirements(report),
        basis: RunScope {
            scope,
            baseline: baseline(pieces),
            baseline_digest: basis
                .baseline_digest
                .clone()
                .filter(|digest| pieces.iter().all(|(_, _, other)| other.baseline_digest.as_ref() == Some(digest))),
            unreferenced,
            ..(*basis).clone()
        },
        judged: all_scenarios(pieces),
        snapshots,
        notes: distinct(pieces.iter().flat_map(|(_, report, _)| &report.notes)),
    }))
}

/// What two shards should agree on and do not.
fn differs((one, a, by): &ShardSubject<'_>, (other, b, otherwise): &ShardSubject<'_>) -> Option<Diagnostic> {
    let lines = by.baseline.len() == otherwise.baseline.len()
        && by.baseline.iter().zip(&otherwise.baseline).all(|(x, y)| x.is_same_line(y));
    let what = [
        (by.scenarios == otherwise.scenarios && by.whole == otherwise.whole, "what was to be played"),
        (by.missing == otherwise.missing, "what it declares missing"),
        (lines, "the baseline"),
        (owed_requirements(a) == owed_requirements(b), "what is asked of it"),
    ];
    let (_, what) = what.into_iter().find(|(same, _)| !same)?;
    let message = format!("{} and {} differ in {what}, of {}", one.file, other.file, subject_label(key(a)));
    Some(
        merge_error(message)
            .help("play all shards with the same `wirecert.yaml` and baseline, and merge their reports"),
    )
}

/// A report that does not have the scenarios of its shard, or has findings of others.
fn incomplete((part, report, basis): &ShardSubject<'_>) -> Option<Diagnostic> {
    let (share, there) = (part.shard.share(basis.scenarios), report.scenarios.len());
    if there != share {
        return Some(broken(part, key(report), &format!("it has {there} scenarios where {share} are its share")));
    }
    let ids: BTreeSet<&str> = report.scenarios.iter().map(|s| s.id.as_str()).collect();
    let known = |id: &str| ids.contains(id);
    let stray = report.findings.iter().any(|f| !f.scenario.as_deref().is_some_and(known))
        || report.requirements.iter().any(|r| r.by.iter().any(|id| !known(id)));
    stray.then(|| broken(part, key(report), "it speaks of scenarios that it does not have"))
}

fn played_twice(pieces: &[ShardSubject<'_>]) -> Option<Diagnostic> {
    let mut by: BTreeMap<&str, &CheckedShard<'_>> = BTreeMap::new();
    for (part, report, _) in pieces {
        for scenario in &report.scenarios {
            if let Some(other) = by.insert(&scenario.id, part) {
                let message = format!("{} and {} both have the scenario {}", other.file, part.file, scenario.id);
                return Some(
                    merge_error(message)
                        .help("play all shards again, with the same scenarios, and merge their reports"),
                );
            }
        }
    }
    None
}

/// What was asked of a subject.
pub(super) fn owed_requirements(report: &SubjectReport) -> Vec<Required> {
    let owed =
        |r: &super::RequirementResult| Required { id: r.id.clone(), level: r.level, capability: r.capability.clone() };
    report.requirements.iter().map(owed).collect()
}

/// Every scenario with what it showed, in the order of an unsharded run.
fn all_scenarios(pieces: &[ShardSubject<'_>]) -> Vec<JudgedScenario> {
    let mut list: Vec<(usize, JudgedScenario)> = vec![];
    for (part, report, _) in pieces {
        let positions = (part.shard.index..).step_by(part.shard.of);
        list.extend(positions.zip(judged_scenarios(report)));
    }
    list.sort_by_key(|(position, _)| *position);
    list.into_iter().map(|(_, judged)| judged).collect()
}

/// Every scenario of a report with what it showed, in the order of the report.
pub(super) fn judged_scenarios(report: &SubjectReport) -> impl Iterator<Item = JudgedScenario> + '_ {
    let mut assessed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for requirement in &report.requirements {
        for id in &requirement.by {
            assessed.entry(id).or_default().push(requirement.id.clone());
        }
    }
    report.scenarios.iter().map(move |result| {
        let of_it = |f: &&super::Finding| f.scenario.as_deref() == Some(&result.id);
        JudgedScenario {
            result: result.clone(),
            findings: report.findings.iter().filter(of_it).cloned().collect(),
            assessed: assessed.remove(result.id.as_str()).unwrap_or_default(),
            notes: vec![],
            baseline_used: vec![],
        }
    })
}

/// The lines of the baseline: used where one shard used them, over where they were for one.
fn baseline(pieces: &[ShardSubject<'_>]) -> Vec<BaselineLine> {
    let Some((_, _, first)) = pieces.first() else { return vec![] };
    let any = |n: usize, holds: fn(&BaselineLine) -> bool| {
        pieces.iter().any(|(_, _, basis)| basis.baseline.get(n).is_some_and(holds))
    };
    let line = |(n, line): (usize, &BaselineLine)| BaselineLine {
        used: any(n, |line| line.used),
        expired: any(n, |line| line.expired),
        ..line.clone()
    };
    first.baseline.iter().enumerate().map(line).collect()
}

/// What was compared with snapshots; what no scenario refers to is reported as such where the shards make a full run.
fn snapshots(pieces: &[ShardSubject<'_>], scope: Scope) -> (Vec<SnapshotResult>, Vec<String>) {
    let (mut compared, mut unreferenced) = (BTreeMap::new(), BTreeSet::new());
    for (_, report, basis) in pieces {
        unreferenced.extend(basis.unreferenced.iter().cloned());
        for snapshot in &report.snapshots {
            if snapshot.status == "unreferenced" {
                unreferenced.insert(snapshot.file.clone());
            } else {
                compared.insert(snapshot.file.clone(), snapshot.clone());
            }
        }
    }
    let mut compared: Vec<SnapshotResult> = compared.into_values().collect();
    if scope != Scope::Full {
        return (compared, unreferenced.into_iter().collect());
    }
    let unreferenced_result = |file| SnapshotResult { file, status: "unreferenced".to_owned() };
    compared.extend(unreferenced.into_iter().map(unreferenced_result));
    (compared, vec![])
}
