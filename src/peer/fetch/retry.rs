//! Clients that make a request again by themselves, a few times, where it has failed (RFC 9110 section 9.2.2).

use std::time::Duration;

use super::{Failure, FetchedResponse, Kind};

/// The pauses before each further attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(60)];

/// When a client makes a request again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retries {
    /// After an answer with a status that may pass.
    pub after_status: bool,
    /// After the connection ended before the answer was whole.
    pub after_cut: bool,
}

/// What making a request again does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safe {
    /// No more than making it once does: its method is idempotent, or it only asks for something.
    Always,
    /// Nobody knows, unless no answer has begun.
    Unanswered,
}

impl Retries {
    /// How long to wait before the request is made again; none where it is not. `made` is how often it was made again
    /// before.
    pub fn pause(self, outcome: &Result<FetchedResponse, Failure>, safe: Safe, made: usize) -> Option<Duration> {
        let again = match outcome {
            Ok(seen) => self.after_status && safe == Safe::Always && may_pass(seen.status),
            Err(failure) if failure.kind == Kind::Closed => self.after_cut,
            Err(failure) => self.after_cut && safe == Safe::Always && matches!(failure.kind, Kind::Cut | Kind::Http),
        };
        PAUSES.get(made).copied().filter(|_| again)
    }
}

/// Whether what an answer with this status says may be over soon.
fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..=599)
}
