//! What a command has of its process: the two streams of the [`Terminal`], the exit codes ([`Exit`], and [`CliError`], which
//! carries one), the asynchronous runtime, and the signals that end it.

use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::time::Duration;

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::diagnostic::{Diagnostic, Severity, Style, render_all};
use crate::judge::Standing;
use crate::play::Cancel;
use crate::signals::EndSignals;
use crate::subject::RunError;
use crate::trace::TraceFileStatus;

/// How to print.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// When to colour.
    pub color: ColorChoice,
    /// 0 as usual, negative for less, positive for more.
    pub verbosity: i8,
}

/// Where commands print: results to stdout, everything else to stderr.
///
/// Texts may hold ANSI colours; the streams drop them where they are not wanted. A closed pipe is never an
/// error: its reader has enough, and the exit code still gives the outcome.
pub struct Terminal {
    output: Output,
    stdout: AutoStream<io::Stdout>,
    stderr: AutoStream<io::Stderr>,
    /// The first write to stdout that failed, other than for a closed pipe.
    broken: Option<io::Error>,
    closed: bool,
    /// What waits to be printed, while something else has the terminal.
    held: Option<Vec<Held>>,
}

/// A text that waits to be printed.
enum Held {
    Stdout(String),
    Stderr(String),
}

impl Terminal {
    /// The terminal of this process.
    pub fn new(output: Output) -> Self {
        Self {
            output,
            stdout: AutoStream::new(io::stdout(), output.color),
            stderr: AutoStream::new(io::stderr(), output.color),
            broken: None,
            closed: false,
            held: None,
        }
    }

    /// Keeps what is printed from here on until the end: something else has the terminal.
    pub fn hold(&mut self) {
        self.held.get_or_insert_default();
    }

    /// Prints what was kept.
    fn release(&mut self) {
        for text in self.held.take().into_iter().flatten() {
            match text {
                Held::Stdout(text) => self.result(&text),
                Held::Stderr(text) => self.write_stderr(&text),
            }
        }
    }

    /// Whether stdout shows colours.
    pub fn is_colored(&self) -> bool {
        self.stdout.current_choice() != ColorChoice::Never
    }

    /// How it prints, for those who open streams of their own.
    pub fn output(&self) -> Output {
        self.output
    }

    /// Whether somebody may be watching stderr.
    pub fn is_watched(&self) -> bool {
        io::stderr().is_terminal()
    }

    /// Whether anybody still reads stdout.
    pub fn is_read(&self) -> bool {
        !self.closed && self.broken.is_none()
    }

    /// Writes a result to stdout as it is.
    pub fn result(&mut self, text: &str) {
        if self.closed || self.broken.is_some() {
            return;
        }
        if let Some(held) = &mut self.held {
            held.push(Held::Stdout(text.to_owned()));
            return;
        }
        // In one piece: the stream itself writes what stands between two colours by itself.
        let written = match self.stdout.current_choice() {
            ColorChoice::Never => io::stdout().write_all(strip_str(text).to_string().as_bytes()),
            _ => self.stdout.write_all(text.as_bytes()),
        };
        match written {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::BrokenPipe => self.closed = true,
            Err(e) => self.broken = Some(e),
        }
    }

    /// Writes a text to stderr as it is, where stdout is taken.
    pub fn aside(&mut self, text: &str) {
        self.write_stderr(text);
    }

    /// Writes a line about what goes on to stderr, unless `-q`.
    pub fn progress(&mut self, line: &str) {
        self.say(0, line);
    }

    /// Writes a line to stderr where `-v` asks for more.
    pub fn detail(&mut self, line: &str) {
        self.say(1, line);
    }

    /// The exit code of a command that wrote a trace beside: the given one, or that of an error if the trace is not whole,
    /// which is reported.
    pub fn trace_written(&mut self, trace: &TraceFileStatus, exit: Exit) -> Exit {
        match trace.outcome() {
            Ok(_) => exit,
            Err(error) => {
                self.diagnostics(&[Diagnostic::error("trace/write", error.to_string())]);
                Exit::USAGE
            }
        }
    }

