use serde_json::{Map, json};

use crate::protocol::{Due, NOTHING_KNOWN, Refusal, Section};
use crate::trace::End;

use super::*;

const fn requirement(id: &'static str) -> Requirement {
    let source = Section { document: "", section: "" };
    Requirement {
        id,
        level: Level::Must,
        binds: End::Server,
        statement: "",
        why: "",
        source,
        since: "0.1.0",
        capability: None,
    }
}

const ECHO: RequirementId = "p/1/ping/echo";
const SHAPE: RequirementId = "p/1/ping/shape";
const ANSWERED: RequirementId = "p/1/envelope/answered";
const STREAM: RequirementId = "p/1/stream/type";
const HEAD: RequirementId = "p/1/http/head";
const DIED: RequirementId = "p/1/robustness/alive";
const FIRST: RequirementId = "p/1/connection/token-right";
const AGAIN: RequirementId = "p/1/connection/again";

const TITLE: RequirementId = "p/1/ping/title";

static CATALOGUE: [Requirement; 9] = [
    Requirement { level: Level::Should, ..requirement(TITLE) },
    requirement(ECHO),
    requirement(SHAPE),
    requirement(ANSWERED),
    requirement(STREAM),
    requirement(HEAD),
    requirement(DIED),
    requirement(FIRST),
    requirement(AGAIN),
];

const ATTRIBUTION: Attribution = Attribution {
    absent: &[Due { kind: "response", with: None, once: false, breaks: "envelope/answered", unless: &[] }],
    places: &[("response", "/result", "/result")],
    spoils: &["stream/type"],
    unseen: &[],
    unusable: &["stream/type", "http/head"],
    follows: &[("ping/echo", &["ping/shape"])],
    later: &[
        LaterContact {
            first: "connection/token-right",
            later: "connection/again",
            shown_by: "connection/accept-key",
            needed_only: false,
        },
        LaterContact {
            first: "ping/echo",
            later: "connection/again",
            shown_by: "connection/accept-key",
            needed_only: true,
        },
    ],
    ..NOTHING_KNOWN
};

fn seen(requirement: RequirementId, index: u64) -> RawFinding {
    RawFinding {
        requirement: Some(requirement),
        fault: FaultOwner::End(End::Server),
        step: None,
        place: None,
        message: format!("{requirement} is broken"),
        path: None,
        expected: None,
        actual: None,
        index: Some(index),
        known_after: None,
        last_events: vec![],
        part: Part::Body,
        conn: Some("main".to_owned()),
        missed: None,
    }
}

fn seen_at(requirement: RequirementId, index: u64, path: &str) -> RawFinding {
    RawFinding { path: Some(path.to_owned()), ..seen(requirement, index) }
}

fn missed(requirement: RequirementId, way: MissKind, index: Option<u64>, places: &[&str]) -> RawFinding {
    let missed = MissedExpectation {
        kind: "response",
        selectors: Map::from_iter([("to".to_owned(), json!("one"))]),
        conn: Some("main".to_owned()),
        came: false,
        way,
        outcomes: vec![],
        places: places.iter().map(|place| (*place).to_owned()).collect(),
        index,
        since: 3,
    };
    RawFinding { index, missed: Some(missed), ..seen(requirement, 0) }
}

/// The requirements that are violated, and those that are blocked, each with its cause.
type ChargedAndBlocked = (Vec<RequirementId>, Vec<(RequirementId, RequirementId)>);

fn charged_and_blocked(found: Vec<RawFinding>) -> ChargedAndBlocked {
    charged_and_blocked_ids(&attributed(false, found))
}

fn attributed(after_success: bool, found: Vec<RawFinding>) -> AttributedFindings {
    attributed_beside((&[], &[]), after_success, found)
}

fn attributed_beside(
    (absences, refusals): (&[Absence], &[Refusal]),
    after_success: bool,
    found: Vec<RawFinding>,
) -> AttributedFindings {
    let context = AttributionContext {
        after_success,
        attribution: &ATTRIBUTION,
        catalogue: &CATALOGUE,
        edition: "1",
        subject: FaultOwner::End(End::Server),
        proves: &[ECHO],
        assessed: &[],
        absences,
        refusals,
    };
    context.attribute(found)
}

