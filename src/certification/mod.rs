//! Certification: plays scenarios against subjects, judges what came of it, and gives a [`Report`](crate::judge::Report).
//!
//! A [`Session`] is one run. It makes first contact with each subject, selects its scenarios, plays and judges them, and
//! plays the evidence of its findings once more. It prints nothing: progress goes to a [`Progress`](crate::report::Progress).
//! [`examine`] tells whether a subject can be judged, and judges nothing.

mod edition;
mod examination;
mod repetition;
mod session;
mod storage;

pub use edition::detect;
pub use examination::{CheckResult, examine};
pub use session::{Session, SessionOptions, SessionOutcome, catalogue, default_jobs, load_baseline};
