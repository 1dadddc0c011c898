//! The requirements of OpenCtx 0.1, one file per area or family of areas.
//!
//! Levels: what the document states, what the RFCs oblige both ends to, and what the reference client breaks without is a
//! `must`; what one implementation does, or what only follows from a name, is a `should`.

mod annotations;
mod client;
mod envelope;
mod http;
mod items;
mod mentions;
mod meta;
mod robustness;

use std::sync::LazyLock;

use crate::protocol::sources::{http11, json, semantics, uri};
use crate::protocol::{Requirement, Section};

/// A table of requirements of one area and end.
type Table = &'static [Requirement];

/// The whole catalogue.
pub fn all() -> &'static [Requirement] {
    static ALL: LazyLock<Vec<Requirement>> = LazyLock::new(|| {
        let server: [&[Table]; 7] = [
            http::TABLES,
            envelope::TABLES,
            meta::TABLES,
            mentions::TABLES,
            items::TABLES,
            annotations::TABLES,
            robustness::TABLES,
        ];
        server.iter().chain(client::TABLES).flat_map(|tables| tables.iter()).flat_map(|t| *t).copied().collect()
    });
    &ALL
}

/// A section of the published document.
const fn doc(section: &'static str) -> Section {
    Section { document: "OpenCtx protocol specification, version 0.1", section }
}

/// A section of our own page: what the reference client relies on, and how the document is read.
const fn own(section: &'static str) -> Section {
    Section { document: "OpenCtx as wirecert reads it (docs/openctx.md)", section }
}

/// A table: an area, the end it binds, a capability, and entries `slug: level source => statement why;`.
macro_rules! table {
    ($($table:tt)+) => { $crate::protocol::requirement::table!("openctx/0.1/", $($table)+) };
}
use table;
