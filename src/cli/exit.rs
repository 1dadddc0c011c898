//! What a command ends with: [`Exit`], the whole contract of exit codes, and [`CliError`], which carries one.

use crate::diagnostic::Diagnostic;
use crate::judge::Standing;
use crate::play::RunError;

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
