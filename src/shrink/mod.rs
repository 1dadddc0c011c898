//! Shrinking: finding the smallest part of a scenario that still fails for the same reason.
//!
//! [`Shrinker`] removes parts of a scenario as long as a [`Trial`] finds that it still fails. Expectations are only ever
//! loosened or dropped, never made stricter, so that the result accuses nobody of what the scenario did not ask for.
//! [`PlayTrial`] is the trial that plays at a subject; it also plays at our own sound mock, which must go on passing: what
//! fails against everybody proves nothing.

mod edit;
mod job;
mod parts;
mod places;
mod plays;
mod shrinker;
#[cfg(test)]
mod tests;

pub use edit::narrow;
pub use job::{ShrinkEvent, ShrinkJob, ShrinkOutcome, ShrinkResult};
pub use parts::Chunks;
pub use plays::{FailureEvidence, FailureIdentity, Limits, PlayTrial, PlayedRuns, reference};
pub use shrinker::{Shrinker, Size, Stop, Trial};
