//! Commands that are run for a while: stimuli, and what stops a subject.

use std::process::Stdio;
use std::time::Duration;

use tokio::time::timeout;

use super::output::{ProcessTap, Stream};
use super::process::{KILL_BOUND, LAST_OUTPUT, advice};
use super::surroundings::Surroundings;
use super::tree::{Tree, WaitedChild};

/// How a command ended.
pub(super) struct CommandOutcome {
    /// Nothing where it succeeded, else what went wrong: "ended with exit code 1".
    pub(super) problem: Option<String>,
    /// The same for a trace: `exit 0`.
    pub(super) short: String,
    /// The last lines that it wrote.
    pub(super) output: Vec<String>,
}

/// Runs a command to its end. One that takes longer than `within` is killed, with all that it started; what one
/// that ended in time leaves running is left to the end of the subject.
pub(super) async fn run(command: &[String], surroundings: &Surroundings, within: Duration) -> CommandOutcome {
    Tree::prepare();
    let spawned =
        surroundings.prepare(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(e) => {
            let problem = format!("could not be run: {e}; {}", advice(command, &e));
            return CommandOutcome { problem: Some(problem), short: format!("not started: {e}"), output: vec![] };
        }
    };
    let pid = child.id().unwrap_or_default();
    let _awaited = WaitedChild::new(pid);
    let mut guard = KillOnDrop(Some(Tree::of_command(pid)));
    // Only its last lines are wanted, so nothing of it goes into a trace.
    let tap = ProcessTap::unrecorded();
    let readers = [
        child.stdout.take().map(|pipe| tokio::spawn(tap.clone().drain(Stream::Stdout, pipe))),
        child.stderr.take().map(|pipe| tokio::spawn(tap.clone().drain(Stream::Stderr, pipe))),
    ];
    let ended = timeout(within, child.wait()).await;
    let (problem, short) = match &ended {
        Ok(Ok(status)) if status.success() => (None, "exit 0".to_owned()),
        Ok(Ok(status)) => match status.code() {
            Some(code) => (Some(format!("ended with exit code {code}")), format!("exit {code}")),
            None => (Some(format!("ended by {status}")), status.to_string()),
        },
        Ok(Err(e)) => (Some(format!("could not be waited for: {e}")), e.to_string()),
        Err(_) => {
            let limit = super::error::show(within);
            (Some(format!("did not end within {limit}")), format!("killed after {limit}"))
        }
    };
    if ended.is_err() {
        if let Some(tree) = guard.0.take() {
            let _ = tokio::task::spawn_blocking(move || tree.kill(KILL_BOUND)).await;
        }
        let _ = timeout(KILL_BOUND, child.wait()).await;
    }
    guard.0 = None;
    for mut reader in readers.into_iter().flatten() {
        // What it left running may keep the pipe open for good.
        if timeout(LAST_OUTPUT, &mut reader).await.is_err() {
            reader.abort();
        }
    }
    CommandOutcome { problem, short, output: tap.recent() }
}

/// Kills the command where waiting for it is given up.
struct KillOnDrop(Option<Tree>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if let Some(tree) = &self.0 {
            tree.kill(KILL_BOUND);
        }
    }
}
