//! What explains findings: a requirement that is violated makes others fail that rest on it.

use std::collections::BTreeSet;

use super::subject::JudgedScenario;
use super::{Blame, Finding};

/// What explains a finding: a requirement that is violated, and how.
pub(super) type Explanation = (String, String);

/// What explains each finding, if anything does. Where findings explain each other and nothing else explains them, one
/// requirement keeps its own: what is violated must not vanish.
pub(super) fn explanations(
    judged: &[JudgedScenario],
    cause: impl Fn(&Finding) -> Option<Explanation>,
) -> Vec<Vec<Option<Explanation>>> {
    let causes: Vec<Vec<_>> = judged.iter().map(|j| j.findings.iter().map(&cause).collect()).collect();
    let mut kept = BTreeSet::new();
    loop {
        let explanations: Vec<Vec<_>> =
            judged.iter().zip(&causes).map(|(judged, causes)| explained(judged, causes, &kept)).collect();
        let pairs = judged.iter().zip(&explanations).flat_map(|(judged, of)| judged.findings.iter().zip(of));
        let pairs: Vec<(&str, Option<&str>)> = pairs
            .filter(|(finding, _)| finding.blame == Blame::Subject && !finding.requirement.is_empty())
            .map(|(finding, because)| (finding.requirement.as_str(), because.as_ref().map(|(id, _)| id.as_str())))
            .collect();
        let mut standing: BTreeSet<&str> = pairs.iter().filter(|(_, by)| by.is_none()).map(|(id, _)| *id).collect();
        loop {
            let further = |(_, by): &&(&str, Option<&str>)| by.is_some_and(|by| standing.contains(by));
            let more: Vec<&str> = pairs.iter().filter(further).map(|(id, _)| *id).collect();
            let before = standing.len();
            standing.extend(more);
            if standing.len() == before {
                break;
            }
        }
        // The last by name: `envelope` and `http`, on which all others rest, come before what a scenario tries.
        let Some((circular, _)) = pairs.iter().rev().max_by_key(|(id, _)| (!standing.contains(id), *id)) else {
            return explanations;
        };
        if standing.contains(circular) {
            return explanations;
        }
        kept.insert((*circular).to_owned());
    }
}

/// What explains the findings of a scenario, but for those of the requirements that keep theirs.
fn explained(
    judged: &JudgedScenario,
    causes: &[Option<Explanation>],
    kept: &BTreeSet<String>,
) -> Vec<Option<Explanation>> {
    let mut explained: Vec<Option<Explanation>> = vec![];
    for (finding, cause) in judged.findings.iter().zip(causes) {
        // What a requirement asks for next builds on what could not be judged of it.
        let before = || {
            let mut earlier = judged.findings.iter().zip(&explained);
            let (_, because) = earlier.find(|(other, by)| other.requirement == finding.requirement && by.is_some())?;
            because.clone().filter(|_| finding.blame == Blame::Subject && finding.way.is_some())
        };
        let because = if kept.contains(&finding.requirement) { None } else { cause.clone().or_else(before) };
        explained.push(because);
    }
    explained
}
