//! Waiting for what must come, and making sure of what must not.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::format::Shape;
use crate::matcher::template::{Piece, pieces};
use crate::matcher::{Captures, Pattern, PatternError};
use crate::peer::PeerError;
use crate::protocol::{ObservationKind, Pick, RequirementId, short};
use crate::scenario::{Expectation, Part, Step, Until};
use crate::trace::End;

use super::log::Log;
use super::matching::{
    ClosestMiss, ExpectedPart, MatchState, MatchedObservation, STRICT, match_outcome, outcome_despite_violations,
    without_violated_captures,
};
use super::missed::{absent, add_unread, differs, is_unread_since, missed, unwanted};
use super::scene::{Halt, Scene};
use super::starvation::StarvationMeter;
use super::steps::{MAX_HARNESS_DELAY, peer_error, resolve_map, unusable};
use super::timing::is_giving_up;

/// How often files are looked at while one is awaited.
const FILE_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How often it is looked at what rules have seen.
const RULES_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How long something is waited for on a connection of which rules have seen that it can no longer be read: they may have seen
/// that of one message only.
const UNREADABLE_WAIT: Duration = Duration::from_secs(1);

/// How long something is waited for on a connection that the subject has ended.
const ENDED_WAIT: Duration = Duration::from_millis(250);

/// The connection that is meant where none is named.
pub const MAIN: &str = "main";

/// The quiet time where a barrier was asked for and the protocol has none.
const DEFAULT_QUIET: Duration = Duration::from_millis(100);

/// What each of several outcomes awaits, in whatever shape, and of which nothing came.
fn missing_in_every_outcome<'o>(outcomes: &'o [Vec<ExpectedPart>], log: &Log) -> Vec<&'o ExpectedPart> {
    let [first, others @ ..] = outcomes else { return vec![] };
    let same = |a: &ExpectedPart, b: &ExpectedPart| {
        a.kind.name == b.kind.name && a.conn == b.conn && a.selectors == b.selectors
    };
    let awaited = first.iter().filter(|expected| expected.kind.pick == Pick::First && expected.lookup.is_none());
    let awaited = awaited.filter(|expected| others.iter().all(|parts| parts.iter().any(|part| same(part, expected))));
    let came = |expected: &&ExpectedPart| !expected.candidates(log).is_empty();
    awaited.filter(|expected| !others.is_empty() && !came(expected)).collect()
}

