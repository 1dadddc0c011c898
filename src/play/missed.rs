//! How a missed expectation is described: in words, and in which way it was missed.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::format::Shape;
use crate::judge::{MissKind, MissedExpectation};
use crate::matcher::{Mismatch, template};
use crate::protocol::{Pick, RequirementId};
use crate::scenario::{Expectation, Step};
use crate::trace::{AwaitedPart, Direction, End};

use super::expect::{MAIN, distinct, is_ended};
use super::matching::{ClosestMiss, ExpectedPart};
use super::scene::{Failure, Scene};
use super::steps::name;

/// What came nearest to one of the outcomes, and is not as described there.
pub fn differs(
    scene: &Scene<'_>,
    step: &Step,
    expectation: &Expectation,
    outcomes: &[Vec<ExpectedPart>],
    (number, miss): (usize, ClosestMiss),
    late: Option<Duration>,
) -> Failure {
    let expected = &outcomes[number][miss.part];
    let what = describe(expected);
    let first = miss.mismatches.first();
    let detail = first.map_or_else(|| "it does not match".to_owned(), |m| text(scene, &m.message));
    let more = miss.mismatches.len().saturating_sub(1);
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    let message = match late {
        Some(within) if expected.kind.pick == Pick::Any => {
            format!("no {what} as described within {within:?}; the nearest: {detail}{more}")
        }
        _ if outcomes.len() > 1 => {
            let n = outcomes.len();
            format!("the {what} is none of the {n} outcomes that are taken; the nearest: {detail}{more}")
        }
        _ => format!("the {what} is not as described: {detail}{more}"),
    };
    let way = if is_anything(expected) { MissKind::Absent } else { way(&expected.expected, &miss) };
    let message = of_file(expected, first)
        .or_else(|| of_error(&what, &miss).filter(|_| way == MissKind::Failure))
        .unwrap_or(message);
    let missed = MissedExpectation {
        way,
        outcomes: recorded(scene, outcomes),
        index: miss.index,
        places: miss.mismatches.iter().map(|mismatch| mismatch.pointer.clone()).collect(),
        ..missed(scene, expected)
    };
    Failure {
        missed,
        proves: expectation.proves.clone(),
        step: name(&step.kind),
        place: expectation.any_of[number].parts[miss.part].place.clone(),
        message,
        path: first.map(|m| m.pointer.clone()),
        expected: first.map(|m| shown(scene, &m.expected)),
        actual: first.map_or(Some(miss.actual), |m| m.actual.clone()),
        index: miss.index,
    }
}

/// The description of a file that exists, or does not, where the other was expected.
fn of_file(expected: &ExpectedPart, mismatch: Option<&Mismatch>) -> Option<String> {
    let exists =
        mismatch.filter(|mismatch| expected.kind.name == "file" && mismatch.pointer == "/exists")?.actual.as_ref()?;
    let path = expected.selectors.get("path").and_then(Value::as_str)?;
    Some(if exists.as_bool()? {
        format!("the file {path} is there, and must not be")
    } else {
        format!("there is no file {path}")
    })
}

/// How much of the message of an error is shown, in characters.
const WORDS: usize = 200;

/// The description of an error that came where a result was due: its own message, where it has one.
fn of_error(what: &str, miss: &ClosestMiss) -> Option<String> {
    let of_result = |mismatch: &Mismatch| mismatch.pointer.starts_with("/result");
    miss.mismatches.first().filter(|first| of_result(first))?;
    let error = miss.actual.get("error").filter(|error| !error.is_null())?;
    let words = ["message", "code"].iter().find_map(|key| error.get(key).filter(|value| !value.is_null()));
    let words = words.unwrap_or(error).to_string();
    let beginning: String = words.chars().take(WORDS).collect();
    let more = if beginning.len() < words.len() { "…" } else { "" };
    Some(format!("the {what} is an error: {beginning}{more}"))
}

/// What is expected, with the values of its variables.
fn shown(scene: &Scene<'_>, expected: &Value) -> Value {
    template::resolve(expected, &scene.vars).unwrap_or_else(|_| expected.clone())
}

/// A description of a mismatch, with the values of the variables of its pattern. A variable that is a whole string of the
/// JSON in it stands for its value, which can be no string.
fn text(scene: &Scene<'_>, message: &str) -> String {
    let resolved = |text: &str| shown(scene, &Value::String(text.to_owned()));
    let (mut typed, mut rest) = (String::new(), message);
    while let Some((before, after)) = rest.split_once("\"${") {
        typed += before;
        let whole =
            after.split_once('"').filter(|(name, _)| name.strip_suffix('}').is_some_and(|name| !name.contains('}')));
        rest = match whole.map(|(name, after)| (resolved(&format!("${{{name}")), after)) {
            Some((value, after)) if !value.is_string() => {
                typed += &value.to_string();
                after
            }
            _ => {
                typed += "\"${";
                after
            }
        };
    }
    typed += rest;
    match resolved(&typed) {
        Value::String(text) => text,
        _ => typed,
    }
}

