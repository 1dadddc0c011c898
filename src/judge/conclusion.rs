//! From the results of scenarios to the report on the subject: the same conclusions whether one run or several shards
//! played them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::protocol::{Attribution, Level, NOTHING_KNOWN, area, is_at_or_above, short};

use super::explanation::explanations;
use super::subject::JudgedScenario;
use super::unassessed::{blocked_by, never_shown, nothing_shown, unassessed};
use super::{
    Blame, BlockedBy, Cause, Counts, Finding, MissKind, Note, RequirementResult, RunScope, ScenarioStatus, Scope,
    SnapshotResult, Status, SubjectReport, Verdict,
};

/// Everything that the conclusions about a subject rest on.
pub(super) struct Inputs {
    pub name: String,
    pub role: String,
    pub edition: String,
    /// Whether a `should` binds like a `must`.
    pub strict: bool,
    /// What is asked of it.
    pub owed: Vec<Required>,
    pub basis: RunScope,
    /// The scenarios of the subject, in the order of the report.
    pub judged: Vec<JudgedScenario>,
    pub snapshots: Vec<SnapshotResult>,
    /// Remarks from outside the scenarios.
    pub notes: Vec<Note>,
}

/// A requirement that is asked of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Required {
    pub id: String,
    pub level: Level,
    /// The capability that it belongs to, if any.
    pub capability: Option<String>,
}

/// Draws the conclusions.
pub(super) fn conclude(inputs: Inputs) -> SubjectReport {
    let mut inputs = inputs;
    demote(&mut inputs);
    fold(&mut inputs);
    promote(&mut inputs);
    let mut requirements = requirements(&inputs);
    nothing_shown(&inputs, &mut requirements);
    let requirements = requirements;
    let mut notes = Notes::new(inputs.notes.clone());
    // Readings that the other end took, our own peer, are none of the subject's.
    let about_it = |note: &&Note| note.requirement.as_ref().is_none_or(|id| requirements.iter().any(|r| r.id == *id));
    for note in inputs.judged.iter().flat_map(|j| &j.notes).filter(about_it) {
        notes.add(note.clone());
    }
    let stale = baseline_notes(&inputs, &requirements, &mut notes);
    never_shown(&inputs, &requirements, &mut notes);
    let counts = counts(&inputs.judged, stale);
    let verdict = verdict(&inputs, &requirements, &counts);
    let (mut findings, mut scenarios) = (vec![], vec![]);
    for judged in inputs.judged {
        findings.extend(judged.findings);
        scenarios.push(judged.result);
    }
    for finding in findings.iter_mut().filter(|f: &&mut Finding| f.blame == Blame::Subject) {
        let open = requirements.iter().filter(|r| r.status == Status::NotAssessed);
        let kept = open.filter(|r| r.because.contains(&finding.requirement));
        finding.blocks = kept.map(|r| r.id.clone()).collect();
    }
    let findings = Cause::of(&findings).into_iter().flat_map(|cause| cause.findings).cloned().collect();
    SubjectReport {
        name: inputs.name,
        role: inputs.role,
        edition: inputs.edition,
        verdict,
        notes: notes.list,
        counts,
        requirements,
        findings,
        scenarios,
        snapshots: inputs.snapshots,
        basis: Some(inputs.basis),
    }
}

/// Remarks without repetition, in order.
pub(super) struct Notes {
    pub list: Vec<Note>,
    seen: HashSet<Note>,
}

impl Notes {
    fn new(list: Vec<Note>) -> Self {
        let seen = list.iter().cloned().collect();
        Self { list, seen }
    }

    pub fn add(&mut self, note: Note) {
        if self.seen.insert(note.clone()) {
            self.list.push(note);
        }
    }

    fn add_note(&mut self, requirement: &str, text: String) {
        self.add(Note { requirement: Some(requirement.to_owned()), text });
    }
}