/// Waits until one of the outcomes has come, or none can any more, or the time is up.
pub async fn expect(scene: &mut Scene<'_>, step: &Step, expectation: &Expectation) -> Result<(), Halt> {
    let mut secrets = scene.recorder.secrets();
    let mut outcomes = compile(scene, step, expectation)?;
    let within = scene.limited_wait(expectation.within);
    let began = Instant::now();
    let lag = scene.lag;
    let deadline = lag.deadline(within);
    // What is due on a connection that can no longer be read is not waited for as long as it may take.
    let unreadable_deadline = lag.deadline(within.min(UNREADABLE_WAIT));
    let mut ended_deadline = None;
    let mut starvation = StarvationMeter::start();
    let log = scene.log.clone();
    loop {
        let changed = log.changed();
        if let Some(call) = log.unsupported() {
            return Err(Halt::Skip(format!("the subject does not offer `{call}`")));
        }
        // What is awaited may bring a secret that the pattern names.
        let known = scene.recorder.secrets();
        if known != secrets {
            (secrets, outcomes) = (known, compile(scene, step, expectation)?);
        }
        let looked_up = look_up(scene, step, &mut outcomes)?;
        let mut open = false;
        let mut nearest: Option<(usize, ClosestMiss)> = None;
        // The outcome of which something came, and all that came is as it should be: the rest did not come.
        let mut begun: Option<(usize, Vec<usize>)> = None;
        // Whether nothing came of an outcome that differs from it: it may come still.
        let mut untouched = false;
        for (number, parts) in outcomes.iter().enumerate() {
            match match_outcome(parts, &log, STRICT) {
                MatchState::Complete { taken, captures } => {
                    // An outcome that stands before it may have come since it was looked at.
                    let before = outcomes[..number].iter().enumerate().find_map(|(n, parts)| {
                        match match_outcome(parts, &log, STRICT) {
                            MatchState::Complete { taken, captures } => Some((n, taken, captures)),
                            _ => None,
                        }
                    });
                    let (number, taken, captures) = before.unwrap_or((number, taken, captures));
                    let parts = &outcomes[number];
                    let note = expectation.any_of[number].note.clone();
                    scene.since.came(began.elapsed());
                    return complete(scene, parts, &taken, captures, &expectation.proves, note);
                }
                MatchState::Open { nearest: miss, lacking } => {
                    open = true;
                    // What is looked up is always there: it is no sign that its outcome came.
                    let looked_up = |miss: &ClosestMiss| parts[miss.part].lookup.is_some();
                    let more = |miss: &ClosestMiss| lacking.iter().any(|part| *part != miss.part);
                    let miss = miss.filter(|miss| !(looked_up(miss) && more(miss)));
                    untouched |= miss.is_none();
                    if begun.is_none() && miss.is_none() && lacking.len() < parts.len() {
                        begun = Some((number, lacking));
                    }
                    keep_nearer(expectation, &mut nearest, number, miss);
                }
                MatchState::Failed { miss } => keep_nearer(expectation, &mut nearest, number, Some(miss)),
            }
        }
        let mut left = if is_unreadable(scene, &outcomes) { unreadable_deadline.left() } else { deadline.left() };
        if is_ended(scene, &outcomes) {
            let ended_deadline = ended_deadline.get_or_insert_with(|| lag.deadline(within.min(ENDED_WAIT)));
            left = left.min(ended_deadline.left());
        }
        if !open || left.is_none() {
            if scene.recorder.secrets() != secrets {
                continue;
            }
            let late = open.then_some(within);
            // A client has times of its own: one that gave up on a server that was held up did nothing wrong. One that has
            // returned already may have waited for many short delays as well. A server has a time for the handshake.
            let held_up =
                scene.held_up() > MAX_HARNESS_DELAY || !open && scene.held_up_in_all() > 2 * MAX_HARNESS_DELAY;
            let came = nearest.as_ref().map(|(number, miss)| (&outcomes[*number][miss.part], &miss.actual));
            let explains = open || came.is_none_or(|(part, actual)| is_giving_up(part.kind.name, actual));
            let handshake = || outcomes.iter().any(|parts| parts.iter().any(|part| part.kind.name == "handshake"));
            if (scene.spec.role.is_client() || handshake()) && held_up && explains {
                let (place, held_up) = (&step.place, scene.held_up_in_all());
                return Err(Halt::HeldUp(format!(
                    "{place}: this machine was too busy: plays were held up for {held_up:?}"
                )));
            }
            if open && let Some(waited) = starvation.starved(scene.subject.as_ref()) {
                let place = &step.place;
                let text = format!("{place}: this machine was too busy: the subject waited {waited:?} for a processor");
                return Err(Halt::HeldUp(text));
            }
            // What came before its cause is something else.
            let since = scene.since.event.max(scene.since.stimulus);
            let earlier = |(number, miss): &(usize, ClosestMiss)| {
                let before = miss.index.is_some_and(|index| index < since);
                before && (untouched || outcomes[*number][miss.part].kind.pick == Pick::Any)
            };
            let nearest = nearest.filter(|nearest| !earlier(nearest));
            let going_on = outcome_despite_violations(scene, &outcomes);
            let noted = |number: usize| expectation.any_of[number].note.is_some();
            let nearest = match &going_on {
                Some((number, ..)) => match match_outcome(&outcomes[*number], &log, STRICT) {
                    MatchState::Failed { miss } | MatchState::Open { nearest: Some(miss), .. } => Some((*number, miss)),
                    _ => nearest,
                },
                // One that is taken with a note is not what is asked for, whatever of it came.
                None => nearest.filter(|(n, _)| begun.as_ref().is_none_or(|(begun, _)| noted(*begun) && !noted(*n))),
            };
            // What could not be read may have been what is awaited, rather than what could.
            let unread = |(number, miss): &(usize, ClosestMiss)| {
                let any = outcomes[*number][miss.part].kind.pick == Pick::Any;
                any && late.is_some() && is_unread_since(scene, &outcomes, miss.index)
            };
            // Where nothing came that every outcome awaits, none can stand, whatever else differs. Before the time is up it may
            // come still.
            let in_all = if late.is_some() { missing_in_every_outcome(&outcomes, &log) } else { vec![] };
            let nearest = nearest.filter(|nearest| !unread(nearest) && (going_on.is_some() || in_all.is_empty()));
            let mut failure = match nearest {
                Some(nearest) => differs(scene, step, expectation, &outcomes, nearest, late),
                None => {
                    let of = |(number, lacking): &(usize, Vec<usize>)| {
                        vec![lacking.iter().map(|part| &outcomes[*number][*part]).collect()]
                    };
                    let all = || outcomes.iter().map(|parts| parts.iter().collect()).collect();
                    let lacking = if in_all.is_empty() { begun.as_ref().map_or_else(all, of) } else { vec![in_all] };
                    absent(scene, step, expectation, &outcomes, &lacking, late)
                }
            };
            if failure.index.is_none() {
                add_unread(scene, &outcomes, &mut failure);
            }
            let stopped = if !expectation.is_preparation {
                scene.fail(failure)
            } else if going_on.is_some() {
                Ok(())
            } else {
                let mut why = format!("{}: {}", step.place, failure.message);
                scene.recorder.hide_text(&mut why);
                Err(Halt::Skip(why))
            };
            let Some((number, taken, captures)) = going_on else {
                return if expectation.needed { stopped.and(Err(Halt::Failed)) } else { stopped };
            };
            take_observations(scene, &outcomes[number], &taken);
            let captures = without_violated_captures(scene, &outcomes[number], &taken, captures);
            scene.vars.extend(captures);
            scene.since.came(began.elapsed());
            return Ok(());
        }
        starvation.look(scene.subject.as_ref());
        let left = left.unwrap_or_default();
        let wait = left.min(if looked_up { FILE_POLL_INTERVAL } else { RULES_POLL_INTERVAL });
        let _ = tokio::time::timeout(wait, changed).await;
    }
}

