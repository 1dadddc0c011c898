//! Whatever was played: nothing is green without evidence, and reports of shards are judged as that of one run.

use proptest::prelude::*;

use super::*;
use crate::diagnostic::{Style, render_all};

pub fn any_play() -> impl Strategy<Value = Play> {
    let ids = prop::sample::select(vec![MUST, OTHER, SHOULD, MAY, OPTIONAL, CLIENT, GUIDE]);
    let faults =
        prop::sample::select(vec![FaultOwner::End(End::Server), FaultOwner::End(End::Client), FaultOwner::Environment]);
    let statuses = prop::sample::select(vec![
        ScenarioStatus::Passed,
        ScenarioStatus::Failed,
        ScenarioStatus::Skipped,
        ScenarioStatus::Error,
    ]);
    let findings = prop::collection::vec((ids.clone(), faults), 0..3);
    let excused = prop::collection::vec(ids.clone(), 0..2);
    (statuses, any::<bool>(), prop::collection::vec(ids, 0..4), findings, excused).prop_map(
        |(status, retry, assessed, findings, excused)| Play {
            retry,
            assessed,
            findings: findings.into_iter().map(|(id, fault)| found(id, fault)).collect(),
            excused: excused.into_iter().map(|id| (id, "why".to_owned())).collect(),
            ..Play::new(status)
        },
    )
}

