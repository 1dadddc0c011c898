//! One process that we started, with all that it starts in turn ([`SubjectProcess`]); how often a subject's process was
//! played at ([`Uses`]); and commands that are run for a while: stimuli, and what stops a subject.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use pty_process::Pty;
use rustix::process::{Signal, kill_process_group};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::config::TerminalSize;
use crate::trace::{EventKind, Exited, Launched, Recorder};

use super::SubjectError;
use super::driver::{self, Driver};
use super::output::{ProcessTap, Stream};
use super::surroundings::Surroundings;
use super::tree::{self, Tree, WaitedChild};

/// How long killing a tree may take.
pub(super) const KILL_BOUND: Duration = Duration::from_secs(5);
/// How long output is awaited that a process wrote just before its end.
pub(super) const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// A process of ours. Dropping it kills its tree.
pub(super) struct SubjectProcess {
    pid: u32,
    tree: Arc<Tree>,
    tap: ProcessTap,
    exit: watch::Receiver<Option<Exited>>,
    asked: Arc<AtomicBool>,
    driver: Option<Driver>,
    command: Vec<String>,
    /// How often it has let go of everything, to begin anew.
    resets: watch::Receiver<u64>,
    tasks: [JoinHandle<()>; 3],
    ended: bool,
}

impl SubjectProcess {
    /// Starts a command and records that. A process that is `driven` is spoken to through its stdin, and its stdout is
    /// read for lines of the driver contract. One with a terminal has that for everything else.
    pub(super) fn start(
        command: Vec<String>,
        surroundings: &Surroundings,
        tap: ProcessTap,
        driven: bool,
        terminal: Option<TerminalSize>,
    ) -> Result<Self, SubjectError> {
        Tree::prepare();
        let (mut child, terminal) =
            spawn(&command, surroundings, driven, terminal).map_err(|e| not_started(&command, e))?;
        let pid = child.id().unwrap_or_default();
        let awaited = WaitedChild::new(pid);
        let tree = Arc::new(Tree::of_subject(pid, surroundings.marker()));
        tap.record(EventKind::Launched(Launched { command: command.clone(), pid }));
        let (tell_reset, resets) = watch::channel(0);
        let driver = child.stdin.take().filter(|_| driven).map(Driver::new);
        let (stdout, out_tap) = (child.stdout.take(), tap.clone());
        let stderr = child.stderr.take();
        let err_tap = tap.clone();
        let (out_done, err_done) = (watch::channel(false), watch::channel(false));
        let readers = [
            tokio::spawn(async move {
                match stdout {
                    Some(pipe) if driven => driver::listen(out_tap, pipe, tell_reset).await,
                    Some(pipe) => out_tap.drain(Stream::Stdout, pipe).await,
                    None => {}
                }
                let _ = out_done.0.send(true);
            }),
            tokio::spawn(async move {
                match (stderr, terminal) {
                    (Some(pipe), _) => err_tap.drain(Stream::Stderr, pipe).await,
                    // What a terminal shows comes from both, but for the stdout of a driven one.
                    (None, Some(terminal)) if driven => err_tap.drain(Stream::Stderr, terminal).await,
                    (None, Some(terminal)) => err_tap.drain(Stream::Stdout, terminal).await,
                    (None, None) => {}
                }
                let _ = err_done.0.send(true);
            }),
        ];
        let asked = Arc::new(AtomicBool::new(false));
        let (tell, exit) = watch::channel(None);
        let waiter = {
            let (tap, asked, mut done) = (tap.clone(), asked.clone(), [out_done.1, err_done.1]);
            tokio::spawn(async move {
                let exited = wait_for(&mut child, pid, &asked).await;
                drop(awaited);
                // What it wrote last is to stand before its end, though a process that it left may keep the pipe open.
                for done in &mut done {
                    let _ = timeout(LAST_OUTPUT, done.wait_for(|done| *done)).await;
                }
                tap.flush();
                tap.record(EventKind::Exited(exited.clone()));
                let _ = tell.send(Some(exited));
            })
        };
        let [out, err] = readers;
        let tasks = [out, err, waiter];
        Ok(Self { pid, tree, tap, exit, asked, driver, command, resets, tasks, ended: false })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn tree(&self) -> &Arc<Tree> {
        &self.tree
    }

    pub(super) fn tap(&self) -> &ProcessTap {
        &self.tap
    }

    /// What it is driven by, if it is.
    pub(super) fn driver(&self) -> Option<&Driver> {
        self.driver.as_ref()
    }

    /// How it ended, if it did.
    pub(super) fn exited(&self) -> Option<Exited> {
        self.exit.borrow().clone()
    }

    /// The end of the process, which can be read also after [`SubjectProcess::finish`].
    pub(super) fn watch(&self) -> watch::Receiver<Option<Exited>> {
        self.exit.clone()
    }

    /// Waits for its end.
    pub(super) async fn ended(&self) -> Option<Exited> {
        let mut exit = self.exit.clone();
        exit.wait_for(Option::is_some).await.ok().and_then(|exited| exited.clone())
    }

    /// Has a driven one let go of everything, and wait to begin anew. Gives whether it did so in time; one that is to
    /// end, or has ended, does not.
    pub(super) async fn reset(&self, within: Duration) -> bool {
        let mut resets = self.resets.clone();
        let before = *resets.borrow_and_update();
        if self.asked.load(Ordering::SeqCst) || !self.driver.as_ref().is_some_and(Driver::reset) {
            return false;
        }
        let was_reset = timeout(within, resets.wait_for(|n| *n > before)).await;
        matches!(was_reset, Ok(Ok(_))) && self.exited().is_none()
    }

    /// Has a client that was reset begin anew; what it does goes to this trace. Returns whether the request could be sent.
    pub(super) fn begin(&self, recorder: Recorder, scenario: Option<&str>, server: Option<&str>) -> bool {
        self.tap.record_to(recorder);
        self.tap.record(EventKind::Launched(Launched { command: self.command.clone(), pid: self.pid }));
        self.exited().is_none() && self.driver.as_ref().is_some_and(|driver| driver.begin(scenario, server))
    }

    /// The end of the process is expected from here on.
    pub(super) fn will_exit(&self) {
        self.asked.store(true, Ordering::SeqCst);
    }

    /// Sends a signal to its group, where it has not ended.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        if self.exited().is_some() {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        let group = tree::id(self.pid).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(kill_process_group(group, signal)?)
    }

