//! A subject that a session gives no verdict about.

use crate::config::SubjectSpec;
use crate::judge::Unjudged;
use crate::play::RunError;

/// A subject that a session gives no verdict about, and why.
pub(super) struct UnjudgedSubject {
    /// The error that prevented the verdict; none where the run ended before it came to the subject.
    pub error: Option<RunError>,
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

impl<E: Into<RunError>> From<E> for UnjudgedSubject {
    fn from(error: E) -> Self {
        Self { error: Some(error.into()), open: true }
    }
}