fn requirements(inputs: &Inputs) -> Vec<RequirementResult> {
    let judged = &inputs.judged;
    let mut assessed: HashMap<&str, BTreeSet<usize>> = HashMap::new();
    let mut violated: HashMap<&str, BTreeSet<usize>> = HashMap::new();
    let mut excused: HashMap<&str, &str> = HashMap::new();
    for (i, scenario) in judged.iter().enumerate() {
        for id in &scenario.assessed {
            assessed.entry(id).or_default().insert(i);
        }
        for finding in scenario.findings.iter().filter(|f| f.blame == Blame::Subject) {
            violated.entry(&finding.requirement).or_default().insert(i);
        }
        for excuse in &scenario.result.excuses {
            excused.entry(&excuse.requirement).or_insert(&excuse.reason);
        }
    }
    let result = |requirement: &Required| {
        let id = requirement.id.as_str();
        let hidden_by = hidden_by_less(judged, requirement);
        let by: BTreeSet<usize> =
            [&assessed, &violated].into_iter().flat_map(|m| m.get(id)).flatten().copied().collect();
        let (status, reason, because) = if violated.contains_key(id) {
            (Status::Violated, None, vec![])
        } else if !hidden_by.is_empty() {
            let reason = format!(
                "what was seen of it is explained by {}, which does not bind: it may be broken too",
                hidden_by.join(", ")
            );
            (Status::NotAssessed, Some(reason), hidden_by)
        } else if kept_from(judged, id, &by) {
            let because = blocked_by(judged, id);
            (Status::NotAssessed, Some(format!("blocked by {}", because.join(", "))), because)
        } else if !by.is_empty() {
            let because = blocked_by(judged, id);
            let reason = format!("not judged everywhere: blocked by {} in some scenarios", because.join(", "));
            (Status::Met, Some(reason).filter(|_| !because.is_empty()), because)
        } else {
            let unassessed = unassessed(inputs, requirement, excused.get(id).copied());
            (unassessed.status, Some(unassessed.reason), unassessed.because)
        };
        RequirementResult {
            id: id.to_owned(),
            level: requirement.level,
            capability: requirement.capability.clone(),
            status,
            reason,
            because,
            by: by.into_iter().map(|i| judged[i].result.id.clone()).collect(),
        }
    };
    inputs.owed.iter().map(result).collect()
}

/// What is violated, is no `must`, and explains what was seen of a `must` in some scenario: the `must` may be broken all the same, however
/// often it was met elsewhere.
fn hidden_by_less(judged: &[JudgedScenario], requirement: &Required) -> Vec<String> {
    let explained =
        judged.iter().flat_map(|j| &j.result.blocked).filter(|b| b.explained && b.requirement == requirement.id);
    let because: BTreeSet<&String> =
        explained.map(|b| &b.because).filter(|_| requirement.level == Level::Must).collect();
    let less =
        |id: &&String| judged.iter().flat_map(|j| &j.findings).any(|f| f.requirement == **id && f.level != Level::Must);
    because.into_iter().filter(less).cloned().collect()
}

/// Whether every scenario that is about a requirement was kept from judging it, whatever others saw by the way: only where a
/// violation would have shown is it met. `by`: the scenarios that assessed it.
fn kept_from(judged: &[JudgedScenario], id: &str, by: &BTreeSet<usize>) -> bool {
    let mut about_it = judged.iter().enumerate().filter(|(_, j)| j.result.requirements.iter().any(|own| own == id));
    let is_blocked = |j: &JudgedScenario| j.result.blocked.iter().any(|b| b.requirement == id && !b.because.is_empty());
    let mut any_blocked = false;
    let none_came_to_it = about_it.all(|(n, scenario)| {
        any_blocked |= is_blocked(scenario);
        is_blocked(scenario) || !by.contains(&n)
    });
    none_came_to_it && any_blocked
}

/// Tells about baseline entries that do not apply; gives the number of stale ones.
fn baseline_notes(inputs: &Inputs, requirements: &[RequirementResult], notes: &mut Notes) -> u64 {
    let judged = &inputs.judged;
    let mut stale = 0;
    for known in &inputs.basis.baseline {
        let Some(status) = requirements.iter().find(|r| r.id == known.requirement).map(|r| r.status) else { continue };
        let scope = known.scenario.as_ref().map(|s| format!(" in {s}")).unwrap_or_default();
        if let Some(until) = known.until.as_ref().filter(|_| known.expired) {
            notes.add_note(
                &known.requirement,
                format!("the baseline put up with this{scope} until {until}: it counts now"),
            );
        }
        if known.used || inputs.basis.scope != Scope::Full {
            continue;
        }
        let mut concerned = judged.iter().filter(|j| known.concerns(&j.result.id)).peekable();
        let names_nothing = concerned.peek().is_none();
        let occurred = judged.iter().any(|j| {
            known.concerns(&j.result.id)
                && j.findings.iter().any(|f| f.blame == Blame::Subject && f.requirement == known.requirement)
        });
        let unknown = match &known.scenario {
            None => !matches!(status, Status::Met | Status::Violated),
            Some(_) => concerned.any(|j| !j.was_judged()),
        };
        if occurred {
            continue; // its time is over; the violation counts, and the note above reports that
        } else if unknown && !names_nothing {
            notes.add_note(
                &known.requirement,
                format!("the baseline lists this{scope}, and nothing was learnt about it"),
            );
        } else {
            stale += 1;
            let why = if names_nothing { "no such scenario was played" } else { "it is not violated" };
            notes.add_note(&known.requirement, format!("stale baseline line{scope}: {why}; remove it"));
        }
    }
    stale
}

