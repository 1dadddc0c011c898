//! The scenarios that come with wirecert: every file of them is sound, and together they reach every requirement.

use std::collections::BTreeSet;
use std::path::PathBuf;

use wirecert::diagnostic::render;
use wirecert::scenario::load;

/// What only a whole trace can show: rules judge it in every play, and no scenario has to ask for it.
const JUDGED_BY_RULES: &[&str] = &[
    "framing/close-code",
    "framing/close-last",
    "framing/close-reason",
    "framing/control-length",
    "framing/control-whole",
    "framing/fragments",
    "framing/opcode",
    "framing/reserved-bits",
    "framing/unmasked",
    "framing/utf8",
    "metadata/data",
    "visible-files/no-duplicates",
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
    "framing/client-utf8",
];

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

#[test]
fn every_requirement_of_amp_is_proved_by_a_scenario_or_judged_by_a_rule() {
    let proved: BTreeSet<&str> = load_all().plans.iter().flat_map(|plan| plan.requirements.clone()).collect();
    let protocol = &wirecert::protocol::amp::PROTOCOL;
    let unproved: Vec<&str> = (protocol.requirements)()
        .iter()
        .filter(|r| !proved.contains(r.id))
        .filter(|r| !JUDGED_BY_RULES.contains(&r.short()))
        .map(|r| r.id)
        .collect();
    assert_eq!(unproved, Vec::<&str>::new());
}

#[test]
fn no_scenario_asks_for_what_rules_judge_alone() {
    let proved: BTreeSet<&str> = load_all().plans.iter().flat_map(|plan| plan.requirements.clone()).collect();
    let idle: Vec<&&str> =
        JUDGED_BY_RULES.iter().filter(|short| proved.iter().any(|id| id.ends_with(*short))).collect();
    assert!(idle.is_empty(), "these need not be listed any more: {idle:?}");
}
