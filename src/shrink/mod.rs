//! Shrinking: the least of a scenario that still fails for the same reason.
//!
//! [`Shrinker`] takes things out of a scenario as long as a [`Trial`] says that it still fails. Expectations are only ever
//! loosened or dropped, never made stricter, so that the result accuses nobody of what the scenario did not ask for.
//! [`Plays`] is the trial that plays at a subject; it also plays at our own sound mock, which must go on passing: what
//! fails against everybody proves nothing.

mod chunks;
mod edit;
mod identity;
mod narrow;
mod places;
mod plays;
mod shrinker;
mod texts;

pub use chunks::Chunks;
pub use identity::{Evidence, Identity};
pub use narrow::narrow;
pub use plays::{Limits, PlayedRuns, Plays, reference};
pub use shrinker::{Shrinker, Size, Stop, Trial};

#[cfg(test)]
mod tests;
