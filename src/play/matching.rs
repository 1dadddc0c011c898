//! Whether what an expectation awaits has come: a pure look at the log, repeated by the player. What rules found wrong in
//! a message does not keep a play from going on with it.

use serde_json::{Map, Value};

use crate::judge::{MissKind, MissedExpectation, explained_by};
use crate::matcher::{Captures, Mismatch, Pattern};
use crate::protocol::{Observation, ObservationKind, Pick, Violation, is_at_or_above, short};

use super::log::{Candidate, Log};
use super::missed::missed;
use super::scene::Scene;

/// One awaited observation, variables replaced and matchers compiled.
pub struct ExpectedPart {
    /// The kind of the observation.
    pub kind: &'static ObservationKind,
    /// The connection that the observation must come on.
    pub conn: Option<String>,
    /// The selectors of the observation.
    pub selectors: Map<String, Value>,
    /// The pattern that the observation must match.
    pub pattern: Pattern,
    /// The pattern as JSON, for showing.
    pub expected: Value,
    /// The current state, where it is looked up (a file) instead of awaited on the wire.
    pub lookup: Option<Value>,
    /// Whether an observation that an earlier expectation took counts as well.
    pub again: bool,
}

impl ExpectedPart {
    /// The observations that may be the awaited one, by all but the pattern, in order.
    pub fn candidates(&self, log: &Log) -> Vec<Candidate> {
        let (conn, selectors) = (self.conn.as_deref(), &self.selectors);
        if self.again {
            log.seen(self.kind.name, conn, selectors)
        } else {
            log.untaken(self.kind.name, conn, selectors)
        }
    }

    /// Which of them it is.
    fn pick(&self) -> Pick {
        if self.again { Pick::Any } else { self.kind.pick }
    }
}

/// How far one complete outcome has come.
pub enum MatchState {
    /// All parts of the outcome have come.
    Complete { taken: Vec<MatchedObservation>, captures: Captures },
    /// The outcome can still come: the parts `lacking` have not, and nothing like them.
    Open { nearest: Option<ClosestMiss>, lacking: Vec<usize> },
    /// The outcome can no longer come: an observation that had to match did not.
    Failed { miss: ClosestMiss },
}

/// An observation that an outcome took.
pub struct MatchedObservation {
    /// The place in the outcome's parts.
    pub part: usize,
    /// The observation's place in the log; none for what was looked up.
    pub at: Option<usize>,
    /// The event that completed it.
    pub index: Option<u64>,
}

/// The observation that came nearest, and what was wrong with it.
#[derive(Clone, Debug)]
pub struct ClosestMiss {
    /// The place in the outcome's parts.
    pub part: usize,
    /// The first things wrong.
    pub mismatches: Vec<Mismatch>,
    /// The event that shows it, where there is one.
    pub index: Option<u64>,
    /// The observation's value.
    pub actual: Value,
}

/// Whether an observation passes although it differs at these places: its kind, its event, what differs.
pub type Tolerance<'t> = &'t dyn Fn(&ObservationKind, u64, &[Mismatch]) -> bool;

/// Nothing passes that differs.
pub const STRICT: Tolerance<'static> = &|_, _, _| false;

/// Looks at how far an outcome has come: `wanted` are its parts, all of which must be there.
pub fn match_outcome(parts: &[ExpectedPart], log: &Log, tolerated: Tolerance<'_>) -> MatchState {
    let mut taken: Vec<MatchedObservation> = vec![];
    let mut captures = Captures::default();
    let mut open = None;
    let mut complete = true;
    let mut lacking = vec![];
    for (part, expected) in parts.iter().enumerate() {
        match match_part(part, expected, log, &taken, &mut captures, tolerated) {
            PartMatch::Match(found) => taken.push(found),
            PartMatch::Wrong(miss) => return MatchState::Failed { miss },
            PartMatch::NotYet(nearest) => {
                complete = false;
                if nearest.is_none() {
                    lacking.push(part);
                }
                open = nearer(open, nearest);
            }
        }
    }
    if complete { MatchState::Complete { taken, captures } } else { MatchState::Open { nearest: open, lacking } }
}

/// The miss with fewer mismatches.
fn nearer(a: Option<ClosestMiss>, b: Option<ClosestMiss>) -> Option<ClosestMiss> {
    match (a, b) {
        (Some(a), Some(b)) if b.mismatches.len() < a.mismatches.len() => Some(b),
        (Some(a), _) => Some(a),
        (None, b) => b,
    }
}

enum PartMatch {
    Match(MatchedObservation),
    Wrong(ClosestMiss),
    NotYet(Option<ClosestMiss>),
}

