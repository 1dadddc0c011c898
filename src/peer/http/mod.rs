//! What peers and mocks of the protocols over HTTP share. Clients send requests, which are known by their labels
//! ([`RequestSender`]), or fetch one response after the other ([`fetch::Fetcher`]); servers hold requests until a step says
//! what becomes of them ([`PendingRequests`]), and carry responses as it says ([`OutgoingResponse`]).

pub mod fetch;
mod pending;
mod request_sender;
mod response;
mod sent_request;
mod url;

pub use pending::{CONFUSION, PendingRequest, PendingRequests, Port, Treatment};
pub use request_sender::{OutgoingRequest, Proves, RequestSender, address, failed, one, shown};
pub use response::{OutgoingResponse, line};
pub use sent_request::{Resend, Watch};
pub use url::{HttpUrl, allows};
