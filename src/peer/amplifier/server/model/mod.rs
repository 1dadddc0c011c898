//! The state of a mock server, and what happens in it: sessions, prompts, approvals, events.
//!
//! A [`Model`] has no sockets and no clock: it takes requests and the time since it began, and gives replies. The
//! events of its agents go to the [`Feed`]s of those who subscribed, in order. Somebody has to call [`Model::advance`]
//! for each session that works, at the times that it says; [`super::context::ServerContext`] does.

mod approvals;
mod endpoints;
mod feed;
mod messages;
mod session;
mod state;
#[cfg(test)]
mod tests;
mod work;

pub use approvals::{ApprovalSwitch, UnusualDecision};
pub use endpoints::{LeakSwitch, PromptSwitch, SessionListSwitch};
pub use feed::{Feed, FeedEnd, FeedMessage, FeedSender, HIGH, feed};
pub use messages::{EndpointRequest, Refusal, Reply};
pub use session::{FeedSwitch, Session, Status};
pub use state::{ActionSwitch, Model, StopSwitch, Workspace};
pub use work::{FailsBy, NextAdvance, WorkSwitch};
