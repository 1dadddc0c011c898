//! A report, judged once more by what it lists: [`judge_again`].

use crate::diagnostic::Diagnostic;

use super::conclusion::{Inputs, conclude};
use super::merge::{judged_scenarios, owed_requirements};
use super::{Report, RunScope, SubjectReport};

/// What a subject's verdict, counts and requirements should be by the scenarios and findings that its report lists. Each
/// difference is a diagnostic that names `file` and the subject. None: the report agrees with itself.
///
/// The report must be of this version of wirecert: another one may draw other conclusions.
pub fn judge_again(report: &Report, file: &str) -> Vec<Diagnostic> {
    let strict = report.run.as_ref().is_some_and(|options| options.strict);
    let mut faults: Vec<Diagnostic> = vec![];
    for (n, subject) in report.subjects.iter().enumerate() {
        let place = format!("{file}: /subjects/{n}, {} ({}, edition {})", subject.name, subject.role, subject.edition);
        match &subject.basis {
            Some(basis) => faults.extend(differences(subject, basis, strict, &place)),
            None => faults.push(fault(format!("{place}: it does not say what its verdict rests on"))),
        }
    }
    let again = Report::of(report.suite.clone(), vec![], report.subjects.clone());
    let again = again.with_options(report.run.clone().unwrap_or_default(), report.unjudged.clone());
    if again.verdict != report.verdict {
        let (says, gives) = (word(&report.verdict), word(&again.verdict));
        faults.push(fault(format!("{file}: /verdict is `{says}`, but the verdicts of the subjects give `{gives}`")));
    }
    faults
}

fn differences(subject: &SubjectReport, basis: &RunScope, strict: bool, place: &str) -> Vec<Diagnostic> {
    let known = |id: &str| subject.scenarios.iter().any(|scenario| scenario.id == id);
    if let Some(stray) = subject.findings.iter().find(|f| !f.scenario.as_deref().is_some_and(known)) {
        let of = stray.scenario.as_deref().unwrap_or("none");
        return vec![fault(format!("{place}: a finding is of the scenario {of}, which is not listed"))];
    }
    let again = conclude(Inputs {
        name: subject.name.clone(),
        role: subject.role.clone(),
        edition: subject.edition.clone(),
        strict,
        owed: owed_requirements(subject),
        basis: basis.clone(),
        judged: judged_scenarios(subject).collect(),
        snapshots: subject.snapshots.clone(),
        notes: vec![],
    });
    let mut faults = vec![];
    let mut compare = |what: &str, says: String, gives: String| {
        if says != gives {
            let message = format!("{place}: {what} is {says}, but what the report lists gives {gives}");
            faults.push(fault(message));
        }
    };
    compare("`verdict`", word(&subject.verdict), word(&again.verdict));
    compare("`counts`", json(&subject.counts), json(&again.counts));
    compare("the number of findings", subject.findings.len().to_string(), again.findings.len().to_string());
    for (said, given) in subject.requirements.iter().zip(&again.requirements) {
        compare(&format!("the status of {}", said.id), word(&said.status), word(&given.status));
    }
    faults
}

fn fault(message: String) -> Diagnostic {
    Diagnostic::error("verify", message)
        .help("this is not what wirecert wrote: run it again with `--report json=FILE --report certificate=FILE`")
}

fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