    /// Draws what is wrong on stderr; with `-qq` only errors.
    pub fn diagnostics(&mut self, diagnostics: &[Diagnostic]) {
        let is_shown = |d: &&Diagnostic| d.severity == Severity::Error || self.output.verbosity > -2;
        let text = render_all(&diagnostics.iter().filter(is_shown).cloned().collect::<Vec<_>>(), Style::Coloured);
        self.write_stderr(&text);
    }

    /// Draws why a command gave up; gives its exit code.
    pub fn explain(&mut self, error: &CliError) -> Exit {
        self.diagnostics(&error.diagnostics);
        error.exit
    }

    /// Writes out what is still buffered. A result that could not be written (a full disk) is an error of its
    /// own where nothing worse happened.
    pub fn close(mut self, exit: Exit) -> Exit {
        self.release();
        if let Err(e) = self.stdout.flush()
            && e.kind() != ErrorKind::BrokenPipe
            && self.broken.is_none()
        {
            self.broken = Some(e);
        }
        match self.broken.take() {
            None => exit,
            Some(e) => {
                self.diagnostics(&[Diagnostic::error("output", format!("cannot write the result to stdout: {e}"))]);
                if exit == Exit::OK { Exit::USAGE } else { exit }
            }
        }
    }

    fn say(&mut self, from: i8, line: &str) {
        if self.output.verbosity >= from {
            self.write_stderr(&format!("{line}\n"));
        }
    }

    fn write_stderr(&mut self, text: &str) {
        if let Some(held) = &mut self.held {
            held.push(Held::Stderr(text.to_owned()));
            return;
        }
        // There is nobody left to tell if this fails.
        let _ = self.stderr.write_all(text.as_bytes());
    }
}

/// What the process ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(pub u8);

impl Exit {
    /// All is well.
    pub const OK: Self = Self(0);
    /// A `must` is violated outside the baseline, a scenario failed, or a baseline line is stale.
    pub const FAILED: Self = Self(1);
    /// Wrong usage, or a scenario, subject, baseline or report file that cannot be read or written.
    pub const USAGE: Self = Self(2);
    /// A subject could not be started, reached or judged.
    pub const UNJUDGED: Self = Self(3);
    /// A `must` was neither assessed nor excused.
    pub const INCOMPLETE: Self = Self(4);
    /// A snapshot changed, is missing, or is referenced by nothing.
    pub const DRIFT: Self = Self(5);
    /// The user stopped it. What is known was reported.
    pub const INTERRUPTED: Self = Self(130);

    /// The exit code of a run: the first that applies of 130, 2, 1, 3, 5, 4 and 0.
    ///
    /// `usage` is set where the run went on although a file it was given could not be read or written.
    pub fn of(standing: Standing, interrupted: bool, usage: bool) -> Self {
        [
            (interrupted, Self::INTERRUPTED),
            (usage, Self::USAGE),
            (standing.failed, Self::FAILED),
            (standing.unjudged, Self::UNJUDGED),
            (standing.drift, Self::DRIFT),
            (standing.incomplete, Self::INCOMPLETE),
        ]
        .into_iter()
        .find_map(|(applies, exit)| applies.then_some(exit))
        .unwrap_or(Self::OK)
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

/// Why a command gave up, in words for the user, and the exit code that says so.
#[derive(Clone, Debug)]
pub struct CliError {
    /// What is wrong; all of it, where there are several things.
    pub diagnostics: Vec<Diagnostic>,
    /// What the process ends with.
    pub exit: Exit,
}

impl CliError {
    /// Wrong usage, or a file that cannot be read or written. `message`: a fragment without a full stop.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { diagnostics: vec![Diagnostic::error("usage", message)], exit: Exit::USAGE }
    }

    /// A subject could not be started, reached or judged.
    pub fn unjudged(message: impl Into<String>) -> Self {
        Self { diagnostics: vec![Diagnostic::error("subject", message)], exit: Exit::UNJUDGED }
    }

    /// The user stopped it.
    pub fn interrupted() -> Self {
        Self { diagnostics: vec![Diagnostic::error("interrupted", "interrupted")], exit: Exit::INTERRUPTED }
    }

    /// Says what to do next.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        if let Some(last) = self.diagnostics.last_mut() {
            last.help.push(text.into());
        }
        self
    }
}

