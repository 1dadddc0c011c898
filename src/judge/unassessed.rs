//! What is said of requirements of which nothing was learnt: why, and whether that is excused.

use std::collections::BTreeMap;

use crate::protocol::{Level, area};

use super::conclusion::{Grounds, Notes, Owed};
use super::scenario::Judged;
use super::{Note, RequirementResult, ScenarioStatus, Scope, Status};

/// Whether a requirement that nothing was learnt about is excused, and why nothing was learnt.
///
/// Excused is what the subject declares missing, what a play found it not to owe, a `may`, and what belongs to a
/// capability and simply never came up although everything was played that could have shown it.
pub(super) fn unassessed(grounds: &Grounds, requirement: &Owed, excuse: Option<&str>) -> (Status, Option<String>) {
    let (judged, scope) = (&grounds.judged, grounds.basis.scope);
    let capability = requirement.capability.as_deref();
    if let Some(capability) = capability.filter(|c| grounds.basis.missing.iter().any(|m| m == c)) {
        return (Status::Excused, Some(format!("declared missing: {capability}")));
    }
    if let Some(why) = excuse {
        return (Status::Excused, Some(why.to_owned()));
    }
    let mut because: Vec<String> = vec![];
    for blocked in judged.iter().flat_map(|j| &j.result.blocked).filter(|b| b.requirement == requirement.id) {
        let cause = if blocked.because.is_empty() { &blocked.message } else { &blocked.because };
        if !because.contains(cause) {
            because.push(cause.clone());
        }
    }
    if !because.is_empty() {
        return (Status::NotAssessed, Some(format!("blocked by {}", because.join(", "))));
    }
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    let proving = judged.iter().filter(|j| j.result.requirements.contains(&requirement.id));
    for scenario in proving {
        let result = &scenario.result;
        let reason = match result.status {
            ScenarioStatus::Skipped | ScenarioStatus::Error => result.reason.as_deref().unwrap_or("not played"),
            ScenarioStatus::Failed => "its scenario failed before it came to that",
            ScenarioStatus::Blocked => "its scenario was blocked by a finding",
            ScenarioStatus::Passed => "its scenario passed without coming to that",
        };
        *reasons.entry(reason).or_default() += 1;
    }
    let complete = scope == Scope::Full && judged.iter().any(Judged::was_judged);
    // What a rule judges had no occasion where all that is played about its area was kept from its point.
    if reasons.is_empty()
        && complete
        && let Some(cause) = blocked_area(judged, &requirement.id)
    {
        return (Status::NotAssessed, Some(format!("blocked by {cause}")));
    }
    if reasons.is_empty() && complete {
        return match (requirement.level, capability) {
            (Level::May, _) => (Status::Excused, Some("optional, and never occurred".to_owned())),
            (_, Some(capability)) => (Status::Excused, Some(never_occurred(capability))),
            _ => (Status::NotAssessed, Some("no occasion for it came up".to_owned())),
        };
    }
    let reason = if !reasons.is_empty() {
        reasons.into_keys().collect::<Vec<_>>().join("; ")
    } else {
        match scope {
            Scope::Partial => "not asked for",
            Scope::CutShort => "the run ended before it",
            Scope::Full => "nothing could be judged",
        }
        .to_owned()
    };
    (Status::NotAssessed, Some(reason))
}

/// Says which capabilities never showed, though they are not declared missing: what is required of them was not judged.
pub(super) fn never_shown(grounds: &Grounds, requirements: &[RequirementResult], notes: &mut Notes) {
    let mut unseen: BTreeMap<&str, u64> = BTreeMap::new();
    for (owed, result) in grounds.owed.iter().zip(requirements) {
        let missing = |capability: &&str| grounds.basis.missing.iter().any(|missing| missing == capability);
        let capability = owed.capability.as_deref().filter(|capability| !missing(capability));
        if let Some(capability) = capability.filter(|name| result.reason == Some(never_occurred(name))) {
            *unseen.entry(capability).or_default() += 1;
        }
    }
    for (capability, count) in unseen {
        let declared = format!("`missing: [{capability}]`");
        if notes.list.iter().any(|note| note.text.contains(&declared)) {
            continue;
        }
        let asked = if count == 1 { "a requirement" } else { &format!("{count} requirements") };
        let text = format!(
            "`{capability}` was never shown, and {asked} could not be judged for that: where the subject does not have it, \
             say {declared} in wirecert.yaml"
        );
        notes.add(Note { requirement: None, text });
    }
}

/// Why a requirement of a capability is excused.
fn never_occurred(capability: &str) -> String {
    format!("optional ({capability}), and never occurred")
}

/// What kept every scenario of a requirement's area from its point, where there are some.
fn blocked_area<'j>(judged: &'j [Judged], requirement: &str) -> Option<&'j str> {
    let of_area = || judged.iter().map(|j| &j.result).filter(|result| area(&result.id) == area(requirement));
    let none_came_to_it = of_area().all(|result| !matches!(result.status, ScenarioStatus::Passed));
    let mut blocked = of_area().flat_map(|result| &result.blocked).map(|blocked| blocked.because.as_str());
    blocked.find(|because| !because.is_empty()).filter(|_| none_came_to_it)
}
