//! From rules and expectations to findings, from findings to verdicts.
//!
//! A run hands over what it [`Played`], with what the rules found ([`RuleRun`]) in it; [`judge_subject`] draws the
//! conclusions, and [`Report::of`] puts subjects together. All of it is pure: the same plays give the same report.

mod again;
mod attribution;
mod baseline;
mod conclusion;
mod explanation;
mod merge;
mod played;
mod recorded;
mod report;
mod rules;
mod subject;
#[cfg(test)]
mod tests;
mod unassessed;
mod verdict;

pub use again::judge_again;
pub use attribution::{ALIVE, AttributionContext, explained_by};
pub use baseline::{Baseline, BaselineEntry};
pub use merge::{ShardReport, merge};
pub use played::{
    Absence, BaselineLine, BlockedRequirement, FaultOwner, MissKind, MissedExpectation, Play, PlayPosition, Played,
    RawFinding, RunOptions, RunScope, Scope, Selection, Shard, Unjudged,
};
pub use recorded::{FindingSource, Findings, FindingsReader, Recorded, subjects};
pub use report::{Cause, Counts, Note, Report, Repro, SnapshotResult, Standing, SubjectReport, Suite, digest};
pub use rules::RuleRun;
pub use subject::{SubjectRun, judge_subject};
pub use unassessed::declared_missing;
pub use verdict::{
    Attempt, Blame, BlockedBy, Depends, Excuse, Finding, RequirementResult, ScenarioResult, ScenarioStatus, Status,
    Verdict,
};
