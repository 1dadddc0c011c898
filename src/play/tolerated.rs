//! What rules found wrong in a message does not keep a play from going on with it.

use std::sync::PoisonError;

use crate::judge::{MissKind, Missed, explained_by};
use crate::matcher::{Captures, Mismatch};
use crate::protocol::{ObservationKind, Pick, Violation, is_at_or_above};

use super::missed::missed;
use super::scene::Scene;
use super::standing::{MatchState, Taken, Wanted, standing};

/// An outcome in which all that differs is what rules found wrong in the very messages: it is what was awaited, and the play
/// can go on with it.
pub fn known_outcome(scene: &Scene<'_>, outcomes: &[Vec<Wanted>]) -> Option<(usize, Vec<Taken>, Captures)> {
    let subject = scene.spec.role.subject;
    let rules = scene.rules.clone();
    let known: Vec<Violation> = {
        let rules = rules.lock().unwrap_or_else(PoisonError::into_inner);
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
    outcomes.iter().enumerate().find_map(|(number, wanted)| match standing(wanted, &scene.log, &tolerated) {
        MatchState::Complete { taken, captures } => Some((number, taken, captures)),
        _ => None,
    })
}

/// What was captured, without what rules found wrong: it could make others fail that use it.
pub fn usable(scene: &mut Scene<'_>, wanted: &[Wanted], taken: &[Taken], mut captures: Captures) -> Captures {
    if captures.is_empty() {
        return captures;
    }
    let subject = scene.spec.role.subject;
    let attribution = scene.spec.role.attribution;
    let rules = scene.rules.clone();
    let rules = rules.lock().unwrap_or_else(PoisonError::into_inner);
    for t in taken {
        let (want, Some(index), Some(value)) = (&wanted[t.part], t.index, t.at.and_then(|at| scene.log.value(at)))
        else {
            continue;
        };
        let here = |violation: &&Violation| violation.blame == subject && violation.index == index;
        let wrong: Vec<&str> = rules
            .judgements()
            .violations
            .iter()
            .filter(here)
            .filter_map(|violation| violation.path.as_deref())
            .collect();
        for (name, place) in want.pattern.captured_at(Some(&value)) {
            let body = attribution.in_body(want.kind.name, &place);
            if body.is_some_and(|body| wrong.iter().any(|path| !path.is_empty() && is_at_or_above(path, &body))) {
                captures.remove(&name);
                let missed =
                    Missed { way: MissKind::Different, places: vec![place], index: Some(index), ..missed(scene, want) };
                scene.unusable.insert(name, missed);
            }
        }
    }
    captures
}
