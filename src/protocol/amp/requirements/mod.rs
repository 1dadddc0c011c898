//! The requirements of both AMP editions, one file per area or family of areas.
//!
//! A statement that holds in both editions has the same area and slug in both. Levels: what the
//! document states, what the RFC obliges a well-behaved end to, and what Amp's own CLI breaks without
//! is a `must`; what one implementation does, or what only follows from a name, is a `should`.

mod client;
mod connection;
mod discovery;
mod edit_file;
mod envelope;
mod framing;
mod methods;
mod notifications;
mod read_file;
mod robustness;

use std::sync::LazyLock;

use crate::protocol::sources::{http11 as http, json, rfc6455 as rfc, uri};
use crate::protocol::{Requirement, Section};

/// A table of requirements: each entry holds one statement, once for every edition that makes it.
type Table = &'static [&'static [Requirement]];

/// The whole catalogue, both editions.
pub fn all() -> &'static [Requirement] {
    static ALL: LazyLock<Vec<Requirement>> = LazyLock::new(|| {
        let server: [&[Table]; 9] = [
            discovery::TABLES,
            connection::TABLES,
            framing::TABLES,
            envelope::TABLES,
            methods::TABLES,
            read_file::TABLES,
            edit_file::TABLES,
            notifications::TABLES,
            robustness::TABLES,
        ];
        server
            .iter()
            .chain(client::TABLES)
            .flat_map(|tables| tables.iter())
            .flat_map(|table| table.iter())
            .flat_map(|r| *r)
            .copied()
            .collect()
    });
    &ALL
}

/// A section of the `cli` edition as `docs/amp.md` describes it.
const fn cli(section: &'static str) -> Section {
    Section { document: "AMP, edition cli (docs/amp.md)", section }
}

/// A section of the published quick reference.
const fn guide(section: &'static str) -> Section {
    Section { document: "AMP Protocol Quick Reference, 2025-12-15", section }
}

/// A table: an area, the end it binds, a capability, and entries `slug: [editions with level and source] statement why;`.
macro_rules! table {
    ($area:literal, $binds:ident, $capability:expr; $( $slug:literal: [ $($editions:tt)+ ] $statement:literal $why:literal; )+) => {
        &[ $( table!(@entry $area, $slug, $binds, $capability, $statement, $why; $($editions)+) ),+ ]
    };
    (@entry $area:literal, $slug:literal, $binds:ident, $capability:expr, $statement:literal, $why:literal;
     both $level:ident $source:expr) => {
        &[
            table!(@one "amp/cli/", $area, $slug, $binds, $capability, $statement, $why, $level, $source),
            table!(@one "amp/guide/", $area, $slug, $binds, $capability, $statement, $why, $level, $source),
        ]
    };
    (@entry $area:literal, $slug:literal, $binds:ident, $capability:expr, $statement:literal, $why:literal;
     cli $level:ident $source:expr, guide $level2:ident $source2:expr) => {
        &[
            table!(@one "amp/cli/", $area, $slug, $binds, $capability, $statement, $why, $level, $source),
            table!(@one "amp/guide/", $area, $slug, $binds, $capability, $statement, $why, $level2, $source2),
        ]
    };
    (@entry $area:literal, $slug:literal, $binds:ident, $capability:expr, $statement:literal, $why:literal;
     cli $level:ident $source:expr) => {
        &[table!(@one "amp/cli/", $area, $slug, $binds, $capability, $statement, $why, $level, $source)]
    };
    (@entry $area:literal, $slug:literal, $binds:ident, $capability:expr, $statement:literal, $why:literal;
     guide $level:ident $source:expr) => {
        &[table!(@one "amp/guide/", $area, $slug, $binds, $capability, $statement, $why, $level, $source)]
    };
    (@one $prefix:literal, $area:literal, $slug:literal, $binds:ident, $capability:expr, $statement:literal, $why:literal,
     $level:ident, $source:expr) => {
        $crate::protocol::requirement::requirement!(
            $prefix $area $slug $binds $capability, $level $source, $statement $why)
    };
}
use table;
