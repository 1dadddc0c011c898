//! From rules and expectations to findings, from findings to verdicts.

mod verdict;

pub use verdict::{
    Attempt, Counts, Finding, Note, Report, RequirementResult, ScenarioResult, ScenarioStatus, SnapshotResult, Status,
    SubjectReport, Suite, Verdict,
};
