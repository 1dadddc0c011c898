//! What the servers of plays that answer over HTTP have in common: a port that is known before anybody listens there,
//! requests that wait for steps, and answers that are carried as a step says.

mod carried;
mod port;
mod repeats;
mod status;
mod steps;
mod waiting;

pub use carried::{BodyDelivery, Sending};
pub use port::Port;
pub use repeats::Treatment;
pub use status::line;
pub use steps::{DropStep, Gone, How, RespondStep, StopStep};
pub use waiting::{PendingRequest, Waiting};

/// How long a request that a flaw confuses with the next one waits for that.
pub const CONFUSION: std::time::Duration = std::time::Duration::from_millis(250);
