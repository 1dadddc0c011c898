//! What rests on something that is violated is no finding of its own, and what is blocked says what is violated in the end.

use crate::judge::{MissKind, MissedExpectation};

use super::*;

const CONTENT: RequirementId = "openctx/0.1/selectors/client-content-other";
const ALL: RequirementId = "openctx/0.1/selectors/client-all-conditions";
static CLIENT: [Requirement; 2] =
    [requirement(CONTENT, Level::Must, End::Client, None), requirement(ALL, Level::Must, End::Client, None)];

const JSON: RequirementId = "amplifier/2025-12-09/stream/data-json";
const EVENT: RequirementId = "amplifier/2025-12-09/events/tool-pre-input";
const ANSWERED: RequirementId = "amplifier/2025-12-09/http/answered";
const LIST: RequirementId = "amplifier/2025-12-09/list/total";
const OBJECT: RequirementId = "amplifier/2025-12-09/list/object";
const PROMPT: RequirementId = "amplifier/2025-12-09/prompt/status";
const UNICODE: RequirementId = "amplifier/2025-12-09/prompt/unicode";
const SUBMITTED: RequirementId = "amplifier/2025-12-09/life/submitted-prompt";
static SERVER: [Requirement; 8] = [
    requirement(JSON, Level::Must, End::Server, None),
    requirement(EVENT, Level::Must, End::Server, None),
    requirement(ANSWERED, Level::Must, End::Server, None),
    requirement(LIST, Level::Must, End::Server, None),
    requirement(OBJECT, Level::Must, End::Server, None),
    requirement(PROMPT, Level::Must, End::Server, None),
    requirement(UNICODE, Level::Must, End::Server, None),
    requirement(SUBMITTED, Level::Should, End::Server, None),
];

const ENCODING: RequirementId = "openctx/0.1/http/encoding-offered";
const AUTO_INCLUDE: RequirementId = "openctx/0.1/meta/auto-include";
const NAME: RequirementId = "openctx/0.1/meta/name";
static PROVIDER: [Requirement; 3] = [
    requirement(ENCODING, Level::Should, End::Server, None),
    requirement(AUTO_INCLUDE, Level::Must, End::Server, Some("mentions")),
    requirement(NAME, Level::Must, End::Server, None),
];

fn server() -> JudgeInput {
    JudgeInput { role: "amplifier-server", edition: "2025-12-09", catalogue: &SERVER, ..JudgeInput::default() }
}

fn client() -> JudgeInput {
    JudgeInput { role: "openctx-client", edition: "0.1", catalogue: &CLIENT, ..JudgeInput::default() }
}

/// A request that should not have come.
fn unwanted(requirement: RequirementId) -> Play {
    missed(requirement, "request", MissKind::Unwanted, End::Client)
}

/// An observation that was missed in this way.
fn missed(requirement: RequirementId, kind: &'static str, way: MissKind, fault: End) -> Play {
    let missed = MissedExpectation {
        kind,
        selectors: serde_json::Map::new(),
        conn: None,
        came: false,
        way,
        outcomes: vec![],
        places: vec![],
        index: None,
        since: 0,
    };
    let found = RawFinding { missed: Some(missed), ..found(requirement, FaultOwner::End(fault)) };
    play(ScenarioStatus::Failed, &[requirement], vec![found])
}

/// What a rule says of a request, where a scenario stumbled over it or did not.
fn by_rule(requirement: RequirementId, step: Option<&str>) -> Play {
    let found = RawFinding { step: step.map(str::to_owned), ..found(requirement, FaultOwner::End(End::Client)) };
    play(ScenarioStatus::Failed, &[requirement], vec![found])
}

#[test]
fn what_should_not_come_is_explained_by_a_rule_over_which_a_scenario_stumbled() {
    let judged = |step| {
        let because = scenario("selectors/content-other", &[CONTENT], vec![by_rule(CONTENT, step)]);
        client().judge(&[because, scenario("selectors/some-conditions", &[ALL], vec![unwanted(ALL)])])
    };
    assert_eq!(status(&judged(Some("collect")), ALL), (Status::NotAssessed, format!("blocked by {CONTENT}")));
    assert_eq!(status(&judged(None), ALL).0, Status::Violated);
}

