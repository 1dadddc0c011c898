//! The table of the flaws of the reference client: an entry, all of them in order, and a flaw by its name.

use std::sync::LazyLock;

use crate::peer::Flaw;
use crate::peer::amp::agent::quirks::{AgentEffect, Quirk};
use crate::protocol::amp::editions::AmpEdition;

use super::{connection, messages};

/// A flaw and what it does.
pub(super) struct AgentFlaw {
    pub(super) flaw: Flaw,
    pub(super) effect: AgentEffect,
}

/// An entry: a name, editions, the requirement that it breaks, others whose statements it breaks as well, each with
/// the reason; what it does, in words and in effect.
macro_rules! flaw {
    ($name:literal $editions:ident $breaks:literal $([$($also:literal: $why:literal),+ $(,)?])? $about:literal $effect:expr) => {
        AgentFlaw {
            flaw: $crate::peer::Flaw {
                name: $name,
                about: $about,
                editions: $editions,
                breaks: $breaks,
                also: &[$($($crate::peer::Also { requirement: $also, why: $why }),+)?],
            },
            effect: $effect,
        }
    };
}
pub(super) use flaw;

pub(super) const BOTH: &[&str] = &["cli", "guide"];
pub(super) const CLI: &[&str] = &["cli"];
pub(super) const GUIDE: &[&str] = &["guide"];

const TABLES: [&[AgentFlaw]; 7] = [
    connection::DISCOVERY_FLAWS,
    connection::CONNECTION_FLAWS,
    connection::FRAMING_FLAWS,
    messages::ENVELOPE_FLAWS,
    messages::METHODS_FLAWS,
    messages::NOTIFICATIONS_FLAWS,
    messages::ROBUSTNESS_FLAWS,
];

fn entries() -> impl Iterator<Item = &'static AgentFlaw> {
    TABLES.into_iter().flatten()
}

/// Every flaw, in the order of the areas.
pub fn all() -> &'static [Flaw] {
    static ALL: LazyLock<Vec<Flaw>> = LazyLock::new(|| entries().map(|e| e.flaw).collect());
    &ALL
}

/// The flaw of this name, if the edition has it.
pub fn find(edition: &AmpEdition, name: &str) -> Option<Quirk> {
    let entry = entries().find(|e| e.flaw.name == name && e.flaw.editions.contains(&edition.id))?;
    Some(Quirk::flaw(entry.flaw.name, entry.effect))
}

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        crate::peer::fitting::fits_the_catalogue("amp-client", &[]);
    }
}
