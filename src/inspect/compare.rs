//! Two traces, or two connections, side by side: [`compare()`].

use std::collections::HashSet;

use crate::export::diff::{self, Change, DiffSide, DiffStep, changes};
use crate::export::html::DiffStatus;
use crate::export::{Labels, TraceSource, TraceSurvey};
use crate::trace::{Direction, Event, ReadError};

use super::api::{ComparedEvent, ComparedStep, ComparedValue, Comparison};
use super::feed::Feed;

/// How many events are shown side by side.
const MAX_STEPS: usize = 2000;

/// How many characters of the content of an event are shown.
const MAX_TEXT: usize = 300;

/// What is compared.
pub struct CompareSide {
    /// The trace.
    pub feed: Feed,
    /// The only connection of it; none: all of it.
    pub connection: Option<String>,
}

/// Compares what is recorded by now. Reads the traces several times: not for the event loop.
///
/// # Errors
/// A trace that cannot be read, or whose protocol is another one; a connection that is not there: a sentence.
pub fn compare(left: &CompareSide, right: &CompareSide) -> Result<Comparison, String> {
    if left.feed.protocol().name != right.feed.protocol().name {
        return Err("only traces of one protocol can be compared".to_owned());
    }
    compared(left, right).map_err(|error| format!("a trace cannot be read: {}", error.message))
}

fn compared(left: &CompareSide, right: &CompareSide) -> Result<Comparison, ReadError> {
    let sources = (TraceSource::open(left.feed.path())?, TraceSource::open(right.feed.path())?);
    let surveys = (survey(&sources.0)?, survey(&sources.1)?);
    let a = side(left, &sources.0, &surveys.0);
    let b = side(right, &sources.1, &surveys.1);
    let normalisers = (a.normaliser()?, b.normaliser()?);
    let found = diff::compare((&a, &normalisers.0), (&b, &normalisers.1))?;
    let shown = &found.steps[..found.steps.len().min(MAX_STEPS)];
    let wanted = |of: &dyn Fn(&DiffStep) -> Option<u64>| shown.iter().filter_map(of).collect::<HashSet<_>>();
    let (ours, theirs) = (a.events(&wanted(&|step| step.a))?, b.events(&wanted(&|step| step.b))?);
    let mut labels = (Labels::new(a.edition), Labels::new(b.edition));
    let steps = shown.iter().map(|step| {
        let pair = (step.a.and_then(|i| ours.get(&i)), step.b.and_then(|i| theirs.get(&i)));
        let changed = match pair {
            (Some(was), Some(is)) if step.status == DiffStatus::Changed => {
                changes((was, (a.edition, &normalisers.0)), (is, (b.edition, &normalisers.1)))
            }
            _ => vec![],
        };
        ComparedStep {
            status: word(step.status).to_owned(),
            left: pair.0.map(|event| described(event, &mut labels.0)),
            right: pair.1.map(|event| described(event, &mut labels.1)),
            changes: changed
                .into_iter()
                .map(|Change { path, was, is }| ComparedValue { path, left: was, right: is })
                .collect(),
        }
    });
    Ok(Comparison {
        same: found.same,
        counts: found.counts,
        steps: steps.collect(),
        more: (found.steps.len() - shown.len()) as u64,
    })
}

fn word(status: DiffStatus) -> &'static str {
    match status {
        DiffStatus::Same => "same",
        DiffStatus::Changed => "changed",
        DiffStatus::Missing => "missing",
        DiffStatus::Extra => "extra",
        DiffStatus::Moved => "moved",
    }
}

fn side<'a>(side: &'a CompareSide, source: &'a TraceSource, survey: &'a TraceSurvey) -> DiffSide<'a> {
    DiffSide { source, survey, edition: Some(side.feed.edition()), connection: side.connection.as_deref() }
}

fn survey(source: &TraceSource) -> Result<TraceSurvey, ReadError> {
    let mut survey = TraceSurvey::default();
    for event in source.reader()? {
        survey.event(&event?);
    }
    Ok(survey)
}

fn described(event: &Event, labels: &mut Labels) -> ComparedEvent {
    let label = labels.label(event, None);
    let to = event.dir.map(|dir| match dir {
        Direction::ToServer => "server",
        Direction::ToClient => "client",
    });
    ComparedEvent {
        i: event.i,
        conn: event.conn.clone(),
        to: to.map(str::to_owned),
        text: label.folded(MAX_TEXT),
        what: label.what,
    }
}
