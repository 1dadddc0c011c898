//! From rules and expectations to findings, from findings to verdicts.

mod rules;
mod verdict;

pub use rules::{KEPT_VIOLATIONS, RuleRun};
pub use verdict::{
    Attempt, Counts, Finding, Note, Report, RequirementResult, ScenarioResult, ScenarioStatus, SnapshotResult, Status,
    SubjectReport, Suite, Verdict,
};