/// What would have done, for the trace.
fn recorded(scene: &Scene<'_>, outcomes: &[Vec<ExpectedPart>]) -> Vec<Vec<AwaitedPart>> {
    outcomes.iter().map(|parts| parts.iter().map(|expected| part(scene, expected)).collect()).collect()
}

fn part(scene: &Scene<'_>, expected: &ExpectedPart) -> AwaitedPart {
    let pattern = match shown(scene, &expected.expected) {
        Value::Object(pattern) => pattern,
        _ => Map::new(),
    };
    let (on, selectors) = (expected.conn.clone(), expected.selectors.clone());
    AwaitedPart { observation: expected.kind.name.to_owned(), on, selectors, pattern }
}

/// Whether something that could not be read came on one of these connections after the message that was nearest.
pub fn is_unread_since(scene: &Scene<'_>, outcomes: &[Vec<ExpectedPart>], nearest: Option<u64>) -> bool {
    let after = scene.since.event.max(nearest.unwrap_or_default());
    let mut awaited = outcomes.iter().flatten().filter_map(|wanted| wanted.conn.as_deref());
    awaited.any(|conn| scene.log.unread(conn, sent_by(scene)).is_some_and(|(index, _)| index >= after))
}

/// The direction in which the subject sends.
fn sent_by(scene: &Scene<'_>) -> Direction {
    match scene.spec.role.subject {
        End::Server => Direction::ToClient,
        End::Client => Direction::ToServer,
    }
}

/// None of these came; of each outcome, what did not.
pub fn absent(
    scene: &Scene<'_>,
    step: &Step,
    expectation: &Expectation,
    outcomes: &[Vec<ExpectedPart>],
    lacking: &[Vec<&ExpectedPart>],
    late: Option<Duration>,
) -> Failure {
    let whats =
        lacking.iter().map(|parts| parts.iter().map(|expected| describe(expected)).collect::<Vec<_>>().join(" and "));
    let whats: Vec<String> = distinct(whats);
    let within = late.unwrap_or_default();
    let first = lacking.first().and_then(|parts| parts.first());
    Failure {
        missed: MissedExpectation {
            outcomes: recorded(scene, outcomes),
            ..first.map_or_else(|| scene.unreachable("expect", MissKind::Absent), |expected| missed(scene, expected))
        },
        proves: expectation.proves.clone(),
        step: name(&step.kind),
        place: step.place.clone(),
        message: if is_ended(scene, outcomes) {
            format!("no {} came: the connection was ended", whats.join(", nor "))
        } else {
            format!("no {} came within {within:?}{}", whats.join(", nor "), meanwhile(scene, first))
        },
        path: None,
        expected: first.map(|expected| shown(scene, &expected.expected)),
        actual: None,
        index: None,
    }
}

/// What a client did while something else was awaited of it: a call that has not ended may wait for the response to a request, and
/// one that has ended made no request, for example because its result came from a cache.
fn meanwhile(scene: &Scene<'_>, awaited: Option<&&ExpectedPart>) -> String {
    match awaited.map(|awaited| awaited.kind.name) {
        Some("returned") => {
            let requests: Vec<String> =
                scene.log.unanswered().iter().take(3).map(|start| format!("`{start}`")).collect();
            if requests.is_empty() {
                return String::new();
            }
            format!("; the scenario gave no response to {}", requests.join(", "))
        }
        Some("request") => {
            let returned = scene.log.seen("returned", None, &Map::new());
            let meanwhile = returned.iter().any(|returned| returned.observation.index > scene.since.event);
            if meanwhile { "; a call returned without it".to_owned() } else { String::new() }
        }
        _ => String::new(),
    }
}

/// That an observation did not come.
pub fn missed(scene: &Scene<'_>, expected: &ExpectedPart) -> MissedExpectation {
    let mut missed = MissedExpectation {
        kind: expected.kind.name,
        selectors: expected.selectors.clone(),
        conn: expected.conn.clone(),
        came: !scene.log.seen(expected.kind.name, None, &expected.selectors).is_empty(),
        way: MissKind::Absent,
        outcomes: vec![],
        places: vec![],
        index: None,
        since: scene.since.event,
    };
    if missed.conn.is_none() {
        missed.conn = missed.exchange().map(str::to_owned);
    }
    missed
}

/// Whether an observation is awaited that nothing but its pattern tells from others of its kind: the one that came nearest may
/// have nothing to do with it.
fn is_anything(expected: &ExpectedPart) -> bool {
    expected.kind.pick == Pick::Any && expected.selectors.is_empty() && expected.lookup.is_none()
}

