//! The two streams of the terminal.

use std::io::{self, ErrorKind, IsTerminal as _, Write};

use anstream::{AutoStream, ColorChoice};

use crate::diagnostic::{Diagnostic, Severity, Style, render_all};

use super::{CliError, Exit};

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
/// error: whoever read it has enough, and the exit code still tells the outcome.
pub struct Terminal {
    output: Output,
    stdout: AutoStream<io::Stdout>,
    stderr: AutoStream<io::Stderr>,
    /// The first write to stdout that failed, other than for a closed pipe.
    broken: Option<io::Error>,
    closed: bool,
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
        }
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
        match self.stdout.write_all(text.as_bytes()) {
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
        // There is nobody left to tell if this fails.
        let _ = self.stderr.write_all(text.as_bytes());
    }
}