/// Whether each outcome awaits something on a connection of which rules have seen that nothing on it can be read any more.
fn is_unreadable(scene: &Scene<'_>, outcomes: &[Vec<ExpectedPart>]) -> bool {
    let (subject, attribution) = (scene.spec.role.subject, scene.spec.role.attribution);
    let rules = scene.rules.clone();
    let rules = rules.lock();
    let unreadable: Vec<&str> = rules
        .judgements()
        .violations
        .iter()
        .filter(|violation| violation.blame == subject && attribution.spoils_connection(short(violation.requirement)))
        .filter_map(|violation| violation.conn.as_deref())
        .collect();
    let is_on_one =
        |part: &ExpectedPart| missed(scene, part).conn.is_some_and(|conn| unreadable.contains(&conn.as_str()));
    !unreadable.is_empty() && outcomes.iter().all(|parts| parts.iter().any(is_on_one))
}

/// Whether each outcome awaits something on a connection that the server has ended: it can come no more.
pub fn is_ended(scene: &Scene<'_>, outcomes: &[Vec<ExpectedPart>]) -> bool {
    let is_on_one = |part: &ExpectedPart| {
        matches!(part.kind.name, "response" | "message" | "notification")
            && missed(scene, part).conn.is_some_and(|conn| scene.log.has_ended(&conn))
    };
    scene.spec.role.subject == End::Server && outcomes.iter().all(|parts| parts.iter().any(is_on_one))
}

/// Keeps the outcome that what came is nearest to. One that is taken with a note is not what is asked for, however near.
fn keep_nearer(
    expectation: &Expectation,
    nearest: &mut Option<(usize, ClosestMiss)>,
    number: usize,
    miss: Option<ClosestMiss>,
) {
    let Some(miss) = miss else { return };
    let distance =
        |number: usize, miss: &ClosestMiss| (expectation.any_of[number].note.is_some(), miss.mismatches.len());
    if nearest.as_ref().is_none_or(|(kept, n)| distance(number, &miss) < distance(*kept, n)) {
        *nearest = Some((number, miss));
    }
}

fn take_observations(scene: &Scene<'_>, parts: &[ExpectedPart], taken: &[MatchedObservation]) {
    for t in taken {
        let part = &parts[t.part];
        if part.again {
            continue;
        }
        match (t.at, part.kind.pick) {
            (Some(at), Pick::First) => scene.log.take(at),
            (Some(at), Pick::Any) => scene.log.take_through(at, part.kind.name, part.conn.as_deref(), &part.selectors),
            (None, _) => {}
        }
    }
}

/// An outcome has come: what it took is taken, what it captured is set, what it proves is assessed.
fn complete(
    scene: &mut Scene<'_>,
    parts: &[ExpectedPart],
    taken: &[MatchedObservation],
    captures: Captures,
    proves: &[RequirementId],
    note: Option<String>,
) -> Result<(), Halt> {
    take_observations(scene, parts, taken);
    let captures = without_violated_captures(scene, parts, taken, captures);
    scene.vars.extend(captures);
    scene.outcome.assessed.extend(proves);
    if let Some(note) = note {
        scene.outcome.notes.push((proves.first().copied(), note));
    }
    Ok(())
}

/// The texts in their order, without those that came before.
pub fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut once: Vec<String> = vec![];
    for text in texts {
        if !once.contains(&text) {
            once.push(text);
        }
    }
    once
}

