//! What is blocked says what is violated in the end.

use super::*;

fn blocked(requirement: RequirementId, because: RequirementId) -> Play {
    let message = format!("{because} is broken");
    let blocked = vec![Blocked { requirement: Some(requirement), because: Some(because), message }];
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
