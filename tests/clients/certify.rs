//! Certifying an example as its user would.

use std::ffi::OsStr;
use std::process::Command;

use serde_json::Value;

use super::processes::Shim;
use crate::judged::judged;
pub use crate::judged::status;
use crate::program::wirecert_program;

/// Certifies an example, wrong in a way or sound, with a process for each scenario. Gives the exit code, and what the report
/// says of it.
pub fn certify(role: &str, shim: &Shim, options: &[&str], wrong: Option<&str>) -> (Option<i32>, Value) {
    let mut command = Command::new(wirecert_program());
    command.args(["certify", role, "--no-confirm"]).args(options);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let mut launch = vec![shim.program.as_ref(), shim.script.as_ref()];
    launch.extend(wrong.iter().flat_map(|wrong| ["--wrong", wrong]).map(OsStr::new));
    judged(&mut command, &launch)
}

/// Certifies an example by its own subject file: a job has one process for its scenarios.
pub fn certify_as_described(shim: &Shim, options: &[&str]) -> (Option<i32>, Value) {
    let mut command = Command::new(wirecert_program());
    command.arg("certify").arg("--subject").arg(shim.subject()).args(options);
    command.args(["--retries", "3"]).env("PYTHONDONTWRITEBYTECODE", "1");
    judged(&mut command, &[])
}

/// Asserts that each scenario of a report could be judged.
pub fn assert_all_judged(subject: &Value) {
    let scenarios = subject["scenarios"].as_array().into_iter().flatten();
    let unjudged: Vec<_> = scenarios.filter(|scenario| scenario["status"] == "error").collect();
    assert!(unjudged.is_empty(), "could not be judged: {unjudged:#?}");
}