/// The parts of each outcome, compiled.
fn compile(scene: &Scene<'_>, step: &Step, expectation: &Expectation) -> Result<Vec<Vec<ExpectedPart>>, Halt> {
    let outcomes = expectation.any_of.iter();
    outcomes.map(|outcome| outcome.parts.iter().map(|part| compile_part(scene, step, part)).collect()).collect()
}

/// A part with its variables replaced and its matchers compiled.
pub fn compile_part(scene: &Scene<'_>, step: &Step, part: &Part) -> Result<ExpectedPart, Halt> {
    let expected = Value::Object(part.fields.clone());
    if let Some(failure) = variables_of(&expected).iter().find_map(|name| unusable(scene, step, name)) {
        return Err(Halt::Unusable(Box::new(failure)));
    }
    let pattern = compile_pattern(scene, part, &expected).map_err(|errors| {
        // What has no value is checked before: an expectation that would have set it has failed.
        if !scene.outcome.findings.is_empty() {
            return Halt::Failed;
        }
        let errors: Vec<String> = errors.iter().map(|e| format!("{} {}", e.pointer, e.message)).collect();
        Halt::Error(format!("{}: {}", part.place, errors.join("; ")))
    })?;
    let conn = match (&part.conn, part.kind.on_connection) {
        (Some(conn), _) => Some(conn.clone()),
        (None, true) => Some(MAIN.to_owned()),
        (None, false) => None,
    };
    let selectors = selectors(scene, step, part)?;
    Ok(ExpectedPart { kind: part.kind, conn, selectors, pattern, expected, lookup: None, again: part.again })
}

/// A pattern for observations of a part's kind, compiled with the variables.
pub fn compile_pattern(scene: &Scene<'_>, part: &Part, pattern: &Value) -> Result<Pattern, Vec<PatternError>> {
    // What is observed is read from the trace, where secrets are replaced; files are read themselves.
    if part.kind.is_file() {
        return Ok(Pattern::compile_with(pattern, scene.schemas, &scene.vars)?.exact_below(part.exact));
    }
    let mut vars = Cow::Borrowed(&scene.vars);
    for name in variables_of(pattern) {
        let Some(value) = vars.get(&name) else { continue };
        let mut hidden = value.clone();
        hide(scene, &mut hidden);
        // There are many variables, and few have a secret in them.
        if hidden != *value {
            vars.to_mut().insert(name, hidden);
        }
    }
    let mut hidden = pattern.clone();
    hide(scene, &mut hidden);
    Ok(Pattern::compile_with(&hidden, scene.schemas, &vars)?.exact_below(part.exact))
}

/// Replaces the secrets that are known in every text of a value or pattern, but for regular expressions.
fn hide(scene: &Scene<'_>, value: &mut Value) {
    match value {
        Value::String(text) => scene.recorder.hide_text(text),
        Value::Array(items) => items.iter_mut().for_each(|item| hide(scene, item)),
        Value::Object(map) => {
            map.iter_mut().filter(|(key, _)| *key != "$regex").for_each(|(_, item)| hide(scene, item));
        }
        _ => {}
    }
}

/// The variables that a pattern uses.
fn variables_of(pattern: &Value) -> Vec<String> {
    match pattern {
        Value::String(text) => pieces(text).map(|pieces| names_in(&pieces)).unwrap_or_default(),
        Value::Array(items) => items.iter().flat_map(variables_of).collect(),
        Value::Object(map) => map.values().flat_map(variables_of).collect(),
        _ => vec![],
    }
}

fn names_in(pieces: &[Piece]) -> Vec<String> {
    let name = |piece: &Piece| match piece {
        Piece::Variable(path) => path.first().cloned(),
        _ => None,
    };
    pieces.iter().filter_map(name).collect()
}

/// The selectors' values: variables replaced, labels turned into what they are bound to.
fn selectors(scene: &Scene<'_>, step: &Step, part: &Part) -> Result<Map<String, Value>, Halt> {
    let mut selectors = resolve_map(scene, step, &part.selectors)?;
    for field in part.kind.selectors {
        let (Shape::Bound(_), Some(Value::String(label))) = (&field.shape, selectors.get(field.name)) else { continue };
        let bound = scene.vars.get(label).cloned();
        let bound = bound.ok_or_else(|| Halt::Error(format!("{}: nothing is bound to `{label}`", part.place)))?;
        selectors.insert(field.name.to_owned(), bound);
    }
    Ok(selectors)
}

