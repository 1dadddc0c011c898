//! Streams: everything of one kind until its end, judged as a whole.

use std::time::Duration;

use serde_json::Value;

use crate::judge::{MissKind, MissedExpectation};
use crate::matcher::Captures;
use crate::scenario::{Collect, Step, StreamEnd, Until};

use super::expect::{compile_part, compile_pattern, settle};
use super::log::Candidate;
use super::matching::{MatchState, STRICT, match_outcome};
use super::scene::{Failure, Halt, Scene};
use super::steps::{name, resolve};

/// Gathers a stream to its end and holds the rules for it against it.
pub async fn collect(scene: &mut Scene<'_>, step: &Step, collect: &Collect) -> Result<(), Halt> {
    let wanted = compile_part(scene, step, &collect.part)?;
    let end = match &collect.until {
        StreamEnd::Until(until) => {
            settle(scene, step, &wanted, *until).await?;
            None
        }
        StreamEnd::Part(part) => match wait_for_end(scene, step, collect, part).await? {
            Some(index) => Some(index),
            None => return Ok(()),
        },
    };
    let mut items = wanted.candidates(&scene.log);
    items.retain(|c| end.is_none_or(|end| c.observation.index <= end));
    let failed = judge(scene, step, collect, &items)?;
    for item in &items {
        scene.log.take(item.at);
    }
    if let Some(bind) = &collect.bind {
        scene.vars.insert(bind.clone(), items.iter().map(value).cloned().collect());
    }
    match failed {
        Some(failure) => scene.fail(failure),
        None => {
            scene.outcome.assessed.extend(&collect.proves);
            if items.is_empty() {
                scene.record_absence(wanted.conn.as_deref(), &collect.proves);
            }
            scene.since.came(Duration::ZERO);
            Ok(())
        }
    }
}

/// Waits for the observation that ends the stream; none where it did not come and that was no `must`.
async fn wait_for_end(
    scene: &mut Scene<'_>,
    step: &Step,
    collect: &Collect,
    part: &crate::scenario::Part,
) -> Result<Option<u64>, Halt> {
    let end = [compile_part(scene, step, part)?];
    let within = scene.limited_wait(collect.within);
    let lag = scene.lag;
    let deadline = lag.deadline(within);
    let log = scene.log.clone();
    loop {
        let changed = log.changed();
        if let MatchState::Complete { taken, captures } = match_outcome(&end, &log, STRICT) {
            scene.vars.extend(captures);
            for t in &taken {
                t.at.into_iter().for_each(|at| log.take(at));
            }
            return Ok(taken.first().and_then(|t| t.index));
        }
        let Some(left) = deadline.left() else {
            let message = format!("the stream did not end within {within:?}: no {} came", part.kind.name);
            let failure = failure(scene, step, collect, message, None, None, None);
            scene.fail(failure)?;
            return Ok(None);
        };
        let _ = tokio::time::timeout(left, changed).await;
    }
}