pub fn any_input() -> impl Strategy<Value = JudgeInput> {
    let scopes = prop::sample::select(vec![Scope::Full, Scope::Partial, Scope::CutShort]);
    let entries = prop::collection::vec(
        (
            prop::sample::select(vec![MUST, OTHER, SHOULD, GUIDE]),
            prop::option::of(prop::sample::select(vec!["*", "amp-server/cli/s/0"])),
            prop::option::of(prop::sample::select(vec!["2026-01-01", "2027-01-01"])),
        ),
        0..3,
    );
    (scopes, any::<bool>(), entries, any::<bool>()).prop_map(|(scope, strict, entries, missing)| JudgeInput {
        scope,
        strict,
        baseline: Baseline {
            entries: entries.into_iter().flat_map(|(id, s, u)| known(id, s, u).entries).collect(),
            digest: None,
        },
        missing: if missing { vec!["diagnostics".to_owned()] } else { vec![] },
        ..JudgeInput::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_green_without_evidence_or_against_it(
        input in any_input(),
        plays in prop::collection::vec(prop::collection::vec(any_play(), 0..3), 0..4),
    ) {
        let played: Vec<Played> = plays.into_iter().enumerate()
            .map(|(i, plays)| scenario(&format!("s/{i}"), &[MUST, OTHER], plays)).collect();
        let report = input.judge(&played);
        let standing = report.standing();
        let green = standing == GREEN;

        let uncovered = played.iter().any(|p| p.plays.iter().flat_map(|p| &p.findings).any(|f| {
            let id = f.requirement.unwrap_or_default();
            let level = CATALOGUE.iter().find(|r| r.id == id).unwrap().level;
            let today = "2026-11-21".parse().unwrap();
            f.fault == FaultOwner::End(End::Server)
                && (level == Level::Must || input.strict && level == Level::Should)
                && input.baseline.lookup(id, &p.id, today).is_none()
        }));
        let unexplained = played.iter().flat_map(|p| &p.plays)
            .any(|p| p.status == ScenarioStatus::Failed && p.findings.is_empty());
        prop_assert_eq!(report.verdict == Verdict::Nonconforming, uncovered || unexplained);
        prop_assert!(!(uncovered && green));

        let judged = report.counts.passed + report.counts.failed + report.counts.expected_failures;
        prop_assert!(judged > 0 || !green, "nothing was judged");
        prop_assert!(report.counts.error == 0 || !green);
        if matches!(report.verdict, Verdict::Conforms | Verdict::ConformsExcept) {
            prop_assert_eq!(input.scope, Scope::Full);
            let mut open = report.requirements.iter().filter(|r| r.level == Level::Must && r.status == Status::NotAssessed);
            // But for what only violations that are known keep from being judged.
            let is_known = |id: &String| report.findings.iter().all(|f| f.requirement != *id || f.baseline.is_some());
            prop_assert!(open.all(|r| !r.because.is_empty() && r.because.iter().all(is_known)));
            let violated = report.requirements.iter().any(|r| r.level == Level::Must && r.status == Status::Violated);
            prop_assert!(!(violated && report.verdict == Verdict::Conforms));
        }
        let counts = report.counts;
        let total = counts.passed + counts.failed + counts.skipped + counts.error + counts.expected_failures;
        prop_assert_eq!(total as usize, played.len());
    }
}

/// The reports of all shards of a run, one for each shard that has a scenario.
fn shards(input: &JudgeInput, played: &[Played], of: usize) -> Vec<ShardReport> {
    let selection = Selection { scenarios: played.len(), whole: input.selection.whole };
    let suite = Suite::of([], &CATALOGUE);
    let part = |index| {
        let shard = Shard { index, of };
        let mine: Vec<Played> =
            played.iter().enumerate().filter(|(n, _)| shard.takes(*n)).map(|(_, p)| p.clone()).collect();
        let scope = match mine.iter().any(|p| p.plays.is_empty()) {
            true => Scope::CutShort,
            false if mine.len() == played.len() && selection.whole => Scope::Full,
            false => Scope::Partial,
        };
        let input = JudgeInput { scope, selection, ..input.clone() };
        let subjects = if mine.is_empty() { vec![] } else { vec![input.judge(&mine)] };
        let options = RunOptions { strict: input.strict, filter: None, shard: Some(shard) };
        ShardReport {
            file: format!("{index}.json"),
            report: Report::of(suite.clone(), vec![], subjects).with_options(options, vec![]),
        }
    };
    (1..=of).map(part).collect()
}

/// A subject's report as JSON; the order of notes is free.
fn as_json(report: &SubjectReport) -> String {
    let mut report = report.clone();
    report.notes.sort();
    serde_json::to_string_pretty(&report).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shards_together_are_judged_as_one_run_is(
        input in any_input(),
        plays in prop::collection::vec(prop::collection::vec(any_play(), 0..3), 1..6),
        of in 1..5usize,
        whole in any::<bool>(),
        turn in any::<bool>(),
    ) {
        let played: Vec<Played> = plays.into_iter().enumerate()
            .map(|(i, plays)| scenario(&format!("s/{i}"), &[MUST, OTHER], plays)).collect();
        let scope = match played.iter().any(|p| p.plays.is_empty()) {
            true => Scope::CutShort,
            false if whole => Scope::Full,
            false => Scope::Partial,
        };
        let selection = Selection { scenarios: played.len(), whole };
        let input = JudgeInput { scope, selection, ..input };
        let mut parts = shards(&input, &played, of);
        if turn {
            parts.reverse();
        }
        let merged = merge(&parts).unwrap();
        prop_assert_eq!(as_json(&merged.subjects[0]), as_json(&input.judge(&played)));
        prop_assert_eq!(merged.standing(), input.judge(&played).standing());
        let again = judge_again(&merged, "r.json");
        prop_assert!(again.is_empty(), "{}", render_all(&again, Style::Plain));
    }
}

#[test]
fn a_subject_that_one_shard_could_not_judge_is_incomplete_and_keeps_what_the_others_found() {
    let mut played = complete();
    played.push(scenario("ping/echo", &[MUST], vec![passed(&[MUST])]));
    let input = JudgeInput { selection: Selection { scenarios: 2, whole: true }, ..JudgeInput::default() };
    let mut parts = shards(&input, &played, 2);
    assert_eq!(merge(&parts).unwrap().standing(), GREEN);
    parts[1].report.subjects.clear();
    assert_eq!(
        merge(&parts).unwrap_err()[0].message,
        "2.json says nothing of it (amp-server, edition cli), only of no subject"
    );
    let (name, role) = ("it".to_owned(), "amp-server".to_owned());
    parts[1].report.unjudged.push(Unjudged { name, role, edition: "auto".to_owned(), reason: "it died".to_owned() });
    let merged = merge(&parts).unwrap();
    assert_eq!(
        (merged.verdict, merged.standing()),
        (Verdict::Incomplete, Standing { unjudged: true, incomplete: true, ..GREEN })
    );
    played[0].plays = vec![broken(MUST)];
    parts[0] = shards(&input, &played, 2).remove(0);
    assert_eq!(merge(&parts).unwrap().standing(), Standing { failed: true, unjudged: true, ..GREEN });
}

#[test]
fn what_no_scenario_refers_to_is_drift_once_all_shards_are_together() {
    let unused = |file: &str| SnapshotResult { file: file.to_owned(), status: "unreferenced".to_owned() };
    let mut played = complete();
    played.push(scenario("ping/echo", &[MUST], vec![passed(&[MUST])]));
    for (whole, drift) in [(true, true), (false, false)] {
        let selection = Selection { scenarios: 2, whole };
        let mut input = JudgeInput { selection, snapshots: vec![unused("a.snap")], ..JudgeInput::default() };
        let parts = shards(&input, &played, 2);
        assert!(parts.iter().all(|part| !part.report.standing().drift));
        input.scope = if whole { Scope::Full } else { Scope::Partial };
        let merged = merge(&parts).unwrap();
        assert_eq!(as_json(&merged.subjects[0]), as_json(&input.judge(&played)));
        assert_eq!(merged.standing().drift, drift);
    }
}
