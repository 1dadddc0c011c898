//! The requirements of OpenCtx 0.1: [`all`] gives them in the order of the tables. The slugs of those that bind the
//! client begin with `client-`.
//!
//! Levels: what the document states, what the RFCs oblige both ends to, and what the reference client breaks without is a
//! `must`; what one implementation does, or what only follows from a name, is a `should`. What makes a client useless at a
//! sound provider is a `must` as well; how a client treats a provider that is broken is a `should`, and so is what only the
//! reference client is known to do.

mod client_transport;
mod methods;
mod transport;

use std::sync::LazyLock;

use crate::protocol::requirement::sources::{http11, json, semantics, uri};
use crate::protocol::{Requirement, Section};

/// A table of requirements of one area and end.
type Table = &'static [Requirement];

/// The whole catalogue.
pub fn all() -> &'static [Requirement] {
    static ALL: LazyLock<Vec<Requirement>> = LazyLock::new(|| {
        let tables: [&[Table]; 6] = [
            transport::TABLES,
            methods::TABLES,
            &[transport::ROBUSTNESS],
            client_transport::TABLES,
            methods::CLIENT_TABLES,
            &[client_transport::ROBUSTNESS],
        ];
        tables.iter().flat_map(|tables| tables.iter()).flat_map(|table| *table).copied().collect()
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
