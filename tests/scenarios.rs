//! The scenarios that come with wirecert: every file of them is sound, and together they reach every requirement.

use std::collections::BTreeSet;
use std::path::PathBuf;

use wirecert::diagnostic::render;
use wirecert::protocol::{Level, Protocol, amp, amplifier, openctx, role};
use wirecert::scenario::{Expectation, Step, StepKind, load};
use wirecert::trace::End;

/// What only a whole trace can show: rules judge it in every play, and no scenario has to ask for it.
const JUDGED_BY_RULES: &[&str] = &[
    "framing/close-code",
    "framing/close-last",
    "framing/close-payload",
    "framing/close-reason",
    "framing/control-length",
    "framing/control-whole",
    "framing/fragments",
    "framing/opcode",
    "framing/reserved-bits",
    "framing/unmasked",
    "framing/utf8",
    "metadata/data",
    "guide/selection/ordered",
    "visible-files/no-duplicates",
    "diagnostics/client-absolute-path",
    "edit-file/client-absolute-path",
    "envelope/client-id-unique",
    "envelope/client-known-method",
    "framing/client-close-code",
    "framing/client-close-last",
    "framing/client-close-payload",
    "framing/client-close-reason",
    "framing/client-control-length",
    "framing/client-control-whole",
    "framing/client-fragments",
    "framing/client-json",
    "framing/client-masked",
    "framing/client-one-frame",
    "framing/client-opcode",
    "framing/client-reserved-bits",
    "framing/client-shortest-length",
    "framing/client-text-frames",
    "ping/client-params",
    "read-file/client-absolute-path",
    "read-file/client-params",
];

/// The same of OpenCtx.
const JUDGED_BY_RULES_OF_OPENCTX: &[&str] = &[
    "annotations/client-extra-params",
    "annotations/client-params",
    "annotations/client-uri-syntax",
    "envelope/client-json",
    "envelope/client-members",
    "envelope/client-method",
    "envelope/client-object",
    "envelope/client-params",
    "envelope/client-settings-type",
    "http/client-content-type",
    "http/client-host",
    "http/client-length",
    "http/client-no-bom",
    "http/client-plain-body",
    "http/client-utf-8",
    "http/client-valid-head",
    "items/client-extra-params",
    "items/client-mention-shape",
    "items/client-params",
    "mentions/client-auto-include",
    "mentions/client-extra-params",
    "meta/client-params",
    "meta/client-params-empty",
];

/// The same of its providers: members of results and errors, and how a response is written.
const JUDGED_BY_RULES_OF_OPENCTX_PROVIDERS: &str = include_str!("judged_by_rules/openctx-provider.txt");

/// The same of servers of Amplifier: members of answers and events, and what follows from the names of events.
const JUDGED_BY_RULES_OF_AMPLIFIER_SERVERS: &str = include_str!("judged_by_rules/amplifier-server.txt");

/// The same of its clients.
const JUDGED_BY_RULES_OF_AMPLIFIER_CLIENTS: &str = include_str!("judged_by_rules/amplifier-client.txt");