/// Looks at the files that outcomes are about. Gives whether there are any.
fn look_up(scene: &Scene<'_>, step: &Step, outcomes: &mut [Vec<ExpectedPart>]) -> Result<bool, Halt> {
    let mut any = false;
    for expected in outcomes.iter_mut().flatten() {
        if let Some(value) = file_state(scene, step, expected.kind, &expected.selectors)? {
            expected.lookup = Some(value);
            any = true;
        }
    }
    Ok(any)
}

/// What is seen of a file or lockfile now; none for kinds that come over the wire.
fn file_state(
    scene: &Scene<'_>,
    step: &Step,
    kind: &ObservationKind,
    selectors: &Map<String, Value>,
) -> Result<Option<Value>, Halt> {
    let mut value = Map::new();
    match kind.name {
        "file" => {
            let path = selectors.get("path").and_then(Value::as_str).unwrap_or_default();
            let scenario_dir = scene.scenario_dir.as_ref();
            let scenario_dir =
                scenario_dir.ok_or_else(|| Halt::Error(format!("{}: there is no workspace", step.place)))?;
            let state = scenario_dir
                .read(path, scene.spec.limits.file)
                .map_err(|e| Halt::Error(format!("{}: {e}", step.place)))?;
            value.insert("exists".into(), state.exists.into());
            value.extend(state.size.map(|size| ("size".to_owned(), size.into())));
            let text = state.content.and_then(|bytes| String::from_utf8(bytes).ok());
            value.extend(text.map(|text| ("content".to_owned(), text.into())));
        }
        "lockfile" => {
            let state = scene.subject.as_ref().map(crate::subject::Running::lockfile).unwrap_or_default();
            value.insert("exists".into(), state.exists.into());
            value.extend(state.name.map(|name| ("name".to_owned(), name.into())));
            value.extend(state.content.map(|content| ("content".to_owned(), content)));
            value.extend(state.running.map(|running| ("running".to_owned(), running.into())));
            value.extend(state.folder.map(|folder| ("folder".to_owned(), folder.into())));
        }
        _ => return Ok(None),
    }
    Ok(Some(value.into()))
}

/// Waits for the end of an expectation of absence. What has come by then is in the log.
pub async fn settle(scene: &mut Scene<'_>, step: &Step, expected: &ExpectedPart, until: Until) -> Result<(), Halt> {
    let conn = expected.conn.as_deref();
    let quiet = match until {
        Until::Quiet(time) => scene.quiet_time(expected.kind.name, time),
        Until::Barrier => {
            let patience = scene.patience;
            match scene.peer.barrier(conn, patience).await {
                Ok(()) => return Ok(()),
                // Nothing comes on a connection that is gone.
                Err(PeerError::Subject { .. }) if scene.log.has_closed(conn.unwrap_or(MAIN)) => return Ok(()),
                Err(PeerError::Unable(_)) => DEFAULT_QUIET,
                Err(error) => return peer_error(scene, step, "barrier", error),
            }
        }
    };
    let lag = scene.lag;
    let deadline = lag.deadline(quiet);
    while let Some(left) = deadline.left() {
        tokio::time::sleep(left).await;
    }
    Ok(())
}

/// Makes sure that something does not come.
pub async fn never(
    scene: &mut Scene<'_>,
    step: &Step,
    part: &Part,
    until: Until,
    proves: &[RequirementId],
) -> Result<(), Halt> {
    let awaited = compile_part(scene, step, part)?;
    // A busy machine makes us wait for longer than was asked for. What comes in that time comes too late to count.
    let end = match until {
        Until::Quiet(time) => Some(
            scene
                .recorder
                .clock()
                .micros()
                .saturating_add(scene.quiet_time(awaited.kind.name, time).as_micros() as u64),
        ),
        Until::Barrier => None,
    };
    settle(scene, step, &awaited, until).await?;
    let expected = compile_part(scene, step, part)?;
    if let Some(value) = file_state(scene, step, expected.kind, &expected.selectors)? {
        if expected.pattern.check(Some(&value), &mut Captures::default()).is_err() {
            scene.outcome.assessed.extend(proves);
            return Ok(());
        }
        return scene.fail(unwanted(scene, step, &expected, proves, value, None));
    }
    for candidate in expected.candidates(&scene.log) {
        let value = &candidate.observation.value;
        let counts = end.is_none_or(|end| candidate.came <= end);
        if counts && expected.pattern.check(Some(value), &mut Captures::default()).is_ok() {
            let value = value.clone();
            return scene.fail(unwanted(scene, step, &expected, proves, value, Some(candidate.observation.index)));
        }
    }
    scene.outcome.assessed.extend(proves);
    scene.record_absence(expected.conn.as_deref(), proves);
    Ok(())
}
