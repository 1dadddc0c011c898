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

#[cfg(test)]
use crate::protocol::RequirementId;
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

/// The id of a statement in an edition, by area and slug; none where that edition does not make it.
#[cfg(test)]
pub fn id(edition: &str, short: &str) -> Option<RequirementId> {
    all().iter().find(|r| r.edition() == edition && r.short() == short).map(|r| r.id)
}

/// A section of the `cli` edition as `docs/amp.md` describes it.
const fn cli(section: &'static str) -> Section {
    Section { document: "AMP, edition cli (docs/amp.md)", section }
}

/// A section of the published quick reference.
const fn guide(section: &'static str) -> Section {
    Section { document: "AMP Protocol Quick Reference, 2025-12-15", section }
}

/// A section of the WebSocket protocol.
const fn rfc(section: &'static str) -> Section {
    Section { document: "RFC 6455", section }
}

/// A section of HTTP/1.1.
const fn http(section: &'static str) -> Section {
    Section { document: "RFC 9112", section }
}

/// A section of the JSON specification.
const fn json(section: &'static str) -> Section {
    Section { document: "RFC 8259", section }
}

/// A section of the URI specification.
const fn uri(section: &'static str) -> Section {
    Section { document: "RFC 3986", section }
}

/// A table: an area, the end it binds, a capability, and entries `slug: [editions with level and source] statement why;`.
macro_rules! table {
    ($area:literal, $binds:ident, $capability:expr; $( $slug:literal: [ $($editions:tt)+ ] $statement:literal $why:literal; )+) => {
        &[ $( table!(@entry $area, $slug, $binds, $capability, $statement, $why; $($editions)+) ),+ ]
    };
    (@entry $area:literal, $slug:literal, $binds:ident, $capability:expr, $statement:literal, $why:literal;
     both $level:ident $source:expr) => {
        &[
            table!(@one "cli", $area, $slug, $binds, $capability, $statement, $why, $level, $source),
            table!(@one "guide", $area, $slug, $binds, $capability, $statement, $why, $level, $source),
        ]
    };
    (@entry $area:literal, $slug:literal, $binds:ident, $capability:expr, $statement:literal, $why:literal;
     cli $level:ident $source:expr, guide $level2:ident $source2:expr) => {
        &[
            table!(@one "cli", $area, $slug, $binds, $capability, $statement, $why, $level, $source),
            table!(@one "guide", $area, $slug, $binds, $capability, $statement, $why, $level2, $source2),
        ]
    };
    (@entry $area:literal, $slug:literal, $binds:ident, $capability:expr, $statement:literal, $why:literal;
     cli $level:ident $source:expr) => {
        &[table!(@one "cli", $area, $slug, $binds, $capability, $statement, $why, $level, $source)]
    };
    (@entry $area:literal, $slug:literal, $binds:ident, $capability:expr, $statement:literal, $why:literal;
     guide $level:ident $source:expr) => {
        &[table!(@one "guide", $area, $slug, $binds, $capability, $statement, $why, $level, $source)]
    };
    (@one $edition:literal, $area:literal, $slug:literal, $binds:ident, $capability:expr, $statement:literal, $why:literal,
     $level:ident, $source:expr) => {
        $crate::protocol::Requirement {
            id: concat!("amp/", $edition, "/", $area, "/", $slug),
            level: $crate::protocol::Level::$level,
            binds: $crate::trace::End::$binds,
            statement: $statement,
            why: $why,
            source: $source,
            since: "0.1.0",
            capability: $capability,
        }
    };
}
use table;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::protocol::amp::PROTOCOL;

    fn is_kebab(word: &str) -> bool {
        !word.is_empty()
            && word.split('-').all(|part| !part.is_empty())
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    }

    #[test]
    fn every_id_occurs_once() {
        let mut seen = HashSet::new();
        for requirement in all() {
            assert!(seen.insert(requirement.id), "{} twice", requirement.id);
        }
    }

    #[test]
    fn every_id_is_protocol_edition_area_slug() {
        for requirement in all() {
            let parts: Vec<_> = requirement.id.split('/').collect();
            assert_eq!(parts.len(), 4, "{}", requirement.id);
            assert_eq!(parts[0], PROTOCOL.name);
            assert!(PROTOCOL.editions.iter().any(|e| e.id == parts[1]), "{}: unknown edition", requirement.id);
            assert!(is_kebab(parts[2]) && is_kebab(parts[3]), "{}: not in kebab case", requirement.id);
        }
    }

    #[test]
    fn every_statement_is_one_sentence() {
        for requirement in all() {
            let statement = requirement.statement;
            assert!(statement.ends_with('.'), "{}", requirement.id);
            assert!(statement.starts_with(|c: char| c.is_uppercase() || c == '`'), "{}", requirement.id);
            assert!(!statement[..statement.len() - 1].contains(". "), "{}: several sentences", requirement.id);
        }
    }

    #[test]
    fn every_capability_is_one_that_the_role_explains() {
        for role in PROTOCOL.roles {
            for requirement in all().iter().filter(|r| r.binds == role.subject) {
                if let Some(capability) = requirement.capability {
                    let known = role.capabilities.iter().any(|(name, _)| *name == capability);
                    assert!(known, "{}: {capability}", requirement.id);
                }
            }
        }
    }

    #[test]
    fn what_binds_the_client_says_so_in_its_slug() {
        for requirement in all() {
            let slug = requirement.id.rsplit('/').next().unwrap_or_default();
            let client = requirement.binds == crate::trace::End::Client;
            assert_eq!(slug.starts_with("client-"), client, "{}", requirement.id);
        }
    }

    #[test]
    fn every_section_of_our_own_document_is_there() {
        let headings: HashSet<_> =
            include_str!("../../../../docs/amp.md").lines().filter_map(|line| line.strip_prefix("#")).collect();
        let headings: HashSet<_> =
            headings.iter().map(|h| h.trim_start_matches('#').trim().trim_matches('`')).collect();
        for requirement in all().iter().filter(|r| r.source.document == cli("").document) {
            assert!(headings.contains(requirement.source.section), "{}", requirement.source.section);
        }
    }

    #[test]
    fn a_statement_is_found_by_edition_area_and_slug() {
        assert_eq!(id("cli", "framing/pong"), Some("amp/cli/framing/pong"));
        assert_eq!(id("guide", "ping/echo"), None);
    }
}