fn load_all() -> wirecert::scenario::Loaded {
    load(&[PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenarios")])
}

#[test]
fn every_scenario_file_is_sound() {
    let loaded = load_all();
    let faults: Vec<String> =
        loaded.diagnostics.iter().map(|d| render(d, wirecert::diagnostic::Style::Plain)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(!loaded.plans.is_empty());
}

fn proved() -> BTreeSet<&'static str> {
    load_all().plans.iter().flat_map(|plan| plan.requirements.clone()).collect()
}

/// What binds either end, is proved by no scenario, and not listed as judged by rules.
fn unproved(protocol: &Protocol, binds: &[End], judged_by_rules: &[&str]) -> Vec<&'static str> {
    let proved = proved();
    (protocol.requirements)()
        .iter()
        .filter(|r| binds.contains(&r.binds) && !proved.contains(r.id))
        .filter(|r| !judged_by_rules.iter().any(|judged| r.id.ends_with(&format!("/{judged}"))))
        .map(|r| r.id)
        .collect()
}

#[test]
fn every_requirement_of_amp_is_proved_by_a_scenario_or_judged_by_a_rule() {
    let unproved = unproved(&amp::PROTOCOL, &[End::Client, End::Server], JUDGED_BY_RULES);
    assert_eq!(unproved, Vec::<&str>::new());
}

#[test]
fn every_requirement_of_servers_of_openctx_is_proved_by_a_scenario_or_judged_by_a_rule() {
    let judged: Vec<&str> = JUDGED_BY_RULES_OF_OPENCTX_PROVIDERS.lines().collect();
    let unproved = unproved(&openctx::PROTOCOL, &[End::Server], &judged);
    assert_eq!(unproved, Vec::<&str>::new());
}

#[test]
fn every_requirement_of_clients_of_openctx_is_proved_by_a_scenario_or_judged_by_a_rule() {
    let unproved = unproved(&openctx::PROTOCOL, &[End::Client], JUDGED_BY_RULES_OF_OPENCTX);
    assert_eq!(unproved, Vec::<&str>::new());
}

#[test]
fn every_requirement_of_servers_of_amplifier_is_proved_by_a_scenario_or_judged_by_a_rule() {
    let judged: Vec<&str> = JUDGED_BY_RULES_OF_AMPLIFIER_SERVERS.lines().collect();
    let unproved = unproved(&amplifier::PROTOCOL, &[End::Server], &judged);
    assert_eq!(unproved, Vec::<&str>::new());
}

#[test]
fn every_requirement_of_clients_of_amplifier_is_proved_by_a_scenario_or_judged_by_a_rule() {
    let judged: Vec<&str> = JUDGED_BY_RULES_OF_AMPLIFIER_CLIENTS.lines().collect();
    let unproved = unproved(&amplifier::PROTOCOL, &[End::Client], &judged);
    assert_eq!(unproved, Vec::<&str>::new());
}

#[test]
fn no_scenario_asks_for_what_rules_judge_alone() {
    let proved = proved();
    let amp = JUDGED_BY_RULES.iter().map(|short| ("amp/", short));
    let providers: Vec<&str> = JUDGED_BY_RULES_OF_OPENCTX_PROVIDERS.lines().collect();
    let openctx = JUDGED_BY_RULES_OF_OPENCTX.iter().chain(&providers).map(|short| ("openctx/", short));
    let amplifier = [JUDGED_BY_RULES_OF_AMPLIFIER_SERVERS, JUDGED_BY_RULES_OF_AMPLIFIER_CLIENTS];
    let amplifier: Vec<&str> = amplifier.iter().flat_map(|list| list.lines()).collect();
    let amplifier = amplifier.iter().map(|short| ("amplifier/", short));
    let asked = |(protocol, short): &(&str, &&str)| {
        proved.iter().any(|id| id.starts_with(protocol) && id.ends_with(&format!("/{short}")))
    };
    let idle: Vec<_> = amp.chain(openctx).chain(amplifier).filter(asked).collect();
    assert!(idle.is_empty(), "these need not be listed any more: {idle:?}");
}

fn expectations(steps: &[Step]) -> Vec<&Expectation> {
    let mut all = vec![];
    for step in steps {
        match &step.kind {
            StepKind::Expect(expectation) => all.push(expectation),
            StepKind::Repeat { steps, .. } => all.extend(expectations(steps)),
            _ => {}
        }
    }
    all
}

#[test]
fn no_answer_that_must_come_is_waited_for_less_long_than_a_subject_may_take_that_is_only_slow() {
    for plan in load_all().plans {
        let Some((protocol, role)) = role(plan.role).filter(|(protocol, _)| protocol.name != amp::PROTOCOL.name) else {
            continue;
        };
        let binds = |id: &&str| (protocol.requirements)().iter().any(|r| r.id == *id && r.level == Level::Must);
        for expectation in expectations(&plan.steps) {
            let answer = expectation.any_of.iter().flat_map(|o| &o.parts).any(|part| part.kind.name == "response");
            let must = expectation.proves.iter().find(|id| binds(id));
            let within = expectation.within.unwrap_or(role.patience);
            assert!(!answer || must.is_none() || within >= role.patience, "{}: {must:?} within {within:?}", plan.id);
        }
    }
}