fn counts(judged: &[JudgedScenario], stale: u64) -> Counts {
    let mut counts = Counts { unexpected_passes: stale, ..Counts::default() };
    for scenario in judged {
        *match scenario.result.status {
            ScenarioStatus::Passed => &mut counts.passed,
            ScenarioStatus::Failed if scenario.result.expected => &mut counts.expected_failures,
            ScenarioStatus::Failed => &mut counts.failed,
            ScenarioStatus::Skipped => &mut counts.skipped,
            ScenarioStatus::Error => &mut counts.error,
            ScenarioStatus::Blocked => &mut counts.blocked,
        } += 1;
    }
    counts
}

/// Whether a finding counts against the subject, unless the baseline has it.
fn binds(inputs: &Inputs, finding: &Finding) -> bool {
    let level = finding.level == Level::Must || inputs.strict && finding.level == Level::Should;
    finding.blame == Blame::Subject && level
}

/// Takes out what was only missed because something simpler does not work: it could not be judged.
fn fold(inputs: &mut Inputs) {
    let attribution = crate::protocol::role(&inputs.role).map_or(&NOTHING_KNOWN, |(_, role)| role.attribution);
    let short = |id: &str| short(id).to_owned();
    let ours = |finding: &&Finding| finding.blame == Blame::Subject && !finding.requirement.is_empty();
    let mut broken: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    // Only where its own scenario shows it, or a rule, is something simpler broken in the regular case.
    let regular = |judged: &JudgedScenario, finding: &Finding| {
        finding.way.is_none() || judged.result.requirements.contains(&finding.requirement)
    };
    let all = inputs.judged.iter().flat_map(|j| j.findings.iter().filter(move |finding| regular(j, finding)));
    for finding in all.filter(ours) {
        broken.entry(short(&finding.requirement)).or_default().push(finding.clone());
    }
    let cause = |finding: &Finding| {
        let own = short(&finding.requirement);
        // A step that could not connect adds nothing where it is known why.
        if finding.way == Some(MissKind::Unreachable)
            && finding.requirement.is_empty()
            && finding.blame == Blame::Subject
        {
            let all = attribution.bases("", true);
            let reach = |(short, _): &(&String, _)| {
                let about_it = short.starts_with("connection/") || short.starts_with("discovery/");
                about_it && (attribution.is_unusable(short) || all.contains(&short.as_str()))
            };
            let because = broken.iter().find(reach).and_then(|(_, found)| found.first());
            return because.map(|because| (because.requirement.clone(), because.message.clone()));
        }
        // What came is wrong by itself, whatever recommendation another play violates: that explains only what did not come.
        let came_wrong = finding.level == Level::Must && finding.way == Some(MissKind::Unwanted);
        let explains =
            |other: &&Finding| !came_wrong || other.level == Level::Must || other.scenario == finding.scenario;
        let rests = || {
            let bases = broken.iter().filter(|(other, _)| attribution.rests_on(&own, other));
            bases.flat_map(|(_, found)| found).filter(explains)
        };
        if let Some(because) = Some(finding).filter(ours).and_then(|_| rests().next()) {
            return Some((because.requirement.clone(), because.message.clone()));
        }
        // There are no responses any more after the subject survived something badly.
        if attribution.astray.first() == Some(&own.as_str())
            && finding.scenario.as_deref().is_some_and(|scenario| area(scenario) == Some("robustness"))
            && let Some(because) =
                broken.iter().find(|(other, _)| other.starts_with("robustness/")).and_then(|(_, found)| found.first())
        {
            return Some((because.requirement.clone(), because.message.clone()));
        }
        let way = finding.way.filter(|_| finding.blame == Blame::Subject)?;
        // What came and should not, and what came and differs, are both wrong by what came.
        let came = |way: MissKind| matches!(way, MissKind::Different | MissKind::Unwanted);
        let bases = attribution.bases(&own, !came(way));
        let found = bases.iter().filter_map(|base| broken.get(*base)).flatten();
        let fits = |other: &&Finding| match other.way {
            // A success with another status is one that the play could go on from.
            _ if status(other).is_some_and(|status| (200..300).contains(&status)) => false,
            // The same status, whatever was due.
            _ if status(finding).is_some() && status(other).is_some() => status(finding) == status(other),
            // What a rule saw keeps messages from being read, or from coming, where it saw it.
            None if !came(way) => other.scenario == finding.scenario,
            // What should not come at all, and was sent in another play as well.
            None if way == MissKind::Unwanted && other.path.is_none() => other.step.is_some(),
            // What it saw at this place of other messages is wrong in this one as well.
            None => same_place(attribution, finding, other),
            Some(MissKind::Failure) => matches!(way, MissKind::Failure | MissKind::Absent),
            // Messages of one kind do not differ because those of another one do.
            Some(other_way) if came(other_way) => came(way) && finding.awaited == other.awaited,
            // The request that shows that all has been sent gets no response either.
            Some(MissKind::Absent) => matches!(way, MissKind::Absent | MissKind::Unreachable),
            Some(other_way) => other_way == way,
        };
        let because = found.into_iter().find(fits)?;
        Some((because.requirement.clone(), because.message.clone()))
    };
    let explanations = explanations(&inputs.judged, cause);
    for (judged, explanations) in inputs.judged.iter_mut().zip(explanations) {
        let (mut left, mut folded) = (vec![], vec![]);
        for (finding, explanation) in std::mem::take(&mut judged.findings).into_iter().zip(explanations) {
            match explanation {
                Some((because, message)) => {
                    folded.push(BlockedBy { requirement: finding.requirement, because, message, explained: true });
                }
                None => left.push(finding),
            }
        }
        judged.findings = left;
        let Some(first) = folded.first() else { continue };
        if judged.result.status == ScenarioStatus::Failed {
            judged.result.status = ScenarioStatus::Blocked;
            judged.result.reason = Some(format!("blocked by {}: {}", first.because, first.message));
        }
        // What was blocked by a finding that is none is blocked by what explains it.
        for blocked in &mut judged.result.blocked {
            if let Some(own) = folded.iter().find(|own| own.requirement == blocked.because) {
                (blocked.because, blocked.message) = (own.because.clone(), own.message.clone());
            }
        }
        judged.result.blocked.extend(folded);
    }
    follow(inputs);
}

