//! From rules and expectations to findings, from findings to verdicts.
//!
//! A run hands over what it [`Played`], with the verdict of the rules ([`RuleRun`]) in it; the judge draws the
//! conclusions, as [`SubjectReport`]. All of it is pure: the same plays give the same report.

mod played;
mod rules;
mod standing;
mod verdict;

pub use played::{Fault, Found, Play, Played};
pub use rules::{KEPT_VIOLATIONS, RuleRun};
pub use standing::Standing;
pub use verdict::{
    Attempt, Blame, Counts, Finding, Note, Report, RequirementResult, ScenarioResult, ScenarioStatus, SnapshotResult,
    Status, SubjectReport, Suite, Verdict,
};
