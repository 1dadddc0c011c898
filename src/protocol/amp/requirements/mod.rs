//! The requirements of the AMP editions, one file for each family of areas. [`all`] is the catalogue.
//!
//! A statement that holds in both editions has the same area and slug in both. Levels: what the
//! document states, what the RFC obliges a well-behaved end to, and what Amp's own CLI breaks without
//! is a `must`; what one implementation does, or what only follows from a name, is a `should`.
//!
//! What binds the client has slugs that begin with `client-`. Its levels: what RFC 6455 asks of an end that is sound,
//! what harms a server or shows its secret to strangers, and what makes a client useless at a sound server is a
//! `must`. How a client treats a server that is broken, and how Amp's own CLI chooses an editor and comes back to it,
//! is a `should`.

mod client_connection;
mod client_messages;
mod connection;
mod methods;
mod notifications;

use std::sync::LazyLock;

use crate::protocol::requirement::sources::{http11 as http, json, rfc6455 as rfc, uri, xdg};
use crate::protocol::{Level, Requirement, Section};
use crate::trace::End;

use super::editions::{ALL, AmpEdition};

/// A statement, and the editions that make it: each by its id, with the level and the source.
struct Statement {
    area: &'static str,
    slug: &'static str,
    binds: End,
    capability: Option<&'static str>,
    editions: &'static [(&'static str, Level, Section)],
    statement: &'static str,
    why: &'static str,
}

impl Statement {
    /// The requirement of an edition, if it makes the statement: as its own entry says, or else as that of the edition
    /// which it is like.
    fn of(&self, edition: &AmpEdition) -> Option<Requirement> {
        let Self { area, slug, binds, capability, editions, statement, why } = *self;
        let entry = |id: &str| editions.iter().find(|(of, ..)| *of == id);
        let (_, level, source) = *entry(edition.id).or_else(|| entry(edition.like?))?;
        // Ids live as long as the program.
        let id = format!("amp/{}/{area}/{slug}", edition.id).leak();
        Some(Requirement { id, level, binds, statement, why, source, since: "0.1.0", capability })
    }
}

/// A table of statements.
type Table = &'static [Statement];

fn statements() -> impl Iterator<Item = &'static Statement> {
    let areas: [&[Table]; 5] = [
        connection::TABLES,
        methods::TABLES,
        notifications::TABLES,
        client_connection::TABLES,
        client_messages::TABLES,
    ];
    areas.into_iter().flatten().copied().flatten()
}

/// The whole catalogue, all editions.
pub fn all() -> &'static [Requirement] {
    static CATALOGUE: LazyLock<Vec<Requirement>> = LazyLock::new(|| {
        statements().flat_map(|statement| ALL.into_iter().filter_map(|edition| statement.of(edition))).collect()
    });
    &CATALOGUE
}

/// The requirements of an edition.
pub fn of(edition: &AmpEdition) -> Vec<Requirement> {
    statements().filter_map(|statement| statement.of(edition)).collect()
}

/// A section of the `cli` edition as `docs/amp.md` describes it.
const fn cli(section: &'static str) -> Section {
    Section { document: "AMP, edition cli (docs/amp.md)", section }
}

/// A section of the published quick reference.
const fn guide(section: &'static str) -> Section {
    Section { document: "AMP Protocol Quick Reference, 2025-12-15", section }
}

/// A table: an area, the end it binds, a capability, and entries `slug: [editions with level and source] statement
/// why;`. `both` stands for `cli` and `guide`.
macro_rules! table {
    ($area:literal, $binds:ident, $capability:expr; $( $slug:literal: [ $($editions:tt)+ ] $statement:literal $why:literal; )+) => {
        &[ $( $crate::protocol::amp::requirements::Statement {
            area: $area,
            slug: $slug,
            binds: $crate::trace::End::$binds,
            capability: $capability,
            editions: table!(@editions $($editions)+),
            statement: $statement,
            why: $why,
        } ),+ ]
    };
    (@editions both $level:ident $source:expr) => {
        table!(@editions cli $level $source, guide $level $source)
    };
    (@editions $( $edition:ident $level:ident $source:expr ),+) => {
        &[ $( (stringify!($edition), $crate::protocol::Level::$level, $source) ),+ ]
    };
}
use table;