fn judge(scene: &Scene<'_>, step: &Step, collect: &Collect, items: &[Candidate]) -> Result<Option<Failure>, Halt> {
    let last = items.len().checked_sub(1);
    for (n, item) in items.iter().enumerate() {
        let checks = [
            ("every item", collect.each.as_ref()),
            ("the first item", collect.first.as_ref().filter(|_| n == 0)),
            ("the last item", collect.last.as_ref().filter(|_| Some(n) == last)),
        ];
        for (which, pattern) in checks {
            let Some(pattern) = pattern else { continue };
            let about = format!("{which} of the stream; number {}", n + 1);
            let found = check(scene, step, collect, &about, pattern, value(item), Some(item.observation.index))?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    if items.is_empty() && (collect.first.is_some() || collect.last.is_some()) {
        return Ok(Some(failure(scene, step, collect, "the stream is empty".into(), None, None, None)));
    }
    if let Some(pattern) = &collect.count {
        // The last one is one too many, if any is.
        let index = items.last().map(|item| item.observation.index);
        let number = |n: usize| check(scene, step, collect, "the number of items", pattern, &n.into(), index);
        let mut found = number(items.len())?;
        let missing = minimum_length(pattern).is_some_and(|least| (items.len() as u64) < least);
        if let (true, StreamEnd::Until(Until::Quiet(time))) = (found.is_some() && !missing, &collect.until) {
            // A subject that is slow, or a busy machine, makes us wait for longer than was asked for.
            found = number(most_within(items, *time))?;
        }
        if let Some(failure) = &mut found {
            failure.missed.way = if missing { MissKind::Absent } else { MissKind::Unwanted };
            failure.missed.index = index;
            return Ok(found);
        }
    }
    if let Some((pointer, pattern)) = &collect.join {
        let joined: String =
            items.iter().filter_map(|i| value(i).pointer(pointer).and_then(Value::as_str).map(str::to_owned)).collect();
        return check(scene, step, collect, "the joined text", pattern, &joined.into(), None);
    }
    Ok(None)
}

/// The greatest number of items that came within so long.
fn most_within(items: &[Candidate], time: Duration) -> usize {
    let came: Vec<u64> = items.iter().map(|item| item.came).collect();
    most_in_a_span(&came, time.as_micros() as u64)
}

/// The greatest number of these times, which rise, that lie in a span of this length.
fn most_in_a_span(times: &[u64], span: u64) -> usize {
    let from = |(n, first): (usize, &u64)| times[n..].partition_point(|time| time - first <= span);
    times.iter().enumerate().map(from).max().unwrap_or(0)
}

/// The least number that this pattern takes.
fn minimum_length(pattern: &Value) -> Option<u64> {
    pattern.as_u64().or_else(|| pattern.pointer("/$range/min")?.as_u64())
}

fn check(
    scene: &Scene<'_>,
    step: &Step,
    collect: &Collect,
    about: &str,
    pattern: &Value,
    actual: &Value,
    index: Option<u64>,
) -> Result<Option<Failure>, Halt> {
    let resolved = resolve(scene, step, pattern)?;
    // Compiled with the variables, not from the resolved text: what a subject sent must not act as a matcher.
    let compiled = compile_pattern(scene, &collect.part, pattern)
        .map_err(|errors| Halt::Error(format!("{}: {}", step.place, errors.first().map_or("", |e| &e.message))))?;
    match compiled.check(Some(actual), &mut Captures::default()) {
        Ok(()) => Ok(None),
        Err(mismatches) => {
            let first = mismatches.into_iter().next();
            let message = format!("{about}: {}", first.as_ref().map_or("does not match", |m| &m.message));
            let path = first.as_ref().map(|m| m.pointer.clone());
            let mut failure = failure(scene, step, collect, message, Some(resolved), Some(actual.clone()), index);
            failure.missed.places = path.iter().cloned().collect();
            // What did not come whole did not come.
            if path.as_deref() == Some("/whole") {
                failure.missed.way = MissKind::Absent;
            }
            failure.path = path;
            Ok(Some(failure))
        }
    }
}

fn failure(
    scene: &Scene<'_>,
    step: &Step,
    collect: &Collect,
    message: String,
    expected: Option<Value>,
    actual: Option<Value>,
    index: Option<u64>,
) -> Failure {
    let way = if actual.is_some() { MissKind::Different } else { MissKind::Absent };
    let missed = MissedExpectation {
        kind: collect.part.kind.name,
        selectors: collect.part.selectors.clone(),
        conn: collect.part.conn.clone(),
        came: !scene.log.seen(collect.part.kind.name, None, &collect.part.selectors).is_empty(),
        way,
        outcomes: vec![],
        places: vec![],
        index: None,
        since: scene.since.event,
    };
    Failure {
        proves: collect.proves.clone(),
        step: name(&step.kind),
        place: collect.part.place.clone(),
        message,
        path: None,
        expected,
        actual,
        index,
        missed,
    }
}

fn value(candidate: &Candidate) -> &Value {
    &candidate.observation.value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_in_a_span_are_those_that_lie_closest() {
        for (times, most) in
            [(&[][..], 0), (&[5], 1), (&[0, 500, 1400, 3100], 1), (&[0, 500, 600, 650, 3100], 3), (&[0, 150], 2)]
        {
            assert_eq!(most_in_a_span(times, 150), most, "{times:?}");
        }
    }
}
