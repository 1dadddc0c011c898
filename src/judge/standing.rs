//! What a report means for somebody who only wants to know whether to stop.

use super::{Report, SubjectReport, Verdict};

/// The reasons why a run is not green. None set: it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// A binding requirement is violated outside the baseline, a scenario failed, or a baseline line is stale.
    pub failed: bool,
    /// A scenario, or the subject as a whole, could not be judged.
    pub unjudged: bool,
    /// A snapshot is not as it was.
    pub drift: bool,
    /// A `must` was neither assessed nor excused, or nothing was assessed at all.
    pub incomplete: bool,
}

impl Standing {
    /// Where several subjects were judged: any reason of any of them.
    pub fn or(self, other: Self) -> Self {
        Self {
            failed: self.failed || other.failed,
            unjudged: self.unjudged || other.unjudged,
            drift: self.drift || other.drift,
            incomplete: self.incomplete || other.incomplete,
        }
    }
}

impl SubjectReport {
    /// Why this subject is not green, if it is not.
    pub fn standing(&self) -> Standing {
        Standing {
            failed: self.verdict == Verdict::Nonconforming
                || self.counts.failed > 0
                || self.counts.unexpected_passes > 0,
            unjudged: self.counts.error > 0,
            drift: self.snapshots.iter().any(|s| s.status != "same"),
            incomplete: self.verdict == Verdict::Incomplete,
        }
    }
}

impl Report {
    /// Why the run is not green, if it is not. A report without subjects never is.
    pub fn standing(&self) -> Standing {
        let none = Standing {
            unjudged: !self.unjudged.is_empty(),
            incomplete: self.subjects.is_empty(),
            ..Standing::default()
        };
        self.subjects.iter().map(SubjectReport::standing).fold(none, Standing::or)
    }
}
