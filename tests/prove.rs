//! `wirecert prove`: flaws are caught by the requirements that they break, and that is reported as soon as it is seen.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use crate::program::wirecert_program;

fn wirecert(args: &[&str]) -> Output {
    Command::new(wirecert_program()).args(args).output().expect("it can be run")
}

#[test]
fn a_flaw_is_played_against_until_it_is_caught() {
    let output = wirecert(&["prove", "openctx-provider", "--quick", "--only", "ascii-only", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let proof: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let [result] = proof["results"].as_array().expect("a list").as_slice() else { panic!("one case: {proof}") };
    // Many scenarios would catch this one.
    assert_eq!(result["caught_by"].as_array().expect("a list").len(), 1, "{result}");
    assert_eq!(result["case"]["kind"]["flaw"]["name"], "ascii-only");
}

#[test]
fn cases_of_several_roles_are_told_in_the_order_of_the_roles() {
    let output = wirecert(&["prove", "--quick", "--only", "byte-order-mark", "--json"]);
    let proof: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let roles: Vec<_> = proof["results"].as_array().expect("a list").iter().map(|r| &r["case"]["role"]).collect();
    assert!(roles.len() > 1, "{roles:?}");
    assert!(roles.is_sorted_by_key(|role| order(role)), "{roles:?}");
}

#[test]
fn flaws_with_modifiers_are_counted_by_modifier() {
    let output = wirecert(&["prove", "openctx-provider", "--modified", "--only", "ascii-only", "--only", "sound"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    for modifier in ["@late", "@sometimes", "@second", "@after-error"] {
        assert!(
            text.lines().any(|line| line.starts_with(&format!("{modifier}: ")) && line.contains(" of 1 flaws")),
            "{text}"
        );
    }
    assert!(text.ends_with("of 1 `must`s are caught with at least 2 modifiers\n"), "{text}");
}

/// The place of a role among all.
fn order(role: &Value) -> usize {
    let roles = wirecert::protocol::protocols().iter().flat_map(|protocol| protocol.roles);
    roles.map(|role| role.name).position(|name| role == name).expect("a role")
}

#[test]
fn what_is_not_there_is_told() {
    let output = wirecert(&["prove", "--only", "no-such-flaw"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("no flaw or freedom is left by what was asked for"), "{stderr}");
}

#[test]
fn a_repetition_ends_with_the_first_time_in_which_something_failed() {
    let place = tempfile::tempdir().expect("a folder");
    let (scenario, report) = (place.path().join("s.yaml"), place.path().join("r.json"));
    let text = "wirecert: 1\ntitle: t\nrole: amp-server\nedition: cli\nsteps:\n  - connect: {}\n  - repeat:\n      times: 3\n      steps:\n        \
                - expect: { response: { id: \"f${n}\" }, within: 50ms, proves: robustness/request-flood }\n";
    fs::write(&scenario, text).expect("it can be written");
    let report_option = format!("json={}", report.display());
    wirecert(&["run", scenario.to_str().expect("UTF-8"), "--self", "--report", &report_option]);
    let report: Value = serde_json::from_slice(&fs::read(&report).expect("it is there")).expect("JSON");
    let findings = report["subjects"][0]["findings"].as_array().expect("a list");
    assert_eq!(findings.len(), 1, "{findings:#?}");
}
