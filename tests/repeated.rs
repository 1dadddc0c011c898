//! What was found is repeated: the command that a finding gives shows it again, or the finding says that it did not.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::judged::{judged, status};
use crate::program::wirecert_program;

fn certify(options: &[&str], launch: &[&str]) -> Value {
    let mut command = Command::new(wirecert_program());
    // How far it is reduced must not depend on the machine.
    command.args(["certify", "openctx-provider", "--timeout", "1s", "--confirm-time", "2m"]).args(options);
    let launch: Vec<_> = launch.iter().map(AsRef::as_ref).collect();
    judged(&mut command, &launch).1
}

fn mock(flaw: &str) -> [&str; 7] {
    [wirecert_program(), "mock", "openctx-provider", "--port", "{port}", "--flaw", flaw]
}

/// Runs the command that a finding gives, and gives what it finds.
fn repeated(finding: &Value) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let command = finding["repro"].as_str().unwrap();
    let command = command.strip_prefix("wirecert certify ").unwrap();
    let program = wirecert_program();
    let command = format!("'{program}' certify --progress none --report json='{}' {command}", report.display());
    Command::new("sh").arg("-c").arg(command).output().unwrap();
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    report["subjects"][0]["findings"].as_array().unwrap().clone()
}

fn findings(subject: &Value) -> &[Value] {
    subject["findings"].as_array().unwrap()
}

#[test]
fn what_shows_by_itself_is_repeated_by_its_scenario() {
    let subject = certify(&["--filter", "id(*/envelope/escapes*)"], &mock("json-with-nan"));
    assert_eq!(status(&subject, "envelope/json"), "violated");
    let finding = &findings(&subject)[0];
    assert_eq!(finding["depends"], Value::Null);
    assert_eq!(repeated(finding)[0]["requirement"], finding["requirement"]);
}

#[test]
fn what_shows_only_after_others_is_repeated_with_those_that_are_needed() {
    // Every third response that could have a null beside its error has one.
    let filter = "id(*/envelope/unknown-method*) | id(*/envelope/bad-params*)";
    let subject = certify(&["--filter", filter, "--jobs", "1"], &mock("result-null@sometimes"));
    let later: Vec<&Value> = findings(&subject).iter().filter(|f| f["depends"] == "state").collect();
    assert!(!later.is_empty(), "{:#}", subject["findings"]);
    for finding in later {
        let needed = finding["repro"].as_str().unwrap().matches("id(").count();
        // Of four before, three could go together, but only halves and single ones are tried.
        assert!((2..=5).contains(&needed), "{}", finding["repro"]);
        let again = repeated(finding);
        assert!(again.iter().any(|f| f["scenario"] == finding["scenario"]), "{again:#?}");
    }
}

#[test]
fn what_does_not_show_again_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let been = folder.path().join("been");
    let program = wirecert_program();
    // Only its first process is wrong.
    let script = format!(
        "[ -e '{0}' ] || {{ touch '{0}'; wrong='--flaw json-with-nan'; }}; exec '{program}' mock openctx-provider --port $1 $wrong",
        Path::new(&been).display()
    );
    let options = ["--filter", "id(*/envelope/escapes*)", "--jobs", "1", "--edition", "0.1"];
    let subject = certify(&options, &["sh", "-c", &script, "sh", "{port}"]);
    let found = findings(&subject);
    assert!(!found.is_empty() && found.iter().all(|f| f["depends"] == "chance"), "{found:#?}");
}