fn match_part(
    part: usize,
    expected: &ExpectedPart,
    log: &Log,
    taken: &[MatchedObservation],
    captures: &mut Captures,
    tolerated: Tolerance<'_>,
) -> PartMatch {
    if let Some(value) = &expected.lookup {
        return match expected.pattern.check(Some(value), captures) {
            Ok(()) => PartMatch::Match(MatchedObservation { part, at: None, index: None }),
            Err(mismatches) => {
                let actual = value.clone();
                PartMatch::NotYet(Some(ClosestMiss { part, mismatches, index: None, actual }))
            }
        };
    }
    let mut candidates = expected.candidates(log);
    candidates.retain(|c| taken.iter().all(|t| t.at != Some(c.at)));
    match expected.pick() {
        Pick::First => match candidates.into_iter().next() {
            None => PartMatch::NotYet(None),
            Some(first) => match check_candidate(expected, &first, captures, tolerated) {
                Ok(()) => PartMatch::Match(matched_observation(part, &first)),
                Err(mismatches) => PartMatch::Wrong(closest_miss(part, &first.observation, mismatches)),
            },
        },
        Pick::Any => {
            let mut nearest = None;
            for candidate in candidates {
                match check_candidate(expected, &candidate, captures, tolerated) {
                    Ok(()) => return PartMatch::Match(matched_observation(part, &candidate)),
                    // Of equally near ones the latest says most about where things stand.
                    Err(mismatches) => {
                        let this = closest_miss(part, &candidate.observation, mismatches);
                        let farther =
                            nearest.as_ref().is_some_and(|n: &ClosestMiss| n.mismatches.len() < this.mismatches.len());
                        if !farther {
                            nearest = Some(this);
                        }
                    }
                }
            }
            PartMatch::NotYet(nearest)
        }
    }
}

/// Holds an observation against its pattern. What differs may be tolerated: then it is captured what can be.
fn check_candidate(
    expected: &ExpectedPart,
    candidate: &Candidate,
    captures: &mut Captures,
    tolerated: Tolerance<'_>,
) -> Result<(), Vec<Mismatch>> {
    let seen = &candidate.observation;
    expected.pattern.check(Some(&seen.value), captures).or_else(|mismatches| {
        if !tolerated(expected.kind, seen.index, &mismatches) {
            return Err(mismatches);
        }
        captures.extend(expected.pattern.captured(Some(&seen.value)));
        Ok(())
    })
}

fn matched_observation(part: usize, candidate: &Candidate) -> MatchedObservation {
    MatchedObservation { part, at: Some(candidate.at), index: Some(candidate.observation.index) }
}

fn closest_miss(part: usize, observation: &Observation, mismatches: Vec<Mismatch>) -> ClosestMiss {
    ClosestMiss { part, mismatches, index: Some(observation.index), actual: observation.value.clone() }
}

/// An outcome in which all that differs is what rules found wrong in the very messages: it is what was awaited, and the play
/// can go on with it.
pub fn outcome_despite_violations(
    scene: &Scene<'_>,
    outcomes: &[Vec<ExpectedPart>],
) -> Option<(usize, Vec<MatchedObservation>, Captures)> {
    let subject = scene.spec.role.subject;
    let rules = scene.rules.clone();
    let known: Vec<Violation> = {
        let rules = rules.lock();
        rules.judgements().violations.iter().filter(|violation| violation.blame == subject).cloned().collect()
    };
    let attribution = scene.spec.role.attribution;
    let since = scene.since.event.max(scene.since.stimulus);
    let tolerated = |kind: &ObservationKind, index: u64, mismatches: &[Mismatch]| {
        // What came before its cause is something else.
        if kind.pick == Pick::Any && index < since {
            return false;
        }
        let places: Vec<String> = mismatches.iter().map(|mismatch| mismatch.pointer.clone()).collect();
        let here: Vec<&Violation> = known.iter().filter(|violation| violation.index == index).collect();
        let place = |violation: &&Violation| (violation.part, violation.path.clone());
        explained_by(attribution, kind.name, &places, &here, place).is_some()
    };
    outcomes.iter().enumerate().find_map(|(number, parts)| match match_outcome(parts, &scene.log, &tolerated) {
        MatchState::Complete { taken, captures } => Some((number, taken, captures)),
        _ => None,
    })
}

/// What was captured, without what rules found wrong: it could make others fail that use it.
pub fn without_violated_captures(
    scene: &mut Scene<'_>,
    parts: &[ExpectedPart],
    taken: &[MatchedObservation],
    mut captures: Captures,
) -> Captures {
    if captures.is_empty() {
        return captures;
    }
    let subject = scene.spec.role.subject;
    let attribution = scene.spec.role.attribution;
    let rules = scene.rules.clone();
    let rules = rules.lock();
    for t in taken {
        let (expected, Some(index), Some(value)) = (&parts[t.part], t.index, t.at.and_then(|at| scene.log.value(at)))
        else {
            continue;
        };
        let here = |violation: &&Violation| violation.blame == subject && violation.index == index;
        let useless = |violation: &&Violation| !attribution.usable.contains(&short(violation.requirement));
        let wrong: Vec<&str> = rules
            .judgements()
            .violations
            .iter()
            .filter(here)
            .filter(useless)
            .filter_map(|violation| violation.path.as_deref())
            .collect();
        for (name, place) in expected.pattern.captured_at(Some(&value)) {
            let body = attribution.in_body(expected.kind.name, &place);
            if body.is_some_and(|body| wrong.iter().any(|path| !path.is_empty() && is_at_or_above(path, &body))) {
                captures.remove(&name);
                let missed = MissedExpectation {
                    way: MissKind::Different,
                    places: vec![place],
                    index: Some(index),
                    ..missed(scene, expected)
                };
                scene.unusable.insert(name, missed);
            }
        }
    }
    captures
}