    /// Kills whatever is left of the tree, and waits until all of it is gone: how many there were apart from the
    /// process itself, and whether all are gone.
    pub(super) async fn finish(mut self) -> (usize, bool) {
        let tree = self.tree.clone();
        let killed = tokio::task::spawn_blocking(move || tree.kill(KILL_BOUND)).await;
        // It is dead: only the system has yet to say so.
        let ended = timeout(KILL_BOUND, self.ended()).await.is_ok();
        self.ended = true;
        self.tap.flush();
        let (left, gone) = killed.unwrap_or((0, false));
        (left, gone && ended)
    }
}

impl Drop for SubjectProcess {
    fn drop(&mut self) {
        if !self.ended {
            self.asked.store(true, Ordering::SeqCst);
            self.tree.kill(KILL_BOUND);
            self.tap.flush();
        }
        for task in &self.tasks[..2] {
            task.abort();
        }
    }
}

async fn wait_for(child: &mut Child, pid: u32, asked: &AtomicBool) -> Exited {
    let status = child.wait().await;
    let (code, signal) = status.as_ref().map_or((None, None), |status| (status.code(), signal_of(status)));
    Exited { pid, code, signal, asked: asked.load(Ordering::SeqCst) }
}

fn signal_of(status: &ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(status)
}

/// How a process ended, in words.
pub(super) fn how(exited: &Exited) -> String {
    match (exited.code, exited.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "in an unknown way".to_owned(),
    }
}

