//! `wirecert certify amp-client --observe`: a client that is watched, and judged by what it does by itself.

use assert_cmd::Command;
use serde_json::Value;

use crate::program::wirecert_program;

/// Our own client as one that nobody drives: its stdin stays open, and says nothing.
fn watched(flags: &str) -> (Option<i32>, Value) {
    let binary = wirecert_program();
    let dir = tempfile::tempdir().expect("a folder");
    let report = dir.path().join("report.json");
    let client = format!("tail -f /dev/null | exec '{binary}' mock amp-client --edition cli {flags}");
    let run = Command::new(binary)
        .args(["certify", "amp-client", "--edition", "cli", "--observe", "1500ms", "--progress", "none", "--report"])
        .arg(format!("json={}", report.display()))
        .args(["--", "sh", "-c", &client])
        .output()
        .expect("it runs");
    let report = std::fs::read(report).expect("there is a report");
    (run.status.code(), serde_json::from_slice(&report).expect("JSON"))
}

fn status<'a>(report: &'a Value, requirement: &str) -> &'a str {
    let all = report["subjects"][0]["requirements"].as_array().expect("requirements");
    let of = |r: &&Value| r["id"].as_str().is_some_and(|id| id.ends_with(requirement));
    all.iter().find(of).unwrap_or_else(|| panic!("{requirement} is in the catalogue"))["status"]
        .as_str()
        .expect("a word")
}

#[test]
fn a_sound_client_is_seen_to_come_and_to_come_again_and_nothing_is_said_about_the_rest() {
    let (code, report) = watched("");
    assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("partial")));
    assert_eq!(status(&report, "/discovery/client-finds"), "met");
    assert_eq!(status(&report, "/connection/client-key-fresh"), "met", "it has to come twice for that");
    assert_eq!(status(&report, "/envelope/client-matched"), "not_assessed");
}

#[test]
fn a_client_that_breaks_a_rule_is_found_out_without_being_driven() {
    let (code, report) = watched("--flaw same-key");
    assert_eq!((code, &report["verdict"]), (Some(1), &Value::from("nonconforming")));
    assert_eq!(status(&report, "/connection/client-key-fresh"), "violated");
}

#[test]
fn a_client_that_ends_for_reasons_of_its_own_is_not_judged() {
    let binary = wirecert_program();
    let client = format!(
        "tail -f /dev/null | '{binary}' mock amp-client --edition cli > /dev/null & sleep 1; echo not logged in; exit 3"
    );
    let output = Command::new(binary)
        .args(["certify", "amp-client", "--edition", "cli", "--observe", "3s", "--progress", "none", "--"])
        .args(["sh", "-c", &client])
        .output()
        .expect("it runs");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{stdout}");
    assert!(stdout.contains("(exit code 3); its last output: not logged in"), "{stdout}");
}
