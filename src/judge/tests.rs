mod any;
mod blocked;
mod excused;

use crate::diagnostic::{Source, Span};
use crate::protocol::{Level, Requirement, RequirementId, Section, Use};
use crate::trace::{self, End};

use super::*;

const fn requirement(id: &'static str, level: Level, binds: End, capability: Option<&'static str>) -> Requirement {
    let source = Section { document: "", section: "" };
    Requirement { id, level, binds, statement: "", why: "", source, since: "0.1.0", capability }
}

const MUST: RequirementId = "amp/cli/ping/echo";
const OTHER: RequirementId = "amp/cli/read-file/unsaved";
const SHOULD: RequirementId = "amp/cli/ping/soon";
const MAY: RequirementId = "amp/cli/metadata/version";
const OPTIONAL: RequirementId = "amp/cli/diagnostics/range";
const CLIENT: RequirementId = "amp/cli/envelope/id";
const GUIDE: RequirementId = "amp/guide/read-file/unsaved";

static CATALOGUE: [Requirement; 7] = [
    requirement(MUST, Level::Must, End::Server, None),
    requirement(OTHER, Level::Must, End::Server, None),
    requirement(SHOULD, Level::Should, End::Server, None),
    requirement(MAY, Level::May, End::Server, None),
    requirement(OPTIONAL, Level::Must, End::Server, Some("diagnostics")),
    requirement(CLIENT, Level::Must, End::Client, None),
    requirement(GUIDE, Level::Must, End::Server, None),
];

fn play(status: ScenarioStatus, assessed: &[RequirementId], findings: Vec<RawFinding>) -> Play {
    Play { assessed: assessed.to_vec(), findings, ..Play::new(status) }
}

fn passed(assessed: &[RequirementId]) -> Play {
    play(ScenarioStatus::Passed, assessed, vec![])
}

fn found(requirement: RequirementId, fault: FaultOwner) -> RawFinding {
    RawFinding {
        requirement: Some(requirement),
        fault,
        step: None,
        place: None,
        message: "it is wrong".to_owned(),
        path: None,
        expected: None,
        actual: None,
        index: None,
        known_after: None,
        last_events: vec![],
        part: crate::protocol::Part::Body,
        conn: None,
        missed: None,
    }
}

fn broken(requirement: RequirementId) -> Play {
    play(ScenarioStatus::Failed, &[requirement], vec![found(requirement, FaultOwner::End(End::Server))])
}

fn scenario(name: &str, requirements: &[RequirementId], plays: Vec<Play>) -> Played {
    let id = format!("amp-server/cli/{name}");
    Played { id, requirements: requirements.to_vec(), plays, ..Played::default() }
}

fn known(requirement: &str, scenario: Option<&str>, until: Option<&str>) -> Baseline {
    Baseline {
        entries: vec![BaselineEntry {
            requirement: requirement.to_owned(),
            scenario: scenario.map(str::to_owned),
            reason: "long known".to_owned(),
            until: until.map(|day| day.parse().unwrap()),
        }],
        digest: None,
    }
}

#[derive(Clone, Debug)]
struct JudgeInput {
    role: &'static str,
    edition: &'static str,
    catalogue: &'static [Requirement],
    scope: Scope,
    strict: bool,
    baseline: Baseline,
    missing: Vec<String>,
    selection: Selection,
    snapshots: Vec<SnapshotResult>,
}

impl Default for JudgeInput {
    fn default() -> Self {
        Self {
            role: "amp-server",
            edition: "cli",
            catalogue: &CATALOGUE,
            scope: Scope::Full,
            strict: false,
            baseline: Baseline::default(),
            missing: vec![],
            selection: Selection::default(),
            snapshots: vec![],
        }
    }
}

