//! The results of requirements that were not assessed: why, and whether that is excused.

use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::{Level, NOTHING_KNOWN, area, short};

use super::conclusion::{Inputs, Notes, Required, status};
use super::subject::JudgedScenario;
use super::{Blame, BlockedBy, Note, RequirementResult, ScenarioStatus, Scope, Status};

/// The result of a requirement that was not assessed.
pub(super) struct Unassessed {
    /// Whether it is excused.
    pub status: Status,
    /// Why nothing was learnt.
    pub reason: String,
    /// The violated requirements that are the reason.
    pub because: Vec<String>,
}

impl Unassessed {
    fn excused(reason: impl Into<String>) -> Self {
        Self { status: Status::Excused, reason: reason.into(), because: vec![] }
    }

    fn open(reason: impl Into<String>) -> Self {
        Self { status: Status::NotAssessed, reason: reason.into(), because: vec![] }
    }

    fn blocked(because: &str) -> Self {
        let because = because.to_owned();
        Self { status: Status::NotAssessed, reason: format!("blocked by {because}"), because: vec![because] }
    }
}

/// Why a scenario is skipped that needs a capability which the subject declares missing.
pub fn declared_missing(capability: &str) -> String {
    format!("the subject declares `{capability}` missing")
}

/// Whether a requirement that nothing was learnt about is excused, and why nothing was learnt.
///
/// Excused is what the subject declares missing, what a play found it not to owe, a `may`, and what belongs to a
/// capability and simply never came up although everything was played that could have shown it.
pub(super) fn unassessed(inputs: &Inputs, requirement: &Required, excuse: Option<&str>) -> Unassessed {
    let (judged, scope) = (&inputs.judged, inputs.basis.scope);
    let capability = requirement.capability.as_deref();
    if let Some(capability) = capability.filter(|c| inputs.basis.missing.iter().any(|m| m == c)) {
        return Unassessed::excused(format!("declared missing: {capability}"));
    }
    if let Some(why) = excuse {
        return Unassessed::excused(why);
    }
    let blocked = || judged.iter().flat_map(|j| &j.result.blocked).filter(|b| b.requirement == requirement.id);
    let named = |b: &BlockedBy| if b.because.is_empty() { b.message.clone() } else { b.because.clone() };
    let causes: BTreeSet<String> = blocked().map(named).collect();
    if !causes.is_empty() {
        let reason = format!("blocked by {}", causes.into_iter().collect::<Vec<_>>().join(", "));
        return Unassessed { status: Status::NotAssessed, reason, because: blocked_by(judged, &requirement.id) };
    }
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    let proving = || judged.iter().filter(|j| j.result.requirements.contains(&requirement.id));
    // What failed on the way to its point.
    let failed = proving().filter(|j| j.result.status == ScenarioStatus::Failed).flat_map(|j| &j.findings);
    let failed: BTreeSet<&str> = failed.filter(|f| f.blame == Blame::Subject).map(|f| f.requirement.as_str()).collect();
    if let Some(cause) = failed.into_iter().find(|id| !id.is_empty()) {
        return Unassessed::blocked(cause);
    }
    for scenario in proving() {
        let result = &scenario.result;
        let reason = match result.status {
            ScenarioStatus::Skipped | ScenarioStatus::Error => result.reason.as_deref().unwrap_or("not played"),
            ScenarioStatus::Failed => "its scenario failed before it came to that",
            ScenarioStatus::Blocked => "its scenario was blocked by a finding",
            ScenarioStatus::Passed => "its scenario passed without coming to that",
        };
        *reasons.entry(reason).or_default() += 1;
    }
    // Where each of its scenarios needs what the subject does not have, it is not owed either.
    let needs = |name: &&String| reasons.contains_key(declared_missing(name).as_str());
    let missing: Vec<&str> = inputs.basis.missing.iter().filter(needs).map(String::as_str).collect();
    if !missing.is_empty() && missing.len() == reasons.len() {
        return Unassessed::excused(format!("declared missing: {}", missing.join(", ")));
    }
    let complete = scope == Scope::Full && judged.iter().any(JudgedScenario::was_judged);
    // What a rule judges had no occasion where all that is played about its area was kept from its point.
    if reasons.is_empty()
        && complete
        && let Some(cause) = broken_base(inputs, &requirement.id).or_else(|| blocked_area(judged, &requirement.id))
    {
        return Unassessed::blocked(cause);
    }
    if reasons.is_empty() && complete {
        return match (requirement.level, capability) {
            (Level::May, _) => Unassessed::excused("optional, and never occurred"),
            (_, Some(capability)) => Unassessed::excused(never_occurred(capability)),
            _ => broken_for_all(inputs)
                .map_or_else(|| Unassessed::open("no occasion for it came up"), Unassessed::blocked),
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
    Unassessed::open(reason)
}

/// The requirements whose violation kept plays from judging this one, each once.
pub(super) fn blocked_by(judged: &[JudgedScenario], requirement: &str) -> Vec<String> {
    let blocked = judged.iter().flat_map(|j| &j.result.blocked).filter(|b| b.requirement == requirement);
    let because: BTreeSet<&String> = blocked.map(|b| &b.because).filter(|because| !because.is_empty()).collect();
    // What it was dropped for at one place and for itself at another was dropped for the former.
    let others = because.iter().any(|because| *because != requirement);
    because.into_iter().filter(|because| !others || *because != requirement).cloned().collect()
}

/// Says which capabilities never showed, though they are not declared missing: what is required of them was not judged.
pub(super) fn never_shown(inputs: &Inputs, requirements: &[RequirementResult], notes: &mut Notes) {
    let mut unseen: BTreeMap<&str, u64> = BTreeMap::new();
    for (required, result) in inputs.owed.iter().zip(requirements) {
        let missing = |capability: &&str| inputs.basis.missing.iter().any(|missing| missing == capability);
        let capability = required.capability.as_deref().filter(|capability| !missing(capability));
        if let Some(capability) = capability.filter(|name| result.reason == Some(never_occurred(name))) {
            *unseen.entry(capability).or_default() += 1;
        }
    }
    // Of what was shown, one optional part may never come up.
    let shown = |capability: &str| {
        let mut judged = inputs
            .owed
            .iter()
            .zip(requirements)
            .filter(|(required, _)| required.capability.as_deref() == Some(capability));
        judged.any(|(_, result)| matches!(result.status, Status::Met | Status::Violated))
    };
    for (capability, count) in unseen.into_iter().filter(|(capability, _)| !shown(capability)) {
        let declared = format!("`missing: [{capability}]`");
        if notes.list.iter().any(|note| note.text.contains(&declared)) {
            continue;
        }
        let requirements_text = if count == 1 { "a requirement" } else { &format!("{count} requirements") };
        let text = format!(
            "`{capability}` was never shown, and {requirements_text} could not be judged for that: where the subject does not have it, \
             say {declared} in wirecert.yaml"
        );
        notes.add(Note { requirement: None, text });
    }
}

/// Takes back what was excused because it never occurred, where the subject showed nothing of what its role is there for:
/// nearly everything would be excused then. What it declares missing stays excused.
pub(super) fn nothing_shown(inputs: &Inputs, requirements: &mut [RequirementResult]) {
    let Some((_, role)) = crate::protocol::role(&inputs.role) else { return };
    let to_show = || requirements.iter().filter(|result| role.must_show.contains(&short(&result.id)));
    let never = |result: &RequirementResult| {
        let capability = result.capability.as_deref();
        capability.is_some_and(|name| result.reason == Some(never_occurred(name)))
    };
    let mut open = to_show().filter(|result| result.status != Status::Excused || never(result)).peekable();
    if open.peek().is_none() || !open.all(never) {
        return;
    }
    let keys: Vec<String> = (role.described)().iter().map(|field| format!("`{}`", field.name)).collect();
    let reason =
        format!("the subject showed nothing: name in wirecert.yaml what it shows something for ({})", keys.join(", "));
    for result in requirements.iter_mut().filter(|result| never(result)) {
        (result.status, result.reason) = (Status::NotAssessed, Some(reason.clone()));
    }
}

/// Why a requirement of a capability is excused.
fn never_occurred(capability: &str) -> String {
    format!("optional ({capability}), and never occurred")
}

/// What is violated of that on which a requirement rests that only rules judge.
fn broken_base<'j>(inputs: &'j Inputs, requirement: &str) -> Option<&'j str> {
    let attribution = crate::protocol::role(&inputs.role).map_or(&NOTHING_KNOWN, |(_, role)| role.attribution);
    let own = short(requirement);
    let violated = inputs.judged.iter().flat_map(|j| &j.findings).filter(|found| found.blame == Blame::Subject);
    // A success with another status keeps nothing from being judged.
    let violated = violated.filter(|found| status(found).is_none_or(|status| !(200..300).contains(&status)));
    let mut violated = violated.map(|found| found.requirement.as_str());
    let bases = attribution.own_bases(own);
    // What is said of a part of something rests on that: `last-activity-after` on `last-activity`.
    let is_part = |id: &&str| own.strip_prefix(short(id)).is_some_and(|rest| rest.starts_with('-'));
    // Where a base held, what rests on it could have occurred.
    let held = |base: &str| {
        let assessed = |j: &JudgedScenario| j.assessed.iter().any(|id| *id == base);
        inputs.judged.iter().any(|j| assessed(j) && j.findings.iter().all(|found| found.requirement != base))
    };
    // Who breaks a `should` may be asked in a way in which everything can be read: where others of the area were judged
    // without the violation, this one could have occurred.
    let is_seen = |cause: &str| {
        let of_cause = |j: &JudgedScenario| j.findings.iter().find(|found| found.requirement == cause).map(|f| f.level);
        let without = inputs.judged.iter().filter(|j| of_cause(j).is_none());
        inputs.judged.iter().find_map(of_cause) != Some(Level::Must)
            && without.flat_map(|j| &j.assessed).any(|id| area(id) == area(requirement))
    };
    let rests = |base: &&str| {
        let id = short(base);
        bases.contains(&id) && !held(base)
            || attribution.rests_on(own, id)
            || attribution.may_be_unseen(own, id) && !is_seen(base)
    };
    // Nothing is looked at in what has another shape: `stop/value` where `stop/object` is violated, `mentions/title` where
    // `mentions/result` is.
    let is_whole = |id: &&str| {
        let shape = short(id);
        let of = shape.strip_suffix("/object").or_else(|| shape.strip_suffix("/result"));
        of.is_some_and(|area| own.split('/').next() == Some(area))
    };
    violated.clone().find(is_part).or_else(|| violated.clone().find(is_whole)).or_else(|| violated.find(rests))
}

/// What is violated of that on which everything rests.
fn broken_for_all(inputs: &Inputs) -> Option<&str> {
    let attribution = crate::protocol::role(&inputs.role).map_or(&NOTHING_KNOWN, |(_, role)| role.attribution);
    let violated = inputs.judged.iter().flat_map(|j| &j.findings).filter(|found| found.blame == Blame::Subject);
    let mut violated = violated.map(|found| found.requirement.as_str());
    violated.find(|id| attribution.is_needed_by_all(short(id)))
}

/// What kept every scenario of a requirement's area from its point, where there are some.
fn blocked_area<'j>(judged: &'j [JudgedScenario], requirement: &str) -> Option<&'j str> {
    let of_area = || judged.iter().map(|j| &j.result).filter(|result| area(&result.id) == area(requirement));
    let none_came_to_it = of_area().all(|result| !matches!(result.status, ScenarioStatus::Passed));
    let mut blocked = of_area().flat_map(|result| &result.blocked).map(|blocked| blocked.because.as_str());
    blocked.find(|because| !because.is_empty()).filter(|_| none_came_to_it)
}
