//! Why a run gives no result.

use crate::diagnostic::Diagnostic;
use crate::subject::SubjectError;

/// Why a run, or one of its subjects, gives no result.
#[derive(Clone, Debug)]
pub enum RunError {
    /// What was asked for cannot be done: everything that is wrong with it.
    Usage(Vec<Diagnostic>),
    /// A subject could not be started, reached or judged.
    Unjudged(Diagnostic),
    /// The user ended the run.
    Interrupted,
}

impl RunError {
    /// Wrong usage. `message`: a fragment without a full stop.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(vec![Diagnostic::error("usage", message)])
    }

    /// A subject that could not be started, reached or judged. `message`: a fragment without a full stop.
    pub fn unjudged(message: impl Into<String>) -> Self {
        Self::Unjudged(Diagnostic::error("subject", message))
    }

    /// Says what to do next.
    pub fn help(self, text: impl Into<String>) -> Self {
        match self {
            Self::Usage(mut diagnostics) => {
                let last = diagnostics.pop().map(|diagnostic| diagnostic.help(text));
                Self::Usage(diagnostics.into_iter().chain(last).collect())
            }
            Self::Unjudged(diagnostic) => Self::Unjudged(diagnostic.help(text)),
            Self::Interrupted => Self::Interrupted,
        }
    }

    /// What is wrong, for people.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Usage(diagnostics) => diagnostics.clone(),
            Self::Unjudged(diagnostic) => vec![diagnostic.clone()],
            Self::Interrupted => vec![Diagnostic::error("interrupted", "interrupted")],
        }
    }
}

/// A diagnostic of a file or of an option is wrong usage.
impl From<Diagnostic> for RunError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Usage(vec![diagnostic])
    }
}

impl From<Vec<Diagnostic>> for RunError {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self::Usage(diagnostics)
    }
}

impl From<SubjectError> for RunError {
    fn from(error: SubjectError) -> Self {
        Self::Unjudged(error.diagnostic())
    }
}
