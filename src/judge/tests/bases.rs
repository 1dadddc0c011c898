//! What rests on something that is violated is no finding of its own, and says so where it had no occasion.

use super::*;
use crate::judge::{MissKind, Missed};

const CONTENT: RequirementId = "openctx/0.1/selectors/client-content-other";
const ALL: RequirementId = "openctx/0.1/selectors/client-all-conditions";
static CLIENT: [Requirement; 2] =
    [requirement(CONTENT, Level::Must, End::Client, None), requirement(ALL, Level::Must, End::Client, None)];

const JSON: RequirementId = "amplifier/2025-12-09/stream/data-json";
const EVENT: RequirementId = "amplifier/2025-12-09/events/tool-pre-input";
const ANSWERED: RequirementId = "amplifier/2025-12-09/http/answered";
const LIST: RequirementId = "amplifier/2025-12-09/list/total";
const OBJECT: RequirementId = "amplifier/2025-12-09/list/object";
static SERVER: [Requirement; 5] = [
    requirement(JSON, Level::Must, End::Server, None),
    requirement(EVENT, Level::Must, End::Server, None),
    requirement(ANSWERED, Level::Must, End::Server, None),
    requirement(LIST, Level::Must, End::Server, None),
    requirement(OBJECT, Level::Must, End::Server, None),
];

fn server() -> Given {
    Given { role: "amplifier-server", edition: "2025-12-09", catalogue: &SERVER, ..Given::default() }
}

fn client() -> Given {
    Given { role: "openctx-client", edition: "0.1", catalogue: &CLIENT, ..Given::default() }
}

/// A request that should not have come.
fn unwanted(requirement: RequirementId) -> Play {
    let missed = Missed {
        kind: "request",
        selectors: serde_json::Map::new(),
        conn: None,
        way: MissKind::Unwanted,
        outcomes: vec![],
        places: vec![],
        index: None,
        since: 0,
    };
    let found = RawFinding { missed: Some(missed), ..found(requirement, FaultOwner::End(End::Client)) };
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
fn what_had_no_occasion_names_what_all_needs() {
    let report = server().judge(&[scenario("http/answered", &[ANSWERED], vec![broken(ANSWERED)])]);
    for id in [EVENT, LIST] {
        assert_eq!(status(&report, id), (Status::NotAssessed, format!("blocked by {ANSWERED}")));
    }
}

#[test]
fn members_of_what_is_no_object_had_no_occasion_for_that() {
    let report = server().judge(&[scenario("list/all", &[OBJECT], vec![broken(OBJECT)])]);
    assert_eq!(status(&report, LIST), (Status::NotAssessed, format!("blocked by {OBJECT}")));
    assert_eq!(status(&report, EVENT).1, "no occasion for it came up");
}
