//! The whole catalogue, and the macro by which the tables of the areas are written.

use std::sync::LazyLock;

pub(super) use crate::protocol::requirement::sources::{http11 as http, json, rfc6455 as rfc, uri};
use crate::protocol::{Requirement, Section};

use super::{client_connection, client_messages, connection, methods, notifications};

/// A table of requirements: each entry holds one statement, once for every edition that makes it.
pub(super) type Table = &'static [&'static [Requirement]];

/// The whole catalogue, both editions.
pub fn all() -> &'static [Requirement] {
    static ALL: LazyLock<Vec<Requirement>> = LazyLock::new(|| {
        let areas: [&[Table]; 5] = [
            connection::TABLES,
            methods::TABLES,
            notifications::TABLES,
            client_connection::TABLES,
            client_messages::TABLES,
        ];
        areas.iter().flat_map(|tables| tables.iter()).flat_map(|table| table.iter()).flat_map(|r| *r).copied().collect()
    });
    &ALL
}

/// A section of the `cli` edition as `docs/amp.md` describes it.
pub(super) const fn cli(section: &'static str) -> Section {
    Section { document: "AMP, edition cli (docs/amp.md)", section }
}

/// A section of the published quick reference.
pub(super) const fn guide(section: &'static str) -> Section {
    Section { document: "AMP Protocol Quick Reference, 2025-12-15", section }
}

/// A table: an area, the end it binds, a capability, and entries `slug: [editions with level and source] statement
/// why;`.
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
pub(super) use table;