/// A command as one line, for people; quoted so that a shell would understand it.
pub(super) fn one_line(command: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    let quote = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    command.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// Starts a command, in a terminal where it is to have one. A driven one is spoken to over pipes all the same.
fn spawn(
    command: &[String],
    surroundings: &Surroundings,
    driven: bool,
    terminal: Option<TerminalSize>,
) -> io::Result<(Child, Option<Pty>)> {
    let Some(TerminalSize { rows, columns }) = terminal else {
        let mut prepared = surroundings.prepare(command);
        prepared
            .stdin(if driven { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        return Ok((prepared.spawn()?, None));
    };
    let (pty, its_end) = pty_process::open().map_err(of_terminal)?;
    pty.resize(pty_process::Size::new(rows, columns)).map_err(of_terminal)?;
    // It leads a session, and so a process group.
    let mut prepared = pty_process::Command::from(surroundings.prepare_in_group(command));
    if driven {
        prepared = prepared.stdin(Stdio::piped()).stdout(Stdio::piped());
    }
    let child = prepared.spawn(its_end).map_err(of_terminal)?;
    Ok((child, Some(pty)))
}

fn of_terminal(error: pty_process::Error) -> io::Error {
    match error {
        pty_process::Error::Io(error) => error,
        pty_process::Error::Rustix(error) => error.into(),
        other => io::Error::other(other),
    }
}

fn not_started(command: &[String], source: io::Error) -> SubjectError {
    let help = vec![advice(command, &source)];
    SubjectError::NotStarted { command: one_line(command), source, help }
}

/// What to do about a command that could not be run.
pub(super) fn advice(command: &[String], error: &io::Error) -> String {
    let program = command.first().map_or("", String::as_str);
    match error.kind() {
        io::ErrorKind::NotFound if program.contains('/') => {
            format!("check that {program} is there, and that the interpreter in its first line is")
        }
        io::ErrorKind::NotFound => format!("install `{program}`, or give its path: it is in no folder of PATH"),
        io::ErrorKind::PermissionDenied => format!("make it executable: chmod +x {program}"),
        _ => "the command is run without a shell; for shell syntax use: sh -c '…'".to_owned(),
    }
}

/// Tells the processes of a run from each other, in the order of their start.
static PROCESSES: AtomicU64 = AtomicU64::new(1);

/// The number of a process, and how often it was played at.
#[derive(Debug)]
pub(super) struct Uses {
    process: u64,
    plays: AtomicU64,
    passed: AtomicBool,
}

impl Default for Uses {
    fn default() -> Self {
        Self {
            process: PROCESSES.fetch_add(1, Ordering::Relaxed),
            plays: AtomicU64::new(0),
            passed: AtomicBool::new(false),
        }
    }
}

impl Uses {
    /// Counts a play. Gives the number of the process, and as how manieth play this is.
    pub(super) fn next(&self) -> (u64, u64) {
        (self.process, self.plays.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Notes that a play passed.
    pub(super) fn note_passed(&self) {
        self.passed.store(true, Ordering::Relaxed);
    }

    /// Whether a play passed.
    pub(super) fn has_passed(&self) -> bool {
        self.passed.load(Ordering::Relaxed)
    }
}

/// The signal of this name, without `SIG`.
pub(super) fn signal_named(name: &str) -> Option<Signal> {
    Some(match name {
        "TERM" => Signal::TERM,
        "INT" => Signal::INT,
        "HUP" => Signal::HUP,
        "KILL" => Signal::KILL,
        "STOP" => Signal::STOP,
        "CONT" => Signal::CONT,
        _ => return None,
    })
}

/// The exit code of a command that says that the subject cannot do what is asked for: the code for skipped tests of Automake.
pub(super) const UNABLE: i32 = 77;

/// Why a command, or a stimulus over a socket, did not do what it is for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// What went wrong: "ended with exit code 1".
    Failed(String),
    /// It says that the subject cannot do this, with its words.
    Unable(String),
}

/// How a command ended.
pub(super) struct CommandOutcome {
    /// Nothing where it succeeded.
    pub(super) problem: Option<Problem>,
    /// The same for a trace: `exit 0`.
    pub(super) short: String,
    /// The last lines that it wrote.
    pub(super) output: Vec<String>,
}

/// Runs a command to its end. One that takes longer than `within` is killed, with all that it started; what one
/// that ended in time leaves running is left to the end of the subject.
pub(super) async fn run_command(command: &[String], surroundings: &Surroundings, within: Duration) -> CommandOutcome {
    Tree::prepare();
    let spawned =
        surroundings.prepare(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(e) => {
            let problem = format!("could not be run: {e}; {}", advice(command, &e));
            let problem = Some(Problem::Failed(problem));
            return CommandOutcome { problem, short: format!("not started: {e}"), output: vec![] };
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
    let output = tap.recent();
    let unable = matches!(&ended, Ok(Ok(status)) if status.code() == Some(UNABLE));
    let problem = problem.map(|problem| match output.last() {
        Some(why) if unable => Problem::Unable(why.trim().to_owned()),
        _ => Problem::Failed(problem),
    });
    CommandOutcome { problem, short, output }
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
