//! The requirements of Amplifier 2025-12-09, one file per area or family of areas.
//!
//! Levels: what the document states, and what the RFCs and the event-stream standard oblige both ends to, is a `must`; what
//! only follows from a name, or is asked for by our own page alone, is a `should`.

mod catalogs;
mod client;
mod errors;
mod events;
mod http;
mod lives;
mod prompts;
mod safety;
mod sessions;
mod stream;

use std::sync::LazyLock;

use crate::protocol::sources::{html as sse, http11, json, rfc6455, semantics, uri};
use crate::protocol::{Requirement, Section};

/// A table of requirements of one area and end.
type Table = &'static [Requirement];

/// The whole catalogue.
pub fn all() -> &'static [Requirement] {
    static ALL: LazyLock<Vec<Requirement>> = LazyLock::new(|| {
        let server: [&[Table]; 9] = [
            http::TABLES,
            errors::TABLES,
            sessions::TABLES,
            prompts::TABLES,
            stream::TABLES,
            events::TABLES,
            lives::TABLES,
            catalogs::TABLES,
            safety::TABLES,
        ];
        server.iter().chain(client::TABLES).flat_map(|tables| tables.iter()).flat_map(|t| *t).copied().collect()
    });
    &ALL
}

/// A section of the published document.
const fn doc(section: &'static str) -> Section {
    Section { document: "Amplifier VS Code Server API Reference, 2025-12-09", section }
}

/// A section of our own page: how the document is read, and what users have to be safe from.
const fn own(section: &'static str) -> Section {
    Section { document: "Amplifier as wirecert reads it (docs/amplifier.md)", section }
}

/// A table: an area, the end it binds, a capability, and entries `slug: level source => statement why;`.
macro_rules! table {
    ($($table:tt)+) => { $crate::protocol::requirement::table!("amplifier/2025-12-09/", $($table)+) };
}
use table;