/// Has what was blocked by something that is blocked itself say what is violated in the end.
fn follow(inputs: &mut Inputs) {
    let judged = &mut inputs.judged;
    let violated: BTreeSet<String> =
        judged.iter().flat_map(|j| &j.findings).map(|finding| finding.requirement.clone()).collect();
    let mut causes: BTreeMap<String, (String, String)> = BTreeMap::new();
    for blocked in judged.iter().flat_map(|j| &j.result.blocked).filter(|b| !violated.contains(&b.requirement)) {
        let known = causes.get(&blocked.requirement).is_some_and(|(because, _)| violated.contains(because));
        if !known {
            causes.insert(blocked.requirement.clone(), (blocked.because.clone(), blocked.message.clone()));
        }
    }
    for blocked in judged.iter_mut().flat_map(|j| &mut j.result.blocked) {
        let mut passed = BTreeSet::from([blocked.requirement.clone()]);
        while !violated.contains(&blocked.because)
            && passed.insert(blocked.because.clone())
            && let Some((because, message)) = causes.get(&blocked.because)
        {
            (blocked.because, blocked.message) = (because.clone(), message.clone());
        }
    }
    for result in judged.iter_mut().map(|j| &mut j.result).filter(|result| result.status == ScenarioStatus::Blocked) {
        if let Some(first) = result.blocked.first().filter(|first| !first.because.is_empty()) {
            result.reason = Some(format!("blocked by {}: {}", first.because, first.message));
        }
    }
}

/// Whether what an expectation saw stands at or below what a rule saw in another message.
fn same_place(attribution: &Attribution, missed: &Finding, seen: &Finding) -> bool {
    let awaited = missed.awaited.as_deref().zip(missed.path.as_deref());
    let body = awaited.and_then(|(kind, path)| attribution.in_body(kind, path));
    body.zip(seen.path.as_deref()).is_some_and(|(body, seen)| is_at_or_above(seen, &body))
}

