//! What a plan cannot be played without, and whether a subject has it.

use crate::config::SubjectSpec;
use crate::scenario::{Plan, Process, Step, StepKind};

/// Why a plan cannot be played with this subject; none if it can.
pub fn missing(plan: &Plan, spec: &SubjectSpec) -> Option<String> {
    let by_steps = stimuli(&plan.steps);
    let requires = plan.requires.iter().map(String::as_str);
    for need in requires {
        let (what, name) = need.split_once(':').unwrap_or((need, ""));
        let reason = match what {
            "observed" if spec.observe.is_none() => Some("the subject is driven, not only watched".into()),
            "workspace" if !spec.has_workspace() => {
                Some("no workspace is known to lay files into (--workspace)".into())
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
            "capability" if spec.lacks(name) => Some(format!("the subject declares `{name}` missing")),
            _ => None,
        };
        if reason.is_some() {
            return reason;
        }
    }
    if let Some(name) = by_steps.iter().find(|name| !spec.has_stimulus(name)) {
        return Some(format!("the subject offers no stimulus `{name}`"));
    }
    if plan.process == Process::Own && spec.launch().is_none() {
        return Some("it needs a process of its own, and we did not start this subject".into());
    }
    if !plan.workspace.is_empty() && !spec.has_workspace() {
        return Some("no workspace is known to lay files into (--workspace)".into());
    }
    let catalogue = (spec.protocol.requirements)();
    let lacking = |id: &&str| {
        let capability = catalogue.iter().find(|r| r.id == *id).and_then(|r| r.capability);
        capability.is_some_and(|c| spec.lacks(c))
    };
    if !plan.requirements.is_empty() && plan.requirements.iter().all(lacking) {
        return Some("all that it would show is declared missing".into());
    }
    None
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
