//! Proof that the suite is any good: every flaw of our own peers is caught by the requirement it breaks, and no
//! sound peer is accused, whatever freedom it takes.

mod proof;
mod run;

pub use proof::{
    Case, CaseKind, Modified, PAIRS_TOLD, PairOutcome, Proof, Result as CaseResult, Spread, cases, modified, pairs,
};
pub use run::{Extent, ProveError, Prover, prove};
