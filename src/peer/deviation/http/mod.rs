//! What mocks of different protocols can do otherwise because they speak HTTP: servers in how they respond and in what they
//! make of requests, clients in how they send requests and in what they make of responses.
//!
//! A table includes the rows of its side ([`DeviationTable::with_shared_flaws`](super::DeviationTable::with_shared_flaws)).

pub mod client;
pub mod received;
pub mod response;
pub mod server_flaws;
pub mod server_freedoms;