#[test]
fn what_cannot_be_read_keeps_from_being_seen_what_is_in_it() {
    let report = server().judge(&[scenario("stream/plain", &[JSON], vec![broken(JSON)])]);
    assert_eq!(status(&report, EVENT), (Status::NotAssessed, format!("blocked by {JSON}")));
    assert_eq!(status(&report, LIST), (Status::NotAssessed, "no occasion for it came up".to_owned()));
}

#[test]
fn a_should_that_another_play_breaks_explains_what_did_not_come_and_not_what_came() {
    let judged = |way| {
        let because = scenario("prompt/told-unchanged", &[SUBMITTED], vec![broken(SUBMITTED)]);
        let unicode = missed(UNICODE, "event", way, End::Server);
        server().judge(&[because, scenario("prompt/unicode-long", &[UNICODE], vec![unicode])])
    };
    assert_eq!(status(&judged(MissKind::Absent), UNICODE).0, Status::NotAssessed);
    assert_eq!(status(&judged(MissKind::Unwanted), UNICODE).0, Status::Violated);
}

#[test]
fn what_breaks_a_should_keeps_nothing_from_occurring_where_its_area_was_judged_without_it() {
    let provider =
        || JudgeInput { role: "openctx-provider", edition: "0.1", catalogue: &PROVIDER, ..JudgeInput::default() };
    let reason = |played: &[Played]| status(&provider().judge(played), AUTO_INCLUDE);
    let unasked = || scenario("http/encoding-offered", &[ENCODING], vec![broken(ENCODING)]);
    assert_eq!(reason(&[unasked()]), (Status::NotAssessed, format!("blocked by {ENCODING}")));
    let metadata = scenario("meta/meta", &[NAME], vec![passed(&[NAME])]);
    assert_eq!(reason(&[unasked(), metadata]).0, Status::Excused);
}

#[test]
fn what_had_no_occasion_names_what_all_needs() {
    let report = server().judge(&[scenario("http/answered", &[ANSWERED], vec![broken(ANSWERED)])]);
    for id in [EVENT, LIST] {
        assert_eq!(status(&report, id), (Status::NotAssessed, format!("blocked by {ANSWERED}")));
    }
}

#[test]
fn a_base_that_held_elsewhere_or_is_another_success_keeps_nothing_from_occurring() {
    let reason = |played: &[Played]| status(&server().judge(played), EVENT).1;
    let refused = || scenario("prompt/status", &[PROMPT], vec![broken(PROMPT)]);
    assert_eq!(reason(&[refused()]), format!("blocked by {PROMPT}"));
    let accepted = scenario("prompt/long", &[PROMPT], vec![passed(&[PROMPT])]);
    assert_eq!(reason(&[refused(), accepted]), "no occasion for it came up");
    let other = |status: u16| {
        let found =
            RawFinding { path: None, actual: Some(status.into()), ..found(PROMPT, FaultOwner::End(End::Server)) };
        [scenario("prompt/status", &[PROMPT], vec![play(ScenarioStatus::Failed, &[PROMPT], vec![found])])]
    };
    assert_eq!(reason(&other(500)), format!("blocked by {PROMPT}"));
    assert_eq!(reason(&other(200)), "no occasion for it came up");
}

#[test]
fn members_of_what_is_no_object_had_no_occasion_for_that() {
    let report = server().judge(&[scenario("list/all", &[OBJECT], vec![broken(OBJECT)])]);
    assert_eq!(status(&report, LIST), (Status::NotAssessed, format!("blocked by {OBJECT}")));
    assert_eq!(status(&report, EVENT).1, "no occasion for it came up");
}

fn blocked(requirement: RequirementId, because: RequirementId) -> Play {
    let message = format!("{because} is broken");
    let blocked =
        vec![BlockedRequirement { requirement: Some(requirement), because: Some(because), message, explained: false }];
    Play { blocked, ..Play::new(ScenarioStatus::Blocked) }
}

#[test]
fn what_is_blocked_by_something_blocked_is_blocked_by_what_is_violated() {
    let report = judge(&[
        scenario("a/first", &[OTHER], vec![blocked(OTHER, SHOULD)]),
        scenario("a/second", &[SHOULD], vec![blocked(SHOULD, MUST)]),
        scenario("ping/echo", &[MUST], vec![broken(MUST)]),
    ]);
    assert_eq!(status(&report, OTHER), (Status::NotAssessed, format!("blocked by {MUST}")));
    assert_eq!(status(&report, SHOULD), (Status::NotAssessed, format!("blocked by {MUST}")));
    assert_eq!(report.findings[0].blocks, [OTHER, SHOULD]);
    let reason = report.scenarios[0].reason.as_deref();
    assert_eq!(reason, Some(format!("blocked by {MUST}: {MUST} is broken").as_str()));
}