impl JudgeInput {
    fn judge(&self, played: &[Played]) -> SubjectReport {
        judge_subject(&SubjectRun {
            name: "it".to_owned(),
            role: self.role.to_owned(),
            end: if self.role.ends_with("-client") { End::Client } else { End::Server },
            edition: self.edition.to_owned(),
            catalogue: self.catalogue,
            missing: &self.missing,
            baseline: &self.baseline,
            today: "2026-11-21".parse().unwrap(),
            scope: self.scope,
            selection: self.selection,
            strict: self.strict,
            repro: Repro { before: vec!["wirecert".to_owned()], after: vec![] },
            played,
            snapshots: self.snapshots.clone(),
            notes: vec![],
        })
    }
}

fn judge(played: &[Played]) -> SubjectReport {
    JudgeInput::default().judge(played)
}

fn status(report: &SubjectReport, id: &str) -> (Status, String) {
    let result = report.requirements.iter().find(|r| r.id == id).unwrap();
    (result.status, result.reason.clone().unwrap_or_default())
}

/// Everything that is asked of this subject, met.
fn complete() -> Vec<Played> {
    vec![scenario("a/all", &[MUST, OTHER], vec![passed(&[MUST, OTHER, SHOULD, OPTIONAL])])]
}

const GREEN: Standing = Standing { failed: false, unjudged: false, drift: false, incomplete: false };

#[test]
fn a_subject_conforms_where_every_must_is_met() {
    let report = judge(&complete());
    assert_eq!(report.verdict, Verdict::Conforms);
    assert_eq!(report.standing(), GREEN);
    assert_eq!(report.counts, Counts { passed: 1, ..Counts::default() });
    assert_eq!(status(&report, MUST).0, Status::Met);
    assert_eq!(status(&report, MAY), (Status::Excused, "optional, and never occurred".to_owned()));
}

#[test]
fn only_what_binds_the_subject_in_its_edition_is_required_of_it() {
    let ids: Vec<String> = judge(&complete()).requirements.into_iter().map(|r| r.id).collect();
    assert_eq!(ids, [MUST, OTHER, SHOULD, MAY, OPTIONAL]);
}

#[test]
fn a_violated_must_is_nonconforming() {
    let mut played = complete();
    played.push(scenario("ping/echo", &[MUST], vec![broken(MUST)]));
    let report = judge(&played);
    assert_eq!(report.verdict, Verdict::Nonconforming);
    assert_eq!(report.standing(), Standing { failed: true, ..GREEN });
    assert_eq!(status(&report, MUST).0, Status::Violated);
    assert_eq!(report.requirements[0].by, ["amp-server/cli/a/all", "amp-server/cli/ping/echo"]);
    assert_eq!(report.findings[0].blame, Blame::Subject);
    assert_eq!(report.findings[0].repro, "wirecert --filter 'id(amp-server/cli/ping/echo)'");
}

#[test]
fn a_violated_should_is_a_warning_unless_strict() {
    let mut played = complete();
    played.push(scenario("ping/soon", &[SHOULD], vec![broken(SHOULD)]));
    let report = judge(&played);
    assert_eq!((report.verdict, report.standing()), (Verdict::Conforms, GREEN));
    assert_eq!(status(&report, SHOULD).0, Status::Violated);
    assert_eq!(report.counts.passed, 2);
    let strict = JudgeInput { strict: true, ..JudgeInput::default() }.judge(&played);
    assert_eq!((strict.verdict, strict.counts.failed), (Verdict::Nonconforming, 1));
}

#[test]
fn an_expectation_that_proves_nothing_still_fails_its_scenario() {
    let mut played = complete();
    let stray = RawFinding { requirement: None, ..found(MUST, FaultOwner::End(End::Server)) };
    played.push(scenario("x/y", &[], vec![play(ScenarioStatus::Failed, &[], vec![stray])]));
    let report = judge(&played);
    assert_eq!((report.verdict, report.counts.failed), (Verdict::Nonconforming, 1));
    played[1].plays = vec![play(ScenarioStatus::Failed, &[], vec![])];
    assert_eq!(judge(&played).verdict, Verdict::Nonconforming, "even without any finding");
}

