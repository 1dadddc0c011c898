//! What the clients of plays that ask over HTTP have in common: requests that are known by their labels, each an exchange
//! of its own, over a TCP connection of its own unless a step says otherwise; and the step by which one of any kind is sent.
//! The main type is [`RequestSender`].

mod http_step;
mod request_sender;
mod sent;

pub use request_sender::{OutgoingRequest, Proves, RequestSender, address, failed, one, shown};
pub use sent::{Resend, Watch};
