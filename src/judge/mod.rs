//! From rules and expectations to findings, from findings to verdicts.
//!
//! A run hands over what it [`Played`], with what the rules found ([`RuleRun`]) in it; [`judge_subject`] draws the
//! conclusions, and [`Report::of`] puts subjects together. All of it is pure: the same plays give the same report.

mod attribution;
mod baseline;
mod causes;
mod conclusion;
mod merge;
mod played;
mod reading;
mod recorded;
mod repro;
mod rules;
mod run_scope;
mod scenario;
mod shard;
mod standing;
mod subject;
mod suite;
mod unassessed;
mod verdict;

pub use attribution::{ALIVE, Context, explained_by};
pub use baseline::{Baseline, BaselineEntry};
pub use causes::Cause;
pub use merge::{Part, merge};
pub use played::{Absence, Blocked, FaultOwner, MissKind, Missed, Play, PlayPosition, Played, RawFinding};
pub use reading::{By, Findings, Reading};
pub use recorded::{Recorded, subjects};
pub use repro::Repro;
pub use rules::RuleRun;
pub use run_scope::{BaselineLine, RunOptions, RunScope, Scope, Selection, Unjudged};
pub use shard::Shard;
pub use standing::Standing;
pub use subject::{SubjectRun, judge_subject};
pub use verdict::{
    Attempt, Blame, BlockedBy, Counts, Depends, Excuse, Finding, Note, Report, RequirementResult, ScenarioResult,
    ScenarioStatus, SnapshotResult, Status, SubjectReport, Suite, Verdict,
};

#[cfg(test)]
mod tests;