#[test]
fn a_must_that_was_neither_assessed_nor_excused_leaves_the_subject_incomplete() {
    let skipped = scenario("read-file/unsaved", &[OTHER], vec![Play::skipped("no stimulus `edit`")]);
    let report = judge(&[scenario("ping/echo", &[MUST], vec![passed(&[MUST])]), skipped]);
    assert_eq!(report.verdict, Verdict::Incomplete);
    assert_eq!(report.standing(), Standing { incomplete: true, ..GREEN });
    assert_eq!(status(&report, OTHER), (Status::NotAssessed, "no stimulus `edit`".to_owned()));
    assert_eq!(status(&report, OPTIONAL), (Status::Excused, "optional (diagnostics), and never occurred".to_owned()));
    assert!(
        report
            .notes
            .last()
            .unwrap()
            .text
            .starts_with("`diagnostics` was never shown, and a requirement could not be judged")
    );
}

#[test]
fn what_could_not_be_judged_is_never_green_and_counts_as_no_evidence() {
    let mut played = complete();
    played.push(scenario("x/y", &[MAY], vec![Play { assessed: vec![MAY], ..Play::error("the port was taken") }]));
    let report = judge(&played);
    assert_eq!(report.verdict, Verdict::Incomplete);
    assert_eq!(report.standing(), Standing { unjudged: true, incomplete: true, ..GREEN });
    assert_eq!(status(&report, MAY), (Status::NotAssessed, "the port was taken".to_owned()));
}

#[test]
fn a_retry_mends_an_error_but_no_violation() {
    let mut played = complete();
    played[0].plays.insert(0, Play::error("the port was taken"));
    assert_eq!(judge(&played).verdict, Verdict::Incomplete, "another repetition is no retry");
    played[0].plays[1].retry = true;
    let report = judge(&played);
    assert_eq!((report.verdict, report.scenarios[0].flaky), (Verdict::Conforms, true));
    played[0].plays[0].held_up = true;
    let report = judge(&played);
    assert_eq!((report.verdict, report.scenarios[0].flaky), (Verdict::Conforms, false), "the machine was busy");
    played[0].plays[0] = broken(MUST);
    assert_eq!(judge(&played).verdict, Verdict::Nonconforming);
}

#[test]
fn what_the_machine_kept_from_being_judged_beside_a_violation_is_open_until_it_is_played_again() {
    let mut held_up = broken(MUST);
    held_up.hold_up(&[MUST, OTHER], "this machine was too busy");
    let judged = |plays| status(&judge(&[scenario("a/first", &[OTHER], plays)]), OTHER);
    assert_eq!(judged(vec![held_up.clone()]), (Status::NotAssessed, "blocked by this machine was too busy".to_owned()));
    let again = Play { retry: true, ..play(ScenarioStatus::Failed, &[OTHER], broken(MUST).findings) };
    assert_eq!(judged(vec![held_up, again]).0, Status::Met);
}

#[test]
fn what_our_peer_or_the_environment_did_is_not_held_against_the_subject() {
    for (fault, blame) in [(FaultOwner::End(End::Client), Blame::Peer), (FaultOwner::Environment, Blame::Environment)] {
        let mut played = complete();
        played[0].plays[0].findings = vec![found(CLIENT, fault)];
        played[0].plays[0].status = ScenarioStatus::Failed;
        let report = judge(&played);
        assert_eq!(report.counts.error, 1);
        assert_eq!(report.verdict, Verdict::Incomplete);
        assert_eq!(report.findings[0].blame, blame);
        assert!(report.requirements.iter().all(|r| r.status != Status::Violated));
    }
}

#[test]
fn nothing_played_and_nothing_assessed_are_incomplete_in_every_scope() {
    for scope in [Scope::Full, Scope::Partial, Scope::CutShort] {
        let input = JudgeInput { scope, ..JudgeInput::default() };
        let skipped = [scenario("a/b", &[MUST], vec![Play::skipped("no workspace")]), scenario("a/c", &[], vec![])];
        for played in [&[][..], &skipped[..]] {
            let report = input.judge(played);
            assert_eq!(report.verdict, Verdict::Incomplete);
            assert!(report.standing().incomplete);
            assert!(report.requirements.iter().all(|r| r.status == Status::NotAssessed), "{:?}", report.requirements);
        }
    }
    assert!(Report::of(Suite::of([], []), vec![], vec![]).standing().incomplete);
}

