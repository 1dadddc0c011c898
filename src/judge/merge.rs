//! Reports of shards, put together: [`merge`].
//!
//! The shards' scenarios are judged once more as if one run had played them, by the same [conclusions](super::conclusion);
//! so a merged report is as strict as that of an unsharded run.

mod fit;
mod subject;

use crate::diagnostic::Diagnostic;

use super::{Note, Report, Shard, Unjudged};

/// The report of one shard.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its file, as shown to people.
    pub file: String,
    /// What it says.
    pub report: Report,
}

/// A part of which it is known that it belongs to the others.
#[derive(Clone, Copy)]
struct Fitting<'a> {
    file: &'a str,
    shard: Shard,
    report: &'a Report,
}

/// Puts the reports of all shards of one run together, in whatever order they are given.
///
/// # Errors
/// Everything that keeps the reports from being those of all shards of one run, with what to do about it.
pub fn merge(parts: &[Part]) -> Result<Report, Vec<Diagnostic>> {
    let parts = fit::fitting(parts)?;
    let Some(first) = parts.first().map(|part| part.report) else {
        return Err(vec![fault("there is no report to be merged").help("name the JSON reports of all shards")]);
    };
    let (subjects, faults) = subject::subjects(&parts);
    if !faults.is_empty() {
        return Err(faults);
    }
    let notes: Vec<Note> = once_each(parts.iter().flat_map(|part| &part.report.notes));
    let unjudged: Vec<Unjudged> = once_each(parts.iter().flat_map(|part| &part.report.unjudged));
    let asked = super::RunOptions { shard: None, ..first.run.clone().unwrap_or_default() };
    Ok(Report::of(first.suite.clone(), notes, subjects).asked(asked, unjudged))
}

fn fault(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("merge", message)
}

/// What several parts say, without repetition, in order.
fn once_each<'a, T: Clone + PartialEq + 'a>(said: impl Iterator<Item = &'a T>) -> Vec<T> {
    let mut list: Vec<T> = vec![];
    for item in said {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
    list
}
