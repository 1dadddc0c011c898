//! Subjects of all kinds, as real processes.

mod driving;
mod ending;
mod modules;
mod starting;

use crate::config::{Access, Launch, SubjectSpec};
use crate::subject::testing::{TestTrace, spec};
use crate::subject::{RunDir, Running, Start, SubjectError};

const SERVER: &str = include_str!("tests/server.py");

/// The server of `server.py`, with these arguments.
fn server(arguments: &[&str]) -> SubjectSpec {
    spec(&[&["python3", "-c", SERVER][..], arguments].concat())
}

fn with(spec: SubjectSpec, change: impl FnOnce(&mut Launch)) -> SubjectSpec {
    let mut launch = spec.launch().unwrap().clone();
    change(&mut launch);
    SubjectSpec { access: Access::Launch(launch), ..spec }
}

fn sh(script: &str) -> SubjectSpec {
    spec(&["sh", "-c", script])
}

fn run_dir(spec: &SubjectSpec) -> RunDir {
    RunDir::create(spec.launch().unwrap()).unwrap()
}

async fn start(spec: &SubjectSpec, run_dir: &RunDir, trace: &TestTrace) -> Result<Running, SubjectError> {
    Running::launch(Start::new(spec, run_dir, trace.recorder())).await
}

/// What stopped a start.
async fn refusal(spec: &SubjectSpec) -> (SubjectError, TestTrace) {
    let (run_dir, trace) = (run_dir(spec), TestTrace::new());
    let error = start(spec, &run_dir, &trace).await.err().expect("it should not start");
    (error, trace)
}

fn pids(run_dir: &RunDir) -> Vec<u32> {
    let text = std::fs::read_to_string(run_dir.workspace().join("pids")).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}
