//! Certifying an example as its user would.

use std::process::Command;

use serde_json::Value;

use super::processes::Shim;

/// Certifies an example, wrong in a way or sound. Gives the exit code, and what the report says of it.
pub fn certify(role: &str, shim: &Shim, options: &[&str], wrong: Option<&str>) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirecert"));
    command.args(["certify", role, "--progress", "none", "--report"]);
    command.arg(format!("json={}", report.display())).args(options);
    command.arg("--").arg(&shim.program).arg(&shim.script);
    if let Some(wrong) = wrong {
        command.args(["--wrong", wrong]);
    }
    command.current_dir(folder.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().expect("it can be run");
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