/// The status of the response that a finding is about, where it is about that.
pub(super) fn status(finding: &Finding) -> Option<u64> {
    let shows_status = match finding.way {
        Some(_) => finding.path.as_deref() == Some("/status"),
        None => finding.path.is_none(),
    };
    finding.actual.as_ref().filter(|_| shows_status)?.as_u64().filter(|status| (100..600).contains(status))
}

/// Takes back what [`promote`] did when the scenarios were judged apart from one another.
fn demote(inputs: &mut Inputs) {
    let own =
        |inputs: &Inputs, judged: &JudgedScenario| judged.findings.iter().any(|f| f.way.is_some() && binds(inputs, f));
    for n in 0..inputs.judged.len() {
        let judged = &inputs.judged[n];
        let blocked = judged.result.blocked.first().cloned();
        let Some(first) = blocked.filter(|_| judged.result.status == ScenarioStatus::Failed && !judged.result.expected)
        else {
            continue;
        };
        if !own(inputs, judged) {
            let by = if first.because.is_empty() { String::new() } else { format!("{}: ", first.because) };
            let result = &mut inputs.judged[n].result;
            result.status = ScenarioStatus::Blocked;
            result.reason = Some(format!("blocked by {by}{}", first.message));
        }
    }
}

/// Has the first scenario fail that saw a binding violation where no other one did: it was blocked by what it saw.
fn promote(inputs: &mut Inputs) {
    let failed = |judged: &JudgedScenario| judged.result.status == ScenarioStatus::Failed;
    let open = |inputs: &Inputs, judged: &JudgedScenario| -> Vec<String> {
        let binding = judged.findings.iter().filter(|f| binds(inputs, f) && f.baseline.is_none());
        binding.map(|f| f.requirement.clone()).collect()
    };
    let reported: BTreeSet<String> = inputs.judged.iter().filter(|j| failed(j)).flat_map(|j| open(inputs, j)).collect();
    let mut reported = reported;
    for n in 0..inputs.judged.len() {
        let judged = &inputs.judged[n];
        if judged.result.status != ScenarioStatus::Blocked {
            continue;
        }
        let new: Vec<String> = open(inputs, judged).into_iter().filter(|id| !reported.contains(id)).collect();
        let Some(first) = new.first() else { continue };
        let message = judged.findings.iter().find(|f| f.requirement == *first).map(|f| f.message.clone());
        let result = &mut inputs.judged[n].result;
        (result.status, result.reason) = (ScenarioStatus::Failed, message);
        reported.extend(new);
    }
}

fn verdict(inputs: &Inputs, requirements: &[RequirementResult], counts: &Counts) -> Verdict {
    let scope = inputs.basis.scope;
    let known = |id: &String| {
        let mut findings = inputs.judged.iter().flat_map(|j| &j.findings).filter(|f| f.requirement == *id).peekable();
        findings.peek().is_some() && findings.all(|f| f.baseline.is_some())
    };
    let judged = counts.passed + counts.expected_failures + counts.blocked;
    let assessed = requirements.iter().any(|r| matches!(r.status, Status::Met | Status::Violated));
    // What only a violation keeps from being judged that the baseline has is known as well.
    let excepted = |r: &RequirementResult| !r.because.is_empty() && r.because.iter().all(known);
    let unproved_must =
        requirements.iter().any(|r| r.level == Level::Must && r.status == Status::NotAssessed && !excepted(r));
    // In a part of the suite, only what was asked for and could not be judged counts.
    let blocked_must = requirements
        .iter()
        .any(|r| r.level == Level::Must && r.status == Status::NotAssessed && !r.because.is_empty() && !excepted(r));
    let expected = inputs.judged.iter().flat_map(|j| &j.findings).any(|f| binds(inputs, f) && f.baseline.is_some());
    if counts.failed > 0 {
        Verdict::Nonconforming
    } else if judged == 0 || !assessed || counts.error > 0 {
        Verdict::Incomplete
    } else {
        match scope {
            Scope::Partial if blocked_must => Verdict::Incomplete,
            Scope::Partial => Verdict::Partial,
            Scope::CutShort => Verdict::Incomplete,
            Scope::Full if unproved_must => Verdict::Incomplete,
            Scope::Full if counts.expected_failures > 0 || expected => Verdict::ConformsExcept,
            Scope::Full => Verdict::Conforms,
        }
    }
}