/// Whether a failure came where a success was due, or something else that differs.
fn way(expected: &Value, miss: &ClosestMiss) -> MissKind {
    let flag = |value: &Value| value.pointer("/result/success").and_then(Value::as_bool);
    let refused = flag(&miss.actual) == Some(false) && flag(expected) != Some(false);
    let failed_status = miss.actual.get("status").and_then(Value::as_u64).is_some_and(|status| status >= 300);
    let failed = |mismatch: &Mismatch| match mismatch.pointer.as_str() {
        "/result" | "/error" | "/json" if failed_status => true,
        "/result/success" => mismatch.actual == Some(Value::Bool(false)),
        "/result" | "/error" => miss.actual.get("error").is_some_and(|error| !error.is_null()),
        "/status" if mismatch.expected == json!(101) => true,
        "/status" => {
            let least = mismatch.expected.pointer("/$range/min").unwrap_or(&mismatch.expected);
            let due = least.as_u64().is_some_and(|status| status < 300);
            // A client that is sent elsewhere has received nothing, whatever was due.
            let elsewhere = |status: &u64| (300..400).contains(status);
            let status = mismatch.actual.as_ref().and_then(Value::as_u64);
            let wanted = mismatch.expected.as_u64().as_ref().is_some_and(elsewhere);
            status.is_some_and(|status| due && status >= 400 || elsewhere(&status) && !wanted)
        }
        pointer => refused && pointer.starts_with("/result/"),
    };
    // Neither a result nor an error, or a body that is no object.
    let has = |key: &str| miss.actual.get(key).is_some_and(|value| !value.is_null());
    let unreadable = |mismatch: &Mismatch| match mismatch.pointer.as_str() {
        "/result" | "/error" => !has("result") && !has("error"),
        pointer => pointer.starts_with("/json") && !miss.actual.get("json").is_some_and(Value::is_object),
    };
    // What did not come whole did not come.
    let torn = miss.actual.get("whole") == Some(&Value::Bool(false));
    let in_body =
        |place: &str| ["/whole", "/result", "/error", "/json", "/text"].iter().any(|at| place.starts_with(at));
    let cut = |mismatch: &Mismatch| torn && in_body(&mismatch.pointer);
    // Of a file that is not there nothing can be different.
    let gone = miss.actual.get("exists") == Some(&Value::Bool(false))
        && !miss.mismatches.iter().any(|mismatch| mismatch.pointer == "/exists");
    if gone || miss.mismatches.iter().any(cut) {
        MissKind::Absent
    } else if miss.mismatches.iter().any(failed) {
        MissKind::Failure
    } else if miss.mismatches.iter().any(unreadable) {
        MissKind::Unreadable
    } else {
        MissKind::Different
    }
}

/// Says of what did not come that something came where it was awaited, and could not be read.
pub fn add_unread(scene: &Scene<'_>, outcomes: &[Vec<ExpectedPart>], failure: &mut Failure) {
    let dir = sent_by(scene);
    let mut awaited = outcomes.iter().flatten().filter_map(|wanted| wanted.conn.as_deref());
    if let Some((index, lacks)) = awaited.find_map(|conn| scene.log.unread(conn, dir)) {
        failure.message += &format!("; a message came there that is not {lacks} (event {index})");
        failure.index = Some(index);
        if index >= scene.since.event {
            failure.missed.way = MissKind::Unreadable;
        }
    }
}

/// An awaited observation in words: ``response to `3` on `main` ``.
fn describe(expected: &ExpectedPart) -> String {
    let mut text = match expected.kind.name {
        "closed" => "end of the connection".to_owned(),
        name => name.to_owned(),
    };
    for (key, value) in &expected.selectors {
        let names_another = expected.kind.selectors.iter().any(|f| f.name == key && matches!(f.shape, Shape::Bound(_)));
        text.push_str(if names_another { " " } else { " with " });
        text.push_str(&format!("{key} {value}"));
    }
    if let Some(conn) = expected.conn.as_deref().filter(|c| *c != MAIN) {
        text.push_str(&format!(" on `{conn}`"));
    }
    text
}

/// The places that a pattern speaks of, as JSON pointers.
fn places(pattern: &Value, pointer: &str) -> Vec<String> {
    match pattern {
        Value::Object(map) if map.keys().all(|key| !key.starts_with('$')) => {
            let below = |(key, value): (&String, &Value)| {
                places(value, &format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")))
            };
            map.iter().flat_map(below).collect()
        }
        _ => vec![pointer.to_owned()],
    }
}

pub fn unwanted(
    scene: &Scene<'_>,
    step: &Step,
    expected: &ExpectedPart,
    proves: &[RequirementId],
    actual: Value,
    index: Option<u64>,
) -> Failure {
    Failure {
        missed: MissedExpectation {
            way: MissKind::Unwanted,
            places: places(&expected.expected, ""),
            outcomes: vec![vec![part(scene, expected)]],
            ..missed(scene, expected)
        },
        proves: proves.to_vec(),
        step: name(&step.kind),
        place: step.place.clone(),
        message: match expected.selectors.get("path").and_then(Value::as_str).filter(|_| expected.kind.name == "file") {
            Some(path) if actual.get("exists") == Some(&Value::Bool(true)) => {
                format!("the file {path} is there, and must not be")
            }
            _ => format!("a {} came that must not come", describe(expected)),
        },
        path: None,
        expected: Some(json!({ "$not": expected.expected })),
        actual: Some(actual),
        index,
    }
}
