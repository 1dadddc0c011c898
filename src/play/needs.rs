//! What a plan cannot be played without, and whether a subject has it.

use crate::config::SubjectSpec;
use crate::diagnostic::SourceSpan;
use crate::judge::declared_missing;
use crate::protocol::RequirementId;
use crate::scenario::{Plan, ProcessSharing, Step, StepKind};

/// Why a plan cannot be played with this subject; none if it can.
pub fn missing(plan: &Plan, spec: &SubjectSpec) -> Option<String> {
    let by_steps = stimuli(&plan.steps);
    // What a subject does not claim excuses it, whatever else is not known of it.
    let (claims, others): (Vec<&str>, Vec<&str>) =
        plan.requires.iter().map(String::as_str).partition(|need| need.starts_with("capability:"));
    for need in claims.into_iter().chain(others) {
        let (what, name) = need.split_once(':').unwrap_or((need, ""));
        let reason = match what {
            "observed" if spec.observe.is_none() => Some("the subject is driven, not only watched".into()),
            "workspace" if !spec.has_workspace() => {
                Some("no workspace is known to lay files into (--workspace)".into())
            }
            "case_sensitive" if !spec.is_case_sensitive() => {
                Some("the file system of the workspace does not distinguish the case of letters".into())
            }
            "settings" if spec.settings.is_none() => Some(
                "no settings are known; name their file with `--settings`, which says {} for a subject that needs none"
                    .into(),
            ),
            "process" if spec.launch().is_none() => Some("we did not start this subject".into()),
            "stimulus" if !spec.has_stimulus(name) => Some(format!("the subject offers no stimulus `{name}`")),
            "described" if spec.described.at(name).is_none() => {
                Some(format!("the subject is not described with `{name}`").replace('.', ": "))
            }
            "capability" if spec.lacks(name) => Some(declared_missing(name)),
            _ => None,
        };
        if reason.is_some() {
            return reason;
        }
    }
    if let Some(name) = by_steps.iter().find(|name| !spec.has_stimulus(name)) {
        return Some(format!("the subject offers no stimulus `{name}`"));
    }
    if plan.process == ProcessSharing::Own && spec.launch().is_none() {
        return Some("it needs a process of its own, and we did not start this subject".into());
    }
    if !plan.workspace.is_empty() && !spec.has_workspace() {
        return Some("no workspace is known to lay files into (--workspace)".into());
    }
    let catalogue = (spec.protocol.requirements)();
    let lacking = |id: &RequirementId| {
        let capability = catalogue.iter().find(|r| r.id == *id).and_then(|r| r.capability);
        capability.is_some_and(|c| spec.lacks(c))
    };
    if !plan.requirements.is_empty() && plan.requirements.iter().all(lacking) {
        return Some("all that it would show is declared missing".into());
    }
    let step = cannot_pass(&plan.steps, &lacking)?;
    Some(format!("{step} awaits what is declared missing"))
}

/// The first expectation that is about nothing but what is lacking, and that has no other outcome to take.
fn cannot_pass(steps: &[Step], lacking: &impl Fn(&RequirementId) -> bool) -> Option<SourceSpan> {
    steps.iter().find_map(|step| match &step.kind {
        StepKind::Expect(expectation) => {
            let one = expectation.any_of.len() == 1 && !expectation.proves.is_empty();
            (one && expectation.proves.iter().all(lacking)).then(|| step.place.clone())
        }
        StepKind::Repeat { steps, .. } => cannot_pass(steps, lacking),
        _ => None,
    })
}

fn stimuli(steps: &[Step]) -> Vec<&'static str> {
    let mut found = vec![];
    for step in steps {
        match &step.kind {
            StepKind::Stimulate { stimulus, .. } => found.push(*stimulus),
            StepKind::Repeat { steps, .. } => found.extend(stimuli(steps)),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::config::{Described, own};
    use crate::protocol::protocols;
    use crate::scenario::load_str;

    use super::*;

    /// Why each case of a scenario is skipped that is played at a subject which lacks a capability. In the text, `CAPABILITY`
    /// stands for it, `OF_IT` for a requirement that belongs to it, and `OF_ALL` for one that belongs to none.
    fn skipped(text: &str) -> Vec<Option<String>> {
        let protocol = protocols()[0];
        let (role, edition) = (&protocol.roles[0], protocol.default_edition());
        let (capability, _) = role.capabilities[0];
        let requirement = |capability: Option<&str>| {
            let fits = |r: &&crate::protocol::Requirement| {
                r.capability == capability && r.edition() == edition.id() && r.binds == role.subject
            };
            (protocol.requirements)().iter().find(fits).unwrap().short()
        };
        let text = format!("wirecert: 1\ntitle: T\nrole: ROLE\nedition: EDITION\n{text}");
        let text = text.replace("ROLE", role.name).replace("EDITION", edition.id()).replace("CAPABILITY", capability);
        let text = text.replace("OF_ALL", requirement(None)).replace("OF_IT", requirement(Some(capability)));
        let loaded = load_str("t.yaml", &text);
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        let mut spec = own(protocol, role, edition, &[], Described::default());
        assert!(loaded.plans.iter().all(|plan| missing(plan, &spec).is_none()), "nothing is missing");
        spec.missing = vec![capability];
        let reasons = loaded.plans.iter().map(|plan| missing(plan, &spec));
        reasons.map(|reason| reason.map(|reason| reason.replace(capability, "CAPABILITY"))).collect()
    }

    #[test]
    fn a_case_of_a_scenario_may_need_a_capability_of_its_own() {
        let text = "requires: [\"${needs}\"]\nvars: { needs: [] }\ncases:\n  one: {}\n  \
                    two: { needs: [capability:CAPABILITY] }\nsteps:\n- expect: { lockfile: { exists: true } }\n";
        assert_eq!(skipped(text), [None, Some("the subject declares `CAPABILITY` missing".to_owned())]);
    }

    #[test]
    fn a_scenario_is_not_played_that_awaits_among_others_what_is_declared_missing() {
        let await_it = |outcome: &str| {
            let first = "expect: { lockfile: { exists: true }, proves: OF_ALL }";
            format!("steps:\n- {first}\n- expect: {{ {outcome}, proves: OF_IT }}\n")
        };
        let why = "t.yaml:7:3 awaits what is declared missing".to_owned();
        assert_eq!(skipped(&await_it("lockfile: { exists: true }")), [Some(why)]);
        let either = "any_of: [{ lockfile: { exists: true } }, { lockfile: { exists: false } }]";
        assert_eq!(skipped(&await_it(either)), [None], "there is an outcome for those that lack it");
    }
}
