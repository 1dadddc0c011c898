//! What binds the client, one file per area or family of areas. Every slug begins with `client-`.
//!
//! Levels: what RFC 6455 asks of an end that is sound, what harms a server or shows its secret to strangers, and what
//! makes a client useless at a sound server is a `must`. How a client treats a server that is broken, and how Amp's own
//! CLI chooses an editor and comes back to it, is a `should`.

mod connection;
mod discovery;
mod envelope;
mod framing;
mod methods;
mod notifications;
mod robustness;

use super::Table;

pub const TABLES: &[&[Table]] = &[
    discovery::TABLES,
    connection::TABLES,
    framing::TABLES,
    envelope::TABLES,
    methods::TABLES,
    notifications::TABLES,
    robustness::TABLES,
];
