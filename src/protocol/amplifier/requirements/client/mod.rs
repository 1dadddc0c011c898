//! What binds the client, one file per family of areas. Every slug begins with `client-`.
//!
//! Levels: what the document says of requests, what the RFCs and the event-stream standard ask, and what makes a client useless
//! at a sound server is a `must`. How a client treats a server that is broken is a `should`.

mod http;
mod requests;
mod results;
mod robustness;
mod streams;

use super::Table;

pub const TABLES: &[&[Table]] = &[http::TABLES, requests::TABLES, results::TABLES, streams::TABLES, robustness::TABLES];