#[test]
fn a_chain_that_leads_back_to_itself_ends() {
    let report = judge(&[
        scenario("a/first", &[OTHER], vec![blocked(OTHER, SHOULD)]),
        scenario("a/second", &[SHOULD], vec![blocked(SHOULD, OTHER)]),
    ]);
    assert_eq!(status(&report, OTHER).0, Status::NotAssessed);
}

#[test]
fn of_findings_that_explain_each_other_one_stands() {
    const BAD_PARAMS: RequirementId = "openctx/0.1/robustness/bad-params";
    const ANSWERED: RequirementId = "openctx/0.1/envelope/answered";
    static PROVIDER: [Requirement; 2] = [
        requirement(BAD_PARAMS, Level::Must, End::Server, None),
        requirement(ANSWERED, Level::Must, End::Server, None),
    ];
    let provider =
        JudgeInput { role: "openctx-provider", edition: "0.1", catalogue: &PROVIDER, ..JudgeInput::default() };
    let silent = |name: &str, requirement| {
        let play = missed(requirement, "message", MissKind::Absent, End::Server);
        scenario(name, &[requirement], vec![play])
    };
    let report =
        provider.judge(&[silent("robustness/bad-params", BAD_PARAMS), silent("robustness/concurrent", ANSWERED)]);
    assert_eq!(status(&report, BAD_PARAMS).0, Status::Violated);
    assert_eq!(status(&report, ANSWERED), (Status::NotAssessed, format!("blocked by {BAD_PARAMS}")));
    // Where a regular scenario shows it, it explains the other.
    let report = provider.judge(&[
        silent("robustness/bad-params", BAD_PARAMS),
        silent("robustness/concurrent", ANSWERED),
        silent("envelope/answered", ANSWERED),
    ]);
    assert_eq!(status(&report, ANSWERED).0, Status::Violated);
    assert_eq!(status(&report, BAD_PARAMS), (Status::NotAssessed, format!("blocked by {ANSWERED}")));
}

#[test]
fn what_only_a_rule_judges_is_not_excused_where_its_area_was_blocked() {
    let because = broken(MUST);
    let blocked = scenario("diagnostics/reported", &[], vec![blocked(OTHER, MUST)]);
    let report = judge(&[scenario("ping/echo", &[MUST], vec![because]), blocked.clone()]);
    assert_eq!(status(&report, OPTIONAL), (Status::NotAssessed, format!("blocked by {MUST}")));
    let passed = scenario("diagnostics/other", &[], vec![passed(&[])]);
    let report = judge(&[scenario("ping/echo", &[MUST], vec![broken(MUST)]), blocked, passed]);
    assert_eq!(status(&report, OPTIONAL).0, Status::Excused);
}

#[test]
fn what_others_saw_by_the_way_makes_nothing_met_that_every_scenario_about_it_was_kept_from() {
    let about_it = scenario("a/first", &[OTHER], vec![blocked(OTHER, MUST)]);
    let because = scenario("ping/echo", &[MUST], vec![broken(MUST)]);
    let by_the_way = scenario("a/other", &[], vec![passed(&[OTHER])]);
    let report = judge(&[about_it.clone(), because.clone(), by_the_way.clone()]);
    assert_eq!(status(&report, OTHER), (Status::NotAssessed, format!("blocked by {MUST}")));

    let second = scenario("a/second", &[OTHER], vec![passed(&[OTHER])]);
    let report = judge(&[about_it, because, by_the_way, second]);
    let met = report.requirements.iter().find(|r| r.id == OTHER).unwrap();
    assert_eq!((met.status, met.because.as_slice()), (Status::Met, &[MUST.to_owned()][..]));
}

#[test]
fn a_scenario_that_failed_before_its_point_names_what_it_failed_for() {
    let report = judge(&[scenario("a/first", &[MUST, OTHER], vec![broken(MUST)])]);
    assert_eq!(status(&report, OTHER), (Status::NotAssessed, format!("blocked by {MUST}")));
}
