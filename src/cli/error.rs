//! Why a command could not do what it was asked to.

use crate::diagnostic::Diagnostic;

use super::Exit;

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