fn charged_and_blocked_ids(attributed: &AttributedFindings) -> ChargedAndBlocked {
    let violated = attributed.findings.iter().filter_map(|found| found.requirement).collect();
    (violated, attributed.blocked.iter().filter_map(|blocked| blocked.requirement.zip(blocked.because)).collect())
}

#[test]
fn what_came_in_the_place_of_a_response_is_a_fault_that_a_should_does_not_take_away() {
    const OWN: Attribution = Attribution {
        absent: &[Due { kind: "response", with: None, once: false, breaks: "envelope/answered", unless: &["ping/"] }],
        astray: &["envelope/answered", "connection/again"],
        ..NOTHING_KNOWN
    };
    let violated = |rule: RequirementId, own: RequirementId| {
        let found = vec![seen(rule, 5), missed(own, MissKind::Absent, None, &[])];
        let context = AttributionContext {
            after_success: false,
            attribution: &OWN,
            catalogue: &CATALOGUE,
            edition: "1",
            subject: FaultOwner::End(End::Server),
            proves: &[own],
            assessed: &[],
            absences: &[],
            refusals: &[],
        };
        charged_and_blocked_ids(&context.attribute(found)).0
    };
    assert_eq!(violated(ANSWERED, TITLE), [TITLE], "that there is none is what the expectation found");
    assert_eq!(violated(AGAIN, TITLE), [AGAIN, TITLE]);
    assert_eq!(violated(AGAIN, ECHO), [ECHO]);
}

#[test]
fn what_did_not_come_breaks_that_it_comes_and_nothing_else() {
    assert_eq!(
        charged_and_blocked(vec![missed(ECHO, MissKind::Absent, None, &[])]),
        (vec![ANSWERED], vec![(ECHO, ANSWERED)])
    );
}

#[test]
fn what_came_before_is_not_said_to_come_never() {
    const ONCE: Attribution = Attribution {
        absent: &[Due { kind: "response", with: None, once: true, breaks: "envelope/answered", unless: &[] }],
        ..NOTHING_KNOWN
    };
    let violated = |came: bool| {
        let mut found = missed(ECHO, MissKind::Absent, None, &[]);
        found.missed.as_mut().unwrap().came = came;
        let context = AttributionContext {
            after_success: false,
            attribution: &ONCE,
            catalogue: &CATALOGUE,
            edition: "1",
            subject: FaultOwner::End(End::Server),
            proves: &[ECHO],
            assessed: &[],
            absences: &[],
            refusals: &[],
        };
        charged_and_blocked_ids(&context.attribute(vec![found])).0
    };
    assert_eq!((violated(false), violated(true)), (vec![ANSWERED], vec![ECHO]));
}

#[test]
fn a_rule_at_the_place_of_the_message_beats_the_expectation() {
    let found = vec![seen_at(SHAPE, 5, "/result"), missed(ECHO, MissKind::Different, Some(5), &["/result/message"])];
    assert_eq!(charged_and_blocked(found), (vec![SHAPE], vec![(ECHO, SHAPE)]));
}

#[test]
fn a_rule_about_another_place_or_message_explains_nothing() {
    for rule in [seen_at(STREAM, 5, "/other"), seen_at(STREAM, 4, "/result")] {
        let found = vec![RawFinding { conn: Some("other".to_owned()), ..rule }];
        let missed = missed(ECHO, MissKind::Different, Some(6), &["/result/message"]);
        let found = found.into_iter().chain([missed]).collect();
        assert_eq!(charged_and_blocked(found), (vec![STREAM, ECHO], vec![]));
    }
}