#[test]
fn a_partial_run_says_nothing_about_completeness() {
    let input = JudgeInput { scope: Scope::Partial, ..JudgeInput::default() };
    let report = input.judge(&[scenario("ping/echo", &[MUST], vec![passed(&[MUST])])]);
    assert_eq!((report.verdict, report.standing()), (Verdict::Partial, GREEN));
    assert_eq!(status(&report, OTHER), (Status::NotAssessed, "not asked for".to_owned()));
    let broken = input.judge(&[scenario("ping/echo", &[MUST], vec![broken(MUST)])]);
    assert_eq!(broken.verdict, Verdict::Nonconforming);
}

#[test]
fn a_part_in_which_a_should_hides_a_must_is_not_green() {
    let should = found(SHOULD, FaultOwner::End(End::Server));
    let blocked = vec![BlockedRequirement {
        requirement: Some(MUST),
        because: Some(SHOULD),
        message: "it is wrong".to_owned(),
        explained: false,
    }];
    let play = Play { blocked, ..play(ScenarioStatus::Blocked, &[SHOULD], vec![should]) };
    let report =
        JudgeInput { scope: Scope::Partial, ..JudgeInput::default() }.judge(&[scenario("a", &[MUST], vec![play])]);
    assert_eq!(report.verdict, Verdict::Incomplete);
}

#[test]
fn a_must_that_is_met_elsewhere_is_not_judged_where_a_should_explains_what_was_seen_of_it() {
    let hidden = |explained| {
        let message = "it is wrong".to_owned();
        let blocked = BlockedRequirement { requirement: Some(MUST), because: Some(SHOULD), message, explained };
        let should = found(SHOULD, FaultOwner::End(End::Server));
        let play = Play { blocked: vec![blocked], ..play(ScenarioStatus::Blocked, &[SHOULD], vec![should]) };
        let mut all = complete();
        all.push(scenario("ping/other", &[MUST], vec![play]));
        JudgeInput::default().judge(&all)
    };
    assert_eq!(hidden(false).verdict, Verdict::Conforms);
    let report = hidden(true);
    assert_eq!(report.verdict, Verdict::Incomplete);
    let (status, reason) = status(&report, MUST);
    assert_eq!(status, Status::NotAssessed);
    assert!(reason.contains(SHOULD), "{reason}");
}

#[test]
fn a_run_that_was_cut_short_is_incomplete_at_best() {
    let input = JudgeInput { scope: Scope::CutShort, ..JudgeInput::default() };
    assert_eq!(input.judge(&complete()).verdict, Verdict::Incomplete);
}

#[test]
fn the_same_finding_in_the_same_scenario_is_reported_once_and_counted() {
    let source = Source::new("scenarios/echo.yaml", "a: 1\nb: 2\n");
    let place = Some(source.place(Span { start: 5, end: 6 }));
    let at = |place| RawFinding { place, ..found(MUST, FaultOwner::End(End::Server)) };
    let plays = vec![
        play(ScenarioStatus::Failed, &[MUST], vec![at(place.clone()), at(place)]),
        play(ScenarioStatus::Failed, &[MUST], vec![at(None)]),
    ];
    let report = judge(&[scenario("ping/echo", &[MUST], plays.clone()), scenario("ping/other", &[MUST], plays)]);
    assert_eq!(report.findings.iter().map(|f| f.occurrences).collect::<Vec<_>>(), [3, 3]);
    let finding = &report.findings[0];
    assert_eq!((finding.file.as_deref(), finding.line), (Some("scenarios/echo.yaml"), Some(2)));
    assert_eq!(finding.excerpt.as_deref(), Some(" --> scenarios/echo.yaml:2:1\n  |\n2 | b: 2\n  | ^\n"));
}

