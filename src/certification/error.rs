//! Why a session, or one of its subjects, has no verdict.

use crate::config::SubjectSpec;
use crate::diagnostic::Diagnostic;
use crate::judge::Unjudged;
use crate::subject::SubjectError;

/// Why a session, or one of its subjects, has no verdict.
#[derive(Clone, Debug)]
pub enum SessionError {
    /// What was asked for cannot be done: everything that is wrong with it.
    Usage(Vec<Diagnostic>),
    /// A subject could not be started, reached or judged.
    Unjudged(Diagnostic),
    /// The user ended the run.
    Interrupted,
}

impl SessionError {
    /// Wrong usage. `message`: a fragment without a full stop.
    pub(super) fn usage(message: impl Into<String>) -> Diagnostic {
        Diagnostic::error("usage", message)
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
impl From<Diagnostic> for SessionError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Usage(vec![diagnostic])
    }
}

impl From<Vec<Diagnostic>> for SessionError {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self::Usage(diagnostics)
    }
}

impl From<SubjectError> for SessionError {
    fn from(error: SubjectError) -> Self {
        Self::Unjudged(error.diagnostic())
    }
}

/// A subject that a session gives no verdict about, and why.
pub(super) struct UnjudgedSubject {
    /// The error that prevented the verdict; none where the run ended before it came to the subject.
    pub error: Option<SessionError>,
    /// Whether that leaves something open: not where all of its scenarios belong to other shards.
    pub open: bool,
}

impl UnjudgedSubject {
    /// The run was ended before it came to the subject.
    pub fn unreached() -> Self {
        Self { error: None, open: true }
    }

    /// The entry of the report, unless all of its scenarios belong to other shards.
    pub fn to_report(&self, spec: &SubjectSpec) -> Option<Unjudged> {
        let reason = self.error.as_ref().and_then(|error| error.diagnostics().into_iter().next()).map(|d| d.message);
        self.open.then(|| Unjudged {
            name: spec.name.clone(),
            role: spec.role.name.to_owned(),
            edition: spec.edition.as_str().to_owned(),
            reason: reason.unwrap_or_else(|| "the run ended before it".to_owned()),
        })
    }
}

impl<E: Into<SessionError>> From<E> for UnjudgedSubject {
    fn from(error: E) -> Self {
        Self { error: Some(error.into()), open: true }
    }
}