#[test]
fn what_should_be_never_explains_that_what_must_be_differs() {
    let found = |places: &[&str]| {
        vec![seen_at(TITLE, 5, "/result/text/title"), missed(ECHO, MissKind::Different, Some(5), places)]
    };
    for places in [["/result/text/title"], ["/result/text"]] {
        assert_eq!(charged_and_blocked(found(&places)), (vec![TITLE, ECHO], vec![]));
    }
    let must = vec![seen_at(SHAPE, 5, "/result/text/title"), missed(ECHO, MissKind::Different, Some(5), &["/result"])];
    assert_eq!(charged_and_blocked(must).0, [SHAPE]);
}

#[test]
fn what_nobody_could_read_explains_that_no_outcome_was_met_that_would_have_come_with_it() {
    let found = |since| {
        let mut missed = missed(ECHO, MissKind::Different, Some(4), &["/status"]);
        let event = AwaitedPart {
            observation: "event".to_owned(),
            on: Some("events".to_owned()),
            selectors: Map::new(),
            pattern: Map::new(),
        };
        missed.missed.as_mut().unwrap().outcomes = vec![vec![event]];
        missed.missed.as_mut().unwrap().since = since;
        vec![RawFinding { conn: Some("events".to_owned()), ..seen(STREAM, 6) }, missed]
    };
    assert_eq!(charged_and_blocked(found(3)), (vec![STREAM], vec![(ECHO, STREAM)]));
    assert_eq!(charged_and_blocked(found(7)), (vec![STREAM, ECHO], vec![]), "it came before");
}

#[test]
fn the_end_of_the_process_explains_what_no_longer_came_and_is_reported_once() {
    let found = vec![seen(DIED, 4), seen(DIED, 9), missed(ECHO, MissKind::Absent, None, &[])];
    assert_eq!(charged_and_blocked(found), (vec![DIED], vec![(ECHO, DIED)]));
    let found = vec![seen(DIED, 9), missed(ECHO, MissKind::Different, Some(5), &["/result"])];
    assert_eq!(charged_and_blocked(found), (vec![DIED, ECHO], vec![]));
}

#[test]
fn a_spoilt_connection_explains_what_did_not_come_on_it_later_and_on_no_other() {
    let found = vec![seen(STREAM, 1), missed(ECHO, MissKind::Absent, None, &[])];
    assert_eq!(charged_and_blocked(found), (vec![STREAM], vec![(ECHO, STREAM)]));
    let elsewhere = RawFinding { conn: Some("other".to_owned()), ..seen(STREAM, 1) };
    let found = vec![elsewhere, missed(ECHO, MissKind::Absent, None, &[])];
    assert_eq!(charged_and_blocked(found), (vec![STREAM, ANSWERED], vec![(ECHO, ANSWERED)]));
}

#[test]
fn an_unusable_head_explains_that_the_rest_of_its_response_did_not_come() {
    let found = |kind, head: &str| {
        let mut missed = missed(ECHO, MissKind::Absent, None, &[]);
        let expectation = missed.missed.as_mut().unwrap();
        expectation.kind = kind;
        expectation.conn = Some("one".to_owned());
        vec![RawFinding { conn: Some(head.to_owned()), ..seen(HEAD, 1) }, missed]
    };
    assert_eq!(charged_and_blocked(found("response", "one")), (vec![HEAD], vec![(ECHO, HEAD)]));
    assert_eq!(charged_and_blocked(found("response", "two")), (vec![HEAD, ANSWERED], vec![(ECHO, ANSWERED)]));
    assert_eq!(charged_and_blocked(found("event", "one")).0.len(), 2, "what is awaited may be another event");
}

#[test]
fn what_somebody_else_may_have_refused_is_not_judged_and_charged_to_nobody() {
    let refusals = [Refusal { conn: Some("main".to_owned()), message: "refused with 503".to_owned() }];
    let attributed = |refusals| {
        let found = vec![missed(ECHO, MissKind::Different, Some(4), &["/status"])];
        attributed_beside((&[], refusals), false, found)
    };
    let refused = attributed(&refusals);
    assert!(refused.findings.is_empty());
    assert_eq!(refused.blocked.first().map(|blocked| (blocked.requirement, blocked.because)), Some((Some(ECHO), None)));
    let elsewhere = [Refusal { conn: Some("other".to_owned()), ..refusals[0].clone() }];
    assert_eq!(attributed(&elsewhere).findings.len(), 1);
}