/// Faults in files and arguments are wrong usage.
impl From<Vec<Diagnostic>> for CliError {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self { diagnostics, exit: Exit::USAGE }
    }
}

impl From<Diagnostic> for CliError {
    fn from(diagnostic: Diagnostic) -> Self {
        vec![diagnostic].into()
    }
}

impl From<RunError> for CliError {
    fn from(error: RunError) -> Self {
        let exit = match error {
            RunError::Usage(_) => Exit::USAGE,
            RunError::Unjudged(_) => Exit::UNJUDGED,
            RunError::Interrupted => Exit::INTERRUPTED,
        };
        Self { diagnostics: error.diagnostics(), exit }
    }
}

/// How long what still runs may take to end when the work of a command is over.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The runtime for sockets, processes and time. `threads`: how many; one for each core where there is none.
pub fn runtime(threads: Option<usize>) -> Result<Runtime, CliError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    threads.map(|threads| builder.worker_threads(threads));
    let runtime = builder.enable_all().build();
    let runtime =
        runtime.map_err(|e| CliError::unjudged(format!("the asynchronous runtime cannot be started: {e}")))?;
    let context = runtime.enter();
    // Writing beyond a limit on the size of files is to be an error like a full disk, not the end of us. Where that
    // cannot be had, it stays as it is. What is listened for once stays so.
    drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())));
    drop(context);
    Ok(runtime)
}

/// Runs work that plays against subjects, and that Ctrl-C, SIGTERM or SIGHUP cancel.
///
/// While subjects run, a second signal changes nothing: stopping them is bounded in time. Once none is left, it ends
/// the process: a report may go to a pipe that nobody reads.
///
/// # Errors
/// Those of the work; a runtime that does not start.
pub fn run_cancellable<T>(cancel: &Cancel, work: impl AsyncFnOnce() -> Result<T, CliError>) -> Result<T, CliError> {
    let runtime = runtime(None)?;
    let outcome = runtime.block_on(async {
        cancel_on_signals(cancel);
        work().await
    });
    cancel.nothing_runs();
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    outcome
}

/// Registers the signals that end a command.
///
/// # Errors
/// Where the system does not allow that.
pub fn end_signals() -> Result<EndSignals, CliError> {
    EndSignals::register().map_err(|e| CliError::unjudged(format!("cannot listen for signals: {e}")))
}

/// Cancels at Ctrl-C, SIGTERM or SIGHUP, as [`run_cancellable`] describes.
pub fn cancel_on_signals(cancel: &Cancel) {
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        // Registered at once, so that no moment is left in which it would end us with subjects running.
        let Ok(mut signals) = signal(kind) else { continue };
        let cancel = cancel.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if cancel.is_cancelled() && !cancel.something_runs() {
                    std::process::exit(Exit::INTERRUPTED.0.into());
                }
                cancel.cancel();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_applies_wins_whatever_else_does() {
        let order = [130, 2, 1, 3, 5, 4, 0];
        for set in 0u32..64 {
            let bit = |n: u32| set & (1 << n) != 0;
            let standing = Standing { failed: bit(2), unjudged: bit(3), drift: bit(4), incomplete: bit(5) };
            let first = (0..6).find(|&n| bit(n)).unwrap_or(6) as usize;
            assert_eq!(Exit::of(standing, bit(0), bit(1)), Exit(order[first]), "set {set:06b}");
        }
    }
}
