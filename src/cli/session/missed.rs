//! Subjects of which a run says nothing.

use crate::config::SubjectSpec;
use crate::judge::Unjudged;

use super::super::{CliError, Exit};

/// Why nothing is said of a subject.
pub struct Missed {
    /// What went wrong.
    pub error: CliError,
    /// Whether that leaves something open: not where all of its scenarios belong to other shards.
    pub open: bool,
}

impl Missed {
    /// The run was ended before it came to the subject.
    pub fn unreached() -> Self {
        CliError { diagnostics: vec![], exit: Exit::INTERRUPTED }.into()
    }

    /// What the report says of it, where something was left open.
    pub fn told(&self, spec: &SubjectSpec) -> Option<Unjudged> {
        let reason = self.error.diagnostics.first().map(|d| d.message.clone());
        self.open.then(|| Unjudged {
            name: spec.name.clone(),
            role: spec.role.name.to_owned(),
            edition: spec.edition.as_str().to_owned(),
            reason: reason.unwrap_or_else(|| "the run ended before it".to_owned()),
        })
    }
}

impl From<CliError> for Missed {
    fn from(error: CliError) -> Self {
        Self { error, open: true }
    }
}
