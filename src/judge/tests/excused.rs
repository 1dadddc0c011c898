//! What is excused: known violations that the baseline lists, and capabilities that are declared missing.

use super::*;

#[test]
fn the_baseline_makes_a_known_violation_expected() {
    let mut played = complete();
    played.push(scenario("ping/echo", &[MUST], vec![broken(MUST)]));
    for pattern in [None, Some("amp-server/cli/ping/echo"), Some("*/ping/*")] {
        let input = JudgeInput { baseline: known(MUST, pattern, Some("2026-11-21")), ..JudgeInput::default() };
        let report = input.judge(&played);
        assert_eq!((report.verdict, report.standing()), (Verdict::ConformsExcept, GREEN));
        assert_eq!((report.counts.failed, report.counts.expected_failures), (0, 1));
        assert_eq!(report.findings[0].baseline.as_deref(), Some("long known"));
        assert_eq!(status(&report, MUST).0, Status::Violated);
    }
    let elsewhere = JudgeInput { baseline: known(MUST, Some("*/a/all"), None), ..JudgeInput::default() };
    assert_eq!(elsewhere.judge(&played).verdict, Verdict::Nonconforming);
}

#[test]
fn a_baseline_entry_whose_time_is_over_covers_nothing() {
    let mut played = complete();
    played.push(scenario("ping/echo", &[MUST], vec![broken(MUST)]));
    let report = JudgeInput { baseline: known(MUST, None, Some("2026-11-20")), ..JudgeInput::default() }.judge(&played);
    assert_eq!((report.verdict, report.counts.unexpected_passes), (Verdict::Nonconforming, 0));
    assert_eq!(report.notes[0].text, "the baseline put up with this until 2026-11-20: it counts now");
}

#[test]
fn a_stale_baseline_line_is_never_green_in_a_full_run() {
    let input = JudgeInput { baseline: known(MUST, None, None), ..JudgeInput::default() };
    let report = input.judge(&complete());
    assert_eq!((report.verdict, report.counts.unexpected_passes), (Verdict::Conforms, 1));
    assert!(report.standing().failed);
    assert_eq!(report.notes[0].text, "stale baseline line: it is not violated; remove it");
    let gone = JudgeInput { baseline: known(MUST, Some("*/gone"), None), ..JudgeInput::default() };
    assert_eq!(gone.judge(&complete()).counts.unexpected_passes, 1);
    let partial = JudgeInput { scope: Scope::Partial, ..input };
    assert_eq!(partial.judge(&complete()).standing(), GREEN);
}

#[test]
fn a_baseline_line_is_not_stale_where_nothing_was_learnt() {
    let input = JudgeInput { baseline: known(MUST, None, None), ..JudgeInput::default() };
    let report = input.judge(&[scenario("a/b", &[OTHER], vec![passed(&[OTHER])])]);
    assert_eq!(report.counts.unexpected_passes, 0);
    assert_eq!(report.notes[0].text, "the baseline lists this, and nothing was learnt about it");
}

#[test]
fn what_is_declared_missing_is_excused_and_what_it_violates_all_the_same_is_not() {
    let input = JudgeInput { missing: vec!["diagnostics".to_owned()], ..JudgeInput::default() };
    let mut played = vec![
        scenario("a/all", &[MUST], vec![passed(&[MUST, OTHER])]),
        scenario("diagnostics/range", &[OPTIONAL], vec![Play::skipped("missing")]),
    ];
    let report = input.judge(&played);
    assert_eq!(status(&report, OPTIONAL), (Status::Excused, "declared missing: diagnostics".to_owned()));
    assert_eq!(report.verdict, Verdict::Conforms);
    played[1].plays = vec![broken(OPTIONAL)];
    assert_eq!(input.judge(&played).verdict, Verdict::Nonconforming);
}

#[test]
fn a_capability_of_which_nothing_is_there_is_suggested_to_be_declared_missing() {
    let used = |refusal| Use { capability: "diagnostics", request: "getDiagnostics".to_owned(), refusal };
    let play = |refusal| Play { uses: vec![used(refusal)], ..passed(&[MUST]) };
    let suggested = |input: &JudgeInput, refusals: &[Option<i64>]| {
        let played = scenario("a/all", &[MUST], refusals.iter().map(|refusal| play(*refusal)).collect());
        let notes = input.judge(&[played]).notes.into_iter().map(|note| note.text);
        notes.filter(|text| !text.contains("never shown")).collect::<Vec<_>>()
    };
    let wanted = "every `getDiagnostics` was answered with -32601: a subject that does not have this declares `missing: [diagnostics]` in wirecert.yaml, and is excused";
    assert_eq!(suggested(&JudgeInput::default(), &[Some(-32601), Some(-32601)]), [wanted]);
    assert_eq!(suggested(&JudgeInput::default(), &[Some(-32601), None]), [""; 0], "one was answered otherwise");
    let declared = JudgeInput { missing: vec!["diagnostics".to_owned()], ..JudgeInput::default() };
    assert_eq!(suggested(&declared, &[Some(-32601)]), [""; 0]);
}

#[test]
fn a_play_may_find_that_the_subject_does_not_owe_something() {
    let excuse = Play { excused: vec![(OTHER, "the subject said it has no such call".to_owned())], ..passed(&[MUST]) };
    let report = judge(&[scenario("a/b", &[MUST, OTHER], vec![excuse])]);
    assert_eq!(status(&report, OTHER), (Status::Excused, "the subject said it has no such call".to_owned()));
    assert_eq!(report.verdict, Verdict::Conforms);
}

#[test]
fn a_subject_that_showed_nothing_is_incomplete_unless_it_declares_everything_missing() {
    const ANSWERED: RequirementId = "openctx/0.1/envelope/answered";
    const MENTION: RequirementId = "openctx/0.1/mentions/title";
    const DATA: RequirementId = "openctx/0.1/mentions/data";
    const ITEM: RequirementId = "openctx/0.1/items/title";
    static CATALOGUE: [Requirement; 4] = [
        requirement(ANSWERED, Level::Must, End::Server, None),
        requirement(MENTION, Level::Must, End::Server, Some("mentions")),
        requirement(DATA, Level::Must, End::Server, Some("mentions")),
        requirement(ITEM, Level::Must, End::Server, Some("items")),
    ];
    let judge = |missing: &[&str], seen: &[RequirementId]| {
        let missing = missing.iter().map(|name| (*name).to_owned()).collect();
        let (role, edition, catalogue) = ("openctx-provider", "0.1", &CATALOGUE);
        let input = JudgeInput { role, edition, catalogue, missing, ..JudgeInput::default() };
        let report = input.judge(&[scenario("a/all", &[ANSWERED], vec![passed(&[&[ANSWERED], seen].concat())])]);
        (report.verdict, status(&report, DATA))
    };
    let never = "optional (mentions), and never occurred".to_owned();
    let nothing = "the subject showed nothing: name in wirecert.yaml what it shows something for (`query`, `message`, `document`)";
    assert_eq!(judge(&[], &[]), (Verdict::Incomplete, (Status::NotAssessed, nothing.to_owned())));
    assert_eq!(judge(&["items"], &[]).0, Verdict::Incomplete);
    assert_eq!(judge(&["mentions", "items"], &[]).0, Verdict::Conforms);
    assert_eq!(judge(&[], &[ITEM]), (Verdict::Conforms, (Status::Excused, never.clone())));
    assert_eq!(judge(&["items"], &[MENTION]), (Verdict::Conforms, (Status::Excused, never)));
}
