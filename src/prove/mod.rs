//! Proof that the suite is any good: every flaw of our own peers is caught by the requirement it breaks, and no
//! sound peer is accused, whatever freedom it takes.
//!
//! A [`Prover`] plays the suite against each [`Case`]: a mock with a flaw or a freedom. The results make a [`Proof`].

mod proof;
mod run;

pub use proof::{
    Case, CaseKind, CaseResult, Modified, PAIRS_DISTINGUISHED, PairOutcome, Proof, ViolationStatistics, cases,
    modified, pairs,
};
pub use run::{Extent, ProveError, Prover, prove};
