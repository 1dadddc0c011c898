//! `--report sarif=PATH`: what code scanning is reported.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::wirecert_program;

const GREET: &str = "wirecert: 1
title: A greeting is answered
role: amp-server
edition: cli
steps:
  - connect: {}
  - request: { as: a, method: ping, params: { message: hello } }
  - expect: { response: { to: a, result: { message: hello } }, proves: ping/echo }
";

/// Runs wirecert at our own mock of a role, wrong in some ways. Gives the exit code, and the one run of the log.
fn run(dir: &Path, args: &[&str], role: &str, flaws: &[&str]) -> (Option<i32>, Value) {
    let mut command = Command::new(wirecert_program());
    command.current_dir(dir).env("TMPDIR", dir).args(args).args(["--progress", "none", "--report", "sarif=log.sarif"]);
    command.args(["--", wirecert_program(), "mock", role]);
    command.args(match role {
        "amp-server" => ["--edition", "cli", "--workspace", "{workspace}"].as_slice(),
        _ => ["--port", "{port}"].as_slice(),
    });
    command.args(flaws.iter().flat_map(|flaw| ["--flaw", *flaw]));
    let output = command.output().expect("it can be run");
    let text = fs::read(dir.join("log.sarif")).unwrap_or_else(|_| panic!("no log: {output:?}"));
    let mut log: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].as_str().is_some_and(|url| url.ends_with("/sarif-schema-2.1.0.json")), "{log}");
    let runs = log["runs"].as_array_mut().expect("a list");
    assert_eq!(runs.len(), 1);
    (output.status.code(), runs.remove(0))
}

/// The first result of a rule, whose index has to lead to the rule. Gives it with the rule.
fn result<'a>(run: &'a Value, rule: &str) -> (&'a Value, &'a Value) {
    let results = run["results"].as_array().expect("a list");
    let result = results.iter().find(|r| r["ruleId"] == rule).unwrap_or_else(|| panic!("no {rule} in {results:#?}"));
    let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().expect("an index") as usize];
    assert_eq!(rule["id"], result["ruleId"]);
    (result, rule)
}

#[test]
fn findings_are_results_of_the_rules_that_they_break_and_the_baseline_suppresses_them() {
    let place = TempDir::new().expect("a folder");
    let known = "- requirement: openctx/0.1/http/close-asked\n  reason: fixed in 2.1\n";
    fs::write(place.path().join("known.yaml"), known).expect("it can be written");
    let filter = "id(openctx-provider/0.1/http/close-*) | area(meta)";
    let args = ["certify", "openctx-provider", "--filter", filter, "--baseline", "known.yaml"];
    let (code, run) = run(place.path(), &args, "openctx-provider", &["close-ignored", "name-empty"]);
    assert_eq!((code, &run["properties"]["verdict"]), (Some(0), &json!("partial")));
    assert_eq!(run["automationDetails"]["id"], "wirecert/wirecert/openctx-provider/0.1/");
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);

    let (must, rule) = result(&run, "openctx/0.1/http/close-asked");
    assert_eq!((&must["level"], &rule["defaultConfiguration"]["level"]), (&json!("error"), &json!("error")));
    let suppressions = json!([{ "kind": "external", "status": "accepted", "justification": "fixed in 2.1" }]);
    assert_eq!(must["suppressions"], suppressions);
    let location = &must["locations"][0]["logicalLocations"][0];
    assert_eq!(location["fullyQualifiedName"], "openctx-provider/0.1/http/close-asked");
    assert_eq!(
        must["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        "scenarios/openctx-provider/http/close-asked.yaml"
    );
    for key in ["shortDescription", "fullDescription", "help"] {
        assert!(rule[key]["text"].as_str().is_some_and(|text| !text.is_empty()), "{key} of {rule:#}");
    }
    assert_eq!(
        (&rule["properties"]["status"], &rule["properties"]["requirementLevel"]),
        (&json!("violated"), &json!("must"))
    );

    let (should, rule) = result(&run, "openctx/0.1/meta/name-text");
    assert_eq!((&should["level"], &rule["defaultConfiguration"]["level"]), (&json!("warning"), &json!("warning")));
    assert_eq!(should["suppressions"], json!([]));
}

#[test]
fn a_result_is_at_the_line_of_the_users_scenario_that_did_not_come_true() {
    let place = TempDir::new().expect("a folder");
    fs::write(place.path().join("my case.yaml"), GREET).expect("it can be written");
    let (code, run) = run(place.path(), &["run", "my case.yaml"], "amp-server", &["ping-says-pong"]);
    assert_eq!((code, &run["properties"]["verdict"]), (Some(1), &json!("nonconforming")));
    let (echo, _) = result(&run, "amp/cli/ping/echo");
    let expected = json!({ "artifactLocation": { "uri": "my%20case.yaml" }, "region": { "startLine": 8 } });
    assert_eq!(echo["locations"][0]["physicalLocation"], expected);
    assert_eq!((&echo["properties"]["expected"], &echo["properties"]["actual"]), (&json!("hello"), &json!("pong")));
    let text = echo["message"]["text"].as_str().expect("a text");
    assert_eq!(text.replace("{{", "").replace("}}", "").matches(['{', '}']).count(), 0, "{text}");
}

#[test]
fn the_same_finding_has_the_same_fingerprint_in_every_run_and_another_has_another() {
    let place = TempDir::new().expect("a folder");
    fs::write(place.path().join("greet.yaml"), GREET).expect("it can be written");
    // Of the first result of a rule, without the number that tells repetitions apart.
    let print = |flaw: &str, rule: &str| {
        let (_, run) = run(place.path(), &["run", "greet.yaml"], "amp-server", &[flaw]);
        let print = result(&run, rule).0["partialFingerprints"]["wirecert/v1"].as_str().expect("a text").to_owned();
        print.split_once(':').expect("a number at its end").0.to_owned()
    };
    let echo = print("ping-says-pong", "amp/cli/ping/echo");
    assert_eq!(echo, print("ping-says-pong", "amp/cli/ping/echo"));
    assert_ne!(echo, print("ping-renamed", "amp/cli/ping/result"));
}

#[test]
fn a_subject_that_could_not_be_judged_is_no_success() {
    let place = TempDir::new().expect("a folder");
    let (code, run) = run(place.path(), &["certify", "openctx-provider"], "openctx-provider", &["no-such-flaw"]);
    assert_eq!((code, &run["properties"]["verdict"]), (Some(3), &json!("incomplete")));
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let reported = &invocation["toolExecutionNotifications"][0];
    assert_eq!(reported["level"], "error");
    let text = reported["message"]["text"].as_str().expect("a text");
    assert!(text.starts_with("not judged: the subject ended before it was ready"), "{text}");
    assert_eq!(run["results"], json!([]));
}

#[test]
fn what_was_not_assessed_is_told_and_is_no_success() {
    let place = TempDir::new().expect("a folder");
    // Nobody moves the cursor of this editor.
    let (code, run) = run(place.path(), &["certify", "amp-server", "--edition", "cli"], "amp-server", &[]);
    assert_eq!((code, &run["properties"]["verdict"]), (Some(4), &json!("incomplete")));
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let reported = invocation["toolExecutionNotifications"].as_array().expect("a list");
    let open = reported.iter().find(|n| n["level"] == "warning").expect("a warning");
    let rule = &open["associatedRule"];
    assert_eq!(run["tool"]["driver"]["rules"][rule["index"].as_u64().expect("an index") as usize]["id"], rule["id"]);
    assert!(open["message"]["text"].as_str().is_some_and(|t| t.starts_with("nothing was learnt about amp/cli/")));
}
