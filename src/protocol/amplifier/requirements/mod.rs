//! The requirements of Amplifier 2025-12-09, one file per area or family of areas.
//!
//! Levels: what the document states, what the RFCs and the event-stream standard oblige both ends to, and what keeps users
//! safe is a `must`; what only follows from a name is a `should`.

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

#[cfg(test)]
use crate::protocol::RequirementId;
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

/// The id of a statement, by area and slug.
#[cfg(test)]
pub fn id(short: &str) -> Option<RequirementId> {
    all().iter().find(|r| r.short() == short).map(|r| r.id)
}

/// A section of the published document.
const fn doc(section: &'static str) -> Section {
    Section { document: "Amplifier VS Code Server API Reference, 2025-12-09", section }
}

/// A section of our own page: how the document is read, and what users have to be safe from.
const fn own(section: &'static str) -> Section {
    Section { document: "Amplifier as wirecert reads it (docs/amplifier.md)", section }
}

/// A section of HTTP Semantics.
const fn semantics(section: &'static str) -> Section {
    Section { document: "RFC 9110", section }
}

/// A section of HTTP/1.1.
const fn http11(section: &'static str) -> Section {
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

/// A section of the HTML standard, on server-sent events.
const fn sse(section: &'static str) -> Section {
    Section { document: "HTML standard", section }
}

/// A section of the WebSocket protocol.
const fn rfc6455(section: &'static str) -> Section {
    Section { document: "RFC 6455", section }
}

/// A table: an area, the end it binds, a capability, and entries `slug: level source statement why;`.
macro_rules! table {
    ($area:literal, $binds:ident, $capability:expr;
     $( $slug:literal: $level:ident $source:expr => $statement:literal $why:literal; )+) => {
        &[ $( $crate::protocol::Requirement {
            id: concat!("amplifier/2025-12-09/", $area, "/", $slug),
            level: $crate::protocol::Level::$level,
            binds: $crate::trace::End::$binds,
            statement: $statement,
            why: $why,
            source: $source,
            since: "0.1.0",
            capability: $capability,
        } ),+ ]
    };
}
use table;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::protocol::amplifier::PROTOCOL;

    fn is_kebab(word: &str) -> bool {
        !word.is_empty()
            && word.split('-').all(|part| !part.is_empty())
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    }

    #[test]
    fn every_id_occurs_once_and_is_protocol_edition_area_slug() {
        let mut seen = HashSet::new();
        for requirement in all() {
            assert!(seen.insert(requirement.id), "{} twice", requirement.id);
            let parts: Vec<_> = requirement.id.split('/').collect();
            assert_eq!(parts[..2], ["amplifier", "2025-12-09"], "{}", requirement.id);
            assert_eq!(parts.len(), 4, "{}", requirement.id);
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
    fn every_section_of_our_own_page_is_there() {
        let page = include_str!("../../../../docs/amplifier.md");
        let headings: HashSet<_> = page.lines().filter(|line| line.starts_with('#')).collect();
        let headings: HashSet<_> =
            headings.iter().map(|h| h.trim_start_matches('#').trim().trim_matches('`')).collect();
        for requirement in all().iter().filter(|r| r.source.document == own("").document) {
            assert!(headings.contains(requirement.source.section), "{}", requirement.source.section);
        }
    }

    #[test]
    fn a_statement_is_found_by_area_and_slug() {
        assert_eq!(id("create/status"), Some("amplifier/2025-12-09/create/status"));
        assert_eq!(id("create/nothing"), None);
    }
}
