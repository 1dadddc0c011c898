//! What the servers of plays that answer over HTTP have in common: a port that is known before anybody listens there,
//! requests that wait for steps, and responses that are carried as a step says. The main type is [`PendingRequests`].

mod requests;
mod responses;

pub use requests::{CONFUSION, PendingRequest, PendingRequests, Port, Treatment};
pub use responses::{OutgoingResponse, line};