#[test]
fn what_a_rule_sees_because_of_something_else_is_blocked_by_that() {
    assert_eq!(charged_and_blocked(vec![seen(ECHO, 5), seen(SHAPE, 4)]), (vec![SHAPE], vec![(ECHO, SHAPE)]));
    assert_eq!(charged_and_blocked(vec![seen(ECHO, 5), seen(STREAM, 4)]), (vec![ECHO, STREAM], vec![]));
}

#[test]
fn what_the_other_end_did_explains_nothing() {
    let theirs = RawFinding { fault: FaultOwner::End(End::Client), ..seen_at(SHAPE, 5, "/result") };
    let found = vec![theirs, missed(ECHO, MissKind::Different, Some(5), &["/result/message"])];
    assert_eq!(charged_and_blocked(found), (vec![SHAPE, ECHO], vec![]));
}

#[test]
fn what_is_refused_at_a_later_contact_is_charged_to_what_is_about_that() {
    let refused = || vec![missed(FIRST, MissKind::Failure, Some(5), &[])];
    assert_eq!(charged_and_blocked(refused()).0, [FIRST]);
    assert_eq!(charged_and_blocked_ids(&attributed(true, refused())).0, [AGAIN]);
    let mut absent = missed(FIRST, MissKind::Absent, None, &[]);
    absent.missed.as_mut().unwrap().kind = "opened";
    assert_eq!(charged_and_blocked_ids(&attributed(true, vec![absent])).0, [FIRST]);
}

#[test]
fn what_an_expectation_is_to_prove_itself_stays_its_own_where_only_what_was_needed_is_charged_elsewhere() {
    let charged = |way| charged_and_blocked_ids(&attributed(true, vec![missed(ECHO, way, Some(5), &[])])).0;
    assert_eq!(charged(MissKind::Different), [ECHO]);
    assert_eq!(charged(MissKind::Failure), [AGAIN]);
}

#[test]
fn a_step_that_finds_nobody_after_something_was_missed_says_nothing_of_its_own() {
    let findings = |way| {
        let step = RawFinding { requirement: None, ..missed(ECHO, way, None, &[]) };
        attributed(false, vec![missed(ECHO, MissKind::Different, Some(5), &["/result"]), step]).findings.len()
    };
    assert_eq!((findings(MissKind::Unreachable), findings(MissKind::Unwanted)), (1, 2));
}

#[test]
fn what_does_not_come_after_a_refusal_is_blocked_by_that() {
    let event = |way| {
        let mut event = missed(ECHO, way, None, &[]);
        event.missed.as_mut().unwrap().kind = "event";
        event
    };
    let refused = || missed(FIRST, MissKind::Failure, Some(5), &["/status"]);
    assert_eq!(charged_and_blocked(vec![refused(), event(MissKind::Absent)]), (vec![FIRST], vec![(ECHO, FIRST)]));
    assert_eq!(charged_and_blocked(vec![refused(), event(MissKind::Unwanted)]), (vec![FIRST, ECHO], vec![]));
    let response = missed(ECHO, MissKind::Absent, None, &[]);
    assert_eq!(charged_and_blocked(vec![refused(), response]).0, [FIRST, ANSWERED]);
}

#[test]
fn what_did_not_come_proves_nothing_where_what_came_cannot_be_used() {
    let beside = |conn: &str, index| {
        let absence = Absence { requirement: ECHO, conn: Some(conn.to_owned()), since: 3 };
        charged_and_blocked_ids(&attributed_beside((&[absence], &[]), false, vec![seen(STREAM, index)]))
    };
    assert_eq!(beside("main", 5), (vec![STREAM], vec![(ECHO, STREAM)]));
    assert_eq!(beside("main", 2), (vec![STREAM], vec![]), "it came before");
    assert_eq!(beside("other", 5), (vec![STREAM], vec![]), "it came elsewhere");
}
