//! What a report says, for tests that certify a subject as its user would.

use std::ffi::OsStr;
use std::process::Command;

use serde_json::Value;

/// Runs a `wirecert certify` for one subject, which this launches, if it says anything. Gives the exit code, and what the
/// report says of the subject.
pub fn judged(command: &mut Command, launch: &[&OsStr]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.json");
    command.args(["--progress", "none", "--report", &format!("json={}", report.display())]);
    if !launch.is_empty() {
        command.arg("--").args(launch);
    }
    let output = command.current_dir(folder.path()).env("TMPDIR", folder.path()).output().expect("it can be run");
    let text = std::fs::read(&report).unwrap_or_else(|_| panic!("no report: {output:?}"));
    let mut report: Value = serde_json::from_slice(&text).expect("JSON");
    (output.status.code(), report["subjects"][0].take())
}

/// The status of a requirement in a report.
pub fn status<'a>(subject: &'a Value, requirement: &str) -> &'a str {
    let all = subject["requirements"].as_array().expect("a list");
    let found = all.iter().find(|r| r["id"].as_str().is_some_and(|id| id.ends_with(requirement)));
    found.and_then(|r| r["status"].as_str()).unwrap_or("unknown")
}
