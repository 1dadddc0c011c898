//! What is no fault of the subject, and still has to be known: notifications of the tool.

use crate::judge::{Blame, Finding, Note, Report, ScenarioStatus, Status, SubjectReport, Verdict};
use crate::protocol;

use super::super::text::counted;
use super::model::{Level, Notification, RuleReference};
use super::rules::Rules;
use super::{location, notice, place};

/// What is to be known of the whole run.
pub fn of_run(report: &Report) -> Vec<Notification> {
    report.notes.iter().map(|note| notice(Level::Note, &note.text)).collect()
}

/// What is to be known of a subject: first what keeps it from being green.
pub fn of_subject(subject: &SubjectReport, rules: &Rules) -> Vec<Notification> {
    let mut list: Vec<Notification> = faults_of_others(subject).collect();
    list.extend(not_judged(subject));
    list.extend(stale(subject));
    list.extend(
        subject
            .snapshots
            .iter()
            .filter(|s| s.status != "same")
            .map(|snapshot| notice(Level::Error, &format!("the snapshot {} is {}", snapshot.file, snapshot.status))),
    );
    list.extend(not_assessed(subject, rules));
    list.extend(subject.notes.iter().map(|note| noted(note, rules)));
    list
}

/// What our own mock or the environment did wrong.
fn faults_of_others(subject: &SubjectReport) -> impl Iterator<Item = Notification> {
    let told = |finding: &Finding| {
        let who = match finding.blame {
            Blame::Environment => "the environment is at fault",
            Blame::Peer | Blame::Subject => "wirecert's own mock is at fault",
        };
        let locations = location(subject, finding).into_iter().collect();
        Notification { locations, ..notice(Level::Error, &format!("{who}: {}", finding.message)) }
    };
    subject.findings.iter().filter(|f| f.blame != Blame::Subject).map(told)
}

/// Scenarios that could not be judged, where that has not been told.
fn not_judged(subject: &SubjectReport) -> impl Iterator<Item = Notification> {
    let told =
        |id: &str| subject.findings.iter().any(|f| f.blame != Blame::Subject && f.scenario.as_deref() == Some(id));
    subject.scenarios.iter().filter(move |s| s.status == ScenarioStatus::Error && !told(&s.id)).map(|scenario| {
        let reason = scenario.reason.as_deref().unwrap_or("for no reason given");
        let locations = vec![place(Some((&scenario.file, None)), Some(&scenario.id))];
        Notification { locations, ..notice(Level::Error, &format!("{} could not be judged: {reason}", scenario.id)) }
    })
}

fn stale(subject: &SubjectReport) -> Option<Notification> {
    let stale = subject.counts.unexpected_passes;
    (stale > 0).then(|| {
        let are = if stale == 1 { "is" } else { "are" };
        notice(Level::Error, &format!("{} {are} out of date", counted(stale, "baseline line")))
    })
}

/// What binds and nothing was learnt about, unless only a part was asked for.
fn not_assessed(subject: &SubjectReport, rules: &Rules) -> impl Iterator<Item = Notification> {
    let open = subject
        .requirements
        .iter()
        .filter(|r| r.status == Status::NotAssessed && r.level == protocol::Level::Must)
        .filter(|_| subject.verdict != Verdict::Partial);
    open.map(|result| {
        let reason = result.reason.as_deref().unwrap_or("for no reason given");
        let associated_rule = reference(&result.id, rules);
        let text = format!("nothing was learnt about {}: {reason}", result.id);
        Notification { associated_rule, ..notice(Level::Warning, &text) }
    })
}

fn noted(note: &Note, rules: &Rules) -> Notification {
    let associated_rule = note.requirement.as_deref().and_then(|id| reference(id, rules));
    Notification { associated_rule, ..notice(Level::Note, &note.text) }
}

fn reference(id: &str, rules: &Rules) -> Option<RuleReference> {
    rules.index(id).map(|index| RuleReference { id: id.to_owned(), index })
}