#[test]
fn a_finding_is_the_same_wherever_it_was_played() {
    let played_in = |folder: &str, port: u16| {
        let message = format!("{folder}/a.txt is not there, says 127.0.0.1:{port}");
        let found = RawFinding { message, ..found(MUST, FaultOwner::End(End::Server)) };
        let place = trace::NormalisationFacts {
            folders: vec![("run_dir".to_owned(), folder.to_owned())],
            ports: [port].into(),
            ..trace::NormalisationFacts::default()
        };
        Play { place, ..play(ScenarioStatus::Failed, &[MUST], vec![found]) }
    };
    let plays = vec![played_in("/tmp/run-1", 2001), played_in("/tmp/run-2", 2002), played_in("/tmp/run-3", 2003)];
    let report = judge(&[scenario("ping/echo", &[MUST], plays)]);
    assert_eq!(report.findings.iter().map(|f| f.occurrences).collect::<Vec<_>>(), [3]);
    assert_eq!(report.findings[0].message, "/tmp/run-1/a.txt is not there, says 127.0.0.1:2001");
}

#[test]
fn notes_are_reported_once() {
    let noted = |text: &str| Play { notes: vec![(Some(MUST), text.to_owned())], ..passed(&[MUST]) };
    let played = [scenario("a/b", &[], vec![noted("one"), noted("two"), noted("one")])];
    let report = JudgeInput { missing: vec!["diagnostics".to_owned()], ..JudgeInput::default() }.judge(&played);
    assert_eq!(report.notes.iter().map(|n| n.text.as_str()).collect::<Vec<_>>(), ["one", "two"]);
}

#[test]
fn a_reading_that_the_other_end_took_is_no_note_on_the_subject() {
    let noted = |requirement| Play { notes: vec![(requirement, "a reading".to_owned())], ..passed(&[MUST]) };
    let played = [scenario("a/b", &[], vec![noted(Some(CLIENT)), noted(Some(MUST)), noted(None)])];
    let report = JudgeInput { missing: vec!["diagnostics".to_owned()], ..JudgeInput::default() }.judge(&played);
    let about: Vec<Option<&str>> = report.notes.iter().map(|n| n.requirement.as_deref()).collect();
    assert_eq!(about, [Some(MUST), None]);
}

#[test]
fn unreferenced_snapshots_are_reported_only_by_a_full_run() {
    let snapshot = |status: &str| SnapshotResult { file: "a.snap".to_owned(), status: status.to_owned() };
    let judge = |scope, status| {
        let input = JudgeInput { scope, ..JudgeInput::default() };
        let mut report = input.judge(&complete());
        report.snapshots = vec![snapshot(status)];
        report.standing().drift
    };
    assert!(judge(Scope::Full, "unreferenced") && judge(Scope::Partial, "changed") && !judge(Scope::Full, "same"));
}

#[test]
fn the_gravest_verdict_is_that_of_the_run() {
    let suite = Suite::of([("a.yaml", &b"x"[..])], &CATALOGUE);
    let report = |verdicts: &[Verdict]| {
        let subject = |v: &Verdict| SubjectReport { verdict: *v, ..judge(&complete()) };
        Report::of(suite.clone(), vec![], verdicts.iter().map(subject).collect()).verdict
    };
    assert_eq!(report(&[Verdict::Conforms, Verdict::ConformsExcept]), Verdict::ConformsExcept);
    assert_eq!(report(&[Verdict::Incomplete, Verdict::Partial]), Verdict::Incomplete);
    assert_eq!(report(&[Verdict::Nonconforming, Verdict::Incomplete]), Verdict::Nonconforming);
}

#[test]
fn the_digest_of_a_suite_shows_its_content_and_not_its_order() {
    let digest = |files: &[(&'static str, &'static [u8])]| Suite::of(files.iter().copied(), &CATALOGUE).digest;
    assert_eq!(digest(&[("a", b"1"), ("b", b"2")]), digest(&[("b", b"2"), ("a", b"1")]));
    assert_ne!(digest(&[("a", b"1"), ("b", b"2")]), digest(&[("a", b"2"), ("b", b"1")]));
}
