//! What binds the client, one file per area or family of areas. Every slug begins with `client-`.
//!
//! Levels: what the document says of requests, what the RFCs ask of both ends, and what makes a client useless at a sound
//! provider is a `must`. How a client treats a provider that is broken is a `should`, and so is what only the reference
//! client is known to do.

mod annotations;
mod envelope;
mod http;
mod items;
mod mentions;
mod meta;
mod robustness;

use super::Table;

pub const TABLES: &[&[Table]] = &[
    http::TABLES,
    envelope::TABLES,
    meta::TABLES,
    mentions::TABLES,
    items::TABLES,
    annotations::TABLES,
    robustness::TABLES,
];
